"""What ran when: nodes with their bounds, waits for people, and time that nobody accounts for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.facts.model import (
    ApprovalRequested,
    CallAnswered,
    CallDenied,
    CallFailed,
    Fact,
    InputRequested,
    ModelCallEnded,
    Nested,
    NodeBegan,
    NodeFinished,
    RunOver,
    Speaker,
)
from adk_prism.runlog.entry import Entry, NodeKind

_TOKENS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "reasoning": "thoughtsTokenCount",
    "total": "totalTokenCount",
}
_LEAST_GAP = 0.001
"""Seconds. Shorter holes are the clock's grain, not time that anyone could account for."""


class NodeSpan(Struct, kw_only=True):
    """One node's run."""

    node: str
    name: str
    kind: NodeKind
    path: str
    branch: str
    call: str
    parent: str
    depth: int
    step: int
    """Its number in the order of starts; tools have none of their own."""
    iteration: int
    derived: bool
    since: int
    """Cursor of its start."""
    started: float
    until: int | None = None
    ended: float | None = None
    status: str = ""
    error: str = ""
    end_derived: bool = False
    """Its end was inferred; what is shown of it before is not touched by that."""
    tokens: list[tuple[int, dict[str, int]]] = []
    """Cursor and counts of each of its model calls."""


class Wait(Struct, kw_only=True):
    """A time in which a person was asked."""

    kind: str
    call: str
    since: int
    started: float
    until: int | None = None
    ended: float | None = None


class TimelineFilm:
    """The nodes and waits of one run."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeSpan] = {}
        self._open: dict[str, NodeSpan] = {}
        self._waits: list[Wait] = []
        self._asking: dict[str, Wait] = {}
        self._steps = 0
        self.times: list[float] = []
        """Of every entry, by cursor."""
        self.finished: int | None = None
        """Cursor of the run's end, if that was a good one."""

    def tick(self, entry: Entry) -> None:
        """Note an entry's time."""
        self.times.append(entry.time)

    def feed(self, entry: Entry, fact: Fact) -> None:
        """Take what an entry means."""
        match fact:
            case NodeBegan():
                self._begin(entry, fact)
            case NodeFinished():
                self._finish(entry, fact)
            case ModelCallEnded():
                self._count(entry.cursor, fact)
            case Nested(fact=ModelCallEnded() as ended):
                self._count(entry.cursor, ended)
            case ApprovalRequested():
                self._ask(entry, "approval", fact.call)
            case InputRequested():
                self._ask(entry, fact.kind, fact.call)
            case CallAnswered() | CallFailed() | CallDenied():
                self._answer(entry, fact.call)
            case RunOver(outcome="finished"):
                self.finished = entry.cursor
            case _:
                pass  # has no place in time of its own

    def _begin(self, entry: Entry, fact: NodeBegan) -> None:
        parent = self._nodes.get(fact.parent)
        step = 0
        if fact.kind != "tool":
            self._steps += 1
            step = self._steps
        span = NodeSpan(
            node=fact.node,
            name=fact.name,
            kind=fact.kind,
            path=fact.path,
            branch=fact.branch,
            call=fact.call,
            parent=fact.parent,
            depth=parent.depth + 1 if parent is not None else 0,
            step=step,
            iteration=fact.iteration,
            derived=fact.derived,
            since=entry.cursor,
            started=entry.time,
            tokens=[],
        )
        self._nodes[fact.node] = self._open[fact.node] = span

    def _finish(self, entry: Entry, fact: NodeFinished) -> None:
        span = self._open.pop(fact.node, None)
        if span is not None:
            span.until, span.ended = entry.cursor, entry.time
            span.status, span.error, span.end_derived = fact.status, fact.error, fact.derived

    def _count(self, cursor: int, fact: ModelCallEnded) -> None:
        usage = msgspec.json.decode(bytes(fact.usage)) if bytes(fact.usage) else {}
        counts = {
            name: usage[theirs]
            for name, theirs in _TOKENS.items()
            if isinstance(usage.get(theirs), int)
        }
        span = self._speaking(fact.speaker)
        if counts and span is not None:
            span.tokens.append((cursor, counts))

    def _speaking(self, speaker: Speaker) -> NodeSpan | None:
        """Find the open node that a speaker is: by path and branch, else by name."""
        agents = [span for span in self._open.values() if span.kind != "tool"]
        exact = (s for s in agents if (s.path, s.branch) == (speaker.path, speaker.branch))
        named = (s for s in reversed(agents) if s.name == speaker.author)
        return next(exact, None) or next(named, None)

    def _ask(self, entry: Entry, kind: str, call: str) -> None:
        wait = Wait(kind=kind, call=call, since=entry.cursor, started=entry.time)
        self._waits.append(wait)
        self._asking[call] = wait

    def _answer(self, entry: Entry, call: str) -> None:
        wait = self._asking.pop(call, None)
        if wait is not None:
            wait.until, wait.ended = entry.cursor, entry.time

    # -------------------------------------------------------------- at a playhead

    def at(self, cursor: int) -> dict[str, Any]:
        """Return what the timeline shows at a cursor."""
        if not self.times:
            return {"start": None, "now": None, "nodes": [], "waits": [], "unaccounted": []}
        start, now = self._clock(cursor)
        waits = [_wait_at(w, cursor, start) for w in self._waits if w.since <= cursor]
        return {
            "start": start,
            "now": round(now - start, 6),
            "nodes": self.nodes_at(cursor),
            "waits": waits,
            "unaccounted": self._gaps(cursor, start, now),
        }

    def _clock(self, cursor: int) -> tuple[float, float]:
        """Return when the run began, and the time at a cursor."""
        return self.times[0], self.times[min(cursor, len(self.times)) - 1]

    def nodes_at(self, cursor: int) -> list[dict[str, Any]]:
        """Return the nodes that had started at a cursor, as they were then."""
        if not self.times:
            return []
        start, now = self._clock(cursor)
        return [_node_at(span, cursor, start, now) for span in self.spans(cursor)]

    def spans(self, cursor: int) -> list[NodeSpan]:
        """Return the nodes that had started at a cursor, in the order of their starts."""
        return [span for span in self._nodes.values() if span.since <= cursor]

    def _gaps(self, cursor: int, start: float, now: float) -> list[dict[str, float]]:
        """Return the stretches in which no node ran."""
        gaps: list[dict[str, float]] = []
        covered = start
        for span in sorted(self.spans(cursor), key=lambda s: s.started):
            if span.started - covered > _LEAST_GAP:
                gaps.append(_gap(covered, span.started, start))
            ended = span.ended if span.until is not None and span.until <= cursor else now
            covered = max(covered, ended if ended is not None else now)
        if now - covered > _LEAST_GAP:
            gaps.append(_gap(covered, now, start))
        return gaps


