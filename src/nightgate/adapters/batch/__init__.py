"""Judge calls through a provider's batch queue, behind the same interface as live ones.

``model`` is what an evaluator sees, ``engine`` gathers what waits and cuts it into jobs, ``book`` keeps
their state in the store, ``accounts`` their money, and a service a provider (``openai``, ``bedrock``)
knows its wire. Importing this package costs nothing; a provider's library is imported with its service.
"""

from nightgate.adapters.batch.settings import BatchSettings

__all__ = ["BatchSettings"]
