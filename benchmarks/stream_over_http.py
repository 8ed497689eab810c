"""A: one streamed run over HTTP, against the Runner alone and against other servers of the same agent.

Each server is a process of its own, with its sessions in memory; ours keeps its run log in SQLite. Time
is wall time from the first byte of the request to the last byte of the answer, as a client sees it; the
Runner alone is timed around its loop, on uvloop as the servers are. Nothing else is left out: routing,
the session's lookup, the log's commits. The rows marked *CPU* are the server's CPU time for the same
runs, all threads: steadier than wall time on a busy machine, but blind to waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count

from benchmarks.child import Child, child
from benchmarks.client import read_all, request
from benchmarks.rounds import Measure, Measured, take_turns
from benchmarks.table import Row, millis

DELTAS = 2000
_numbers = count(1)

Ask = Callable[[Child, str], bytes]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with ExitStack() as running:
        children = {
            kind: running.enter_context(child(kind)) for kind in ("prism", "adk", "ag-ui", "bare")
        }
        cpu: dict[str, list[float]] = {}
        prism = children["prism"]
        variants = {
            "bare": _bare(children["bare"], "", cpu),
            "quiet": _bare(children["bare"], "quiet", cpu),
            "chat": _timed("chat", prism, ask_chat, b'"type":"text-delta"', cpu),
            "openai": _timed("openai", prism, ask_openai, b'"delta":{"content"', cpu),
            "run_sse": _timed("run_sse", prism, ask_run_sse, b'"partial":true', cpu),
            "adk": _timed("adk", children["adk"], ask_run_sse, b'"partial":true', cpu),
            "ag-ui": _timed("ag-ui", children["ag-ui"], ask_ag_ui, b"TEXT_MESSAGE_CONTENT", cpu),
            "our ag-ui": _timed("our ag-ui", prism, ask_our_ag_ui, b"TEXT_MESSAGE_CONTENT", cpu),
        }
        wall = take_turns(variants, 3 if quick else 9)
    used = Measured({name: costs[1:] for name, costs in cpu.items()})
    return [
        _row("/api/chat, against a bare Runner loop", wall, "chat", "bare", 1.10),
        _row("/v1/chat/completions, against a bare Runner loop", wall, "openai", "bare", 1.12),
        _row("/run_sse, against a bare Runner loop", wall, "run_sse", "bare", 1.10),
        _row("/run_sse, against ADK's own", wall, "run_sse", "adk", 1.0),
        _row("/api/chat, against ag-ui-adk's endpoint", wall, "chat", "ag-ui", 1.0),
        _row("/api/chat, bare loop with our telemetry setting", wall, "chat", "quiet"),
        _row("CPU: /api/chat, bare loop", used, "chat", "bare"),
        _row("CPU: /api/chat, bare loop with our telemetry setting", used, "chat", "quiet", 1.12),
        _row("CPU: /v1/chat/completions, /api/chat", used, "openai", "chat"),
        _row("CPU: /run_sse, ADK's own", used, "run_sse", "adk"),
        _row("CPU: /api/chat, ag-ui-adk's endpoint", used, "chat", "ag-ui"),
        _row("CPU: /api/ag-ui, ag-ui-adk's endpoint", used, "our ag-ui", "ag-ui", 0.85),
    ]


def _row(
    name: str, measured: Measured, ours: str, reference: str, target: float | None = None
) -> Row:
    return Row(
        f"{DELTAS:,} deltas: {name}" if not name.startswith("CPU") else name,
        millis(measured.cost(ours)),
        millis(measured.cost(reference)),
        measured.ratio(ours, reference),
        target,
    )


def _bare(running: Child, how: str, cpu: dict[str, list[float]]) -> Measure:
    def measure() -> float:
        used = running.ask(f"run {DELTAS} {how}")
        cpu.setdefault(how or "bare", []).append(used["cpu"])
        return used["wall"]

    return measure


def _timed(
    name: str, server: Child, ask: Ask, delta: bytes, cpu: dict[str, list[float]]
) -> Measure:
    def measure() -> float:
        session = f"session-{next(_numbers)}"
        prepare(ask, server, session)
        before = server.cpu()
        began = time.perf_counter()
        answer = ask(server, session)
        wall = time.perf_counter() - began
        cpu.setdefault(name, []).append(server.cpu() - before)
        if answer.count(delta) != DELTAS:
            raise RuntimeError(f"{name} streamed {answer.count(delta)} deltas, not {DELTAS}")
        return wall

    return measure


# --------------------------------------------------------------------------- requests


def prepare(ask: Ask, server: Child, session: str) -> None:
    """Make the session where a protocol wants it to be there."""
    if ask is ask_run_sse:
        read_all(request(server.port, f"/apps/speaker/users/user/sessions/{session}", {}))


def ask_chat(server: Child, chat: str) -> bytes:
    """Say something to adk-prism as the AI SDK does."""
    return read_all(request(server.port, "/api/chat/speaker", chat_body(chat, str(DELTAS))))


def chat_body(chat: str, text: str) -> dict[str, object]:
    """Return what `useChat` posts."""
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": chat, "messages": [message], "trigger": "submit-message"}


def ask_openai(server: Child, session: str) -> bytes:
    """Say something as OpenAI's clients do."""
    message = {"role": "user", "content": str(DELTAS)}
    body = {"model": "speaker", "conversation": session, "messages": [message], "stream": True}
    return read_all(request(server.port, "/v1/chat/completions", body))


def ask_run_sse(server: Child, session: str) -> bytes:
    """Say something in ADK's own protocol."""
    body = {
        "appName": "speaker",
        "userId": "user",
        "sessionId": session,
        "newMessage": {"role": "user", "parts": [{"text": str(DELTAS)}]},
        "streaming": True,
    }
    return read_all(request(server.port, "/run_sse", body))


def ask_ag_ui(server: Child, thread: str, path: str = "/") -> bytes:
    """Say something in AG-UI's protocol."""
    body = {
        "threadId": thread,
        "runId": thread,
        "state": {},
        "messages": [{"id": "m1", "role": "user", "content": str(DELTAS)}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    return read_all(request(server.port, path, body))


def ask_our_ag_ui(server: Child, thread: str) -> bytes:
    """Say the same to adk-prism."""
    return ask_ag_ui(server, thread, "/api/ag-ui/speaker")
