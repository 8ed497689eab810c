"""The page in Chromium: every file of browser tests, run by Node's own test runner on the real server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Node
from tests.end_to_end.server import Server

VOICE = Path(__file__).parent / "voice.test.mjs"
FILES = sorted(set(Path(__file__).parent.glob("*.test.mjs")) - {VOICE})

PATIENCE = 3600
"""Seconds for one file. Its own tests give up long before, and say on what."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.mjs"))
def test_in_the_browser(
    file: Path,
    server: Server,
    odd_server: Server,
    asking_server: Server,
    node: Node,
    browser: Path,
    page: Path,
) -> None:
    """What the file's own tests say."""
    environment = {
        "PRISM_URL": server.url,
        "PRISM_ODD_URL": odd_server.url,
        "PRISM_ASKING_URL": asking_server.url,
        "PRISM_TOKENS": str(asking_server.folder / "tokens.json"),
    }
    _run(node, file, environment)


def test_voice_in_the_browser(
    talking_server: Server, asking_server: Server, node: Node, browser: Path, page: Path
) -> None:
    """The same for what is said aloud: to agents of its own, at the pace of speech."""
    environment = {
        "PRISM_URL": talking_server.url,
        "PRISM_ASKING_URL": asking_server.url,
    }
    _run(node, VOICE, environment)


def _run(node: Node, file: Path, environment: dict[str, str]) -> None:
    command = [node.binary, "--test", "--test-reporter=spec", file]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
