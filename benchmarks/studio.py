"""S: what the state costs in a Studio trace, against copying it.

A run of many nodes over a state of some size, of which each node changes one key. *Ours* goes the whole
way, from entries to the bytes of `node_start` and `node_end`. The reference does nothing but what a
straightforward program does at each of the two moments to keep the state as it was: `copy.deepcopy`.
It neither cuts nor encodes nor writes anything.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from adk_prism.log.entry import Entry, NodeEnded, NodeStarted, Origin, RunEnded, RunStarted, to_raw
from adk_prism.protocols.registry import protocol
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

NODES = 100
SIZES = {20: None, 80: 0.1, 400: 0.1}
"""Keys of the state, and the target. With a handful of keys a frame's own cost is most of it."""
_SPEC = protocol("studio")


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    found = []
    for keys, target in SIZES.items():
        state = {f"key_{number}": _value(number) for number in range(keys)}
        size = len(bytes(to_raw(state))) // 1000
        run = _run(state)
        variants = {
            "ours": cpu_per_item(lambda run=run: _project(run), NODES),
            "copies": cpu_per_item(lambda state=state: _copy(state), NODES),
        }
        measured = take_turns(variants, 5 if quick else 15)
        costs = micros(measured.cost("ours")), micros(measured.cost("copies"))
        ratio = measured.ratio("ours", "copies")
        name = f"studio trace, state of {keys} keys ({size} KB): a node, deepcopy"
        found.append(Row(name, *costs, ratio, target))
    return found


def _value(number: int) -> dict[str, Any]:
    """Return what an agent keeps under one key: a few levels, of which the wire shows two."""
    hits = [{"title": f"Paper {number}", "year": 2020, "authors": ["A", "B"]}]
    return {"query": f"term {number}", "hits": hits, "done": True}


def _run(state: dict[str, Any]) -> list[Entry]:
    begun = {key: to_raw(value) for key, value in state.items()}
    origin = Origin(app="app", user="user", session="session")
    run = [Entry(1, 0.0, RunStarted(run="run-1", origin=origin, state=begun))]
    for number in range(NODES):
        node = str(number)
        changed = {f"key_{number % len(state)}": to_raw(_value(-number))}
        for record in (
            NodeStarted(node=node, name=f"node_{number}", kind="agent"),
            NodeEnded(node=node, status="finished", state=changed),
        ):
            run.append(Entry(len(run) + 1, float(len(run)), record))
    run.append(Entry(len(run) + 1, float(len(run)), RunEnded(outcome="finished")))
    return run


def _project(run: list[Entry]) -> int:
    feed = _SPEC.format().reader().feed
    return sum(len(payload.data) for entry in run for payload in feed(entry))


def _copy(state: dict[str, Any]) -> list[Any]:
    return [deepcopy(state) for _ in range(2 * NODES)]
