"""F: the film as a document: what a page is sent of a run, whole and as it grows.

A run of ten thousand events, a node for every ten of them, one key written by each node. Per event, its
document is to be as large and to cost as much as that of a run with a tenth of them, and what twenty new
events add is to cost next to nothing of the whole: that is what a viewer of a live run asks for, five
times a second.
"""

from __future__ import annotations

import gzip
import json

from adk_prism.features.page.film import encode, fold
from adk_prism.log.entry import (
    AgentEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunStarted,
    to_raw,
)
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, kibibytes, micros

LONG, SHORT = 10_000, 1_000
NEWS = 20
PER_NODE = 10


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    long, short = fold(entries(LONG)), fold(entries(SHORT))
    costs = take_turns(
        {
            "long": cpu_per_item(lambda: encode(long), LONG),
            "short": cpu_per_item(lambda: encode(short), SHORT),
            "whole": cpu_per_item(lambda: encode(long), 1),
            "growth": cpu_per_item(lambda: encode(long, long.last - NEWS), 1),
        },
        2 if quick else 7,
    )
    sizes = {film.last: len(encode(film)) for film in (long, short)}
    packed = len(gzip.compress(encode(long), 5))
    return [
        Row(
            f"film of {LONG:,} events: size per event, against {SHORT:,}",
            f"{sizes[long.last] / LONG:.0f} B",
            f"{sizes[short.last] / SHORT:.0f} B",
            sizes[long.last] / LONG / (sizes[short.last] / SHORT),
            1.2,
        ),
        Row(
            f"film of {LONG:,} events: written, per event, against {SHORT:,}",
            micros(costs.cost("long")),
            micros(costs.cost("short")),
            costs.ratio("long", "short"),
            1.5,
        ),
        Row(
            f"film of {LONG:,} events: {NEWS} new ones, against the whole",
            micros(costs.cost("growth")),
            micros(costs.cost("whole")),
            costs.ratio("growth", "whole"),
            0.5,
        ),
        Row(
            f"film of {LONG:,} events: compressed, against plain",
            kibibytes(packed),
            kibibytes(sizes[long.last]),
            packed / sizes[long.last],
        ),
    ]


def entries(events: int) -> list[Entry]:
    """Return a run of about so many events."""
    origin = Origin(app="app", user="user", session="session")
    records: list[Record] = [RunStarted(run="run-1", origin=origin)]
    records.append(NodeStarted(node="root", name="root", kind="agent"))
    for number in range(0, events, PER_NODE):
        node = f"n{number}"
        records.append(NodeStarted(node=node, name="step", kind="agent", parent="root"))
        records += [_event(number + piece) for piece in range(PER_NODE - 2)]
        state = {f"key_{number % 50}": to_raw(number)}
        records.append(NodeEnded(node=node, status="finished", state=state))
    return [Entry(cursor, cursor * 0.01, record) for cursor, record in enumerate(records, 1)]


def _event(number: int) -> AgentEvent:
    event = {
        "id": f"e{number}",
        "author": "step",
        "invocationId": "i",
        "partial": True,
        "content": {"role": "model", "parts": [{"text": f"word {number} "}]},
    }
    return AgentEvent(json.dumps(event).encode())
