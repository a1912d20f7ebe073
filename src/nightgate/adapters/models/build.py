"""Builds the Strands model of a spec, with every retry below our own switched off.

Owns what each provider calls its parameters, defaults by role, time-outs and the check that a
credential is there. One layer retries, and it is not this one: SDK, botocore and client retries
are off. Providers' libraries are imported in the builder that needs them.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightgate.adapters.models.specs import ModelSpec
from nightgate.calls import Role
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError
from nightgate.prices import on_loopback

if TYPE_CHECKING:
    from nightgate.cases.scripts import Script

DEFAULT_TIMEOUT_S = 120.0
"""Longest silence of a provider, not the length of an answer."""
CONNECT_TIMEOUT_S = 10.0
MAX_CONNECTIONS = 256
_PLACEHOLDER = "placeholder"  # a server on this machine wants a key sent, not a certain one
_ANTHROPIC_MAX_TOKENS = 4096  # the API refuses a request without

_ROLE_DEFAULTS: Mapping[Role, Mapping[str, Any]] = {
    Role.USER: {"temperature": 0.9, "max_tokens": 120},
    Role.JUDGE: {"temperature": 0},
}
_MAX_TOKENS_NAMES = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"})
_CACHE_TTL = "cache_ttl"
_OURS = frozenset({"base_url", "region", "timeout_s", _CACHE_TTL})
_KEEP_FOR_A_TIME = frozenset({"bedrock", "anthropic", "litellm", "import"})
"""Schemes of models whose cache is written for a time that one asks for."""
_EXTRAS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic"} | {
    "ollama": "ollama",
    "litellm": "litellm",
}


def build_model(spec: ModelSpec, *, script_dirs: Sequence[Path] = (), role: Role = Role.AGENT) -> Any:
    """The Strands model for a spec; unmetered, and without a call being made.

    Args:
        spec: Which model.
        script_dirs: ``scripts`` folders of the suites, searched in order; ``import:`` modules are
            looked up beside them.
        role: Decides the defaults: a user gets temperature 0.9 and 120 output tokens, a judge
            temperature 0, unless the spec sets them (``null``: not sent at all).

    Raises:
        InputError: An unknown script, a provider whose library is not installed, a factory that
            cannot be had.
    """
    builder = _BUILDERS[spec.scheme]
    if _CACHE_TTL in spec.options and spec.scheme not in _KEEP_FOR_A_TIME:
        raise InputError(
            f"model {spec}: {_CACHE_TTL} is for bedrock: and anthropic: models; leave it out here"
        )
    try:
        return builder(spec, _parameters(spec, role), script_dirs)
    except ImportError as error:
        extra = _EXTRAS.get(spec.scheme)
        if extra is None:
            raise
        raise InputError(
            f"model {spec}: the library for {spec.scheme}: models is not installed ({error}); "
            f"install it with: pip install 'nightgate[{extra}]'"
        ) from error


def check_credentials(spec: ModelSpec) -> str | None:
    """Why no call to this model can succeed, as far as this machine can tell; None when all is there.

    Looks at environment variables and, for Bedrock, botocore's chain; sends nothing to the provider.
    """
    if spec.base_url is not None and on_loopback(spec.base_url):
        return None
    if spec.scheme in ("openai", "openai-responses"):
        return _missing(spec, "OPENAI_API_KEY")
    if spec.scheme == "anthropic":
        return _missing(spec, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    if spec.scheme == "bedrock":
        return _missing_aws(spec)
    if spec.scheme == "litellm":
        return _missing_litellm(spec)
    return None


async def close_model(model: Any) -> None:
    """Close the connections that a built model holds on the running loop."""
    for holder in (model, getattr(model, "client", None)):
        for name in ("aclose", "close"):
            close = getattr(holder, name, None)
            if callable(close):
                done = close()
                if isawaitable(done):
                    await done
                return


def _missing(spec: ModelSpec, *names: str) -> str | None:
    if any(os.environ.get(name, "").strip() for name in names):
        return None
    return f"model {spec}: no credentials; set {' or '.join(names)}"


def _missing_aws(spec: ModelSpec) -> str | None:
    if os.environ.get("AWS_BEARER_TOKEN_BEDROCK", "").strip():
        return None
    import botocore.exceptions
    import botocore.session

    try:
        found = botocore.session.get_session().get_credentials()
    except botocore.exceptions.BotoCoreError as error:
        return f"model {spec}: AWS credentials cannot be read: {error}"
    if found is not None:
        return None
    return (
        f"model {spec}: no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE "
        "or AWS_BEARER_TOKEN_BEDROCK"
    )


def _missing_litellm(spec: ModelSpec) -> str | None:
    try:
        litellm = importlib.import_module("litellm")
    except ImportError:
        return None  # building it says what to install
    missing = litellm.validate_environment(spec.id).get("missing_keys") or []
    return f"model {spec}: no credentials; set {', '.join(missing)}" if missing else None


def _parameters(spec: ModelSpec, role: Role) -> dict[str, Any]:
    """What to send with each request: the role's defaults, under what the spec says."""
    defaults = dict(_ROLE_DEFAULTS.get(role, {}))
    if _MAX_TOKENS_NAMES & set(spec.options):
        defaults.pop("max_tokens", None)
    merged = defaults | {name: value for name, value in spec.options.items() if name not in _OURS}
    return {name: value for name, value in merged.items() if value is not None}