def _gap(since: float, until: float, start: float) -> dict[str, float]:
    return {"from": round(since - start, 6), "until": round(until - start, 6)}


def _node_at(span: NodeSpan, cursor: int, start: float, now: float) -> dict[str, Any]:
    over = span.until is not None and span.until <= cursor
    ended = span.ended if over and span.ended is not None else None
    tokens: dict[str, int] = {}
    for at, counts in span.tokens:
        if at <= cursor:
            for name, count in counts.items():
                tokens[name] = tokens.get(name, 0) + count
    shown: dict[str, Any] = {
        "node": span.node,
        "name": span.name,
        "kind": span.kind,
        "path": span.path,
        "lane": span.branch,
        "call": span.call,
        "parent": span.parent,
        "depth": span.depth,
        "step": span.step,
        "iteration": span.iteration,
        "status": span.status if over else "running",
        "since": span.since,
        "until": span.until if over else None,
        "start": round(span.started - start, 6),
        "duration": round((ended if ended is not None else now) - span.started, 6),
        "tokens": tokens,
        "derived": span.derived or (over and span.end_derived),
    }
    return shown | ({"error": span.error} if over and span.error else {})


def _wait_at(wait: Wait, cursor: int, start: float) -> dict[str, Any]:
    over = wait.until is not None and wait.until <= cursor
    return {
        "kind": wait.kind,
        "call": wait.call,
        "since": wait.since,
        "until": wait.until if over else None,
        "start": round(wait.started - start, 6),
        "end": round(wait.ended - start, 6) if over and wait.ended is not None else None,
    }
