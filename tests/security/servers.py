"""Real servers to attack, each a process: ours with two users, and ADK's own `api_server`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.patience import PATIENCE
from tests.security.people import headers, token_file

AGENTS = Path(__file__).parent / "agents"
APP = "echo"
CANARY = "canary-7c2e1f90ab34d856"


@dataclass
class Server:
    """A server under attack."""

    name: str
    url: str
    process: subprocess.Popen[bytes]
    folder: Path
    ann: dict[str, str] = field(default_factory=dict)
    """What Ann sends to be known; nothing where nobody has to be."""

    def memory(self) -> int:
        """Return the bytes that it has in memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def work(self) -> float:
        """Return the seconds for which it has had a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)


@contextmanager
def ours(folder: Path, sessions: str = "") -> Iterator[Server]:
    """Serve with adk-prism, to callers who have to be known."""
    options = ["--log", f"sqlite:///{folder}/runs.db", "--tokens", token_file(folder)]
    options += ["--artifacts", f"file://{folder}/artifacts"]
    options += ["--sessions", sessions or f"sqlite:///{folder}/sessions.db"]
    options += ["--access-log", "--log-format", "json", "--audit", f"{folder}/audit.jsonl"]
    command = ["-m", "adk_prism.cli", "serve", str(AGENTS), *options]
    with started("adk-prism", folder, command, headers("ann")) as server:
        yield server


@contextmanager
def theirs(folder: Path, sessions: str = "") -> Iterator[Server]:
    """Serve with `adk api_server`."""
    uri = sessions or f"sqlite:///{folder}/sessions.db"
    options = ["--session_service_uri", uri, "--artifact_service_uri", f"file://{folder}/artifacts"]
    command = ["-m", "google.adk.cli", "api_server", *options, str(AGENTS)]
    with started("adk api_server", folder, command, {}) as server:
        yield server


@contextmanager
def started(name: str, folder: Path, command: list[str], known: dict[str, str]) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {**os.environ, "SERVICE_API_KEY": CANARY, "PYTHONWARNINGS": "ignore"}
    with (folder / "out.log").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command, "--port", str(port)],
            cwd=folder,
            env=environ,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            server = Server(name, f"http://127.0.0.1:{port}", process, folder, known)
            _wait(server)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait(server: Server) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.process.poll() is None, (server.folder / "out.log").read_text()
        try:
            if httpx.get(f"{server.url}/health", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError(f"{server.name} does not start")
