"""F: looking at a run at any moment, beside keeping a deep copy of the state for every moment.

A thousand snapshots of a state of two hundred keys, one key changed each time, in a run with a node per
ten of them. *Ours* folds the run once into its film and asks it for a cursor; the reference keeps
`copy.deepcopy(state)` per event, as one would who thinks of nothing better. Memory is what Python's own
allocator handed out, the entries themselves not counted. The two promises are rows of their own, with the
promise as their reference: every panel at any cursor within 50 ms, a whole recording within 20 MB.

A loop of ten thousand rounds is looked at as well: a round costs what it does in a loop of a thousand.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from adk_prism.features.page.film import Film, fold
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

SNAPSHOTS, KEYS, PER_NODE = 1000, 200, 10
LONGEST_LOOK = 0.050
LARGEST_FILM = 20 * 1000 * 1000
MEGABYTE = 1000 * 1000
LONG_LOOP, SHORT_LOOP = 10_000, 1_000


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    entries = _entries()
    film = fold(entries)
    folding = take_turns(
        {
            "ours": cpu_per_item(lambda: fold(entries), SNAPSHOTS),
            "copies": cpu_per_item(lambda: _deep_copies(entries), SNAPSHOTS),
        },
        2 if quick else 5,
    )
    memory = _memory(lambda: fold(entries))
    copies = _memory(lambda: _deep_copies(entries))
    look = _longest_look(film, 5 if quick else 50)
    name = f"{SNAPSHOTS:,} snapshots of {KEYS} keys"
    return [
        Row(
            f"{name}: fold, per snapshot, against deep copies",
            micros(folding.cost("ours")),
            micros(folding.cost("copies")),
            folding.ratio("ours", "copies"),
            1.0,
        ),
        Row(
            f"{name}: memory, against deep copies",
            kibibytes(memory),
            kibibytes(copies),
            memory / copies,
            0.1,
        ),
        Row(
            f"{name}: the whole film, against 20 MB",
            f"{memory / MEGABYTE:.1f} MB",
            "20 MB",
            memory / LARGEST_FILM,
            1.0,
        ),
        Row(
            f"{name}: all panels at the slowest cursor, against 50 ms",
            f"{look * 1000:.1f} ms",
            "50 ms",
            look / LONGEST_LOOK,
            1.0,
        ),
        _loop_row(2 if quick else 5),
    ]


def _loop_row(rounds: int) -> Row:
    long, short = _loop(LONG_LOOP), _loop(SHORT_LOOP)
    looks = take_turns(
        {
            "long": cpu_per_item(long.at, LONG_LOOP),
            "short": cpu_per_item(short.at, SHORT_LOOP),
        },
        rounds,
    )
    return Row(
        f"a loop of {LONG_LOOP:,} nodes: all panels, per node, against {SHORT_LOOP:,}",
        micros(looks.cost("long")),
        micros(looks.cost("short")),
        looks.ratio("long", "short"),
        3.0,
    )


def _loop(nodes: int) -> Film:
    """Return the film of a loop, each of whose rounds writes one key."""
    origin = Origin(app="app", user="user", session="session")
    records: list[Record] = [
        RunStarted(run="run", origin=origin, state={"draft": to_raw("")}),
        NodeStarted(node="loop", name="loop", kind="workflow"),
    ]
    for number in range(nodes):
        node, state = f"n{number}", {"draft": to_raw(number)}
        records.append(NodeStarted(node=node, name="step", kind="agent", parent="loop"))
        records.append(NodeEnded(node=node, status="finished", state=state))
    return fold(Entry(cursor, cursor / 10, record) for cursor, record in enumerate(records, 1))


def _entries() -> list[Entry]:
    """Return a run whose state changes a thousand times."""
    values = {f"key_{n}": {"value": n, "text": "x" * 40} for n in range(KEYS)}
    state = {key: to_raw(value) for key, value in values.items()}
    origin = Origin(app="app", user="user", session="session")
    records: list[Record] = [RunStarted(run="run", origin=origin, state=state)]
    for number in range(SNAPSHOTS):
        node = f"n{number // PER_NODE}"
        if number % PER_NODE == 0:
            records.append(NodeStarted(node=node, name="step", kind="agent"))
        delta = {f"key_{number % KEYS}": {"value": number, "text": "y" * 40}}
        event = {"id": str(number), "author": "step", "actions": {"stateDelta": delta}}
        records.append(AgentEvent(json.dumps(event).encode()))
        if number % PER_NODE == PER_NODE - 1:
            records.append(NodeEnded(node=node, status="finished"))
    return [Entry(cursor, cursor / 10, record) for cursor, record in enumerate(records, 1)]


def _deep_copies(entries: list[Entry]) -> list[dict[str, Any]]:
    """Return the state after every event, each a copy of its own."""
    state: dict[str, Any] = {}
    snapshots = []
    for entry in entries:
        record = entry.record
        if isinstance(record, RunStarted):
            state = {key: json.loads(bytes(raw)) for key, raw in record.state.items()}
        elif isinstance(record, AgentEvent):
            state.update(json.loads(record.event)["actions"]["stateDelta"])
            snapshots.append(deepcopy(state))
    return snapshots


def _memory(make: Callable[[], object]) -> float:
    """Return how much of memory something holds."""
    tracemalloc.start()
    try:
        held = make()
        size, _ = tracemalloc.get_traced_memory()
        del held
    finally:
        tracemalloc.stop()
    return float(size)


def _longest_look(film: Film, looks: int) -> float:
    """Return the CPU time of the slowest of some looks, each the best of three."""
    cursors = {1 + (film.last - 1) * look // (looks - 1) for look in range(looks)}
    return max(min(_look(film, cursor) for _ in range(3)) for cursor in cursors)


def _look(film: Film, cursor: int) -> float:
    began = time.thread_time()
    film.at(cursor)
    return time.thread_time() - began
