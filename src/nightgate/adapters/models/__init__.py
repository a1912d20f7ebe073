"""From a spec text to a Strands model: which provider, which parameters, which credentials.

Owns the spelling of model specs and what each provider wants to be built with. Knows nothing of
ledgers, prices and retries: ``metering`` wraps what is built here. Importing it costs nothing; a
provider's library is imported when a model of it is built.
"""

from nightgate.adapters.models.build import build_model, check_credentials, close_model
from nightgate.adapters.models.specs import SCHEMES, ModelSpec, canonical, is_local, parse_spec, provided
from nightgate.adapters.models.usage import UsageKind, normalise_usage, usage_kind

__all__ = [
    "SCHEMES",
    "ModelSpec",
    "UsageKind",
    "build_model",
    "canonical",
    "check_credentials",
    "close_model",
    "is_local",
    "normalise_usage",
    "parse_spec",
    "provided",
    "usage_kind",
]
