"""The real server as a child process, on a free port, in a folder of its own; and ADK's beside it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent / "agents"
"""The bundled tour and the apps of these tests."""


_READY = re.compile(r"adk-prism on (http://\S+) ")
_HIDDEN = re.compile(r"ADK_PRISM_|GOOGLE_|GEMINI_|.*_API_KEY$")


@dataclass
class Server:
    """One server process."""

    process: subprocess.Popen[str]
    folder: Path
    """Its working folder, with the data below it."""
    url: str
    http: httpx.Client
    """A plain client of it."""
    lines: list[str]
    """What it has written to stderr, the ready line apart."""

    def chat(self, app: str = "tour") -> str:
        """Return the address that a chat client posts to."""
        return f"{self.url}/api/chat/{app}"

    @property
    def port(self) -> int:
        """Return the port that it listens on."""
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """Let it die without a word, as when the machine fails."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def terminate(self) -> None:
        """Ask it to stop, as an operator or a container runtime does."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until it has ended; return its exit code."""
        return self.process.wait(seconds)


@contextmanager
def serving(
    folder: Path,
    *words: str,
    agents: Path | None = AGENTS,
    umask: int = -1,
    packages: Path | None = None,
) -> Iterator[Server]:
    """Serve `agents` (None: the bundled apps) with further command-line words.

    `packages` is a folder of packages that come before those of this environment.
    """
    apps = [] if agents is None else [str(agents)]
    command = [sys.executable, "-m", "adk_prism.cli", "serve", *apps, "--port", "0", *words]
    environ = _environment()
    if packages is not None:
        path = filter(None, [str(packages), environ.get("PYTHONPATH", "")])
        environ["PYTHONPATH"] = os.pathsep.join(path)
    process = subprocess.Popen(
        command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True, umask=umask
    )
    assert process.stderr is not None
    reader = None
    try:
        said: list[str] = []
        while not (found := _READY.search(said[-1] if said else "")):
            said.append(process.stderr.readline())
            assert said[-1], "the server has ended: " + "".join(said)
        lines = said[:-1]
        # Read on: a full pipe would stop the server.
        reader = threading.Thread(target=lines.extend, args=(process.stderr,), daemon=True)
        reader.start()
        with httpx.Client(base_url=found[1], timeout=PATIENCE) as http:
            yield Server(process, folder, found[1], http, lines)
    finally:
        process.kill()
        process.wait()
        if reader is not None:
            reader.join()
        process.stderr.close()


@contextmanager
def serving_with_adk(
    folder: Path, *words: str, command: str = "api_server", agents: Path = AGENTS, **variables: str
) -> Iterator[str]:
    """Serve the same apps with ADK's own `adk api_server`, or another command of it; yield its address."""
    port = free_port()
    memory = ["--session_service_uri", "memory://", "--artifact_service_uri", "memory://"]
    start = [sys.executable, "-m", "google.adk.cli", command, str(agents), *memory]
    with (folder / "adk.log").open("w") as log:
        process = subprocess.Popen(
            [*start, "--port", str(port), *words],
            cwd=folder,
            env=_environment() | variables,
            stdout=log,
            stderr=log,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        while not _answers(url):
            assert process.poll() is None, (folder / "adk.log").read_text()
        yield url
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    try:
        return httpx.get(url + "/health", timeout=PATIENCE).is_success
    except httpx.ConnectError:
        time.sleep(0.05)  # between two looks; nothing depends on how long
        return False


def _environment() -> dict[str, str]:
    """Return our environment without anybody's keys and settings, and with models that do not wait."""
    kept = {key: value for key, value in os.environ.items() if not _HIDDEN.match(key)}
    return kept | {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0"}
