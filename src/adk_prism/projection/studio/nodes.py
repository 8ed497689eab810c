"""Nodes of the trace: which are shown, their steps, and what a node's end repeats of its start."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts.model import NodeBegan, NodeFinished, Speaker
from adk_prism.projection.studio.frames import NodeEnd, NodeStart, Status, milliseconds
from adk_prism.projection.studio.paths import Paths
from adk_prism.projection.studio.scopes import Scope, Scopes
from adk_prism.projection.studio.snapshot_overlay import Laid, between, lay
from adk_prism.projection.studio.snapshots import NOTHING_YET, Snapshot
from adk_prism.runlog.entry import NodeStatus, Outcome, to_raw

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
