# ruff: noqa: INP001 - a script, not part of a package
"""Secrets of ``compose.yaml``, drawn once: ``python infra/local_secrets.py``. For one machine only.

Writes the folder ``infra/secrets``, which git ignores. What is there already stays; to draw one again, remove
its file (``s3_identities.json`` and ``aws_credentials`` belong together).
"""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("secrets")
_BYTES = 24


def texts() -> dict[str, str]:
    """Content by file name; fresh each time."""
    access, secret = f"local-{secrets.token_hex(4)}", secrets.token_urlsafe(_BYTES)
    credentials = [{"accessKey": access, "secretKey": secret}]
    identity = {
        "name": "nightgate",
        "credentials": credentials,
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    return {
        "api_auth": f"nightgate:{secrets.token_urlsafe(_BYTES)}",
        "postgres_password": secrets.token_urlsafe(_BYTES),
        "s3_identities.json": json.dumps({"identities": [identity]}),
        "aws_credentials": f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n",
    }


def main(folder: Path = FOLDER) -> int:
    """Write what is missing; says what."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, text in texts().items():
        path = folder / name
        if path.exists():
            sys.stdout.write(f"kept {path}\n")
            continue
        path.write_text(text, encoding="utf-8")
        # Containers run under other users and see the file alone; on this machine the folder is closed.
        path.chmod(0o644)
        sys.stdout.write(f"drew {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
