"""Nodes of the trace: which are shown, their steps, and what a node's end repeats of its start."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts.model import NodeBegan, NodeFinished, Speaker
from adk_prism.log.entry import NodeKind, NodeStatus, Outcome, to_raw
from adk_prism.protocols.studio.frames import NodeEnd, NodeStart, Status, milliseconds
from adk_prism.protocols.studio.snapshots import (
    NOTHING_YET,
    Laid,
    Scope,
    Scopes,
    Snapshot,
    between,
    lay,
)

# ---------------------------------------------------------------------------
# Where a node is in the app: its path in the trace, which without its numbers is an id of the graph.
#
# ADK's own path does not always say that:
# - an agent inside a tool (`AgentTool`) has a runner of its own, whose paths begin again: they are put
#   below the agent that called;
# - a parallel worker runs a node of its own name for each item, `flow@1/work@1/work@2`: in the graph
#   that is one node, so it is `flow@1/work@1.2`;
# - the older composite agents have no paths at all: names and iterations give them one.
#
# What a node starts by itself while it runs (`ctx.run_node`) is in no graph before. Its path goes
# below that node, so the longest beginning of it that the graph has is where it ran.


class _Place(Struct, frozen=True, gc=False):
    """A node that began."""

    name: str
    kind: NodeKind
    recorded: str
    """Its path as ADK has it."""
    shown: str


_NOWHERE = _Place("", "workflow", "", "")


class Paths:
    """The paths of one run's nodes."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        """All nodes that began: what is handed over to begins below a node that has ended."""

    def add(self, item: NodeBegan) -> str:
        """Note a node that begins; return its path, empty where it cannot be known."""
        parent = self._places.get(item.parent, _NOWHERE)
        if item.kind == "tool":
            # Not a node of the trace: what runs inside has the caller's path.
            self._places[item.node] = _Place(item.name, "tool", parent.recorded, parent.shown)
            return ""
        shown = _shown(item, parent)
        self._places[item.node] = _Place(item.name, item.kind, item.path, shown)
        return shown


def _shown(item: NodeBegan, parent: _Place) -> str:
    if not item.path:
        is_member = parent.kind in ("workflow", "tool") and (parent.shown or not item.parent)
        return _below(parent, f"{item.name}@{item.iteration}") if is_member else ""
    inside = f"{parent.recorded}/"
    if not parent.recorded or not item.path.startswith(inside):
        return _below(parent, item.path) if parent.kind == "tool" else item.path
    rest = item.path[len(inside) :]
    if parent.kind == "node" and item.name == parent.name and "/" not in rest:
        return f"{parent.shown}.{rest.rpartition('@')[2]}"
    return f"{parent.shown}/{rest}"


def _below(parent: _Place, rest: str) -> str:
    return f"{parent.shown}/{rest}" if parent.shown else rest


# ---------------------------------------------------------------------------

_STATUS: dict[NodeStatus | Outcome, Status | UnsetType] = {
    "finished": UNSET,
    "failed": "error",
    "cancelled": "cancelled",
    "incomplete": "cancelled",
    "waiting": "waiting",
}
INTERNAL = "__"
"""Prefix of the names of ADK's own helper nodes, which are not part of a trace."""


def status_of(ending: NodeStatus | Outcome) -> Status | UnsetType:
    """Return the protocol's word for an end; none for a success."""
    return _STATUS[ending]


class Asked(Struct, frozen=True, gc=False):
    """A call that runs a node: its id in the stream, and its arguments."""

    id: str
    query: Raw


class _Open:
    """A node that runs."""

    __slots__ = ("before", "result", "scope", "start", "started")

    def __init__(self, scope: Scope, before: Laid, start: NodeStart, started: float) -> None:
        self.scope = scope
        self.before = before
        self.start = start
        self.started = started
        self.result: Raw | UnsetType = UNSET


