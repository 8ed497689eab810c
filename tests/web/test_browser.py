"""The page in Chromium: every file of browser tests, run by Node's own test runner on the real server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Node
from tests.end_to_end.server import Server

FILES = sorted(Path(__file__).parent.glob("*.test.mjs"))

PATIENCE = 600
"""Seconds for one file, on a machine that is busy with others."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.mjs"))
def test_in_the_browser(
    file: Path, server: Server, odd_server: Server, node: Node, browser: Path, page: Path
) -> None:
    """What the file's own tests say."""
    command = [node.binary, "--test", "--test-reporter=spec", file]
    environment = {**os.environ, "PRISM_URL": server.url, "PRISM_ODD_URL": odd_server.url}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
