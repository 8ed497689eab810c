"""Where a server connects to while its files are asked for: nowhere but to the one store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE
from tests.security.files.emulator import Stored, emulating, service_account
from tests.security.files.references import REFUSED

ROOT = Path(__file__).parents[3]


def outbound(emulator: str, allowed: str, **environ: str) -> Any:
    """Run the server in a process of its own; return what it did."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.files.outbound", emulator, allowed],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        | environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("real", [False, True], ids=["the emulator", "the real store's name"])
def test_a_server_connects_to_its_store_alone(real: bool, tmp_path: Path) -> None:
    """Whatever the references say; addresses in them are not even looked up.

    Without an emulator the store is `storage.googleapis.com`, which the process is kept from, and the
    account's own server.
    """
    with emulating() as store:
        store.objects["pictures/public/a.png"] = Stored(b"picture")
        allowed = urlsplit(store.url).netloc
        account = {"GOOGLE_APPLICATION_CREDENTIALS": str(service_account(tmp_path, store))}
        found = outbound("" if real else store.url, allowed, **account)
    host, port = allowed.split(":")
    expected = {(host, int(port))} | ({("storage.googleapis.com", 443)} if real else set())
    assert {(where, port) for _, where, port in found["seen"]} == expected
    first, *rest = found["statuses"]
    assert first == (502 if real else 200)
    reached = {404: 502} if real else {}
    for case, status in zip(REFUSED, rest, strict=True):
        is_escaped = "%2e" in case.uri  # a name like any other, and asked for as such
        assert status == (reached.get(case.status, case.status) if is_escaped else case.status), (
            case.id
        )
