import json
import math
import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import Confusion, agreement_of, krippendorff_alpha, wilson
from nightgate.stats.agreement import kappa_of, kappa_slope, share

VECTORS = {
    vector["id"]: vector
    for vector in json.loads((Path(__file__).parents[2] / "data" / "stats_vectors.json").read_text())[
        "vectors"
    ]
}
JUDGES = [vector for name, vector in VECTORS.items() if name.startswith("judge-")]
counts = st.integers(0, 60)
tables = st.builds(Confusion, tp=counts, fn=counts, fp=counts, tn=counts)
both_sides = tables.filter(
    lambda t: t.passes and t.fails and t.tp + t.fp and t.fn + t.tn  # neither side says one thing only
)


def table_of(expected: dict) -> Confusion:
    return Confusion(**{name: expected[name] for name in ("tp", "fn", "fp", "tn")})


@pytest.mark.parametrize("vector", JUDGES, ids=lambda vector: vector["id"])
def test_judges_of_published_conversations_match(vector: dict) -> None:
    """Kappa is scikit-learn's."""
    expected = vector["expected"]

    found = agreement_of(table_of(expected))

    for name in ("agreement", "kappa", "sensitivity", "specificity"):
        assert getattr(found, name).value == pytest.approx(expected[name], abs=1e-11)


def test_krippendorffs_own_example_matches() -> None:
    """Four coders, twelve units, gaps."""
    vector = VECTORS["kripp-book"]
    units = list(zip(*vector["inputs"]["ratings"], strict=True))

    assert krippendorff_alpha(units) == pytest.approx(vector["expected"]["nominal"], abs=vector["tol"])


def test_alpha_is_fleiss_kappa_but_for_the_small_sample() -> None:
    """With complete data the two differ by the factor (n - 1) / n of the expected disagreement."""
    vector = VECTORS["fleiss-example"]
    units = [
        [category for category, count in enumerate(row) for _ in range(count)]
        for row in vector["inputs"]["counts"]
    ]
    n = sum(map(len, units))

    alpha = krippendorff_alpha(units)

    assert 1 - (1 - alpha) * n / (n - 1) == pytest.approx(vector["expected"]["kappa"], abs=vector["tol"])


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4), max_size=12))
def test_alpha_is_one_less_disagreement_over_chance(units: list[list[str | None]]) -> None:
    """The definition, pair by pair: within units against all values put together."""
    rated = [said for unit in units if len(said := [v for v in unit if v is not None]) > 1]
    values = [value for unit in rated for value in unit]
    seen = sum(
        sum(unit[i] != unit[j] for i, j in product(range(len(unit)), repeat=2) if i != j) / (len(unit) - 1)
        for unit in rated
    )
    chance = sum(values[i] != values[j] for i, j in product(range(len(values)), repeat=2) if i != j)

    alpha = krippendorff_alpha(units)

    if not chance:
        assert alpha is None
    else:
        expected = 1 - (seen / len(values)) / (chance / (len(values) * (len(values) - 1)))
        assert alpha == pytest.approx(expected)


@given(tables)
def test_shares_have_wilsons_interval(table: Confusion) -> None:
    """The same that every other share has."""
    found = agreement_of(table).sensitivity
    if table.passes:
        assert (found.low, found.high) == pytest.approx(wilson(table.tp, table.passes))
    else:
        assert (found.value, found.low, found.high) == (None, None, None)


@given(tables)
def test_figures_lie_in_their_intervals(table: Confusion) -> None:
    found = agreement_of(table)
    for figure in (found.agreement, found.kappa, found.sensitivity, found.specificity):
        if figure.value is not None:
            assert -1 <= figure.low <= figure.value <= figure.high <= 1


@given(tables)
def test_kappa_is_unknown_where_a_side_says_one_thing_only(table: Confusion) -> None:
    """0 would read as agreement by chance."""
    constant = not (table.passes and table.fails and table.tp + table.fp and table.fn + table.tn)
    assert (agreement_of(table).kappa.value is None) is constant


@given(both_sides)
def test_kappa_is_agreement_beyond_chance(table: Confusion) -> None:
    n = table.n
    chance = (table.passes * (table.tp + table.fp) + table.fails * (table.fn + table.tn)) / n**2
    expected = ((table.tp + table.tn) / n - chance) / (1 - chance)
    assert agreement_of(table).kappa.value == pytest.approx(expected, abs=1e-9)


@given(both_sides)
def test_kappas_error_is_that_of_fleiss_cohen_and_everitt(table: Confusion) -> None:
    """Their formula for large samples, written out."""
    n = table.n
    p = [[table.tp / n, table.fn / n], [table.fp / n, table.tn / n]]
    rows, columns = [sum(row) for row in p], [p[0][j] + p[1][j] for j in (0, 1)]
    chance = sum(rows[i] * columns[i] for i in (0, 1))
    kappa = (p[0][0] + p[1][1] - chance) / (1 - chance)
    a = sum(p[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    b = (1 - kappa) ** 2 * (p[0][1] * (columns[0] + rows[1]) ** 2 + p[1][0] * (columns[1] + rows[0]) ** 2)
    c = (kappa - chance * (1 - kappa)) ** 2
    half = 1.959963984540054 * math.sqrt(max(0.0, a + b - c) / (n * (1 - chance) ** 2))

    found = agreement_of(table).kappa

    if table.fn or table.fp:
        assert found.low == pytest.approx(max(-1.0, kappa - half), abs=1e-6)
        assert found.high == pytest.approx(min(1.0, kappa + half), abs=1e-6)
    else:
        assert found.low < found.high == 1.0


@given(st.tuples(*[st.floats(0.05, 1)] * 4), st.integers(0, 3))
def test_the_slope_of_kappa_is_its_slope(cells: tuple[float, float, float, float], which: int) -> None:
    step = 1e-6
    moved = tuple(cell + step * (i == which) for i, cell in enumerate(cells))
    assert kappa_slope(cells)[which] == pytest.approx((kappa_of(moved) - kappa_of(cells)) / step, abs=1e-3)


def test_four_labels_that_all_agree_prove_nothing() -> None:
    """The normal interval of a kappa of 1 has no width."""
    found = agreement_of(Confusion(tp=2, tn=2)).kappa
    assert found.value == 1
    assert found.low < 0.4


def test_kappas_interval_covers() -> None:
    """50 passes and 50 fails, sensitivity .9, specificity .8: kappa is .7."""
    rng = random.Random(5)
    covered = 0
    for _ in range(1000):
        tp, tn = (sum(rng.random() < rate for _ in range(50)) for rate in (0.9, 0.8))
        found = agreement_of(Confusion(tp=tp, fn=50 - tp, tn=tn, fp=50 - tn)).kappa
        covered += found.low <= 0.7 <= found.high
    assert 925 <= covered <= 985


@pytest.mark.parametrize("conf", [0, 1, -1, 2])
def test_a_confidence_is_between_0_and_1(conf: float) -> None:
    with pytest.raises(ValueError, match="no confidence"):
        share(1, 2, conf)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="below 0"):
        Confusion(tp=-1)
    with pytest.raises(TypeError):
        Confusion(tp=0.5)
