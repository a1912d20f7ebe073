from __future__ import annotations

from datetime import UTC, datetime

from makers import a_scope
from nightgate.calls import Call, Outcome, Role
from nightgate.summaries import Heard, changed, mixed

NOW = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)


def a_call(fingerprint: str | None, role: Role = Role.JUDGE, model: str = "openai:j") -> Call:
    """An answered call."""
    start = a_scope(role).start("c", model, attempt=1, at=NOW)
    return start.ended(Outcome.OK, system_fingerprint=fingerprint)


def test_only_judges_that_tell_one_are_listed() -> None:
    """Absent is not known, and no value of its own."""
    heard = Heard()
    for call in (a_call("fp_2"), a_call("fp_1"), a_call("fp_2"), a_call(None), a_call("fp_a", Role.AGENT)):
        heard.hear(call)
    heard.hear(a_call(None, model="anthropic:j"))

    assert heard.as_dict() == {"openai:j": ["fp_1", "fp_2"]}


def test_several_set_ups_in_one_run_are_a_warning() -> None:
    """Verdicts of one night then come of two judges."""
    (told,) = mixed({"openai:j": ["fp_1", "fp_2"], "openai:k": ["fp_3"]})

    assert "openai:j" in told
    assert "fp_1, fp_2" in told


def test_another_set_up_than_the_baselines_is_told_with_both() -> None:
    """And what to do about it."""
    (told,) = changed({"openai:j": ["fp_1"]}, {"openai:j": ["fp_1", "fp_2"]})

    assert "answers with fp_2, before it was fp_1" in told
    assert "nightgate sweep baseline" in told


def test_what_one_side_does_not_tell_is_no_change() -> None:
    """A provider that begins or stops to tell, and another judge, say nothing of this one."""
    assert not list(changed({}, {"openai:j": ["fp_1"]}))
    assert not list(changed({"openai:j": ["fp_1"]}, {}))
    assert not list(changed({"openai:j": []}, {"openai:j": ["fp_1"]}))
    assert not list(changed({"openai:j": ["fp_1", "fp_2"]}, {"openai:j": ["fp_2"]}))
