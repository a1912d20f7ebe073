"""What a person does with a draft case: says yes to its proposals."""

from __future__ import annotations

import re

_PROPOSAL = re.compile(r"^([ ]*)# ", re.MULTILINE)


def uncommented(text: str) -> str:
    """A draft with all of its proposals taken: what an editor does with the lines of ``# ``."""
    return _PROPOSAL.sub(r"\1", text)
