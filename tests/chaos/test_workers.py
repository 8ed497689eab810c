"""`--workers N`: several processes on one port, which go on with each other's runs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
from tests.patience import PATIENCE
from tests.redis_server import RedisServer

_READY = re.compile(r"adk-prism on (http://\S+) ")


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in listed.split()]


def _wait_for_children(process: int, count: int) -> None:
    """Wait until a process has so many."""
    until = time.monotonic() + PATIENCE
    while len(children(process)) != count:
        assert time.monotonic() < until, f"{children(process)} are not {count}"
        time.sleep(0.05)  # between two looks at other processes


def free_ports(count: int) -> int:
    """Return the first of so many free ports in a row."""
    for first in range(20_000 + os.getpid() % 20_000, 60_000, count):
        with ExitStack() as held, suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError("no free ports")


def test_a_worker_that_is_killed(redis: RedisServer, tmp_path: Path) -> None:
    """Another one goes on with its runs, a new one takes its place, and a signal ends them all."""
    own = free_ports(2)
    words = ["--workers", "2", "--log", redis.url, "--lease", "4s", "--port", "0", "--grace", "2s"]
    words += ["--worker-port", str(own)]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ADK_PRISM_", "GOOGLE_"))}
    offline = {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0.01"}
    process = subprocess.Popen(
        [sys.executable, "-m", "adk_prism.cli", "serve", *words],
        cwd=tmp_path,
        env=kept | offline,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        url = ""
        for line in process.stderr:
            if found := _READY.search(line):
                url = found[1]
                break
        time.sleep(6)  # A worker that dies in its first seconds is taken for one that cannot live.
        first = children(process.pid)
        assert len(first) == 2
        numbers = [
            httpx.get(f"http://127.0.0.1:{own + n}/metrics", timeout=PATIENCE).text
            for n in range(2)
        ]
        told = [re.findall(r'adk_prism_info\{[^}]*process="(\d+)"', text) for text in numbers]
        assert sorted(told) == sorted([str(worker)] for worker in first)
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            message = {"role": "user", "parts": [{"type": "text", "text": "long 300"}]}
            body = {"id": "chat", "messages": [message]}
            with http.stream("POST", "/api/chat/tour", json=body) as answer:
                run = answer.headers["x-prism-run"]
            for worker in first[:1]:
                os.kill(worker, signal.SIGKILL)
            told = _read(http, run)
        said = "".join(json.loads(line[6:])["delta"] for line in told if '"text-delta"' in line)
        assert re.findall(r"word\d+", said) == [f"word{number}" for number in range(1, 301)]
        _wait_for_children(process.pid, 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            for worker in children(process.pid):
                os.kill(worker, signal.SIGKILL)
            process.kill()
            process.wait()
        process.stderr.close()


def _read(http: httpx.Client, run: str) -> list[str]:
    """Read a run to its end; a connection to the worker that dies is tried again."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            answer = http.get(f"/api/runs/{run}/stream?as=ai-sdk")
        except httpx.TransportError:
            continue
        if answer.text.endswith("data: [DONE]\n\n"):
            return answer.text.splitlines()
    raise AssertionError("the run has no end")
