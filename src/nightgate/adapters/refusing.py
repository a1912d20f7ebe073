"""The model of planning: it can be built around, and refuses to be called.

Owns the proof that planning spends nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NoReturn

from strands.models.model import Model


class RefusingModel(Model):
    """Stands in for the model under test while fingerprints are taken."""

    def update_config(self, **model_config: Any) -> None:
        """Accept and forget: nothing will be sent."""

    def get_config(self) -> dict[str, Any]:
        """A name, for agents that look."""
        return {"model_id": "planning"}

    def _refuse(self) -> NoReturn:
        msg = "the agent called its model while it was being built: factories build, they do not talk"
        raise RuntimeError(msg)

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:  # type: ignore[override]
        """Refuses."""
        self._refuse()
        yield {}

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:  # type: ignore[override]
        """Refuses."""
        self._refuse()
        yield {}
