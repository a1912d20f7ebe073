"""The outside world behind the ports: models, agents, stores.

Importing the package imports nothing else; each module imports the libraries that it is about.
"""
