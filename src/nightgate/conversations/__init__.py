"""A simulated user, an agent and the state that decides: conversations.

``personas`` makes the user's prompt, ``facts`` finds withheld facts in texts, ``speech`` holds the
user to the rules, ``loop`` plays. The simulator takes no part in judging: the harness counts, and
the target's state decides.
"""

from nightgate.conversations.loop import AgentTurn, Partners, SimulatorFault, converse

__all__ = ["AgentTurn", "Partners", "SimulatorFault", "converse"]
