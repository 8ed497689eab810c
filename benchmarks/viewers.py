"""D: many viewers of one run, and many streams that say nothing.

*100 viewers*: the server's CPU time for one run of 2,000 deltas that a hundred connections watch from
its beginning, against the same run with the one that started it; connecting and leaving are in both.
*Idle streams*: what the server's memory grows by, for each of two thousand connections that watch a run
which says nothing. Real sockets, the server in a process of its own.
"""

from __future__ import annotations

import socket
import time
from itertools import count

from benchmarks.child import Child, allow_open_files, child
from benchmarks.client import drain, read_head, request
from benchmarks.rounds import Measure, take_turns
from benchmarks.stream_over_http import DELTAS, chat_body
from benchmarks.table import Row, kibibytes, millis

VIEWERS = 100
IDLE = 2000
IDLE_TARGET = 60 * 1024
SETTLE = 1.0
"""Seconds for the server to finish accepting, before its memory is read."""

_numbers = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    allow_open_files(2 * IDLE)
    with child("prism") as server:
        variants = {"one": _watched(server, 1), "many": _watched(server, VIEWERS)}
        measured = take_turns(variants, 3 if quick else 7)
    with child("prism") as server:
        each = _idle_bytes(server, IDLE // 4 if quick else IDLE)
    return [
        Row(
            f"CPU: {VIEWERS} viewers of a run, one viewer",
            millis(measured.cost("many")),
            millis(measured.cost("one")),
            measured.ratio("many", "one"),
            1.3,
        ),
        Row(
            "memory of an idle stream",
            kibibytes(each),
            kibibytes(IDLE_TARGET),
            each / IDLE_TARGET,
            1,
        ),
    ]


def _watched(server: Child, viewers: int) -> Measure:
    """Return a measure of the server's CPU time for a run with so many viewers."""

    def measure() -> float:
        before = server.cpu()
        first, run, begun = begin(server, f"{DELTAS} after 1")
        others = [watch(server, run) for _ in range(viewers - 1)]
        seen = drain({first: begun, **{other: read_head(other)[1] for other in others}})
        used = server.cpu() - before
        if len(set(seen)) > 1 or seen[0].count(b'"type":"text-delta"') != DELTAS:
            raise RuntimeError("not every viewer saw the whole run")
        return used

    return measure


def _idle_bytes(server: Child, streams: int) -> float:
    """Return what one connection to a silent run adds to the server's memory."""
    first, run, _ = begin(server, "nothing")
    warm = [watch(server, run) for _ in range(50)]
    for connection in warm:
        read_head(connection)
    time.sleep(SETTLE)
    before = server.resident()
    connections = [watch(server, run) for _ in range(streams)]
    for connection in connections:
        read_head(connection)
    time.sleep(SETTLE)
    grown = server.resident() - before
    for connection in (first, *warm, *connections):
        connection.close()
    return grown / streams


def begin(server: Child, text: str) -> tuple[socket.socket, str, bytes]:
    """Start a run, and return its stream, its id, and what has come of the stream."""
    stream = request(server.port, "/api/chat/speaker", chat_body(f"chat-{next(_numbers)}", text))
    headers, begun = read_head(stream)
    return stream, headers["x-prism-run"], begun


def watch(server: Child, run: str) -> socket.socket:
    """Watch a run as another client of the same protocol does."""
    return request(server.port, f"/api/runs/{run}/stream?as=ai-sdk")
