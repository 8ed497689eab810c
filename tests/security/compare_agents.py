"""The same hostile agents on adk-prism and on `adk api_server`: `python -m tests.security.compare_agents`.

Prints a table, of which the second one of `docs/security-tests.md` is a shorter form. A server that died is
started again for the next agent.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
from tests.security.servers import Server, started

AGENTS = str(Path(__file__).parent / "hostile")
WAIT = 10.0
"""Seconds after which a stream counts as left open."""

DEEDS = {
    "work exit": "an `async def` tool calls `sys.exit()`",
    "block exit": "a `def` tool calls `sys.exit()`",
    "model exit": "a model calls `sys.exit()`",
    "work group": "a tool raises a group with `KeyboardInterrupt`",
    "work panic": "a tool raises a plain `BaseException`",
    "work cancelled": "a tool raises `CancelledError`",
    "work leak task": "a tool leaves a task that calls `sys.exit()`",
    "work exit later": "a tool has the loop call `sys.exit()` later",
    "work stop loop": "a tool stops the event loop",
    "block 5": "`/health` while a `def` tool sleeps for 5 s",
}

COMMANDS = {
    "adk-prism": ["-m", "adk_prism.cli", "serve", AGENTS],
    "adk api_server": ["-m", "google.adk.cli", "api_server", AGENTS],
}


def tried(name: str, words: str) -> str:
    """Have an agent do something; return what became of the run and of the server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        started(name, Path(folder), COMMANDS[name], {}) as server,
    ):
        if words == "block 5":
            return _answered(server, words)
        run = _said(server, words)
        time.sleep(0.5)
        return f"{run}; {_alive(server)}"


def _said(server: Server, words: str) -> str:
    url = f"{server.url}/apps/hostile/users/u/sessions/s"
    httpx.post(url, json={}, timeout=60)
    where = {"appName": "hostile", "userId": "u", "sessionId": "s", "streaming": True}
    body = where | {"newMessage": {"role": "user", "parts": [{"text": words}]}}
    try:
        answer = httpx.post(f"{server.url}/run_sse", json=body, timeout=WAIT)
    except httpx.TimeoutException:
        return f"stream open after {WAIT:g} s"
    except httpx.TransportError:
        return "stream cut off"
    return "told as an error" if "rror" in answer.text else "no error is told"


def _alive(server: Server) -> str:
    try:
        httpx.get(f"{server.url}/health", timeout=WAIT)
    except httpx.TransportError:
        return "the server is dead"
    return "the server goes on" if server.process.poll() is None else "the server is dead"


def _answered(server: Server, words: str) -> str:
    saying = threading.Thread(target=_said, args=(server, words))
    saying.start()
    slowest = 0.0
    while saying.is_alive():
        began = time.monotonic()
        httpx.get(f"{server.url}/health", timeout=WAIT)
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.05)
    return f"answered within {slowest:.1f} s"


if __name__ == "__main__":
    for words, about in DEEDS.items():
        cells = [tried(name, words) for name in COMMANDS]
        print(f"| {about} | {' | '.join(cells)} |", flush=True)
    sys.exit(0)
