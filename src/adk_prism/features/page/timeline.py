"""What ran when: nodes with start and end, waits for people, and idle time.

Times are whole microseconds since the run began: sums and differences of them are exact, so whoever
computes them anywhere gets the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts import model as facts
from adk_prism.features.page.state import Item, Mark, Note, written
from adk_prism.features.usage.usage import (
    DeclaredModels,
    Prices,
    measured,
    said_costs,
    token_usage,
    total_cost,
)
from adk_prism.log.entry import DERIVED, Entry, NodeKind, RunStarted

_SECOND = 1_000_000
_LEAST_GAP = 1_000
"""Microseconds. Shorter holes are the clock's grain, not time that anyone could account for."""


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
    started: int
    until: int | None = None
    ended: int | None = None
    status: str = ""
    error: str = ""
    end_derived: bool = False
    """Its end was inferred; what is shown of it before is not touched by that."""
    tokens: list[tuple[int, dict[str, int]]] = []
    """Cursor and counts of each of its model calls."""
    outputs: list[tuple[int, Raw]] = []
    """Cursor and value of what it passed on, as a node of a workflow does."""
    costs: list[tuple[int, float | UnsetType | None]] = []
    """Cursor and cost of each; unset where nothing is said of it."""

    @property
    def touched(self) -> int:
        """Cursor of its last mark."""
        last = [marks[-1][0] for marks in (self.tokens, self.outputs) if marks]
        return max(self.until or self.since, *last) if last else self.until or self.since

    def place(self) -> dict[str, Any]:
        """Return what it is and where it stands."""
        return {
            "node": self.node,
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "lane": self.branch,
            "call": self.call,
            "parent": self.parent,
            "depth": self.depth,
            "step": self.step,
            "iteration": self.iteration,
        }

    def about(self) -> dict[str, Any]:
        """Return what is known from its start."""
        return self.place() | {"derived": self.derived, "start": self.started}

    def marks(self) -> list[Mark]:
        """Return its model calls, its outputs and its end."""
        costs = {cursor: {"cost": cost} for cursor, cost in self.costs if cost is not UNSET}
        marks: list[Mark] = [
            (cursor, {"tokens": counts} | costs.get(cursor, {})) for cursor, counts in self.tokens
        ]
        marks += [(cursor, {"output": value}) for cursor, value in self.outputs]
        if self.until is not None:
            end = {"status": self.status, "end": self.ended, "derived": self.end_derived}
            marks.append((self.until, end | ({"error": self.error} if self.error else {})))
        return sorted(marks, key=itemgetter(0))


class Wait(Struct, kw_only=True):
    """A time in which a person was asked."""

    kind: str
    call: str
    since: int
    started: int
    until: int | None = None
    ended: int | None = None

    @property
    def touched(self) -> int:
        """Cursor of its end."""
        return self.since if self.until is None else self.until

    def about(self) -> dict[str, Any]:
        """Return what is known from its start."""
        return {"kind": self.kind, "call": self.call, "start": self.started}

    def marks(self) -> list[Mark]:
        """Return its end."""
        return [] if self.until is None else [(self.until, {"end": self.ended})]


