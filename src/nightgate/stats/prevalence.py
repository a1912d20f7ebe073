"""What the pass rate would be without the judge's mistakes.

Owns the two corrections: by sensitivity and specificity (Rogan-Gladen, with the interval of Lang and
Reiczigel) and by a random sample of labels (prediction-powered mean). Knows no labels, rows or
settings. Standard library only.
"""

from __future__ import annotations

from math import sqrt

from nightgate.stats.agreement import Agreement, Confusion, Figure, quantile


def youden(found: Agreement) -> Figure:
    """Se + Sp - 1: how much more often a judge passes a pass than a fail.

    The interval squares and adds the distances to the ends of the two shares, which are independent.

    Args:
        found: A judge's figures; the interval has their confidence.

    Returns:
        In [-1, 1]; undefined where sensitivity or specificity is.

    Source: Newcombe (1998), Statistics in Medicine 17(8), 873-890, method 10.

    >>> from nightgate.stats.agreement import agreement_of
    >>> found = youden(agreement_of(Confusion(tp=45, fn=5, fp=10, tn=40)))
    >>> round(found.value, 2), round(found.low, 2)
    (0.7, 0.53)
    """
    se, sp = found.sensitivity, found.specificity
    if se.value is None or sp.value is None:
        return Figure()
    assert se.low is not None
    assert sp.low is not None
    assert se.high is not None
    assert sp.high is not None
    value = se.value + sp.value - 1
    low = value - sqrt((se.value - se.low) ** 2 + (sp.value - sp.low) ** 2)
    high = value + sqrt((se.high - se.value) ** 2 + (sp.high - sp.value) ** 2)
    return Figure(value, max(-1.0, low), min(1.0, high), se.n + sp.n)


def rogan_gladen(rate: float, sensitivity: float, specificity: float) -> float | None:
    """The pass rate behind a judge's, given how often it is right.

    Args:
        rate: Share that the judge passes, in [0, 1].
        sensitivity: Share of the passes that it passes.
        specificity: Share of the fails that it fails.

    Returns:
        In [0, 1], cut there where chance led outside; None when Se + Sp is not above 1.

    Source: Rogan and Gladen (1978), American Journal of Epidemiology 107(1), 71-76.

    >>> round(rogan_gladen(0.795, 0.9, 0.8), 6)
    0.85
    >>> rogan_gladen(0.5, 0.5, 0.5) is None
    True
    """
    informative = sensitivity + specificity - 1
    if informative <= 0:
        return None
    return min(1.0, max(0.0, (rate + specificity - 1) / informative))


def lang_reiczigel(
    passed: float, judged: float, *, sensitivity: Figure, specificity: Figure, conf: float = 0.95
) -> Figure:
    """Corrected pass rate with an interval that knows that Se and Sp are estimates too.

    Args:
        passed: Rows that the judge passed; a share times an effective size where rows are alike.
        judged: Rows that it judged.
        sensitivity: Share of the passes that it passes, with its ``n``; the interval is not used.
        specificity: Share of the fails that it fails, with its ``n``.
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        The value of ``rogan_gladen`` with the interval, both in [0, 1]; undefined without a judged
        row, without both shares, or when the judge is not informative (Se + Sp not above 1).

    Raises:
        ValueError: If the counts are impossible or ``conf`` is out of range.

    Source: Lang and Reiczigel (2014), Preventive Veterinary Medicine 113(1), 13-22.

    >>> se, sp = Figure(0.9, n=50), Figure(0.8, n=50)
    >>> found = lang_reiczigel(239, 300, sensitivity=se, specificity=sp)
    >>> [round(end, 3) for end in (found.value, found.low, found.high)]
    [0.852, 0.741, 1.0]
    """
    z2 = quantile(conf) ** 2
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} passed of {judged} judged is impossible; want 0 <= passed <= judged")
    if not judged or sensitivity.value is None or specificity.value is None:
        return Figure()
    value = rogan_gladen(passed / judged, sensitivity.value, specificity.value)
    if value is None:
        return Figure()
    n, n_se, n_sp = judged + z2, sensitivity.n + 2, specificity.n + 2
    rate = (passed + z2 / 2) / n
    se = (sensitivity.value * sensitivity.n + 1) / n_se
    sp = (specificity.value * specificity.n + 1) / n_sp
    informative = se + sp - 1
    middle = (rate + sp - 1) / informative
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    error = sqrt(rate * (1 - rate) / n + of_se * middle**2 + of_sp * (1 - middle) ** 2) / informative
    middle += 2 * z2 * (middle * of_se - (1 - middle) * of_sp)
    low, high = middle - sqrt(z2) * error, middle + sqrt(z2) * error
    return Figure(value, min(value, max(0.0, low)), max(value, min(1.0, high)), judged)


def prediction_powered(
    labelled: Confusion, passed: int, judged: int, *, trust: float = 1.0, conf: float = 0.95
) -> Figure:
    """Pass rate from a random sample of labels, made narrower by the judge's verdicts on the rest.

    The judge's rate on the unlabelled rows, plus how much people differed from it on the labelled
    ones. Right whatever the judge is like, as long as the sample is random.

    Args:
        labelled: The sample: the judge against people.
        passed: Unlabelled rows that the judge passed.
        judged: Unlabelled rows that it judged, at least one.
        trust: How much the judge counts: 1 wholly, 0 not at all (the labels' own rate).
        conf: Two-sided confidence, above 0 and below 1.

    Returns:
        Value and normal interval, cut to [0, 1]; undefined without a label or an unlabelled row.

    Raises:
        ValueError: If the counts are impossible or ``conf`` is out of range.

    Source: Angelopoulos et al. (2023), Science 382(6671), 669-674.

    >>> found = prediction_powered(Confusion(tp=26, fp=14, tn=16), 153, 222)
    >>> [round(end, 3) for end in (found.value, found.low, found.high)]
    [0.439, 0.31, 0.568]
    """
    z = quantile(conf)
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} passed of {judged} judged is impossible; want 0 <= passed <= judged")
    n = labelled.n
    if not n or not judged:
        return Figure()
    rate = passed / judged
    differences = ((1 - trust, labelled.tp), (1.0, labelled.fn), (-trust, labelled.fp), (0.0, labelled.tn))
    shift = sum(by * count for by, count in differences) / n
    spread = sum((by - shift) ** 2 * count for by, count in differences) / n
    half = z * sqrt(trust * trust * rate * (1 - rate) / judged + spread / n)
    value = trust * rate + shift
    return Figure(
        min(1.0, max(0.0, value)), min(1.0, max(0.0, value - half)), min(1.0, max(0.0, value + half)), n
    )