class Nodes:
    """The nodes of one run."""

    def __init__(self) -> None:
        self.steps = 0
        self.scopes = Scopes()
        self._paths = Paths()
        self._open: dict[str, _Open] = {}
        self._hidden: dict[str, str] = {}
        """Nodes that run and are not shown, tools among them → the node shown around them."""

    def begin(
        self, item: NodeBegan, time: float, found: Snapshot, asked: Asked
    ) -> NodeStart | None:
        """Note a start; return its frame, or None for a node that is not shown."""
        parent = self._hidden.get(item.parent, item.parent)
        path = self._paths.add(item)
        if item.kind == "tool" or item.name.startswith(INTERNAL):
            self._hidden[item.node] = parent
            self.scopes.pass_over(item)
            return None
        self.steps += 1
        scope = self.scopes.begin(item, parent, asked.query)
        before = lay(found, scope.query)
        snapshot, overlay = between(before, lay(NOTHING_YET))
        start = NodeStart(
            node=item.name,
            step=self.steps,
            state_snapshot=snapshot,
            state_keys=before.keys,
            timestamp=milliseconds(time),
            id=item.node,
            kind=item.kind,
            path=path or UNSET,
            parent=parent or UNSET,
            call=asked.id or UNSET,
            iteration=item.iteration if item.iteration > 1 else UNSET,
            overlay=overlay,
            derived=item.derived or UNSET,
        )
        self._open[item.node] = _Open(scope, before, start, time)
        return start

    def give(self, speaker: Speaker, output: Raw) -> None:
        """Note what a node gives on; the next of its path to end will say it."""
        for node in reversed(self._open.values()):
            if node.scope.path == speaker.path:
                node.result = output
                return

    def end(self, item: NodeFinished, time: float, left: Snapshot) -> NodeEnd | None:
        """Note an end; return its frame, or None for a node that is not shown."""
        self._hidden.pop(item.node, None)
        node = self._open.pop(item.node, None)
        if node is None:
            return None
        frame = _ended(node, time, left, item)
        self.scopes.end(item.node)
        return frame


def _ended(node: _Open, time: float, left: Snapshot, item: NodeFinished) -> NodeEnd:
    start, said = node.start, node.scope.answer.text
    after = lay(left, node.scope.query, said)
    snapshot, overlay = between(node.before, after)
    answered = start.kind == "agent" and item.status == "finished" and said
    return NodeEnd(
        node=start.node,
        step=start.step,
        duration_ms=max(0, milliseconds(time - node.started)),
        state_snapshot=snapshot,
        state_keys=after.keys,
        timestamp=milliseconds(time),
        id=start.id,
        kind=start.kind,
        path=start.path,
        parent=start.parent,
        call=start.call,
        iteration=start.iteration,
        overlay=overlay,
        result=to_raw(said) if answered and node.result is UNSET else node.result,
        status=status_of(item.status),
        error=item.error or UNSET,
        derived=item.derived or start.derived,
    )


# ---------------------------------------------------------------------------
# One voice at a time: the text of agents that speak at once, each block in one piece.
#
# A `chunk` does not say who speaks, so the words of parallel agents would run into each other. While
# one block of text is open, the words of others are kept; when it ends, the next one that began is
# said, as far as it is there. A run without parallel speakers is not delayed.


class _Waiting:
    """A block whose turn has not come."""

    __slots__ = ("ended", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ended = False


class Voices:
    """The blocks of text of one run."""

    def __init__(self) -> None:
        self._speaking = ""
        self._waiting: dict[str, _Waiting] = {}
        """In the order in which they began."""
        self._said: dict[str, list[str]] = {}
        """What has been said, by block."""

    def say(self, block: str, text: str) -> str:
        """Take a piece; return what can be said now."""
        if not self._speaking:
            self._speaking = block
        if self._speaking == block:
            self._said.setdefault(block, []).append(text)
            return text
        self._waiting.setdefault(block, _Waiting()).pieces.append(text)
        return ""

    def end(self, block: str) -> list[str]:
        """Note a block's end; return what others had to say, one text for each."""
        if block in self._waiting:
            self._waiting[block].ended = True
        if self._speaking != block:
            return []
        self._speaking = ""
        said = []
        while self._waiting and not self._speaking:
            name = next(iter(self._waiting))
            waiting = self._waiting.pop(name)
            said.append("".join(waiting.pieces))
            self._said[name] = said[-1:]
            if not waiting.ended:
                self._speaking = name
        return said

    def drop(self, blocks: Iterable[str]) -> bool:
        """Forget blocks that were replaced; return whether anything of them had been said."""
        said = False
        for block in blocks:
            self._waiting.pop(block, None)
            said = bool(self._said.pop(block, None)) or said
        return said

    @property
    def text(self) -> str:
        """The valid text so far."""
        return "\n\n".join(map("".join, self._said.values()))
