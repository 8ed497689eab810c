"""Many chats on one server process: do memory, open descriptors and disk stay flat?

`python -m benchmarks.many_chats [--chats 20000] [--piece 2000] [OPTION ...]` starts `adk-prism serve` with
the bundled apps in a temporary data folder and otherwise default settings; further words are options of
`serve`. Each chat is a new session with one short message; every fifth gets a second one. After each piece
it prints one line. It takes 10 to 45 minutes, so `make bench` does not run it.

Exits with 1 if memory or descriptors grew in the second half of the chats, or if a chat failed. In the first
half caches of a fixed size fill, and the first housekeeping pass (after ten minutes) takes its memory.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import read_all, request

CLIENTS = 4
"""Chats at a time: enough to keep one server process busy."""
PROMPTS = ("hello",) * 8 + ("tool", "reasoning")
FOLLOW_UP = 5
"""Every fifth chat gets a second message."""
GROWTH = 1.05
"""Largest resident memory at the end, against that after the first half."""
EXTRA_DESCRIPTORS = 8
"""Of connections that happen to be open during a look."""

_READY = re.compile(r"adk-prism on http://[^:]+:(\d+)")


@dataclass(frozen=True)
class Look:
    """What the server process holds after so many chats."""

    chats: int
    seconds: float
    resident: int
    descriptors: int
    threads: int
    runs: int
    sessions: int

    def line(self) -> str:
        """Return the look as one row of a Markdown table."""
        stored = (self.runs + self.sessions) / max(1, self.chats)
        return (
            f"| {self.chats:6,} | {self.seconds:5.0f} s | {_mib(self.resident)} | {self.descriptors:4} "
            f"| {self.threads:4} | {_mib(self.runs)} | {_mib(self.sessions)} | {stored / 1024:6.1f} KiB |"
        )


HEAD = """| chats  | piece   |  resident | fds  | thr  |  runs.db  | sessions  | disk per chat |
| ------ | ------- | --------- | ---- | ---- | --------- | --------- | ------------- |"""


def main() -> int:
    """Measure, print a line for each piece, and say whether anything grew."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_chats", description=__doc__)
    parser.add_argument("--chats", type=int, default=20_000)
    parser.add_argument("--piece", type=int, default=2_000)
    args, options = parser.parse_known_args()
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder), options) as (pid, port):
        looks = list(_pieces(pid, port, Path(folder), args.chats, args.piece))
    return _verdict(looks)


def _pieces(pid: int, port: int, folder: Path, chats: int, piece: int) -> Iterator[Look]:
    with ThreadPoolExecutor(CLIENTS) as clients:
        for done in range(0, chats, piece):
            began = time.monotonic()
            numbers = range(done, min(done + piece, chats))
            list(clients.map(lambda number: _chat(port, number), numbers))
            look = _look(pid, folder, numbers.stop, time.monotonic() - began)
            print(look.line(), flush=True)
            yield look


def _chat(port: int, number: int) -> None:
    prompt = PROMPTS[number % len(PROMPTS)]
    for turn in range(2 if number % FOLLOW_UP == 0 else 1):
        message = {"id": f"m{turn}", "role": "user", "parts": [{"type": "text", "text": prompt}]}
        body = {"id": f"chat-{number}", "messages": [message], "trigger": "submit-message"}
        answer = read_all(request(port, "/api/chat/tour", body))
        if b'"type":"finish"' not in answer:
            raise RuntimeError(f"chat {number} did not finish: {answer[-300:]!r}")


def _verdict(looks: list[Look]) -> int:
    warm, last = looks[(len(looks) - 1) // 2], looks[-1]
    memory = last.resident / warm.resident
    descriptors = last.descriptors - warm.descriptors
    stored = (last.runs + last.sessions) / (warm.runs + warm.sessions) * warm.chats / last.chats
    print(
        f"from {warm.chats:,} to {last.chats:,} chats: memory {memory:.3f} × (target {GROWTH:g}), "
        f"{descriptors:+} descriptors, disk per chat {stored:.2f} ×"
    )
    return int(memory > GROWTH or descriptors > EXTRA_DESCRIPTORS)


# --------------------------------------------------------------------------- the server


@contextmanager
def _serving(folder: Path, options: list[str]) -> Iterator[tuple[int, int]]:
    words = ["serve", "--port", "0", "--data-dir", str(folder / "data"), *options]
    environment = {**os.environ, "ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0"}
    with (folder / "stderr").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "adk_prism.cli", *words],
            cwd=folder,
            env=environment,
            stderr=errors,
        )
    try:
        while not (found := _READY.search((folder / "stderr").read_text())):
            if process.poll() is not None:
                raise RuntimeError((folder / "stderr").read_text())
            time.sleep(0.1)
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait()


def _look(pid: int, folder: Path, chats: int, seconds: float) -> Look:
    status = Path(f"/proc/{pid}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+) kB", status)
    threads = re.search(r"Threads:\s+(\d+)", status)
    assert resident is not None
    assert threads is not None
    data = folder / "data"
    runs = sum(file.stat().st_size for file in data.glob("runs.db*"))
    return Look(
        chats=chats,
        seconds=seconds,
        resident=int(resident[1]) * 1024,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        threads=int(threads[1]),
        runs=runs,
        sessions=sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) - runs,
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:5.1f} MiB"


if __name__ == "__main__":
    sys.exit(main())
