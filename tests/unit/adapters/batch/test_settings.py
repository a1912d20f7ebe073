"""The variables of the batch queue."""

from __future__ import annotations

import pytest

from nightgate.adapters.batch import BatchSettings
from nightgate.errors import InputError


def test_nothing_set_is_patient_and_goes_live() -> None:
    """A hundred records, looked at each quarter of a minute and later less often."""
    usual = BatchSettings.from_environ({})

    assert usual == BatchSettings()
    assert (usual.minimum, usual.rest, usual.poll_cap_s) == (100, "live", 300.0)


def test_all_of_it_can_be_set() -> None:
    """In plain text."""
    set_ = {
        "POLL_S": "0.5",
        "QUIET_S": "2",
        "MIN": "5",
        "MAX": "50",
        "REST": "error",
        "S3": "s3://b",
        "ROLE_ARN": "r",
    }
    found = BatchSettings.from_environ({f"NIGHTGATE_BATCH_{name}": text for name, text in set_.items()})

    assert (found.poll_s, found.poll_cap_s, found.quiet_s) == (0.5, 10.0, 2.0)
    assert (found.minimum, found.maximum, found.rest, found.s3, found.role_arn) == (
        5,
        50,
        "error",
        "s3://b",
        "r",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("POLL_S", "soon"),
        ("POLL_S", "0"),
        ("QUIET_S", "-1"),
        ("QUIET_S", "nan"),
        ("MIN", "inf"),
        ("MAX", "5"),
        ("REST", "no"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(name: str, text: str) -> None:
    """Before anything is spent."""
    with pytest.raises(InputError, match=f"NIGHTGATE_BATCH_{name}"):
        BatchSettings.from_environ({f"NIGHTGATE_BATCH_{name}": text})
