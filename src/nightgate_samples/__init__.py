"""The agents that the sample suites evaluate."""
