"""What alert channels there are, by name, from one variable.

Owns ``NIGHTGATE_ALERT_CHANNELS``: ``name=kind:target?option=value``, separated by commas or white space.
A definition may be seen by anybody: addresses and tokens are named by their variables, never written down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from urllib.parse import parse_qsl

from nightgate.adapters.alerts.log import LogChannel
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError
from nightgate.ports import AlertChannel

VARIABLE = "NIGHTGATE_ALERT_CHANNELS"
DEFAULT, LOG = "default", "log"
_PREFECT = "flows.channels"
"""Named as text: only flows know Prefect, and the product imports no flow."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"[a-z_]{1,16}")
_BLOCK = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")
_EXAMPLE = "write name=webhook:VARIABLE, name=sns:TOPIC-ARN, name=prefect:BLOCK-TYPE/NAME or name=log"
_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One channel as it was written; holds no secret."""

    name: str
    kind: str
    target: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def definitions(text: str | None = None) -> dict[str, Definition]:
    """All channels by name; ``log`` and ``default`` (the log, unless it is defined) are always there.

    Args:
        text: Read instead of the variable.

    Raises:
        InputError: If a definition cannot be read.

    >>> sorted(definitions("team=webhook:TEAM_URL, page=sns:arn:aws:sns:eu-central-1:123456789012:evals"))
    ['default', 'log', 'page', 'team']
    """
    written = os.environ.get(VARIABLE, "") if text is None else text
    found: dict[str, Definition] = {}
    for part in re.split(r"[\s,]+", written.strip()) if written.strip() else ():
        if part:
            definition = _parsed(part)
            if definition.name in found:
                msg = f"{VARIABLE}: {definition.name!r} is defined twice"
                raise InputError(msg)
            found[definition.name] = definition
    return {name: Definition(name=name, kind=LOG) for name in (DEFAULT, LOG)} | found


def named(names: Iterable[str], known: Mapping[str, Definition], where: str) -> list[Definition]:
    """The definitions of a suite's channels, each once.

    Args:
        names: As the suite writes them.
        known: All of them.
        where: Where the names stand, for the message.

    Raises:
        InputError: For a name that is not defined, with the nearest one.
    """
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            msg = f"{where}: alerts: {VARIABLE} defines no channel {name!r}{hint} (--no-alerts sends none)"
            raise InputError(msg)
    return [known[name] for name in dict.fromkeys(names)]


def build_channel(definition: Definition) -> AlertChannel:
    """The channel behind a definition; nothing is reached for yet.

    Raises:
        InputError: If its variable is not set, or its target or options cannot be.
    """
    return _BUILDERS[definition.kind](definition)


def _parsed(part: str) -> Definition:
    name, equals, rest = part.partition("=")
    kind, _, rest = rest.partition(":")
    target, _, query = rest.partition("?")
    if not equals or not _NAME.fullmatch(name):
        # Not quoted: somebody may have put the address itself here.
        msg = f"{VARIABLE}: a definition has no name; {_EXAMPLE}"
        raise InputError(msg)
    if kind not in _BUILDERS:
        msg = f"{VARIABLE}: channel {name!r}: unknown kind{did_you_mean(kind[:20], _BUILDERS)}; {_EXAMPLE}"
        raise InputError(msg)
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - _OPTIONS[kind])
    if unknown:
        known = ", ".join(sorted(_OPTIONS[kind])) or "none"
        # Quoted only where it can be a slip: the query of an address that was put here is a secret.
        slip = _OPTION.fullmatch(unknown[0]) and "/" not in target
        said = f" {unknown[0]!r}" if slip else ""
        msg = f"{VARIABLE}: channel {name!r}: unknown option{said}; known are {known}"
        raise InputError(msg)
    return Definition(name=name, kind=kind, target=target, options=options)


def _webhook(definition: Definition) -> AlertChannel:
    from nightgate.adapters.alerts.webhook import TIMEOUT_S, WebhookChannel

    token = definition.options.get("token_env")
    for variable in (definition.target, token):
        if variable is not None and not _VARIABLE_NAME.fullmatch(variable):
            msg = (
                f"{VARIABLE}: channel {definition.name!r}: a webhook's address and token are secrets; put "
                f"them into variables and write their names: {definition.name}=webhook:TEAM_WEBHOOK_URL"
            )
            raise InputError(msg)
    return WebhookChannel(
        definition.name, definition.target, token_variable=token, timeout_s=_seconds(definition, TIMEOUT_S)
    )


def _sns(definition: Definition) -> AlertChannel:
    from nightgate.adapters.alerts.sns import TIMEOUT_S, SnsChannel

    return SnsChannel(definition.name, definition.target, timeout_s=_seconds(definition, TIMEOUT_S))


def _log(definition: Definition) -> AlertChannel:
    return LogChannel(definition.name)


def _prefect(definition: Definition) -> AlertChannel:
    if not _BLOCK.fullmatch(definition.target):
        msg = (
            f"{VARIABLE}: channel {definition.name!r}: write prefect:BLOCK-TYPE/NAME, as in "
            "prefect:slack-webhook/team"
        )
        raise InputError(msg)
    try:
        flows = import_module(_PREFECT)
    except ImportError as error:
        msg = f"alert channel {definition.name!r}: Prefect's blocks need the flows of nightgate: {error}"
        raise InputError(msg) from error
    channel: AlertChannel = flows.PrefectChannel(definition.name, definition.target)
    return channel


def _seconds(definition: Definition, usual: float) -> float:
    text = definition.options.get("timeout_s")
    try:
        value = usual if text is None else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= _LONGEST_S:
        msg = f"{VARIABLE}: channel {definition.name!r}: timeout_s is above 0 and at most {_LONGEST_S:g}"
        raise InputError(msg)
    return value


_BUILDERS: dict[str, Callable[[Definition], AlertChannel]] = {
    "webhook": _webhook,
    "sns": _sns,
    "prefect": _prefect,
    LOG: _log,
}
_OPTIONS = {
    "webhook": frozenset({"token_env", "timeout_s"}),
    "sns": frozenset({"timeout_s"}),
    "prefect": frozenset[str](),
    LOG: frozenset[str](),
}
