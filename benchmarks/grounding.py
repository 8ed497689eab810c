"""G: the grounding box of a long search history: folding it, and looking at it.

Every search adds a receipt, and the state then holds all of them: a run that makes 500 searches writes
its history 500 times, as the contract has it. What is compared is the cost of folding per byte of those
writes with that of a run with a quarter of the searches: it must not grow. The second run is the usual
one, an answer in a session that has 500 receipts already. A look at its end is held against 50 ms.
"""

from __future__ import annotations

import json
import time

from adk_prism.features.page.film import Film, fold
from adk_prism.grounding import SearchReceipt, value_of
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunStarted, to_raw
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

LONG, SHORT = 500, 125
LONGEST_LOOK = 0.050
_KEY = "grounding:search_history"
_KIBIBYTE = 1024


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    rounds = 2 if quick else 5
    long, short = _searching(LONG), _searching(SHORT)
    folding = take_turns(
        {
            "long": cpu_per_item(lambda: fold(long), _size(long) // _KIBIBYTE),
            "short": cpu_per_item(lambda: fold(short), _size(short) // _KIBIBYTE),
        },
        rounds,
    )
    looks = {
        f"a run of {LONG} searches": _look(fold(long), 5 if quick else 30),
        f"an answer after {LONG} searches": _look(fold(_answering(LONG)), 5 if quick else 30),
    }
    return [
        Row(
            f"grounding, {LONG} receipts: fold, per KiB of history, against {SHORT}",
            micros(folding.cost("long")),
            micros(folding.cost("short")),
            folding.ratio("long", "short"),
            1.5,
        ),
        *(
            Row(
                f"grounding, {name}: the panel at the end, against 50 ms",
                f"{seconds * 1000:.1f} ms",
                "50 ms",
                seconds / LONGEST_LOOK,
                1.0,
            )
            for name, seconds in looks.items()
        ),
    ]


def _look(film: Film, times: int) -> float:
    """Return the seconds of the slowest of some looks."""
    slowest = 0.0
    for _ in range(times):
        began = time.perf_counter()
        film.at(film.last, "grounding")
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


def _receipts(count: int) -> list[dict[str, object]]:
    return [
        value_of(
            SearchReceipt(
                timestamp=f"2026-03-01T{number // 60 % 24:02}:{number % 60:02}:00+00:00",
                database=f"Database {number % 7}",
                query=f"explainable AI clinical {number}",
                results_count=number,
                delta=f"Found {number} papers (synthetic)",
                by_kind={"article": number},
                by_year={"2024": number},
            )
        )
        for number in range(count)
    ]


def _started(history: list[dict[str, object]]) -> Entry:
    origin = Origin(app="a", user="u", session="s")
    return Entry(1, 0.0, RunStarted(run="r", origin=origin, state={_KEY: to_raw(history)}))


def _searching(count: int) -> list[Entry]:
    """Return a run that makes so many searches."""
    receipts = _receipts(count)
    found = [_started([])]
    for number in range(1, count + 1):
        delta = {_KEY: receipts[:number], "grounding:papers_found": number}
        found.append(_event(number + 1, delta))
    return found


def _answering(count: int) -> list[Entry]:
    """Return a run that adds one search to so many."""
    receipts = _receipts(count + 1)
    return [_started(receipts[:count]), _event(2, {_KEY: receipts})]


def _event(cursor: int, delta: dict[str, object]) -> Entry:
    event = {"id": f"e{cursor}", "author": "agent", "invocationId": "i", "timestamp": 1.0}
    body = json.dumps(event | {"actions": {"stateDelta": delta}}).encode()
    return Entry(cursor, float(cursor), AgentEvent(body))


def _size(entries: list[Entry]) -> int:
    return sum(len(e.record.event) for e in entries if isinstance(e.record, AgentEvent))
