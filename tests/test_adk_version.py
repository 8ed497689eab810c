"""Which google-adk is supported: stated in one place; another one is refused in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from adk_prism.version import ADK_RANGE, OLDEST_ADK, VERSION

ROOT = Path(__file__).parent.parent

STARTS = {
    "serve": ["-m", "adk_prism.cli", "serve", "--port", "0"],
    "run": ["-m", "adk_prism.cli", "run", "tour", "text"],
    "create_app": ["-c", "import adk_prism; adk_prism.create_app"],
    "Prism": ["-c", "from adk_prism import Prism"],
    "client_tool": ["-c", "from adk_prism import client_tool"],
    "server": ["-c", "import adk_prism.server.app"],
}


_STARTED = """
from adk_prism.cli import main, serve
serve.run_server = lambda running, report, loop: running.close()
raise SystemExit(main(["serve", "--port", "0", "--log", "memory:"]))
"""
"""Starts a server up to the moment when it would answer."""


def _run(words: list[str], folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the installed google-adk says that it is of this version."""
    about = folder / f"google_adk-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: google-adk\nVersion: {version}\n"
    )
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("version", ["1.18.0", "2.0.0", "3.0.0"])
@pytest.mark.parametrize("words", STARTS.values(), ids=STARTS)
def test_an_unsupported_adk_gets_one_line(tmp_path: Path, words: list[str], version: str) -> None:
    """Which one is there, which is needed and what to do; exit 1, and no stack."""
    done = _run(words, tmp_path, version)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == (
        f"adk-prism: google-adk {version} is installed, and adk-prism {VERSION} needs"
        f" google-adk{ADK_RANGE}; run: pip install 'google-adk{ADK_RANGE}'"
        " (adk-prism doctor lists all versions)"
    )


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0rc1", "2.20.1", "unknown"])
def test_others_are_not_refused(tmp_path: Path, version: str) -> None:
    """Those that are supported, and those of which nothing can be said."""
    done = _run(["-c", "from adk_prism import client_tool"], tmp_path, version)
    assert (done.returncode, done.stderr) == (0, "")


NEWER = {
    "doctor": ["-m", "adk_prism.cli", "doctor"],
    "fields": ["-m", "adk_prism.cli", "fields", "--check"],
    "serve": ["-c", _STARTED],
}


@pytest.mark.parametrize("version", ["2.13.0", "2.20.1"])
@pytest.mark.parametrize("words", NEWER.values(), ids=NEWER)
def test_an_adk_newer_than_tested_is_told(tmp_path: Path, words: list[str], version: str) -> None:
    """By the commands that say what works, and at the start of a server; nothing is refused for it."""
    done = _run(words, tmp_path, version)
    assert done.returncode == 0
    told = "is newer than 2.13, the newest that" in done.stdout + done.stderr
    assert told is (version == "2.20.1")


_EVENT = '{"id": "e", "author": "a", "invocationId": "i", "timestamp": 1, "content": {"parts": []}}'

WITHOUT = {
    "help": ["-m", "adk_prism.cli", "--help"],
    "replay": ["-m", "adk_prism.cli", "replay", "--help"],
    "project": ["-c", f"from adk_prism import project; list(project(['{_EVENT}']))"],
}


@pytest.mark.parametrize("words", WITHOUT.values(), ids=WITHOUT)
def test_what_needs_no_adk_works_with_any(tmp_path: Path, words: list[str]) -> None:
    """Help, and frames of events that were captured elsewhere."""
    done = _run(words, tmp_path, "1.18.0")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_range_is_the_same_everywhere() -> None:
    """In the package, in what pip is told, and in the README."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    assert f"google-adk{ADK_RANGE}" in wanted
    assert ADK_RANGE.startswith(">={}.{},".format(*OLDEST_ADK))
    assert f"google-adk {ADK_RANGE}" in (ROOT / "README.md").read_text().replace("`", "")