class TimelineFilm:
    """The nodes and waits of one run."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices or Prices()
        self._declared = DeclaredModels()
        self._nodes: dict[str, NodeSpan] = {}
        self._open: dict[str, NodeSpan] = {}
        self._waits: list[Wait] = []
        self._asking: dict[str, Wait] = {}
        self._calls: list[Note] = []
        self._steps = 0
        self.start: float | None = None
        """When the run began, on the log's clock."""
        self._is_untimed = False
        """It is a capture whose events have had no time so far."""
        self.times = array("q")
        """Of every entry, by cursor."""
        self.finished: int | None = None
        """Cursor of the run's end, if that was a good one."""

    def tick(self, entry: Entry) -> None:
        """Note an entry's time."""
        if self.start is None:
            self.start = entry.time
            record = entry.record
            if isinstance(record, RunStarted):
                self._declared.feed(record.agents)
                self._is_untimed = DERIVED.read(record) and not entry.time
        elif self._is_untimed and entry.time:
            self.start = entry.time
            self._is_untimed = False
        self.times.append(round((entry.time - self.start) * _SECOND))

    def feed(self, entry: Entry, fact: facts.Fact) -> None:
        """Read the facts of an entry."""
        if isinstance(fact, facts.Nested) and isinstance(
            fact.fact, facts.ModelCallEnded | facts.NodeOutput
        ):
            fact = fact.fact
        match fact:
            case facts.NodeBegan():
                self._begin(entry, fact)
            case facts.NodeFinished():
                self._finish(entry, fact)
            case facts.ModelCallEnded():
                self._count(entry.cursor, fact)
            case facts.NodeOutput():
                self._pass_on(entry.cursor, fact)
            case facts.ModelCalled():
                self._calls.append(Note(entry.cursor, self._called(fact)))
            case facts.RunOver(outcome="finished"):
                self.finished = entry.cursor
            case _:
                self._feed_waits(entry, fact)

    def _feed_waits(self, entry: Entry, fact: facts.Fact) -> None:
        match fact:
            case facts.ApprovalRequested():
                self._ask(entry, "approval", fact.call)
            case facts.InputRequested():
                self._ask(entry, fact.kind, fact.call)
            case facts.CallAnswered() | facts.CallFailed() | facts.CallDenied():
                self._answer(entry, fact.call)
            case _:
                pass  # has no place in time of its own

    def _begin(self, entry: Entry, fact: facts.NodeBegan) -> None:
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
            started=self.times[-1],
        )
        self._nodes[fact.node] = self._open[fact.node] = span

    def _finish(self, entry: Entry, fact: facts.NodeFinished) -> None:
        span = self._open.pop(fact.node, None)
        if span is not None:
            span.until, span.ended = entry.cursor, self.times[-1]
            span.status, span.error, span.end_derived = fact.status, fact.error, fact.derived

    def _count(self, cursor: int, fact: facts.ModelCallEnded) -> None:
        counts = token_usage(fact.usage)
        span = self.speaking(fact.speaker)
        if counts and span is not None:
            span.tokens.append((cursor, counts))
            use = self._declared.reported(fact)
            span.costs.append((cursor, self._prices.shown(use).get("cost", UNSET)))

    def _pass_on(self, cursor: int, fact: facts.NodeOutput) -> None:
        if (span := self.speaking(fact.speaker)) is not None:
            # A copy: what msgspec decodes is a window on the whole event, and would keep it.
            span.outputs.append((cursor, fact.output.copy()))

    def _called(self, fact: facts.ModelCalled) -> dict[str, Any]:
        """Return a model call, as it is shown: it never changes."""
        began = round((fact.started - (self.start or 0.0)) * _SECOND)
        return self._prices.shown(measured(fact)) | {
            "agent": fact.agent,
            "node": fact.node or self.running(fact.agent),
            "model": fact.model,
            # Not after it was over, whatever clock it was measured with.
            "start": min(max(began, 0), self.times[-1]),
            "firstTokenMs": fact.first_token,
            "durationMs": fact.duration,
            "tokens": token_usage(fact.usage),
            "finish": fact.finish,
            "error": fact.error,
            "kept": fact.kept,
        }

    def running(self, name: str) -> str:
        """Return the open node of this name, the last one; empty if there is none."""
        return next((node for node, span in reversed(self._open.items()) if span.name == name), "")

    def speaking(self, speaker: facts.Speaker) -> NodeSpan | None:
        """Return the open node that a speaker is: by path, else by name; of several, by branch."""
        agents = [span for span in reversed(self._open.values()) if span.kind != "tool"]
        # A step of a workflow speaks in the workflow's name and branch; its path is its own.
        here = [s for s in agents if s.path and s.path == speaker.path]
        found = here or [s for s in agents if s.name == speaker.author]
        same = (s for s in found if s.branch == speaker.branch)
        return next(same, None) or next(iter(found), None)

    def _ask(self, entry: Entry, kind: str, call: str) -> None:
        wait = Wait(kind=kind, call=call, since=entry.cursor, started=self.times[-1])
        self._waits.append(wait)
        self._asking[call] = wait

    def _answer(self, entry: Entry, call: str) -> None:
        wait = self._asking.pop(call, None)
        if wait is not None:
            wait.until, wait.ended = entry.cursor, self.times[-1]

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return the nodes and waits, or what became of them after a cursor."""
        items = {
            "nodes": list(written(self._nodes.values(), after)),
            "waits": list(written(self._waits, after)),
        }
        calls = list(written(self._calls, after))
        return items | ({"calls": calls} if calls else {})

    # -------------------------------------------------------------- at a playhead

    def at(self, cursor: int) -> dict[str, Any]:
        """Return what the timeline shows at a cursor."""
        if not self.times:
            return {"start": None, "now": None, "nodes": [], "waits": [], "unaccounted": []}
        shown = {
            "start": self.start,
            "now": self.time(cursor),
            "nodes": self.nodes_at(cursor),
            "waits": [_wait_at(wait, cursor) for wait in self._waits if wait.since <= cursor],
            "unaccounted": self._gaps(cursor),
        }
        calls = [
            {"cursor": call.since, **call.shown, "start": call.shown["start"] / _SECOND}
            for call in self._calls
            if call.since <= cursor
        ]
        shown |= {"modelCalls": calls} if calls else {}
        return shown | _cost_at(self.spans(cursor), cursor)

    def time(self, cursor: int) -> float:
        """Return the seconds from the run's start to a cursor."""
        return self._now(cursor) / _SECOND

    def _now(self, cursor: int) -> int:
        return self.times[min(cursor, len(self.times)) - 1]

    def nodes_at(self, cursor: int) -> list[dict[str, Any]]:
        """Return the nodes that had started at a cursor, as they were then."""
        return [_node_at(span, cursor, self._now(cursor)) for span in self.spans(cursor)]

    def spans(self, cursor: int) -> list[NodeSpan]:
        """Return the nodes that had started at a cursor, in the order of their starts."""
        return [span for span in self._nodes.values() if span.since <= cursor]

    def calls_by_node(self, cursor: int) -> dict[str, list[int]]:
        """Return the model calls that were over at a cursor, by node."""
        found: dict[str, list[int]] = {}
        for call in self._calls:
            if call.since <= cursor:
                found.setdefault(call.shown["node"], []).append(call.since)
        return found

    def _gaps(self, cursor: int) -> list[dict[str, float]]:
        """Return the stretches in which no node ran."""
        gaps: list[dict[str, float]] = []
        covered, now = 0, self._now(cursor)
        for span in sorted(self.spans(cursor), key=lambda s: s.started):
            if span.started - covered > _LEAST_GAP:
                gaps.append(_gap(covered, span.started))
            covered = max(covered, _end_at(span, cursor, now))
        if now - covered > _LEAST_GAP:
            gaps.append(_gap(covered, now))
        return gaps


