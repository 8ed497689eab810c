"""A server whose stdout and stderr cannot be written: it starts, runs and stops as ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.end_to_end.server import free_port
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent.parent / "security" / "hostile"


@contextmanager
def unwritable(kind: str) -> Iterator[int]:
    """Give a descriptor to which nothing can be written."""
    if kind == "full disk":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, descriptor = os.pipe()
        os.close(reading)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def started(folder: Path, kind: str, *words: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    command = [sys.executable, "-m", "adk_prism.cli", "serve", str(AGENTS), "--port", str(port)]
    with unwritable(kind) as out:
        process = subprocess.Popen([*command, *words], cwd=folder, stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            try:
                httpx.get(f"{url}/health", timeout=PATIENCE)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url, process
    finally:
        process.kill()
        process.wait()


def outcome(url: str, text: str, session: str) -> tuple[str, str]:
    """Say something; return how the run ended."""
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}
    answer = httpx.post(
        f"{url}/api/chat/hostile", json={"id": session, "messages": [message]}, timeout=PATIENCE
    )
    run = answer.headers["x-prism-run"]
    recording = httpx.get(f"{url}/api/runs/{run}/recording", timeout=PATIENCE).text
    ended = json.loads(recording.splitlines()[-1])
    return ended["outcome"], ended.get("code", "")


@pytest.mark.parametrize("kind", ["closed pipe", "full disk"])
@pytest.mark.parametrize(
    "words",
    [(), ("--access-log", "--log-format", "json", "--log-level", "debug")],
    ids=["as it is", "with all logs"],
)
def test_a_line_that_cannot_be_written_ends_nothing(
    kind: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Start, diagnostics, log records, the access log and an app's own prints; then the end."""
    with started(tmp_path, kind, *words) as (url, process):
        assert process.poll() is None
        assert outcome(url, "work print", "a") == ("finished", "")
        assert outcome(url, "block print", "b") == ("finished", "")
        assert outcome(url, "work panic", "c") == ("failed", "Panic")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_what_was_lost_is_counted() -> None:
    """Once the stream can be written again, it says how much is missing."""
    code = (
        "import os, sys; from adk_prism.cli.terminal import keep_printing\n"
        "keep_printing('stdout', 'stderr')\n"
        "good = os.dup(2); full = os.open('/dev/full', os.O_WRONLY)\n"
        "os.dup2(full, 2); print('lost', file=sys.stderr); os.dup2(good, 2)\n"
        "print('seen', file=sys.stderr); print('out')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "out\n"
    assert (
        done.stderr == "adk-prism: 5 bytes could not be written (No space left on device).\nseen\n"
    )


def test_a_command_whose_stderr_was_closed_before(tmp_path: Path) -> None:
    """There is no such stream at all: the result is printed, and the notes are not."""
    command = f"{sys.executable} -m adk_prism.cli runs --log sqlite:///{tmp_path}/none.db 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout
