"""The run as a graph: which node led to which, how often, and which keys went along.

Edges are read from what ran, never guessed from names: siblings that had finished when a node began lead
to it (several, where branches joined); a node that began inside another was delegated to by it; one that
began below a node that had ended was handed over to, and stands in its place; a tool hangs on its agent;
what finished last leads to the end of a finished run. A tool that only runs an agent is no node: its caller
delegates to that agent. A sequence and a transfer carry the keys of the state that their finished node left,
to the end of the run only those that the run added or changed; a delegation and a tool carry those of the
call's arguments and, from where it was answered, of its result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from adk_prism.facts.model import CallFailed, ErrorRaised, Fact, Nested, NodeBegan, NodeFinished
from adk_prism.facts.state import read_value
from adk_prism.features.page.conversation import ConversationFilm
from adk_prism.features.page.state import StateFilm
from adk_prism.features.page.timeline import NodeSpan, TimelineFilm
from adk_prism.log.entry import RunEnded

START, END = "START", "END"
EdgeKind = Literal["sequence", "transfer", "delegation", "tool"]
_CARRYING: frozenset[EdgeKind] = frozenset(("sequence", "transfer"))

MOST_SOURCES = 100
"""Nodes that lead to one other, at most, the last of them: each node of a wide wave leads to each of the
next, and the passages of two waves of 5,000 would be 25 million."""
MOST_KEYS = 50
"""Keys that an edge shows; `moreKeys` counts the others. Each of a thousand nodes passes the whole state
on."""


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
            self.before, self.finished = self.finished[-MOST_SOURCES:], []
        return self.before

    def hand_over(self, node: str) -> None:
        """Note that another node replaces a finished one: nothing else follows from that one."""
        if node in self.finished:
            self.finished.remove(node)


def passages(spans: list[NodeSpan], cursor: int, *, over: bool = False) -> list[Edge]:
    """Return every passage of a run up to a cursor, in order; of one that is `over`, to its end."""
    callers, stands = _callers(spans), places(spans)
    generations: dict[str, _Generation] = {}
    edges: list[Edge] = []
    for span, begins in _moments(spans, cursor):
        if span.kind == "tool":
            if begins and span.node not in callers:
                edges.append(Edge(span.parent or START, span.node, "tool"))
            continue
        place = stands[span.node]
        generation = generations.setdefault(place, _Generation(place or START))
        if not begins:
            generation.finished.append(span.node)
            continue
        if place != span.parent:
            generation.hand_over(span.parent)
            edges.append(Edge(span.parent, span.node, "transfer"))
            continue
        for source in generation.start():
            kind: EdgeKind = "delegation" if source == span.parent else "sequence"
            edges.append(Edge(callers.get(source, source), span.node, kind))
    if over and "" in generations:
        edges.extend(Edge(source, END, "sequence") for source in generations[""].finished)
    return edges


def places(spans: list[NodeSpan]) -> dict[str, str]:
    """Return for each node in which other it stands: its parent, or, handed over to, where that one stood."""
    known = {span.node: span for span in spans}
    found: dict[str, str] = {}
    for span in spans:
        parent = known.get(span.parent)
        is_over = parent is not None and parent.until is not None and parent.until <= span.since
        handed = is_over and parent is not None and parent.kind != "tool"
        found[span.node] = found[span.parent] if handed else span.parent
    return found


def _callers(spans: list[NodeSpan]) -> dict[str, str]:
    """Return the tools that only run an agent, each with the node that calls it."""
    around = {span.parent for span in spans if span.kind != "tool"}
    tools = (span for span in spans if span.kind == "tool" and span.node in around)
    return {span.node: span.parent or START for span in tools}


def _moments(spans: list[NodeSpan], cursor: int) -> Iterator[tuple[NodeSpan, bool]]:
    """Yield the starts (True) and ends of nodes up to a cursor, in order."""
    moments: list[tuple[int, int, bool]] = []
    for order, span in enumerate(spans):
        moments.append((span.since, order, True))
        if span.until is not None and span.until <= cursor:
            moments.append((span.until, order, False))
    for _, order, begins in sorted(moments):
        yield spans[order], begins


_Keys = dict[str, list[tuple[int, str]]]
"""Keys and from where on they were seen, by node: of a call by the node that it runs, else by that left."""


class _Carried(Struct, frozen=True):
    """The keys that went along edges."""

    left: _Keys
    more_left: dict[str, int]
    changed: _Keys
    flows: _Keys

    def along(self, edge: Edge) -> list[tuple[int, str]]:
        """Return the keys that an edge carries."""
        if edge.kind not in _CARRYING:
            return self.flows.get(edge.target, [])
        return (self.changed if edge.target == END else self.left).get(edge.source, [])

    def more(self, edge: Edge) -> int:
        """Return how many more keys an edge carries."""
        is_left = edge.kind in _CARRYING and edge.target != END
        return self.more_left.get(edge.source, 0) if is_left else 0


def graph_at(
    timeline: TimelineFilm, state: StateFilm, said: ConversationFilm, cursor: int
) -> dict[str, Any]:
    """Return the graph at a cursor, as it ran and summed up by name."""
    spans = timeline.spans(cursor)
    over = timeline.finished is not None and timeline.finished <= cursor
    edges = passages(spans, cursor, over=over)
    names = {span.node: span.name for span in spans} | {START: START, END: END}
    carried = _Carried(
        *_keys_left(spans, edges, state),
        _keys_changed(spans, edges, state),
        _flows(spans, said, cursor),
    )
    as_it_ran = [
        {"from": e.source, "to": e.target, "kind": e.kind}
        | _shown(_named(carried.along(e)), carried.more(e))
        for e in edges
    ]
    return {
        "nodes": _nodes(spans, timeline.nodes_at(cursor)),
        "edges": _sum_edges(edges, names, carried),
        "asItRan": as_it_ran,
    }


def _keys_left(
    spans: list[NodeSpan], edges: list[Edge], state: StateFilm
) -> tuple[_Keys, dict[str, int]]:
    """Return the keys that each node passed on to the next, and how many more there were."""
    sources = {edge.source for edge in edges if edge.kind in _CARRYING}
    ends = {s.node: s.until for s in spans if s.node in sources and s.until is not None}
    keys = state.keys_at(ends.values(), MOST_KEYS)
    return {node: [(0, key) for key in keys[until][0]] for node, until in ends.items()}, {
        node: keys[until][1] for node, until in ends.items()
    }


def _keys_changed(spans: list[NodeSpan], edges: list[Edge], state: StateFilm) -> _Keys:
    """Return the keys that the run had added or changed when each node ended that leads to its end."""
    last = {edge.source for edge in edges if edge.target == END}
    return {
        span.node: [
            (0, one.key) for one in state.difference(1, span.until) if one.kind != "removed"
        ]
        for span in spans
        if span.node in last and span.until is not None
    }


def _flows(spans: list[NodeSpan], said: ConversationFilm, cursor: int) -> _Keys:
    """Return the keys that had gone to and from each node that a call runs."""
    calls = {span.node: said.flow(span.call, span.since) for span in spans if span.call}
    return {node: [one for one in keys if one[0] <= cursor] for node, keys in calls.items()}


def _named(keys: list[tuple[int, str]]) -> list[str]:
    """Return each key once, in the order in which they were first seen."""
    return list(dict.fromkeys(key for _, key in sorted(keys, key=lambda one: one[0])))


def _shown(keys: list[str], more: int) -> dict[str, Any]:
    more += max(0, len(keys) - MOST_KEYS)
    return {"keys": keys[:MOST_KEYS]} | ({"moreKeys": more} if more else {})


def _nodes(spans: list[NodeSpan], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum the runs of each name up: its last status, how often it ran, how long in all."""
    callers = _callers(spans)
    summed: dict[str, dict[str, Any]] = {}
    for span, row in zip(spans, shown, strict=True):
        if span.node in callers:
            continue
        known = summed.setdefault(
            span.name,
            {"id": span.name, "kind": span.kind, "runs": 0, "failures": 0, "duration": 0.0},
        )
        known["status"] = row["status"]
        known["runs"] += 1
        known["failures"] += row["status"] == "failed"
        known["duration"] = round(known["duration"] + row["duration"], 6)
    return list(summed.values())