def sum_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sums of counts, by name."""
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def _gap(since: int, until: int) -> dict[str, float]:
    return {"from": since / _SECOND, "until": until / _SECOND}


def _end_at(span: NodeSpan, cursor: int, now: int) -> int:
    """Return how far a node had come."""
    over = span.until is not None and span.until <= cursor
    return span.ended if over and span.ended is not None else now


def _cost_at(spans: Iterable[NodeSpan], cursor: int) -> dict[str, float | None]:
    """Return what nodes have cost; nothing where nothing is said of that."""
    costs = said_costs(cost for span in spans for at, cost in span.costs if at <= cursor)
    return {"cost": total_cost(costs)} if costs else {}


def _node_at(span: NodeSpan, cursor: int, now: int) -> dict[str, Any]:
    over = span.until is not None and span.until <= cursor
    tokens = sum_counts(counts for at, counts in span.tokens if at <= cursor)
    shown: dict[str, Any] = span.place() | {
        "status": span.status if over else "running",
        "since": span.since,
        "until": span.until if over else None,
        "start": span.started / _SECOND,
        "duration": (_end_at(span, cursor, now) - span.started) / _SECOND,
        "tokens": tokens,
        "derived": span.derived or (over and span.end_derived),
    }
    shown |= _cost_at([span], cursor)
    return shown | ({"error": span.error} if over and span.error else {})


def _wait_at(wait: Wait, cursor: int) -> dict[str, Any]:
    over = wait.until is not None and wait.until <= cursor
    return {
        "kind": wait.kind,
        "call": wait.call,
        "since": wait.since,
        "until": wait.until if over else None,
        "start": wait.started / _SECOND,
        "end": wait.ended / _SECOND if over and wait.ended is not None else None,
    }
