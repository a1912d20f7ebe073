"""Warnings about a suite that loads: what its author probably did not mean.

Owns advice, never a verdict: nothing here stops a run. Reads the suite's scripts again, so it is for
``check`` and not for the path of a run.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from nightgate.cases.asks import evaluators_of, narrowed_away
from nightgate.cases.expect import ANY_TOOL
from nightgate.cases.families import labels
from nightgate.cases.loading import case_files, script_files
from nightgate.cases.models import Case, Suite
from nightgate.cases.names import CRITERION, known_evaluator
from nightgate.cases.persona import Persona
from nightgate.cases.problems import SuiteError
from nightgate.cases.quarantines import faults
from nightgate.cases.scripts import DEFAULT, Script, load_script
from nightgate.cases.specs import parse_spec

UNCOMFORTABLE = frozenset({"ambiguous", "insistent"})
"""Strata of which a set of personas should have at least a quarter."""
_SHOWN = 5


def lint(
    suite: Suite, *, today: dt.date | None = None, played: Suite | None = None, live: bool = False
) -> list[str]:
    """Everything worth a second look, one line each.

    Args:
        suite: As loaded.
        today: The day that quarantines are held against; None leaves them out.
        played: The part of it that would run, with that run's models; None: all of it with its own.
        live: Whether evaluators with ``when: live`` take part.
    """
    found = [
        *_side_effects(suite),
        *_personas(suite),
        *labels(suite),
        *_unplanned(suite),
        *narrowed_away(suite),
        *_live(suite),
        *_canned(suite, played or suite, live=live),
        *_canaries(suite),
        *(faults(suite.cases, today) if today is not None else ()),
    ]
    if suite.file.is_file():
        found += [*_empty_files(suite), *_scripts(suite, played or suite, live=live)]
    return found


def persona_mix(suite: Suite) -> dict[str, int]:
    """Stratum -> number of personas, in the order of requirements: what ``check`` prints."""
    counts = Counter(case.persona.stratum for case in suite.cases if case.persona is not None)
    strata = ("cooperative", "withholding", "ambiguous", "changes_mind", "insistent")
    return {stratum: counts[stratum] for stratum in strata}


def _side_effects(suite: Suite) -> Iterator[str]:
    forbidden = {tool for case in suite.cases for tool in case.expect.tools.must_not_call}
    forbidden |= {
        tool for case in suite.cases for tool, most in case.expect.tools.max_calls.items() if not most
    }
    if ANY_TOOL in forbidden:
        return
    for tool in suite.side_effects:
        if tool not in forbidden:
            yield (
                f"{suite.file}: {tool} changes the world, and no case forbids it; "
                f"add one with must_not_call: [{tool}]"
            )


def _personas(suite: Suite) -> Iterator[str]:
    mix = persona_mix(suite)
    total = sum(mix.values())
    uncomfortable = sum(mix[stratum] for stratum in UNCOMFORTABLE)
    if total and 4 * uncomfortable < total:
        yield (
            f"{suite.file}: {uncomfortable} of {total} personas are ambiguous or insistent; "
            "with less than a quarter the simulated users are too easy"
        )
    for case in suite.cases:
        yield from _persona(case)


def _persona(case: Case) -> Iterator[str]:
    persona = case.persona
    if persona is None:
        return
    start = f"{case.where}: case {case.id!r}"
    first = _folded(case.first_message or "")
    given = [name for name, fact in persona.withheld.items() if _folded(fact.value) in first]
    if given:
        yield f"{start}: the first message gives away {', '.join(given)}, which the persona withholds"
    if persona.stratum == "withholding" and not persona.withheld:
        yield f"{start}: the persona is withholding and withholds nothing"
    if persona.min_attempts is not None and persona.forbidden is None:
        yield f"{start}: min_attempts counts attempts at a forbidden state, and there is none"
    if persona.opening is not None and case.input is not None and persona.opening != case.input:
        yield f"{start}: input is not used, because the persona has an opening"
    if persona.patience is not None and persona.patience > persona.max_turns:
        yield f"{start}: patience {persona.patience} is never used up in max_turns {persona.max_turns}"
    yield from _impossible(start, persona)
    yield from _loose_patterns(start, persona, case.first_message or "")


def _impossible(start: str, persona: Persona) -> Iterator[str]:
    """Counters under which the conversation cannot come to what the case wants."""
    counters = {"patience": persona.patience, "max_turns": persona.max_turns}
    needed = 1 + len(persona.withheld)
    for name, most in counters.items():
        if most is not None and not persona.limits_only and most < needed:
            yield (
                f"{start}: {name} {most} ends it before {len(persona.withheld)} withheld facts can be asked "
                f"for one by one, which takes {needed} user messages"
            )
    attempts, patience = persona.min_attempts, persona.patience
    if attempts is not None and patience is not None and patience < attempts:
        yield f"{start}: patience {patience} ends it before {attempts} min_attempts are made"


def _loose_patterns(start: str, persona: Persona, first: str) -> Iterator[str]:
    """Patterns that see a question where nobody asked."""
    for name, fact in persona.withheld.items():
        pattern = re.compile(_plain(fact.asked_by), re.IGNORECASE)
        if pattern.search(""):
            yield f"{start}: withheld.{name}.asked_by matches any text, so everything counts as asking"
        elif first and pattern.search(_folded(first)):
            yield (
                f"{start}: withheld.{name}.asked_by matches the user's own first message; an agent that "
                "repeats it would count as asking. Match the agent's question"
            )


def _unplanned(suite: Suite) -> Iterator[str]:
    if not suite.cases:
        return
    planned = {name for case in suite.cases for name in evaluators_of(suite, case)}
    for name in suite.evaluators:
        if name not in planned:
            yield f"{suite.file}: evaluator {name!r} runs on no case; a case asks for it, or drop it"


def _live(suite: Suite) -> Iterator[str]:
    model = suite.live.model
    if model is None or parse_spec(model).scripted:
        return
    judges = suite.live.judges or suite.judges
    for role, text in (*(("judge", spec) for spec in judges), ("user", suite.live.user or suite.user)):
        if text is not None and parse_spec(text).scripted:
            yield f"{suite.file}: --live runs {model} with {role} {text}; set live: {{{role}: ...}}"


def _canned(suite: Suite, played: Suite, *, live: bool) -> Iterator[str]:
    """Scripts that answer the same whatever a real model under test does; ``--live``'s are told above."""
    if parse_spec(played.model).scripted or played.model == suite.live.model:
        return
    names = {name for case in played.cases for name in evaluators_of(played, case, live=live)}
    custom = {name for name, config in played.evaluators.items() if config.use is not None}
    judged = any(known.kind == "judge" for name in names - custom if (known := known_evaluator(name)))
    for judge in (spec for spec in played.judges if judged and parse_spec(spec).scripted):
        yield f"judge {judge} is a script: its ratings are canned, whatever {played.model} answers"
    talking = any(case.persona for case in played.cases)
    if talking and played.user is not None and parse_spec(played.user).scripted:
        yield f"user {played.user} is a script: it says the same, whatever {played.model} answers"