def _sum_edges(edges: list[Edge], names: dict[str, str], carried: _Carried) -> list[dict[str, Any]]:
    summed: dict[tuple[str, str, str], dict[str, Any]] = {}
    keys: defaultdict[tuple[str, str, str], dict[tuple[int, str], None]] = defaultdict(dict)
    more: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for edge in edges:
        key = (names[edge.source], names[edge.target], edge.kind)
        known = summed.setdefault(
            key, {"from": key[0], "to": key[1], "kind": edge.kind, "count": 0}
        )
        known["count"] += 1
        keys[key] |= dict.fromkeys(carried.along(edge))
        more[key] = max(more[key], carried.more(edge))
    return [edge | _shown(_named(list(keys[key])), more[key]) for key, edge in summed.items()]


# ---------------------------------------------------------------------------
# Each time a node ran: what it got, what it said and called, what it passed on, and how the state
# changed.
#
# Decides what belongs to one run of a node. What it got is the call that runs it, and the outputs or
# last words of the nodes that led to it; where there are none, and it is in no other node, the user's
# words. What it said and called is marked with the node in the conversation. How the state changed is
# the difference between its start and its end: other nodes may have written meanwhile, so each change
# names its writer.

USER = "user"
MOST_CHANGES = 1000
"""Changes of the state that one run of a node shows; `moreChanges` counts the others. A node that a thousand
others run in has all of theirs."""
_Said = list[dict[str, Any]]


