"""A run is made its suite's baseline, by a person and for a reason.

Owns which runs may become one, and the exchange of the document: two people who promote at a time do not
overwrite each other. Knows no adapter.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from nightgate.baselines import Baseline, StrayBaselineError, promoted, rejudged
from nightgate.comparisons import NO_BASE
from nightgate.errors import ConflictError, DamagedError, ExitCode, MissingError, NightgateError
from nightgate.gates import Decision, Verdict, decide
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.rows.keys import baseline_key
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.steps.bases import load_baseline, stored_baseline
from nightgate.steps.comparing import outcome_of
from nightgate.steps.gating import tallies_of
from nightgate.steps.reading import load_plan, manifest_of

_NAMED = 3


class PromotionRefusedError(NightgateError):
    """A run may not become the baseline, or another one became it meanwhile."""

    exit_code = ExitCode.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What promoting came to."""

    baseline: Baseline
    before: str | None
    """The run that was the baseline before; None: there was none."""
    changed: bool
    """False where the run was the baseline already."""


def promote(store: Store, run_id: str, *, why: str | None = None, now: datetime | None = None) -> Promotion:
    """Make a run its suite's baseline.

    Args:
        store: Where the run lies.
        run_id: The run.
        why: The reason for a run that did not pass or is not the whole suite; None: it has to be both.
        now: The time that is written down.

    Raises:
        MissingError: If there is no such run.
        PromotionRefusedError: If it may not be the baseline, or somebody else promoted meanwhile.
        DamagedError: If a part of it, or the present baseline's document, is not what was stored.
    """
    plan = load_plan(store, run_id)
    _refuse_damaged(store, _fit(store, plan))
    decision = _decision(store, plan)
    objections = [*_filtered(plan), *_not_passed(decision)]
    if objections and why is None:
        msg = (
            f"run {run_id} is not promoted: {'; '.join(objections)}. Mend it and promote a run that passes, "
            "or say why this one is good enough: --force --why TEXT"
        )
        raise PromotionRefusedError(msg)
    data = stored_baseline(store, plan.suite)
    before = _readable(data, plan.suite, forced=why is not None)
    if before is not None and before.run_id == run_id:
        return Promotion(baseline=before, before=run_id, changed=False)
    at = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    forced = bool(objections)
    baseline = promoted(plan, decision.verdict.value, at=at, forced=forced, why=why, before=before)
    _swap(store, baseline, data)
    return Promotion(baseline=baseline, before=None if before is None else before.run_id, changed=True)


def _decision(store: Store, plan: Plan) -> Decision:
    """The run's gate; apart from the comparison where its baseline is lost: it could never pass then."""
    tallies, complete = tallies_of(store, plan.run_id)
    outcome = outcome_of(store, tallies)
    lost = outcome.comparison is None and outcome.trouble is not None
    return decide(tallies, complete=complete, outcome=NO_BASE if lost else outcome)


def note_rejudged(
    store: Store, suite: str, run_id: str, sweep: str, evaluators: tuple[PlannedEvaluator, ...]
) -> Baseline:
    """Write down that a sweep judged the baseline's trials again.

    Args:
        store: Where it lies.
        suite: Whose baseline.
        run_id: The run that was judged: still the baseline.
        sweep: The sweep, committed.
        evaluators: As the sweep planned them.

    Raises:
        PromotionRefusedError: If another run became the baseline meanwhile.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    data = stored_baseline(store, suite)
    baseline = None if data is None else Baseline.from_json(data, baseline_key(suite))
    if baseline is None or baseline.run_id != run_id:
        whose = "nothing" if baseline is None else baseline.run_id
        msg = f"{run_id} is no longer the baseline of {suite} ({whose} is): sweep {sweep} stands beside it"
        raise PromotionRefusedError(msg)
    if sweep in baseline.sweeps:
        return baseline
    noted = rejudged(baseline, sweep, evaluators, at=at)
    _swap(store, noted, data)
    return noted


def _fit(store: Store, plan: Plan) -> Manifest:
    """The commit of a run that a reason could make a baseline: of no other kind, and not open."""
    if plan.run_kind != "run":
        msg = f"run {plan.run_id} is a {plan.run_kind}: only a run that played its suite can be a baseline"
        raise PromotionRefusedError(msg)
    manifest = manifest_of(store, plan)
    if manifest is None:
        msg = (
            f"run {plan.run_id} is open and cannot be a baseline: finish it with "
            f"`nightgate run --resume {plan.run_id} {plan.suite_path or 'SUITE'}` first"
        )
        raise PromotionRefusedError(msg)
    return manifest


def _refuse_damaged(store: Store, manifest: Manifest) -> None:
    """Read every part that the commit names: years of runs are compared with a baseline.

    Raises:
        DamagedError: If one is gone or differs, naming it; whether the run passed cannot be told then.
    """
    for part in manifest.parts:
        problem = _problem_of(store, part)
        if problem is not None:
            msg = (
                f"run {manifest.run_id} is not promoted: {part.key}: {problem}; restore the object, or run "
                "the suite again and promote that run"
            )
            raise DamagedError(msg)


def _problem_of(store: Store, part: PartRef) -> str | None:
    """In what a part differs from what was committed; None where it does not."""
    try:
        data = store.read(part.key)
    except MissingError:
        return "it is gone, the manifest names it"
    if len(data) != part.bytes:
        return f"it has {len(data)} bytes, its manifest says {part.bytes}"
    if hashlib.sha256(data).hexdigest() != part.sha256:
        return "it differs from the sha256 in its manifest"
    return None


def _filtered(plan: Plan) -> list[str]:
    if not plan.filters:
        return []
    asked = " ".join(f"--{name} {value}" for name, values in plan.filters.items() for value in values)
    return [f"it is a part of the suite ({asked})"]


def _not_passed(decision: Decision) -> list[str]:
    if decision.verdict is Verdict.PASS:
        return []
    causes = [str(finding["text"]) for finding in decision.findings()]
    more = f" and {len(causes) - _NAMED} more" if len(causes) > _NAMED else ""
    said = "failed" if decision.verdict is Verdict.FAIL else "is inconclusive"
    return [f"its gate {said} ({'; '.join(causes[:_NAMED])}{more})"]


def _readable(data: bytes | None, suite: str, *, forced: bool) -> Baseline | None:
    """The present baseline; one that cannot be read is replaced only on purpose, a newer one never."""
    if data is None:
        return None
    try:
        return Baseline.from_json(data, baseline_key(suite))
    except NewerDocumentError:
        raise
    except StrayBaselineError:
        return None
    except DamagedError:
        if not forced:
            raise
        return None


def _swap(store: Store, baseline: Baseline, before: bytes | None) -> None:
    try:
        store.swap(baseline_key(baseline.suite), baseline.to_json(), before)
    except ConflictError as error:
        now = load_baseline(store, baseline.suite)
        whose = "gone" if now is None else f"run {now.run_id}"
        msg = (
            f"the baseline of {baseline.suite} was changed by somebody else at the same time and is {whose} "
            "now: look at it, and say it again if you still mean it"
        )
        raise PromotionRefusedError(msg) from error
