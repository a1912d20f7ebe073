"""A file of recorded spans -> the last turn of one trace.

Owns which format a file is in, told by its content, and which trace of it is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from nightgate.errors import InputError
from nightgate.importers import adot, otel
from nightgate.importers.chains import Reading
from nightgate.importers.files import read_values
from nightgate.importers.masks import clean
from nightgate.importers.records import NoContentError, Recorded, Unread
from nightgate.importers.spans import Span
from nightgate.importers.turns import last_turn

_WRAPPERS = ("spans", "results", "events", "records", "logEvents")
_LISTED = 20


@dataclass(slots=True)
class _File:
    """The records of a file, sorted by what they are."""

    spans: list[Mapping[str, Any]] = field(default_factory=list)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """Wrappings that were met, and how often."""
    unread: list[Unread] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Adot where content travels in log events, else otel."""
        return "adot" if self.events else "otel"

    @property
    def about(self) -> str:
        """What was recognised, for people."""
        wrapped = "".join(f", in {name}" for name in self.seen)
        if self.events:
            what = "spans and their log events" if self.spans else "log events without their spans"
            return f"AgentCore/ADOT records: {what}{wrapped}"
        return f"OTel GenAI spans{wrapped}"

    def take(self, record: Any, where: str) -> None:
        """Sort one record in, unpacking what it is wrapped in."""
        if isinstance(record, list) and not adot.is_row(record):
            for number, item in enumerate(record, start=1):
                self.take(item, f"{where}, item {number}")
        elif adot.is_row(record):
            self.seen["CloudWatch Logs rows"] = self.seen.get("CloudWatch Logs rows", 0) + 1
            inner, unread = adot.row_record(record, where)
            if unread is not None:
                self.unread.append(unread)
            else:
                self._take_record(inner or {}, where)
        elif isinstance(record, Mapping):
            self._take_record(record, where)
        else:
            self.unread.append(Unread(where=where, what=f"is no record, but {type(record).__name__}"))

    def _take_record(self, record: Mapping[str, Any], where: str) -> None:
        wrapper = next((key for key in _WRAPPERS if isinstance(record.get(key), list)), None)
        if otel.is_otlp(record):
            self.seen["OTLP/JSON"] = self.seen.get("OTLP/JSON", 0) + 1
            for inner in otel.otlp_records(record):
                self._take_record(inner, where)
        elif adot.is_event(record) and not _is_timed(record):
            self.events.append(record)
        elif otel.is_span(record):
            self.spans.append(record)
        elif wrapper is not None:
            self.take(record[wrapper], where)
        else:
            keys = ", ".join(sorted(map(str, record))[:6]) or "nothing"
            self.unread.append(Unread(where=where, what=f"is no span and no log event (it has {keys})"))

    def traces(self) -> dict[str, list[Span]]:
        """Spans by trace, in the order of the file."""
        found: dict[str, list[Span]] = {}
        known: set[tuple[str, str]] = set()
        spans: Iterator[Span] = (
            adot.spans_of([*self.spans, *self.events])
            if self.events
            else (otel.span_of(record) for record in self.spans)
        )
        for span in spans:
            key = (span.trace_id, span.span_id)
            if span.span_id and key in known:
                continue  # exported twice
            known.add(key)
            found.setdefault(span.trace_id, []).append(span)
        return found


def _is_timed(record: Mapping[str, Any]) -> bool:
    """Whether it begins and ends, as spans do."""
    return any(key in record for key in ("start_time", "startTimeUnixNano", "start_time_unix_nano"))