def node_runs_at(
    timeline: TimelineFilm, state: StateFilm, said: ConversationFilm, cursor: int
) -> list[dict[str, Any]]:
    """Return the runs of all nodes that had started at a cursor, as they were then."""
    spans = timeline.spans(cursor)
    spoken = said.at(cursor)
    by_node: dict[str, _Said] = {}
    for item in spoken:
        by_node.setdefault(item.get("node", ""), []).append(item)
    before = _before(spans, cursor)
    calls = timeline.calls_by_node(cursor)
    users = [item for item in spoken if item["kind"] == USER]
    return [
        {
            **row,
            "asked": said.call_at(span.call, span.since, cursor) if span.call else None,
            "received": [
                {"from": each.name, "value": value}
                for each in before.get(span.node, ())
                for value in _given(each, span.since, by_node.get(each.node, []))
            ]
            or _spoken_to(span, users),
            "said": by_node.get(span.node, []),
            "outputs": _outputs(span, cursor),
            **_changes(state, span.since, row["until"] or cursor),
            "modelCalls": calls.get(span.node, []),
        }
        for span, row in zip(spans, timeline.nodes_at(cursor), strict=True)
    ]


def _changes(state: StateFilm, since: int, until: int) -> dict[str, Any]:
    found = state.difference(since, until)
    more = {"moreChanges": len(found) - MOST_CHANGES} if len(found) > MOST_CHANGES else {}
    return {"changes": found[:MOST_CHANGES]} | more


def _before(spans: list[NodeSpan], cursor: int) -> dict[str, list[NodeSpan]]:
    """Return for each node the ones that led to it, one after the other."""
    known = {span.node: span for span in spans}
    found: dict[str, list[NodeSpan]] = {}
    for edge in passages(spans, cursor):
        if edge.kind == "sequence" and edge.source in known:
            found.setdefault(edge.target, []).append(known[edge.source])
    return found


def _given(span: NodeSpan, cursor: int, said: _Said) -> list[Any]:
    """Return what a node had passed on: its outputs, or its last words."""
    texts = [item["text"] for item in said if item["kind"] == "text" and item["since"] <= cursor]
    return _outputs(span, cursor) or texts[-1:]


def _spoken_to(span: NodeSpan, users: _Said) -> _Said:
    asked = [] if span.parent else [item for item in users if item["since"] <= span.since]
    return [{"from": USER, "value": item["text"]} for item in asked[-1:]]


def _outputs(span: NodeSpan, cursor: int) -> list[Any]:
    return [read_value(value) for at, value in span.outputs if at <= cursor]


# ---------------------------------------------------------------------------
# Where something failed: each failure once, at the cursor where it was first seen.
#
# One failure is reported several times: by the tool's node, by its result, by the error event of its
# agent, by the nodes around it, and by the end of the run. Reports are of one failure if they name
# the same call, or if the later one is of something that was already running when the earlier one
# came, with the same code or none.


class _Report(Struct, frozen=True, gc=False):
    cursor: int
    since: int
    """Earlier failures from here on, with the same code, are this one."""
    code: str = ""
    call: str = ""


class FailureFilm:
    """The failures of one run."""

    def __init__(self) -> None:
        self._reports: list[_Report] = []
        self._running: dict[str, tuple[int, str]] = {}
        """Cursor and call of each open node; an agent's call is that of the tool that runs it."""
        self._starts: list[int] = []

    def feed(self, cursor: int, fact: Fact) -> None:
        """Read the facts of an entry."""
        match fact:
            case Nested():
                self.feed(cursor, fact.fact)
            case NodeBegan():
                self._running[fact.node] = cursor, fact.call if fact.kind == "tool" else ""
                self._starts.append(cursor)
            case NodeFinished():
                since, call = self._running.pop(fact.node, (0, ""))
                if since and fact.status == "failed":
                    self._reports.append(_Report(cursor, since, fact.error, call))
            case CallFailed():
                self._reports.append(_Report(cursor, cursor, call=fact.call))
            case ErrorRaised():
                self._reports.append(_Report(cursor, self._last_start(cursor), fact.code))
            case _:
                pass  # no failure

    def end(self, cursor: int, record: RunEnded) -> None:
        """Take the end of the run."""
        if record.outcome == "failed":
            self._reports.append(_Report(cursor, 1, record.code))

    def _last_start(self, cursor: int) -> int:
        """Return where the node began that ran last: an error is reported after what failed in it."""
        index = bisect_left(self._starts, cursor)
        return self._starts[index - 1] if index else 1

    def at(self, cursor: int) -> list[int]:
        """Return the cursors of the failures up to a cursor, in order."""
        found: list[int] = []
        calls: set[str] = set()
        by_code: dict[str, int] = {}
        last = 0
        for at, group in groupby(self._reports, key=lambda report: report.cursor):
            if at > cursor:
                break
            reports = list(group)
            known = any(
                report.call in calls
                or (by_code.get(report.code, 0) if report.code else last) >= report.since
                for report in reports
            )
            if not known:
                found.append(at)
            last = at
            calls.update(report.call for report in reports if report.call)
            by_code.update((report.code, at) for report in reports)
        return found
