"""Where a run's pages can be opened."""

from __future__ import annotations

import pytest

from nightgate.steps.addresses import link_to


@pytest.mark.parametrize(
    ("store", "base", "link"),
    [
        ("/srv/store", None, None),
        ("s3://evals", None, "s3://evals/runs/r/report/index.html"),
        ("/srv/store", "https://evals.example/", "https://evals.example/runs/r/report/index.html"),
        ("s3://evals", "https://evals.example/{suite}?run={run_id}", "https://evals.example/support?run=r"),
        ("/srv/store", "https://ana:secret@evals.example:8443", "https://evals.example:8443/runs/r/report/index.html"),
        ("/srv/store", "javascript:alert(1)//{run_id}", None),
        ("/srv/store", "file:///srv/{run_id}", None),
        ("/srv/store", "https://[broken/{run_id}", None),
    ],
)  # fmt: skip
def test_a_link_is_one_that_others_can_open(store: str, base: str | None, link: str | None) -> None:
    """A path on this machine is none; a password is nobody else's."""
    assert link_to(store, "r", "support", base) == link
