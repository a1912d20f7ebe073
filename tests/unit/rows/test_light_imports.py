from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = ["keys", "jsontext", "records", "ledger", "facts", "manifests", "redaction", "groups"]


@pytest.mark.parametrize(
    "module", [*(f"nightgate.rows.{name}" for name in LIGHT), "nightgate.adapters.store"]
)
def test_importing_it_loads_no_heavy_library(module: str) -> None:
    """``check`` and ``--help`` answer at once; these modules lie on their way."""
    heavy = ("pyarrow", "boto3", "botocore", "s3fs", "prefect", "strands")
    code = f"import sys, {module}\nprint([n for n in {heavy} if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