def _canaries(suite: Suite) -> Iterator[str]:
    """Canary cases that no judge looks at: there is no verdict over them that could drift."""
    for case in suite.cases:
        if not case.canary:
            continue
        # An evaluator of the user's own may ask a judge; only its class knows.
        known = [
            None if name in suite.evaluators and suite.evaluators[name].use else known_evaluator(name)
            for name in evaluators_of(suite, case)
        ]
        if not any(found is None or found.kind == "judge" for found in known):
            yield (
                f"{case.where}: case {case.id!r} is a canary and no judge evaluator looks at it, so nothing "
                "is judged again; ask a criterion under expect.judge, or mark another case"
            )


def _empty_files(suite: Suite) -> Iterator[str]:
    used = {case.path.name for case in suite.cases}
    for file in case_files(suite.path):
        if file.name not in used:
            yield f"{file}: holds no case"


def _scripts(suite: Suite, played: Suite, *, live: bool) -> Iterator[str]:
    scripts: dict[str, Script] = {}
    for file in script_files(suite.path):
        try:
            scripts[file.stem] = load_script(file)
        except SuiteError as error:
            yield str(error)
    ids = {case.id for case in suite.cases}
    criteria = {f"{CRITERION}{criterion.id}" for case in suite.cases for criterion in case.expect.judge}
    for script in scripts.values():
        strange = sorted(script.case_ids - ids)
        if strange:
            yield f"{script.path}: no case has the id {_listed(strange)}"
        unasked = sorted(
            name for name in script.judgements if name.startswith(CRITERION) and name not in criteria
        )
        if unasked:
            yield f"{script.path}: no case has the criterion of {_listed(unasked)}"
        yield from _choices(script)
        yield from _blind(suite, script)
    yield from _unscripted(played, scripts, live=live)


