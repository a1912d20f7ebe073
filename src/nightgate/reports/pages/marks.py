"""Small pieces of markup that stand on pages thousands of times: a status, its sign, a text block.

Owns the signs, so that a colour is never the only one. In Python, not in templates, because a page set of
2,000 trials has a hundred thousand of them.
"""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup, escape

from nightgate.reports.pages.texts import Text
from nightgate.reports.pages.visible import visible

GLYPHS = {
    "pass": "✓", "fail": "✗", "inconclusive": "?",
    "measured": "≈", "not_applicable": "–", "error": "!", "skipped": "○",
    "completed": "✓", "agent_error": "✗", "agent_timeout": "✗", "agent_truncated": "✗", "agent_blocked": "✗",
    "simulator_error": "!", "infra_error": "!", "cancelled": "○", "not_run": "○",
}  # fmt: skip
"""A sign for each status, verdict and ending."""
_TONES = {"✓": "good", "✗": "bad", "?": "doubt", "!": "doubt", "≈": "calm", "–": "calm", "○": "calm"}


def glyph(word: str) -> str:
    """The sign of a status, a verdict or an ending; a question mark for one that a newer version wrote."""
    return GLYPHS.get(word, "?")


def tone(word: str) -> str:
    """The class of its colours: good, bad, doubt or calm."""
    return _TONES[glyph(word)]


@lru_cache(maxsize=256)
def status(word: str, count: int | None = None) -> Markup:
    """A status, a verdict or an ending: its sign and its very word.

    Args:
        word: As the contract has it.
        count: How many there are; none at all is no reason for a colour.
    """
    quiet = " zero" if count == 0 else ""
    return Markup(  # noqa: S704 - quoted here, as all below
        f'<span class="st {tone(word)}{quiet}"><span aria-hidden="true">{glyph(word)}</span> '
        f"{_quoted(word)}</span>"
    )


def trial_link(href: str, trial: int, word: str) -> Markup:
    """The sign of a trial's status, leading to the trial."""
    told = f"trial {trial}: {_quoted(word)}"
    return Markup(  # noqa: S704
        f'<a class="gl {tone(word)}" href="{escape(href)}#trial-{trial}" title="{told}" aria-label="{told}">'
        f"{glyph(word)}</a>"
    )


@lru_cache(maxsize=1024)
def night_cell(passed: int | None, judged: int | None, changed: tuple[str, ...] = ()) -> Markup:
    """A night's field of a table: passed of judged; where nothing was judged, a hole and no zero.

    Args:
        passed: Trials.
        judged: Trials.
        changed: What a mark says to have changed before that night.
    """
    if passed is None or judged is None:
        tone_, shown = "calm", '<span class="vh">not judged</span>'
    else:
        sign = '<span aria-hidden="true">✗ </span>' if passed < judged else ""
        tone_, shown = "bad" if sign else "good", f"{sign}{passed}/{judged}"
    marks = "".join(f'<span class="mark">{_quoted(what)} changed</span>' for what in changed)
    return Markup(f'<td class="{tone_}">{shown}{marks}</td>')  # noqa: S704


def block(text: Text | None, kind: str = "said") -> Markup:
    """A text of its own lines; shortened where it is long, with a link to all of it.

    Args:
        text: From ``Texts``; None shows nothing.
        kind: Its class: said, why, args, answer.
    """
    if text is None:
        return Markup("")
    cut = "…" if text.more else ""
    # Reached by the keyboard, because it scrolls.
    tall = ' tabindex="0" role="group" aria-label="long text"' if _is_tall(text.shown) else ""
    kind = f"{kind} tall" if tall else kind
    shown = Markup(f'<pre class="{kind}" dir="auto"{tall}>{_quoted(text.shown)}{cut}</pre>')  # noqa: S704
    return shown + _more(text) if text.more else shown


def inline(text: Text | None) -> Markup:
    """A text within a line."""
    if text is None:
        return Markup("")
    shown = Markup(f"<bdi>{_quoted(text.shown)}</bdi>")  # noqa: S704
    return shown + _more(text) if text.more else shown


_TALL_CHARS, _TALL_LINES = 1_500, 25


def _is_tall(text: str) -> bool:
    return len(text) > _TALL_CHARS or text.count("\n") >= _TALL_LINES


def _more(text: Text) -> Markup:
    return Markup(  # noqa: S704
        f'<span class="more">{text.more:,} more characters. <a href="{escape(text.href)}">Open the whole '
        "text</a></span>"
    )


def _quoted(text: str) -> Markup:
    """Every text on the way into markup."""
    return escape(visible(text))
