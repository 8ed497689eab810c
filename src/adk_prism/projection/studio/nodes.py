"""Nodes of the trace: which are shown, their steps, and what a node's end repeats of its start."""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from adk_prism.facts.model import NodeBegan, NodeFinished, Speaker
from adk_prism.projection.studio.frames import (
    NodeEnd,
    NodeStart,
    StateSnapshot,
    Status,
    milliseconds,
)
from adk_prism.projection.studio.snapshots import NOTHING_YET, Snapshot
from adk_prism.runlog.entry import NodeStatus, Outcome

_STATUS: dict[NodeStatus | Outcome, Status | UnsetType] = {
    "finished": UNSET,
    "failed": "error",
    "cancelled": "cancelled",
    "incomplete": "cancelled",
    "waiting": "waiting",
}
INTERNAL = "__"
"""How the names of ADK's own scaffolding begin. It is no part of anybody's trace."""


def status_of(ending: NodeStatus | Outcome) -> Status | UnsetType:
    """Return the protocol's word for an end; none for a success."""
    return _STATUS[ending]


class _Open:
    """A node that runs."""

    __slots__ = ("result", "start", "started")

    def __init__(self, start: NodeStart, started: float) -> None:
        self.start = start
        self.started = started
        self.result: Raw | UnsetType = UNSET


class Nodes:
    """The nodes of one run."""

    def __init__(self) -> None:
        self.steps = 0
        self._open: dict[str, _Open] = {}
        self._hidden: dict[str, str] = {}
        """Nodes that run and are not shown, tools among them → the node shown around them."""

    def begin(self, item: NodeBegan, time: float, found: Snapshot) -> NodeStart | None:
        """Note a start; return its frame, or None for a node that is not shown."""
        parent = self._hidden.get(item.parent, item.parent)
        if item.kind == "tool" or item.name.startswith(INTERNAL):
            self._hidden[item.node] = parent
            return None
        self.steps += 1
        start = NodeStart(
            node=item.name,
            step=self.steps,
            state_snapshot=StateSnapshot(found.state, NOTHING_YET.state),
            state_keys=found.keys,
            timestamp=milliseconds(time),
            id=item.node,
            kind=item.kind,
            path=item.path or UNSET,
            parent=parent or UNSET,
            iteration=item.iteration if item.iteration > 1 else UNSET,
            derived=item.derived or UNSET,
        )
        self._open[item.node] = _Open(start, time)
        return start

    def give(self, speaker: Speaker, output: Raw) -> None:
        """Note what a node gives on; the next of its path to end will say it."""
        for node in reversed(self._open.values()):
            if node.start.path == speaker.path:
                node.result = output
                return

    def end(self, item: NodeFinished, time: float, left: Snapshot) -> NodeEnd | None:
        """Note an end; return its frame, or None for a node that is not shown."""
        self._hidden.pop(item.node, None)
        node = self._open.pop(item.node, None)
        if node is None:
            return None
        return _ended(node, time, left, item)


def _ended(node: _Open, time: float, left: Snapshot, item: NodeFinished) -> NodeEnd:
    start = node.start
    return NodeEnd(
        node=start.node,
        step=start.step,
        duration_ms=max(0, milliseconds(time - node.started)),
        state_snapshot=StateSnapshot(start.state_snapshot.input, left.state),
        state_keys=left.keys,
        timestamp=milliseconds(time),
        id=start.id,
        kind=start.kind,
        path=start.path,
        parent=start.parent,
        iteration=start.iteration,
        result=node.result,
        status=status_of(item.status),
        error=item.error or UNSET,
        derived=item.derived or start.derived,
    )
