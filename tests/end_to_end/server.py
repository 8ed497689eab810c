"""The real server as a child process: `adk-prism serve` on a free port, in a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

AGENTS = Path(__file__).parent / "agents"
"""The bundled tour and the apps of these tests."""

PATIENCE = 60.0
"""Seconds that anything may take on a busy machine before a test gives up."""

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
def serving(folder: Path, *words: str, agents: Path | None = AGENTS) -> Iterator[Server]:
    """Serve `agents` (None: the bundled apps) with further command-line words."""
    apps = [] if agents is None else [str(agents)]
    command = [sys.executable, "-m", "adk_prism.cli", "serve", *apps, "--port", "0", *words]
    environment = {k: v for k, v in os.environ.items() if not _HIDDEN.match(k)}
    environment |= {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    reader = None
    try:
        said: list[str] = []
        while not (found := _READY.match(said[-1] if said else "")):
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