def _cache(spec: ModelSpec) -> dict[str, Any]:
    """The SDK's cache points, kept for the time that the spec asks for; none without a word on it."""
    ttl = spec.options.get(_CACHE_TTL)
    if ttl is None:
        return {}
    from strands.models.model import CacheConfig

    return {"cache_config": CacheConfig(ttl=ttl)}


def _timeout_s(spec: ModelSpec) -> float:
    return float(spec.options.get("timeout_s") or DEFAULT_TIMEOUT_S)


def _split(parameters: Mapping[str, Any], config: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters that the SDK's config knows by name, and the rest."""
    known = set(config.__annotations__)
    return (
        {name: value for name, value in parameters.items() if name in known},
        {name: value for name, value in parameters.items() if name not in known},
    )


def _scripted(spec: ModelSpec, _: dict[str, Any], script_dirs: Sequence[Path]) -> Any:
    from nightgate.adapters.scripted import ScriptedModel

    for folder in script_dirs:
        path = folder / f"{spec.id}.yaml"
        if path.is_file():
            return ScriptedModel(_script(path, hashlib.sha256(path.read_bytes()).digest()), spec.id)
    known = sorted({path.stem for folder in script_dirs for path in folder.glob("*.yaml")})
    where = ", ".join(str(folder) for folder in script_dirs) or "(no scripts folder)"
    hint = did_you_mean(spec.id, known) or f"; create {spec.id}.yaml there"
    raise InputError(f"model {spec}: no {spec.id}.yaml in {where}{hint}")


@lru_cache(maxsize=64)
def _script(path: Path, digest: bytes) -> Script:  # noqa: ARG001 - the digest is what makes it the same file
    """A script, read once while its text is the same: a night opens its suites several times."""
    from nightgate.cases.scripts import load_script

    return load_script(path)


def _bedrock(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ProfileNotFound
    from strands.models.bedrock import BedrockModel

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        read_timeout=_timeout_s(spec),
        connect_timeout=CONNECT_TIMEOUT_S,
        max_pool_connections=MAX_CONNECTIONS,
    )
    named, rest = _split(_cache(spec) | parameters, BedrockModel.BedrockConfig)
    if rest:
        named["additional_request_fields"] = {**named.get("additional_request_fields", {}), **rest}

    def model(session: Any) -> Any:
        return BedrockModel(
            boto_session=session,
            boto_client_config=config,
            endpoint_url=spec.base_url,
            model_id=spec.id,
            **named,
        )

    region = spec.options.get("region")
    keyless = partial(boto3.Session, _PLACEHOLDER, _PLACEHOLDER, region_name=region)
    try:
        session = boto3.Session(region_name=region)
        local = spec.base_url is not None and on_loopback(spec.base_url)
        return model(keyless() if local and session.get_credentials() is None else session)
    except BotoCoreError as error:
        if isinstance(error, ProfileNotFound) or _missing_aws(spec) is None:
            raise InputError(f"model {spec}: {error}; check the AWS_* variables and ~/.aws/config") from error
        # A server on this machine wants none; elsewhere ``check_credentials`` says so before each call.
        return model(keyless())


def _client_args(spec: ModelSpec, variable: str) -> dict[str, Any]:
    """What OpenAI's and Anthropic's clients have in common."""
    import httpx

    timeout = httpx.Timeout(_timeout_s(spec), connect=CONNECT_TIMEOUT_S)
    arguments: dict[str, Any] = {"max_retries": 0, "timeout": timeout}
    if spec.base_url is not None:
        arguments["base_url"] = spec.base_url
        if on_loopback(spec.base_url) and not os.environ.get(variable):
            arguments["api_key"] = _PLACEHOLDER
    return arguments


def _openai(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from nightgate.adapters.models.openai_shared import SharedOpenAIModel

    # OpenAI's reasoning models refuse the old name, most other servers know no other.
    if spec.base_url is None and "max_tokens" in parameters:
        parameters["max_completion_tokens"] = parameters.pop("max_tokens")
    named, rest = _split(parameters, SharedOpenAIModel.OpenAIConfig)
    return SharedOpenAIModel(_client_args(spec, "OPENAI_API_KEY"), model_id=spec.id, params=rest, **named)


def _openai_responses(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from nightgate.adapters.models.openai_shared import SharedOpenAIResponsesModel

    if "max_tokens" in parameters:
        parameters["max_output_tokens"] = parameters.pop("max_tokens")
    named, rest = _split(parameters, SharedOpenAIResponsesModel.OpenAIResponsesConfig)
    return SharedOpenAIResponsesModel(
        _client_args(spec, "OPENAI_API_KEY"), model_id=spec.id, params=rest, **named
    )


def _anthropic(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from strands.models.anthropic import AnthropicModel

    from nightgate.adapters.models.cache_writes import listening

    named, rest = _split(_cache(spec) | parameters, AnthropicModel.AnthropicConfig)
    named.setdefault("max_tokens", _ANTHROPIC_MAX_TOKENS)
    return listening(AnthropicModel)(
        client_args=_client_args(spec, "ANTHROPIC_API_KEY"), model_id=spec.id, params=rest, **named
    )


def _ollama(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from strands.models.ollama import OllamaModel

    named, rest = _split(parameters, OllamaModel.OllamaConfig)
    options = {**named.pop("options", {}), **rest}
    return OllamaModel(
        spec.base_url,
        ollama_client_args={"timeout": _timeout_s(spec)},
        model_id=spec.id,
        options=options,
        **named,
    )


def _llamacpp(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from strands.models.llamacpp import LlamaCppModel

    url = (spec.base_url or "http://localhost:8080").rstrip("/").removesuffix("/v1")
    named, rest = _split(parameters, LlamaCppModel.LlamaCppConfig)
    return LlamaCppModel(
        url, timeout=(CONNECT_TIMEOUT_S, _timeout_s(spec)), model_id=spec.id, params=rest, **named
    )


def _litellm(spec: ModelSpec, parameters: dict[str, Any], _: Sequence[Path]) -> Any:
    from strands.models.litellm import LiteLLMModel

    arguments: dict[str, Any] = {"num_retries": 0, "max_retries": 0, "timeout": _timeout_s(spec)}
    if spec.base_url is not None:
        arguments["api_base"] = spec.base_url
    named, rest = _split(parameters, LiteLLMModel.LiteLLMConfig)
    return LiteLLMModel(client_args=arguments, model_id=spec.id, params=rest, **named)


def _imported(spec: ModelSpec, _: dict[str, Any], script_dirs: Sequence[Path]) -> Any:
    from strands.models.model import Model

    from nightgate.imports import load_object

    factory = load_object(spec.id, [folder.parent for folder in script_dirs], what=f"model {spec}")
    if not callable(factory):
        raise InputError(f"model {spec}: {spec.id} is no factory but a {type(factory).__name__}")
    try:
        model = factory(**spec.options)
    except Exception as error:  # the user's code: whatever it raises has to name the spec
        raise InputError(f"model {spec}: the factory raised {type(error).__name__}: {error}") from error
    if not isinstance(model, Model):
        raise InputError(
            f"model {spec}: the factory returned a {type(model).__name__}, not a strands.models.Model"
        )
    return model


_BUILDERS: Mapping[str, Callable[[ModelSpec, dict[str, Any], Sequence[Path]], Any]] = {
    "scripted": _scripted,
    "bedrock": _bedrock,
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "litellm": _litellm,
    "import": _imported,
}