def read_trace(path: Path, trace_id: str | None = None) -> Recorded:
    """The last turn of a trace in a file.

    Args:
        path: Of the file.
        trace_id: Which trace, in full or as far as it is unique; needed only where there are several.

    Raises:
        InputError: If the file cannot be read, holds no spans, or holds several traces and none or an
            unknown one was named.
        NoContentError: If the spans do not say what was said.
    """
    file = _File()
    for value in read_values(path):
        file.take(value.data, f"line {value.line}")
    traces = file.traces()
    if not traces:
        why = f" ({file.unread[0]})" if file.unread else ""
        raise InputError(
            f"{path}:1: holds no span and no log event of one{why}; known are OTel GenAI spans as JSON, "
            "OTLP/JSON, and AgentCore/ADOT records of CloudWatch Logs"
        )
    spoken = {key: spans for key, spans in traces.items() if any(span.is_genai for span in spans)}
    chosen = _chosen(path, spoken or traces, trace_id)
    spans = traces[chosen]
    source = {
        "kind": file.kind,
        "about": file.about,
        "path": str(path),
        "trace_id": chosen,
        "spans": len(spans),
    }
    recorded, reading = last_turn(spans, source)
    if recorded is None:
        _refuse_silent(path, file, chosen, spans, reading)
    others = len(traces) - 1
    left = (
        [Unread(where="file", what=f"left out: {others} more trace{'s' if others > 1 else ''}")]
        if others
        else []
    )
    return replace(recorded, unread=(*recorded.unread, *left, *file.unread))


def _chosen(path: Path, traces: Mapping[str, Sequence[Span]], trace_id: str | None) -> str:
    if trace_id is None:
        if len(traces) == 1:
            return next(iter(traces))
        raise InputError(f"{path}:1: holds {len(traces)} traces; name one with --trace:\n{_list(traces)}")
    wanted = trace_id.removeprefix("0x").lower()
    exact = [key for key in traces if key.lower() == wanted]
    found = exact or [key for key in traces if wanted and key.lower().startswith(wanted)]
    if len(found) != 1:
        how = "more than one trace" if found else "no trace"
        raise InputError(f"{path}:1: --trace {trace_id}: {how} has this id:\n{_list(traces)}")
    return found[0]


def _list(traces: Mapping[str, Sequence[Span]]) -> str:
    lines = [
        f"  {key or '(without an id)'}  {len(spans)} span{'s' if len(spans) != 1 else ''}"
        for key, spans in list(traces.items())[:_LISTED]
    ]
    more = len(traces) - len(lines)
    return "\n".join([*lines, f"  and {more} more"] if more else lines)


def _refuse_silent(
    path: Path, file: _File, trace_id: str, spans: Sequence[Span], reading: Reading
) -> NoReturn:
    """Say that the content is missing, and which setting records it."""
    trace = f"trace {trace_id or 'without an id'} ({len(spans)} span{'s' if len(spans) != 1 else ''})"
    if not any(span.is_genai for span in spans):
        raise NoContentError(
            f"{path}: {trace} has no gen_ai.* attribute or event, so it says nothing of a model's calls; "
            "nothing was written. Export the spans of the GenAI conventions"
        )
    noticed = clean("".join(f"\n  {item}" for item in (*reading.unread, *file.unread)[:_LISTED]))
    if reading.blank:
        raise NoContentError(
            f"{path}: {trace}: the user's last message is blank, so no case can be made of it; nothing was "
            f"written. Take a trace in which the user says something{noticed}"
        )
    raise NoContentError(
        f"{path}: {trace} holds no text of a user, so no case can be made of it; nothing was written. "
        f"Message content was not captured: {_setting(file, spans, redacted=reading.redacted)}{noticed}"
    )


def _setting(file: _File, spans: Sequence[Span], *, redacted: bool) -> str:
    """The setting that records content, of whoever wrote the spans."""
    if redacted:
        return (
            "a mark stands in its place. Strands Agents keeps it without the token "
            "`gen_ai_unredacted_attributes` in OTEL_SEMCONV_STABILITY_OPT_IN, or with "
            "`gen_ai_unredacted_attributes=gen_ai.*`"
        )
    if file.events or any("aws.local.service" in span.attributes for span in spans):
        return _AGENTCORE
    if any("strands" in span.scope for span in spans):
        return (
            "Strands Agents writes it as span events, which were dropped on the way; with "
            "`gen_ai_latest_experimental,gen_ai_span_attributes_only` in OTEL_SEMCONV_STABILITY_OPT_IN it "
            f"stands in the attributes. On AgentCore, {_AGENTCORE}"
        )
    return (
        "instrumentations record it with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (newer "
        "ones: SPAN_ONLY or SPAN_AND_EVENT, and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental)"
    )


_AGENTCORE = (
    "set AGENT_OBSERVABILITY_ENABLED=true on the runtime, and export its log group "
    "(/aws/bedrock-agentcore/runtimes/...) beside aws/spans: content travels in the log events"
)
