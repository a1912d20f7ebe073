"""The sample travel-desk agent: a few plain tools, and skills that say how each matter is handled.

Owns the one name that ``cases/skills/suite.yaml`` points at. ``library`` holds the skills as
SKILL.md files, ``rules`` what stands between the agent and a skill, ``desk`` the trips and what was
filed, ``agent`` the instructions and the tools.
"""

from nightgate_samples.skills.agent import build

__all__ = ["build"]
