"""The model of planning: it can be built around, and refuses to be called.

Owns the proof that planning spends nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from strands.models.model import Model

_REFUSED = "the agent called its model while it was being built: factories build, they do not talk"


class RefusingModel(Model):
    """Stands in for the model under test while fingerprints are taken."""

    def update_config(self, **model_config: Any) -> None:
        """Accept and forget: nothing will be sent."""

    def get_config(self) -> dict[str, Any]:
        """A name, for agents that look."""
        return {"model_id": "planning"}

    def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Refuses."""
        raise RuntimeError(_REFUSED)

    def stream(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        """Refuses."""
        raise RuntimeError(_REFUSED)
