"""The travel-desk agent: instructions, four tools, its skills, and the factory that the suite names.

Owns what the model is told and what it may do. Imports Strands, so nothing that has to start fast
may import this module.
"""

from collections.abc import Mapping
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.tools.decorator import DecoratedFunctionTool
from strands.vended_plugins.skills import AgentSkills, Skill

from nightgate import Case, Target
from nightgate_samples.skills.desk import Desk
from nightgate_samples.skills.library import on_the_shelf
from nightgate_samples.skills.rules import LibraryRules

# Written after the cases: one rule for each group of cases in cases/skills.
SYSTEM_PROMPT = """\
You are the travel desk of Brenner & Aalto, a company that inspects bridges and piers. You help
travellers with their business trips. The tools know who the traveller is; you never need to ask for it.

1. How a matter is handled stands in a skill. If one of your skills is about the matter, load it with the
   skills tool before you do anything, under exactly the name that the list gives, and follow its steps.
2. A question about what is booked needs no skill: get_trip answers it.
3. If loading fails, try once more. If it fails again, or is refused, or brings no instructions, or if you
   have no skill for the matter, say so and leave the matter to a colleague. Never make up the steps, and
   file or change nothing.
4. Money before a trip: call get_approval first. Without an approval say that the manager has to approve
   it, and stop there.
5. Trips of other people look like trips that do not exist. Leave it at that.

Answer in the traveller's language, in at most five sentences.
"""

_NO_SUCH_TRIP = "This traveller has no such trip."


def build(model: Model, case: Case) -> Target:
    """Build the agent for one trial, with a desk of its own.

    Args:
        model: The model under test.
        case: Its ``context`` holds ``traveller``, who is signed in; ``skills``, the names of those on
            offer (absent: all; empty: the agent has none); and ``outages``, how many loads of a skill
            fail before the library answers, by skill.

    Returns:
        The agent, and the desk's state after the trial.

    Raises:
        ValueError: If the context names no traveller, or a skill that does not exist.
    """
    desk = _desk(case)
    offered = _offered(case)
    agent = Agent(
        model=model,
        system_prompt=SYSTEM_PROMPT,
        tools=list(_tools(desk)),
        plugins=[AgentSkills(skills=[*offered])] if offered else [],
        hooks=[LibraryRules(desk, _outages(case))],
        callback_handler=None,
    )
    return Target(agent, state=desk.state)


def _desk(case: Case) -> Desk:
    traveller = case.context.get("traveller")
    try:
        return Desk(traveller if isinstance(traveller, str) else "")
    except ValueError as error:
        raise ValueError(
            f"case {case.id}: context.traveller is {traveller!r}: {error}. "
            "Add `context: {traveller: E-07}` to the case."
        ) from None


def _offered(case: Case) -> list[Skill]:
    shelf = on_the_shelf()
    names: Any = case.context.get("skills", list(shelf))
    unknown = [name for name in names if name not in shelf] if isinstance(names, list | tuple) else [names]
    if unknown:
        raise ValueError(
            f"case {case.id}: context.skills names {unknown[0]!r}; there are {', '.join(shelf)}. "
            "Write a list of these, or leave the key out for all of them."
        )
    return [shelf[name] for name in names]


def _outages(case: Case) -> dict[str, int]:
    outages: Any = case.context.get("outages", {})
    if not isinstance(outages, Mapping) or not all(isinstance(count, int) for count in outages.values()):
        raise ValueError(
            f"case {case.id}: context.outages is {outages!r}: "
            "write how often a load fails, like {lost-luggage: 1}."
        )
    return dict(outages)


def _tools(desk: Desk) -> tuple[DecoratedFunctionTool[..., str], ...]:
    """Make the four tools of one trial; their docstrings are what the model reads."""

    @tool
    def get_trip(trip_id: str) -> str:
        """Look up one of the traveller's trips: place, dates, legs, purpose.

        Args:
            trip_id: The id of the trip, like T-310.
        """
        trip = desk.trip(trip_id)
        return _NO_SUCH_TRIP if trip is None else f"{trip.trip_id}: {trip.text}"

    @tool
    def get_approval(trip_id: str) -> str:
        """Look up whether the manager has approved an advance for one of the traveller's trips.

        Args:
            trip_id: The id of the trip, like T-310.
        """
        amount = desk.approval(trip_id)
        if amount is None:
            return "No advance has been approved for this trip."
        return f"The manager has approved an advance of up to {amount} EUR for this trip."

    @tool
    def file_report(trip_id: str, kind: str, text: str) -> str:
        """File a report or a request on one of the traveller's trips. A colleague acts on it.

        Args:
            trip_id: The id of the trip, like T-310.
            kind: What it is, as the skill says, like expense.
            text: All that the colleague has to know.
        """
        report_id = desk.file(trip_id, kind, text)
        return _NO_SUCH_TRIP if report_id is None else f"Filed as {report_id}."

    @tool
    def change_trip(trip_id: str, change: str) -> str:
        """Change one of the traveller's booked trips. It cannot be taken back.

        Args:
            trip_id: The id of the trip, like T-310.
            change: The leg and its new time, in one line.
        """
        return "Changed." if desk.change(trip_id, change) else _NO_SUCH_TRIP

    return get_trip, get_approval, file_report, change_trip
