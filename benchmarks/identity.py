"""What it costs that callers are known and limited: the same streamed run, with and without.

Two servers of the same agent, each a process of its own: one as on a developer's machine, one with a tokens
file, every limit of a caller, access log and audit trail. The ratio of CPU time is the steadier one on a
busy machine.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from itertools import count

from benchmarks.child import Child, child
from benchmarks.client import read_all, request
from benchmarks.rounds import Measure, Measured, take_turns
from benchmarks.served import TOKEN
from benchmarks.stream_over_http import DELTAS, chat_body
from benchmarks.table import Row, millis

TARGET = 1.05
_numbers = count(1)
_HEADERS = {"open": (), "known": (f"authorization: Bearer {TOKEN}",)}


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    cpu: dict[str, list[float]] = {}
    with ExitStack() as running:
        servers = {"open": running.enter_context(child("prism"))}
        servers["known"] = running.enter_context(child("known"))
        variants = {name: _timed(name, server, cpu) for name, server in servers.items()}
        wall = take_turns(variants, 5 if quick else 15)
    used = Measured({name: costs[1:] for name, costs in cpu.items()})
    return [
        _row(f"{DELTAS:,} deltas to a known caller, within limits", wall, TARGET),
        _row("CPU: the same", used, None),
    ]


def _row(name: str, measured: Measured, target: float | None) -> Row:
    ours, reference = millis(measured.cost("known")), millis(measured.cost("open"))
    return Row(name, ours, reference, measured.ratio("known", "open"), target)


def _timed(name: str, server: Child, cpu: dict[str, list[float]]) -> Measure:
    def measure() -> float:
        body = chat_body(f"chat-{next(_numbers)}", str(DELTAS))
        before = server.cpu()
        began = time.perf_counter()
        answer = read_all(request(server.port, "/api/chat/speaker", body, *_HEADERS[name]))
        wall = time.perf_counter() - began
        cpu.setdefault(name, []).append(server.cpu() - before)
        if answer.count(b'"type":"text-delta"') != DELTAS:
            raise RuntimeError(f"{name} did not stream {DELTAS} deltas")
        return wall

    return measure
