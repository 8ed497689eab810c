"""`adk api_server` and `adk-prism serve` on the same folder of apps, with the same loopback Gemini."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.outside.gemini import serve_gemini
from tests.patience import PATIENCE

_HIDDEN = re.compile(r"ADK_|GOOGLE_|GEMINI_|.*_API_KEY$")
_STATE = ["--client-state", "user:"]
"""ADK's server lets every client write every key; ours, those that the operator allows."""


@dataclass(frozen=True)
class Servers:
    """The addresses of the two servers."""

    ours: str
    theirs: str


@contextmanager
def both_serving(apps: Path, folder: Path) -> Iterator[Servers]:
    """Start both servers on `apps`; their data and logs go to `folder`."""
    adk = ["-m", "google.adk.cli", "api_server", str(apps)]
    # The session service that ours has too: in memory, values and orders are others.
    stored = ["--session_service_uri", f"sqlite:///{folder / 'theirs' / 'sessions.db'}"]
    stored += ["--artifact_service_uri", "memory://"]
    with ExitStack() as stack:
        gemini = stack.enter_context(serve_gemini())
        ours = stack.enter_context(
            _server(folder / "ours", gemini, ["-m", "adk_prism.cli", "serve", str(apps), *_STATE])
        )
        theirs = stack.enter_context(_server(folder / "theirs", gemini, [*adk, *stored]))
        for each in (ours, theirs):
            _wait_for(each)
        yield Servers(ours.url, theirs.url)


@contextmanager
def ours_serving(apps: Path, folder: Path) -> Iterator[str]:
    """Start our server alone, and yield its address."""
    with serve_gemini() as gemini:
        words = ["-m", "adk_prism.cli", "serve", str(apps), *_STATE]
        with _server(folder / "ours", gemini, words) as ours:
            _wait_for(ours)
            yield ours.url


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    url: str
    log: Path


@contextmanager
def _server(folder: Path, gemini: str, words: Sequence[str]) -> Iterator[_Server]:
    folder.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words, "--port", str(port)],
            # One for both: an agent may tell its model where it is.
            cwd=folder.parent,
            env=_environment(gemini),
            stdout=output,
            stderr=output,
        )
    try:
        yield _Server(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.kill()
        process.wait()


def _environment(gemini: str) -> dict[str, str]:
    """Return our environment without anybody's keys and settings, with the loopback model."""
    kept = {key: value for key, value in os.environ.items() if not _HIDDEN.match(key)}
    return kept | {"GOOGLE_GEMINI_BASE_URL": gemini, "GOOGLE_API_KEY": "not-a-key"}


def _wait_for(server: _Server) -> None:
    limit = time.monotonic() + PATIENCE
    while not _answers(server.url):
        assert server.process.poll() is None, server.log.read_text()
        assert time.monotonic() < limit, server.log.read_text()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url + "/health", timeout=PATIENCE).is_success
    except httpx.TransportError:
        time.sleep(0.05)  # between two attempts; nothing depends on how long
        return False
