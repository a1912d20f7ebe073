"""A trial that is a conversation: the agent under test on one side, a simulated user on the other.

Owns the two scopes (what the user's model costs is not the agent's) and the deadline, which holds for
each agent turn and not for the user's time. The rules of the talk are ``conversations``'.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nightgate.calls import Role, Scope, scoped
from nightgate.cases import Case
from nightgate.conversations import AgentTurn, Partners, SimulatorFault, converse
from nightgate.conversations.personas import BEGIN, render
from nightgate.deadlines import DeadlineError, contained, within
from nightgate.errors import BudgetError, InputError, ModelCallError
from nightgate.plans import Plan
from nightgate.playing.endings import Play, ended, look_around, raised
from nightgate.ports import AgentFactory, Answer, UserModel
from nightgate.talks import Talk
from nightgate.trials import Ending, Usage

_USERS_OWN = frozenset({"call_cap"})
"""Failures of the user's model that are its own doing; all others are transport."""


class _TurnEndedError(Exception):
    """An agent turn that ends the trial."""

    def __init__(self, ending: Ending, error: str | None) -> None:
        super().__init__(error)
        self.ending, self.error = ending, error


async def talk(
    gathered: Play, plan: Plan, case: Case, factory: AgentFactory, model: Any, user: UserModel, scope: Scope
) -> tuple[Ending, str | None]:
    """Play a conversation; how the trial ended.

    Args:
        gathered: Filled on the way.
        plan: Deadline and limits, which hold for each agent turn.
        case: With a persona.
        factory: Builds the agent.
        model: The metered model under test.
        user: The simulated user.
        scope: The agent's, entered by the caller.

    Raises:
        BudgetError: If the run's cap stopped it.
        InputError: If the factory hands out an agent that it may not.
    """
    gathered.talk = Talk()
    sides = _Sides(gathered, plan, case, user, scope)
    try:
        await sides.build(factory, model)
        partners = Partners(agent=sides.agent, user=sides.user, state=sides.state)
        await converse(case, partners, gathered.talk)
    except _TurnEndedError as turn:
        return turn.ending, turn.error
    except SimulatorFault as fault:
        return Ending.SIMULATOR_ERROR, str(fault)
    except DeadlineError:
        return Ending.AGENT_TIMEOUT, f"no answer within {plan.timeout_s:g} s of working time"
    except (InputError, BudgetError):
        raise
    except Exception as error:  # the user's agent may raise anything; it is typed here
        return raised(error, scope)
    finally:
        sides.account()
    return Ending.COMPLETED, None


class _Sides:
    """Both sides of one conversation."""

    def __init__(self, gathered: Play, plan: Plan, case: Case, user: UserModel, scope: Scope) -> None:
        self.gathered, self.plan, self.scope, self.model = gathered, plan, scope, user
        assert case.persona is not None
        self.prompt = render(case.persona, case.language)
        self.users = Scope(
            role=Role.USER,
            run_id=scope.run_id,
            suite=scope.suite,
            case_id=scope.case_id,
            trial=scope.trial,
            play=scope.play,
        )
        self.case = case

    async def build(self, factory: AgentFactory, model: Any) -> None:
        """Build the agent, within an agent turn's deadline."""

        async def built() -> None:
            with contained():
                self.gathered.target = await factory.build(model, self.case)

        await self._timed(built())

    async def agent(self, text: str) -> AgentTurn:
        """One agent turn."""
        target = self.gathered.target
        assert target is not None
        before = len(target.messages)

        async def said() -> Answer:
            with contained():
                return await target.say(text, self.plan.limits)

        self.gathered.answer = answer = await self._timed(said())
        ending, error = ended(self.gathered, self.scope)
        if ending is not Ending.COMPLETED:
            raise _TurnEndedError(ending, error)
        calls = sum("toolUse" in block for m in target.messages[before:] for block in m["content"])
        return AgentTurn(text=answer.text, tool_calls=calls)

    async def _timed(self, work: Any) -> Any:
        began = time.monotonic()
        try:
            result = await within(asyncio.create_task(work), self.plan.timeout_s, self.scope)
        finally:
            self.gathered.agent_s += time.monotonic() - began
        if isinstance(self.scope.fatal, BudgetError):
            raise self.scope.fatal
        return result

    async def user(self, history: Sequence[tuple[str, str]], note: str | None) -> str:
        """The simulated user's next draft; it sees itself as the one who answers."""
        messages = [_message("user", BEGIN)]
        for users, agents in history:
            messages += [_message("assistant", users), _message("user", agents or "(no answer)")]
        prompt = self.prompt if note is None else f"{self.prompt}\n\n{note}"
        try:
            with scoped(self.users):
                return await self.model.say(prompt, messages)
        except BudgetError:
            raise
        except ModelCallError as error:
            assert self.gathered.talk is not None
            self.gathered.talk.transport = error.kind not in _USERS_OWN
            raise SimulatorFault(f"the simulated user's model failed: {error}") from error
        except Exception as error:  # a provider's or a user's model class may raise anything
            raise SimulatorFault(f"the simulated user broke: {type(error).__name__}: {error}") from error

    async def state(self) -> Mapping[str, Any] | None:
        """The target's state after a turn."""
        broken = await look_around(self.gathered, self.scope)
        if broken is not None:
            raise _TurnEndedError(Ending.AGENT_ERROR, broken)
        return self.gathered.state

    def account(self) -> None:
        """Book what the simulated user spent."""
        self.users.closed = True
        assert self.gathered.talk is not None
        notes = self.gathered.talk.simulator
        used: Usage = self.users.usage
        notes.tokens = {
            "input": used.input,
            "output": used.output,
            "cache_read": used.cache_read,
            "cache_write": used.cache_write,
        }
        notes.cost_nanousd, notes.calls = self.users.cost_nanousd, len(self.users.calls)


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}
