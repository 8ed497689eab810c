"""The page in Chromium: every file of browser tests, run by Node's own test runner on the real server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Node
from tests.end_to_end.server import AGENTS, Server, free_port, serving
from tests.features.evaluation.packages import PACKAGES
from tests.features.evaluation.shops import two_shops

VOICE = Path(__file__).parent / "voice.test.mjs"
REMOTE = Path(__file__).parent / "remote.test.mjs"
EVALS = Path(__file__).parent / "evaluation.test.mjs"
COSTS = Path(__file__).parent / "costs.test.mjs"
WATCH = Path(__file__).parent / "watch.test.mjs"
FILES = sorted(set(Path(__file__).parent.glob("*.test.mjs")) - {VOICE, REMOTE, EVALS, COSTS, WATCH})

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


def test_a_remote_app_in_the_browser(node: Node, browser: Path, page: Path, tmp_path: Path) -> None:
    """The same for an app on ADK's own server, which the file starts and kills."""
    url = f"http://127.0.0.1:{free_port()}"
    stores = ["--session_service_uri", f"sqlite:///{tmp_path}/far.db"]
    stores += ["--artifact_service_uri", "memory://", "--port", url.rpartition(":")[2]]
    command = [sys.executable, "-m", "google.adk.cli", "api_server", str(AGENTS), *stores]
    with serving(tmp_path, "--remote", f"tour={url}", agents=None) as ours:
        environment = {
            "PRISM_URL": ours.url,
            "PRISM_REMOTE_URL": ours.url,
            "PRISM_FAR_URL": url,
            "PRISM_FAR_COMMAND": json.dumps(command),
            "ADK_PRISM_MODEL": "offline",
            "ADK_PRISM_OFFLINE_DELAY": "0",
        }
        _run(node, REMOTE, environment)


def test_costs_in_the_browser(node: Node, browser: Path, page: Path, tmp_path: Path) -> None:
    """The same for a server that has prices."""
    (tmp_path / "prices.json").write_text('{"tour-offline": {"input": 300, "output": 2500}}')
    with serving(tmp_path, "--prices", "prices.json", agents=None) as ours:
        _run(node, COSTS, {"PRISM_URL": ours.url})


def test_evaluations_in_the_browser(node: Node, browser: Path, page: Path, tmp_path: Path) -> None:
    """The same for two shops, on a server that has ADK's evaluators."""
    agents = two_shops(tmp_path)
    with serving(tmp_path, agents=agents, packages=PACKAGES) as ours:
        _run(node, EVALS, {"PRISM_URL": ours.url, "PRISM_AGENTS": str(agents)})


def test_saved_code_in_the_browser(node: Node, browser: Path, page: Path, tmp_path: Path) -> None:
    """The same for an app whose files the tests change."""
    agents = tmp_path / "agents"
    shutil.copytree(WATCH.parent / "saved", agents)
    with serving(tmp_path, agents=agents) as ours:
        environment = {"PRISM_AGENTS": str(agents), "PRISM_PICTURES": str(tmp_path)}
        _run(node, WATCH, {"PRISM_URL": ours.url, **environment})


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
