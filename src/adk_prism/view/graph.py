"""The run as a graph: which node led to which, how often, and which state keys went along.

Edges are read from what ran, never guessed from names: siblings that had finished when a node began lead
to it (several, where branches joined); a node that began inside another was delegated to by it; a tool
hangs on its agent. A sequence edge carries the keys of the state that its finished node left behind.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from adk_prism.view.state import StateFilm
from adk_prism.view.timeline import NodeSpan, TimelineFilm

START, END = "START", "END"
EdgeKind = Literal["sequence", "delegation", "tool"]


class Edge(Struct, frozen=True):
    """One passage from a node to another, as it ran."""

    source: str
    target: str
    kind: EdgeKind


class _Generation:
    """The children of one node, in waves: those that ran side by side, and those that came before."""

    __slots__ = ("before", "finished")

    def __init__(self, parent: str) -> None:
        self.before: list[str] = [parent]
        self.finished: list[str] = []

    def start(self) -> list[str]:
        """Return what leads to a child that starts now."""
        if self.finished:
            self.before, self.finished = self.finished, []
        return self.before


def passages(spans: list[NodeSpan], cursor: int) -> list[Edge]:
    """Return every passage of a run up to a cursor, in order."""
    moments: list[tuple[int, int, NodeSpan]] = []
    for order, span in enumerate(spans):
        moments.append((span.since, order, span))
        if span.until is not None and span.until <= cursor:
            moments.append((span.until, order, span))
    generations: dict[str, _Generation] = {}
    edges: list[Edge] = []
    begun: set[str] = set()
    for _, _, span in sorted(moments, key=lambda m: m[:2]):
        if span.kind == "tool":
            if span.node not in begun:
                edges.append(Edge(span.parent or START, span.node, "tool"))
            begun.add(span.node)
            continue
        generation = generations.setdefault(span.parent, _Generation(span.parent or START))
        if span.node in begun:
            generation.finished.append(span.node)
            continue
        begun.add(span.node)
        edges.extend(
            Edge(source, span.node, "delegation" if source == span.parent else "sequence")
            for source in generation.start()
        )
    return edges


def graph_at(timeline: TimelineFilm, state: StateFilm, cursor: int) -> dict[str, Any]:
    """Return the graph at a cursor, as it ran and summed up by name."""
    spans = timeline.spans(cursor)
    edges = passages(spans, cursor)
    names = {span.node: span.name for span in spans} | {START: START}
    left = {s.node: _keys_left(s, state, cursor) for s in spans}
    as_it_ran = [
        {"from": e.source, "to": e.target, "kind": e.kind, "keys": _carried(e, left)} for e in edges
    ]
    return {
        "nodes": _nodes(spans, timeline.at(cursor)["nodes"]),
        "edges": _sum_edges(edges, names, left),
        "asItRan": as_it_ran,
    }


def _keys_left(span: NodeSpan, state: StateFilm, cursor: int) -> list[str]:
    if span.until is None or span.until > cursor:
        return []
    return list(state.raw_at(span.until))


def _carried(edge: Edge, left: dict[str, list[str]]) -> list[str]:
    return left.get(edge.source, []) if edge.kind == "sequence" else []


def _nodes(spans: list[NodeSpan], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum the runs of each name up: its last status, how often it ran, how long in all."""
    summed: dict[str, dict[str, Any]] = {}
    for span, row in zip(spans, shown, strict=True):
        known = summed.setdefault(
            span.name,
            {"id": span.name, "kind": span.kind, "runs": 0, "failures": 0, "duration": 0.0},
        )
        known["status"] = row["status"]
        known["runs"] += 1
        known["failures"] += row["status"] == "failed"
        known["duration"] = round(known["duration"] + row["duration"], 6)
    return list(summed.values())


def _sum_edges(
    edges: list[Edge], names: dict[str, str], left: dict[str, list[str]]
) -> list[dict[str, Any]]:
    summed: dict[tuple[str, str, str], dict[str, Any]] = {}
    for edge in edges:
        key = (names[edge.source], names[edge.target], edge.kind)
        known = summed.setdefault(
            key, {"from": key[0], "to": key[1], "kind": edge.kind, "count": 0, "keys": {}}
        )
        known["count"] += 1
        known["keys"] |= dict.fromkeys(_carried(edge, left))
    return [edge | {"keys": list(edge["keys"])} for edge in summed.values()]
