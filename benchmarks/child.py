"""The parent's side of a child process: start it, ask it, end it."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START = 60.0
"""Seconds a server may take to listen. Importing ADK takes several."""

_ROOT = Path(__file__).parent.parent
_CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset[int]()


@dataclass(frozen=True)
class Child:
    """A process that runs `benchmarks.served`."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, question: str) -> dict[str, float]:
        """Send a line and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, float]:
        """Return the next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended; run it by hand to see why")
        answer: dict[str, float] = json.loads(line)
        return answer

    def cpu(self) -> float:
        """Return the CPU time the process has used so far."""
        return self.ask("usage")["cpu"]

    def resident(self) -> float:
        """Return the memory the process has resident."""
        return self.ask("usage")["resident"]


@contextmanager
def child(kind: str, *words: str) -> Iterator[Child]:
    """Run a child until the block ends; a server is listening when it begins. `words` are its kind's own."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.served", kind, str(port), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'src'}"},
    )
    _pin(process.pid)
    started = Child(process, port)
    try:
        if kind == "bare":
            started.answer()
        else:
            _wait_for(port, process)
        yield started
    finally:
        process.kill()
        process.wait()


def _pin(child: int) -> None:
    """Give the child one CPU and this process another, where the system lets us choose.

    Only one child works at a time, so all of them meet the same conditions; left to itself, the
    scheduler of a busy machine puts one beside nothing and the next beside everything else.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cpus = sorted(_CPUS)
    os.sched_setaffinity(child, cpus[-1:])
    os.sched_setaffinity(0, cpus[:-1] or cpus)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    patience = time.monotonic() + START
    while time.monotonic() < patience and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not listen; run it by hand to see why")


def allow_open_files(count: int) -> None:
    """Raise this process's limit of open files, and that of children started later."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
