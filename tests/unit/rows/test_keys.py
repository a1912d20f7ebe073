from __future__ import annotations

import string
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.adapters.store.checks import checked_key
from nightgate.errors import InputError, StoreError
from nightgate.rows import keys

DAY = date(2026, 11, 29)
HARD_IDS = ["a/b", "../esc", "con:1", "x" * 300, "réfund 🧾", "\u202eمرحبا", "%2F", "", ".", "\0", "\ud800"]


def test_the_layout_is_the_promised_one() -> None:
    """Other tools find tables by these paths."""
    assert (
        keys.part_key("scores", "support", DAY, "r-1", "part-00.parquet")
        == "scores/support/2026-11-29/r-1/part-00.parquet"
    )
    assert keys.summaries_key("support", DAY, "r-1") == "summaries/support/2026-11-29/r-1.parquet"
    assert keys.manifest_key("support", DAY, "r-1") == "manifests/support/2026-11-29/r-1.json"
    assert keys.plan_key("r-1") == "runs/r-1/plan.json"
    assert keys.summary_key("r-1") == "runs/r-1/summary.json"
    assert keys.report_key("r-1", "index.html") == "runs/r-1/report/index.html"
    assert keys.staging_key("r-1", "00000001-ab.ngg") == "staging/r-1/00000001-ab.ngg"
    assert keys.baseline_key("support") == "baselines/support.json"
    assert keys.night_key("support", DAY) == "nights/support/2026-11-29.json"
    assert keys.night_holder_key("r-1") == "runs/r-1/night.json"


@pytest.mark.parametrize("text", ["", "x" * 65, "Upper", "a/b", "..", "a_b", "é", "a\n", "a b"])
def test_ids_that_could_leave_their_place_are_refused(text: str) -> None:
    """Ids come from the command line and stand in keys as they are."""
    with pytest.raises(InputError):
        keys.run_key(text, "plan.json")
    with pytest.raises(InputError):
        keys.baseline_key(text)


@given(st.text("-" + string.digits + string.ascii_lowercase, min_size=1, max_size=64))
def test_every_allowed_id_gives_a_key_that_every_store_takes(text: str) -> None:
    """The two rules must not contradict each other."""
    assert checked_key(keys.manifest_key(text, DAY, text))


@pytest.mark.parametrize(
    "name", ["../plan.json", "/etc/passwd", "a//b", ".hidden", "a/../b", "", "a\\b", "k=v", "a/"]
)
def test_object_names_are_plain(name: str) -> None:
    """A report file's name may not reach another run."""
    with pytest.raises(StoreError):
        keys.run_key("r-1", name)


@pytest.mark.parametrize("case_id", HARD_IDS)
def test_case_ids_are_hashed(case_id: str) -> None:
    """They are any text, and stand in keys only like this."""
    slug = keys.case_slug(case_id)

    assert len(slug) == 20
    assert set(slug) <= set(string.hexdigits.lower())


def test_hard_case_ids_stay_apart() -> None:
    """Two cases in one file would overwrite each other."""
    assert len({keys.case_slug(case_id) for case_id in HARD_IDS}) == len(HARD_IDS)


def test_a_manifest_key_says_which_run_it_commits() -> None:
    """Listing manifests is how runs are found."""
    assert keys.parse_manifest_key(keys.manifest_key("support", DAY, "r-1")) == ("support", DAY, "r-1")


@pytest.mark.parametrize(
    "key", ["manifests/support/2026-13-01/r.json", "manifests/x.json", "runs/r/plan.json"]
)
def test_other_keys_commit_nothing(key: str) -> None:
    """Somebody may leave a file there."""
    assert keys.parse_manifest_key(key) is None
