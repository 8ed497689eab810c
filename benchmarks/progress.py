"""What it costs that a tool says 100 times a second how far it is, beside the same tool in silence.

The server's CPU time over the run, as a share of the run's time: of the reports of a tenth
of a second only the newest is recorded, so this is taking all of them, and recording and streaming ten.
"""

from __future__ import annotations

import time
from itertools import count

from benchmarks.child import Child, child
from benchmarks.client import read_all, request
from benchmarks.rounds import Measure, Ratio, take_turns
from benchmarks.stream_over_http import chat_body
from benchmarks.table import Row, millis

TARGET = 0.05

_numbers = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparison."""
    walls: list[float] = []
    with child("prism") as server:
        variants = {how: _measure(server, how, walls) for how in ("silent", "report")}
        used = take_turns(variants, 2 if quick else 5)
    wall = sum(walls) / len(walls)
    pairs = zip(used.costs["report"], used.costs["silent"], strict=True)
    shares = Ratio([(reports - silence) / wall for reports, silence in pairs])
    name = "CPU: 100 reports of progress a second, as a share of the run's time"
    more = used.cost("report") - used.cost("silent")
    return [Row(name, millis(more), millis(wall), shares, TARGET)]


def _measure(server: Child, how: str, walls: list[float]) -> Measure:
    def measure() -> float:
        before, began = server.cpu(), time.perf_counter()
        answer = read_all(
            request(server.port, "/api/chat/worker", chat_body(f"chat-{next(_numbers)}", how))
        )
        walls.append(time.perf_counter() - began)
        shown = answer.count(b'"preliminary":true')
        if (shown > 0) != (how == "report"):
            raise RuntimeError(f"{how}: {shown} reports were streamed")
        return server.cpu() - before

    return measure