def _choices(script: Script) -> Iterator[str]:
    """What a judgement with ``first_match`` never plays, and when it has nothing to play."""
    for name, by_case in script.judgements.items():
        for case_id, replies in by_case.items():
            for choices in (playlist.choices for playlist in replies.trials if playlist.choices):
                start = f"{script.path}: judgement by {name} for {case_id!r}"
                patterns = [choice.sees for choice in choices]
                for pattern, count in Counter(patterns).items():
                    if count > 1:
                        yield f"{start}: sees {pattern!r} is there {count} times; only the first plays"
                if patterns[-1] is not None:
                    yield f"{start}: has no entry without sees; what fits none of them ends as infra_error"


def _blind(suite: Suite, script: Script) -> Iterator[str]:
    """Patterns that the case itself fits: a criterion judge is always shown its query and criterion."""
    for case in suite.cases:
        for criterion in case.expect.judge:
            by_case = script.judgements.get(f"{CRITERION}{criterion.id}", {})
            replies = by_case.get(case.id) or by_case.get(DEFAULT)
            playlists = replies.trials if replies is not None else ()
            patterns = [choice.sees for playlist in playlists for choice in playlist.choices if choice.sees]
            for what, text in (("criterion", criterion.criterion), ("input", case.input or "")):
                for pattern in patterns:
                    if re.search(pattern, text, re.IGNORECASE):
                        yield (
                            f"{script.path}: judgement by {CRITERION}{criterion.id}: the {what} of case "
                            f"{case.id!r} holds what sees {pattern!r} looks for, so it always fits; "
                            "'<<ANSWER .*...' looks from the answer on"
                        )


def _unscripted(suite: Suite, scripts: dict[str, Script], *, live: bool) -> Iterator[str]:
    """Cases for which a script has nothing to play: they would end as infra_error."""
    judges = (("judge", spec) for spec in suite.judges)
    for role, text in (("agent", suite.model), ("user", suite.user), *judges):
        spec = parse_spec(text) if text is not None else None
        script = scripts.get(spec.name) if spec is not None and spec.scripted else None
        if script is None:
            continue
        if role == "judge":
            yield from _unjudged(suite, script, live=live)
            continue
        cases = [case for case in suite.cases if role == "agent" or case.persona is not None]
        silent = [case.id for case in cases if not {case.id, DEFAULT} & set(script.replies)]
        if silent:
            yield f"{script.path}: has no replies for {_listed(silent)} and no {DEFAULT!r}"


def _unjudged(suite: Suite, script: Script, *, live: bool) -> Iterator[str]:
    missing: dict[str, list[str]] = {}
    for case in suite.cases:
        for name in evaluators_of(suite, case, live=live):
            known = None if name in suite.evaluators and suite.evaluators[name].use else known_evaluator(name)
            judged = script.judgements.get(name, {})
            if known is not None and known.kind == "judge" and not {case.id, DEFAULT} & set(judged):
                missing.setdefault(name, []).append(case.id)
    for name, ids in missing.items():
        yield f"{script.path}: has no judgement by {name} for {_listed(ids)} and no {DEFAULT!r}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def _folded(text: str) -> str:
    """Without case, accents and runs of white space, as withheld facts are matched."""
    return " ".join(_plain(text.casefold()).split())


def _plain(text: str) -> str:
    """Without accents; a pattern keeps its case, which means something in it."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
