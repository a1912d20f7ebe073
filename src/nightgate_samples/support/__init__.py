"""The sample support agent: answers policy questions, reports on cases and resolves them.

Owns the one name that ``cases/support/suite.yaml`` points at. ``desk`` holds the facts that no
model may bend, ``knowledge`` the fixed articles, ``agent`` the instructions and the three tools.
"""

from nightgate_samples.support.agent import build

__all__ = ["build"]
