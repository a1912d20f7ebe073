"""Who judges: one model, or a panel of several; what people write under ``judge``.

Owns the keys of a panel and which panels can come to a verdict. How a panel's verdict is reached from
those of its members is ``nightgate.panels``'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nightgate.cases.fields import CHOICE, Breach, Record, Spec

_LEAST = 2


def _as_panel(value: Any) -> Any:
    return value if isinstance(value, Mapping | Panel) else None


def _as_spec(value: Any) -> Any:
    return None if isinstance(value, Mapping | Panel) else value


class Panel(Record):
    """Several judges instead of one: each judges every output, and a rule makes one verdict of theirs."""

    panel: tuple[Spec, ...]
    """Two or more different judge models."""
    rule: Annotated[Literal["majority", "all"], CHOICE]
    """``majority``: more than half must say so; ``all``: one fail is enough to fail."""
    ties: Annotated[Literal["undecided"], CHOICE] | None = None
    """Has to be said where a majority of an even number can be missed: such a cell is then an error."""

    def breaches(self) -> Iterator[Breach]:
        """Panels that could not decide, or in which one judge has two votes."""
        twice = next((spec for i, spec in enumerate(self.panel) if spec in self.panel[:i]), None)
        if len(self.panel) < _LEAST:
            yield Breach(
                "needs at least 2 judges under panel; a single one is written judge: SPEC", lacks=("panel",)
            )
        elif twice is not None:
            yield Breach(f"names {twice!r} twice under panel; each judge has one vote")
        elif self.rule == "majority" and len(self.panel) % 2 == 0 and self.ties is None:
            yield Breach(
                f"has {len(self.panel)} judges, which can tie; name an odd number, use rule: all, or say "
                "ties: undecided",
                lacks=("panel", "ties"),
            )
        if self.rule == "all" and self.ties is not None:
            yield Breach("says ties, and rule: all knows none; leave it out")

    @classmethod
    def of(cls, rule: str, judges: Sequence[str]) -> Panel:
        """A panel asked for on the command line or taken up again: what ties stays undecided.

        Raises:
            ValueError: If it is none.
        """
        tied = rule == "majority" and len(judges) % 2 == 0
        return cls.model_validate(
            {"panel": tuple(judges), "rule": rule, "ties": "undecided" if tied else None}
        )

    @property
    def judges(self) -> tuple[str, ...]:
        """The specs of its members."""
        return self.panel

    def __str__(self) -> str:
        return panel_text(self.rule, self.panel)


def panel_text(rule: str, judges: Iterable[str]) -> str:
    """What a panel is called where a single judge's spec would stand.

    >>> panel_text("majority", ["scripted:a", "scripted:b", "scripted:c"])
    'majority of scripted:a, scripted:b, scripted:c'
    """
    return f"{rule} of {', '.join(judges)}"


class Judged(Record):
    """Who judges: one model, or a panel of several, both written under ``judge``."""

    # First, so that a misspelt key of a panel finds its nearest; both read the same key of the file.
    panel: Annotated[Panel | None, BeforeValidator(_as_panel)] = Field(default=None, validation_alias="judge")
    judge: Annotated[Spec | None, BeforeValidator(_as_spec)] = None
    """One model's spec, or ``{panel: [spec, spec, spec], rule: majority}``."""

    @property
    def judges(self) -> tuple[str, ...]:
        """The specs of all judges; empty where none is pinned."""
        if self.panel is not None:
            return self.panel.judges
        return (self.judge,) if self.judge is not None else ()

    @property
    def judge_text(self) -> str | None:
        """The judge as people read it: a spec, or a panel in words; None where none is pinned."""
        return self.judge if self.panel is None else str(self.panel)
