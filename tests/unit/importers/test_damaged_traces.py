"""Recordings with any one part replaced: a turn or an error of ours, never a traceback."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightgate.errors import NightgateError
from nightgate.importers.drafts import draft_of
from nightgate.importers.masks import masked
from nightgate.importers.traces import read_trace

TRACES = Path(__file__).parents[2] / "data" / "traces"
FILES = ("otel_genai_spans.json", "adot_events_only.json", "otlp_export.json", "logs_insights.json")
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["text", "type", "content", "toolUse", "parts", "id", "function", "messages", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, below the value itself."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return []
    found = [(*path, key) for key, _ in items]
    for key, item in items:
        found += places(item, (*path, key))
    return found


def opened(value: Any) -> Any:
    """The same with JSON texts as values, so that places inside of them are met as well."""
    if isinstance(value, dict):
        return {key: opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [opened(item) for item in value]
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return opened(json.loads(value))
    return value


SAMPLES = {name: json.loads((TRACES / name).read_text()) for name in FILES}
SAMPLES |= {f"opened {name}": opened(value) for name, value in SAMPLES.items()}
PLACES = {name: places(value) for name, value in SAMPLES.items()}


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_part_never_ends_in_a_traceback(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Instrumentations differ more than any list of formats says."""
    sample = copy.deepcopy(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(PLACES[name]))
        holder = sample
        try:
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]] = data.draw(JUNK)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier damage took the place away
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(sample))

    try:
        recorded = masked(read_trace(file), ())
    except NightgateError:
        return

    draft = draft_of(recorded)
    assert json.dumps(recorded.document(draft.whole))
