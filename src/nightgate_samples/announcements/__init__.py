"""The sample announcements agent: answers questions about a cloud provider's announcements since 2004.

Owns the one name that ``cases/announcements/suite.yaml`` points at. ``catalogue`` and ``generate`` invent
the announcements, ``archive`` stores and finds them, ``agent`` has the instructions and the two tools.
"""

from nightgate_samples.announcements.agent import build

__all__ = ["build"]
