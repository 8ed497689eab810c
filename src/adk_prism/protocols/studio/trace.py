"""The trace: nodes, their steps, and the session's state before and after each.

A snapshot is finished JSON. Frames that show the same state share the same bytes, so a run of many
nodes over a large state costs copying of bytes and no walk through its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from adk_prism.facts.model import NodeBegan, NodeFinished, Speaker
from adk_prism.facts.state import DEPTH, StateFold, cut_value, read_object, repair, sound
from adk_prism.log.entry import NOTHING, NodeKind, NodeStatus, Outcome, to_raw
from adk_prism.protocols.contract import milliseconds
from adk_prism.protocols.studio.frames import NodeEnd, NodeStart, Overlay, StateSnapshot, Status

_encode = msgspec.json.Encoder().encode

QUERY, RESPONSE = "query", "response"
_RESERVED = frozenset((QUERY, RESPONSE))


class Snapshot(Struct, frozen=True, gc=False):
    """A state at one moment."""

    state: Raw
    keys: Raw
    """Its top-level keys, as a JSON list."""
    reserved: frozenset[str] = frozenset()
    """Those of its keys that an overlay would use."""


LARGEST = 256 * 1024
"""Bytes of a state that is shown whole. Of a larger one a snapshot has what was written last, and says under
the key `[cut]` how many keys are missing."""
BUDGET = 8 * 1024**2
"""Bytes of all snapshots of a run, after which each has `SMALL`: every frame has one, so the frames of a run
with thousands of keys would be a thousand times its size."""
SMALL = 1024
_CUT = "[cut]"

NOTHING_YET = Snapshot(Raw(b"{}"), Raw(b"[]"))


class Snapshots:
    """The state of one run, as far as it has been read."""

    def __init__(self) -> None:
        self._fold = StateFold()
        self._last = NOTHING_YET
        self._recent: dict[str, int] = {}
        """The size of each key with its value, as it was written; what was written last comes last."""
        self._size = self._spent = 0

    def change(self, values: Mapping[str, Raw], gone: Sequence[str] = ()) -> Snapshot:
        """Set some keys and take others away; return the state then, the same object if it is the same."""
        if not values and not gone:
            return self._last
        fold = self._fold
        same_keys = not gone and values.keys() <= fold.keys()
        fold.change({key: sound(value) for key, value in values.items()}, gone)
        for key in (*values, *gone):
            self._size -= self._recent.pop(key, 0)
        self._recent |= {key: len(key) + len(values[key]) for key in values}
        self._size += sum(self._recent[key] for key in values)
        limit = LARGEST if self._spent < BUDGET else SMALL
        if self._size > limit:
            self._last = self._newest(limit)
        else:
            is_whole = _CUT.encode() not in bytes(self._last.keys)
            keys = self._last.keys if same_keys and is_whole else Raw(_encode(list(fold)))
            self._last = Snapshot(fold.cut(), keys, _RESERVED & fold.keys())
        self._spent += len(self._last.state)
        return self._last

    def _newest(self, limit: int) -> Snapshot:
        """Return what was written last of the state, as much as fits, and how much is missing."""
        members: dict[str, Raw] = {}
        left = limit
        for key in reversed(self._recent):
            shown = cut_value(bytes(self._fold[key]), DEPTH - 1)
            if len(shown) > limit // 2:
                shown = _encode(f"[cut: {len(shown)} bytes]")
            left -= len(key) + len(shown)
            if left < 0:
                break
            members[key] = Raw(shown)
        if missing := len(self._recent) - len(members):
            members[_CUT] = Raw(_encode(f"{missing} more keys"))
        return Snapshot(
            Raw(_encode(members)), Raw(_encode(list(members))), _RESERVED & members.keys()
        )

    def take(self) -> Snapshot:
        """Return the state now."""
        return self._last


def cut(value: Raw) -> Raw:
    """Return any value as a snapshot would show it."""
    return Raw(cut_value(repair(bytes(value)), DEPTH))


# ---------------------------------------------------------------------------
# What a node was asked and what it answered, laid over a snapshot of a state that has no such keys.
#
# An agent that writes no state would show `{}` everywhere. `query` comes before the state's own keys
# and `response` after them, as in the schema's examples. A key of the state is never covered; the
# frame lists which keys are not of the state.

_REQUEST = "request"
"""The only argument of an agent that is called as a tool, unless it has an input schema."""


class Laid(Struct, frozen=True, gc=False):
    """One side of a snapshot with what was laid over it."""

    state: Raw
    keys: Raw
    over: list[str]


def lay(found: Snapshot, query: Raw = NOTHING, response: str = "") -> Laid:
    """Lay a query and a response over a state; nothing where they are empty or the state has the key."""
    front = bytes(query) if QUERY not in found.reserved else b""
    back = bytes(to_raw(response)) if response and RESPONSE not in found.reserved else b""
    if not front and not back:
        return Laid(found.state, found.keys, [])
    values = ((QUERY, front), (RESPONSE, back))
    over = [key for key, value in values if value]
    return Laid(
        _around(found.state, *(b'"%s":%s' % (k.encode(), v) if v else b"" for k, v in values)),
        _around(found.keys, *(b'"%s"' % k.encode() if v else b"" for k, v in values)),
        over,
    )


def _around(written: Raw, front: bytes, back: bytes) -> Raw:
    """Return an object or list that is written already, with a member before and after its own."""
    raw = bytes(written)
    members = filter(None, (front, raw[1:-1], back))
    return Raw(raw[:1] + b",".join(members) + raw[-1:])


def between(before: Laid, after: Laid) -> tuple[StateSnapshot, Overlay | UnsetType]:
    """Return a frame's snapshot, and which of its keys are not of the state."""
    over = Overlay(before.over, after.over) if before.over or after.over else UNSET
    return StateSnapshot(before.state, after.state), over


def said_as_query(text: str) -> Raw:
    """Return a user's words as a query; nothing for none."""
    return to_raw(text) if text else NOTHING


def asked_with(arguments: Raw) -> Raw:
    """Return the arguments of a call as the query of the agent that it runs."""
    members = read_object(arguments)
    only = members.get(_REQUEST) if len(members) == 1 else None
    if isinstance(only, str):
        return said_as_query(only)
    return Raw(cut_value(bytes(to_raw(members)), DEPTH - 1)) if members else NOTHING


# ---------------------------------------------------------------------------
# What each node answers: the text of its last model call, or of those that ran last inside it.
#
# Only valid text: a replaced block is dropped. The answer of an agent that was called is the call's
# result, and not an answer of its caller.


class NodeReply(Struct, eq=False):
    """What one node, or the run, answers."""

    is_over: bool = False
    """Its node has ended."""
    _model_call: str = ""
    _blocks: dict[str, list[str]] = {}
    """Of the last model call that said something."""
    _heard: list[str] = []
    """Of the last nodes inside that said something, where that was later."""
    _is_next: bool = False
    """A node inside started since the last answer: its answer replaces the others."""

    def begin(self, block: str, model_call: str) -> None:
        """Note a block of its own text."""
        if model_call != self._model_call:
            self._blocks.clear()
        self._model_call = model_call
        self._heard.clear()
        self._blocks[block] = []

    def grow(self, block: str, text: str) -> None:
        """Take a piece of a block; one that does not count any more is passed over."""
        if block in self._blocks:
            self._blocks[block].append(text)

    def trim(self, block: str, count: int) -> None:
        """Take characters off the end of a block."""
        if block in self._blocks:
            self._blocks[block] = ["".join(self._blocks[block])[:-count]]

    def said(self, block: str) -> str:
        """Return what a block of its own said."""
        return "".join(self._blocks.get(block, ()))

    def drop(self, block: str) -> None:
        """Forget a block that was replaced."""
        self._blocks.pop(block, None)

    def expect(self) -> None:
        """Note that a node inside begins."""
        self._is_next = True

    def hear(self, text: str) -> None:
        """Take what a node inside answered; of several that ran side by side, each."""
        if not text:
            return
        if self._is_next:
            self._heard.clear()
        self._is_next = False
        self._heard.append(text)

    @property
    def text(self) -> str:
        """What it answers, as far as it is known."""
        return "\n\n".join(self._heard or filter(None, map("".join, self._blocks.values())))


class _Block(Struct, frozen=True, gc=False):
    """A block of text, and whose it is."""

    answer: NodeReply
    speaker: Speaker
    tool: str
    model_call: str


class Replies:
    """Which block is whose."""

    def __init__(self, find: Callable[[Speaker, str], NodeReply]) -> None:
        """`find` returns the answer of a speaker, as nodes run now."""
        self._find = find
        self._blocks: dict[str, _Block] = {}

    def begin(self, block: str, speaker: Speaker, tool: str, model_call: str) -> None:
        """Note a block of text; `tool` is the node of the tool inside which it is said."""
        answer = self._find(speaker, tool)
        self._blocks[block] = _Block(answer, speaker, tool, model_call)
        answer.begin(block, model_call)

    def grow(self, block: str, text: str) -> None:
        """Take a piece of a block. One that continues after its node ended is the next attempt's."""
        found = self._blocks.get(block)
        if found is not None and found.answer.is_over:
            said = found.answer.said(block)
            self.begin(block, found.speaker, found.tool, found.model_call)
            found = self._blocks[block]
            found.answer.grow(block, said)
        if found is not None:
            found.answer.grow(block, text)

    def end(self, block: str, trimmed: int) -> None:
        """Note a block's end, and how much white space there ADK did not store."""
        if trimmed and block in self._blocks:
            self._blocks[block].answer.trim(block, trimmed)

    def drop(self, blocks: Iterable[str]) -> None:
        """Forget blocks that were replaced."""
        for block in blocks:
            if found := self._blocks.pop(block, None):
                found.answer.drop(block)


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


def _shown_path(item: NodeBegan, above: _Node) -> str:
    """Return the path of a node, empty where it cannot be known."""
    if item.kind == "tool":
        return above.shown  # not a node of the trace: what runs inside has the caller's path
    if not item.path:
        is_member = above.kind in ("workflow", "tool") and (above.shown or not item.parent)
        return _below(above, f"{item.name}@{item.iteration}") if is_member else ""
    inside = f"{above.path}/"
    if not above.path or not item.path.startswith(inside):
        return _below(above, item.path) if above.kind == "tool" else item.path
    rest = item.path[len(inside) :]
    if above.kind == "node" and item.name == above.name and "/" not in rest:
        return f"{above.shown}.{rest.rpartition('@')[2]}"
    return f"{above.shown}/{rest}"


def _below(above: _Node, rest: str) -> str:
    return f"{above.shown}/{rest}" if above.shown else rest


# ---------------------------------------------------------------------------
# The nodes that run, and around them the run: who was asked what, and whose answer a text is.
#
# A node that was called is asked with the call's arguments, and its answer is the call's. Any other
# is asked what the node around it is asked, and its answer counts there too. The nodes of a workflow
# are given values after the first, and no record has them: nothing is said of what those were asked.

STATUS: dict[NodeStatus | Outcome, Status | UnsetType] = {
    "finished": UNSET,
    "failed": "error",
    "cancelled": "cancelled",
    "incomplete": "cancelled",
    "waiting": "waiting",
}
"""The protocol's word for an end; none for a success."""
INTERNAL = "__"
"""Prefix of the names of ADK's own helper nodes, which are not part of a trace."""

_ASKED: frozenset[NodeKind] = frozenset(("agent", "workflow"))
"""Kinds that are asked in words; all others are given values."""


class Asked(Struct, frozen=True, gc=False):
    """A call that runs a node: its id in the stream, and its arguments."""

    id: str
    query: Raw


class _Node(Struct, eq=False):
    """The run, or a node that began."""

    name: str = ""
    kind: NodeKind = "workflow"
    path: str = ""
    """As ADK has it; of a tool, the caller's."""
    branch: str = ""
    shown: str = ""
    """Its path in the trace."""
    tool: str = ""
    """The node of the tool inside which it runs; of a tool, itself."""
    query: Raw = NOTHING
    answer: NodeReply = field(default_factory=NodeReply)
    around: _Node | None = None
    """What its answer is an answer of; none for the run, and for a node that was called."""
    passes_values: bool = False
    """One of ADK's workflows whose first node has ended; the older composite agents pass no values."""
    before: Laid = Laid(NOTHING_YET.state, NOTHING_YET.keys, [])
    start: NodeStart | None = None
    """None for what is not shown."""
    started: float = 0.0
    result: Raw | UnsetType = UNSET

    def likeness(self, speaker: Speaker) -> tuple[bool, bool, bool]:
        return speaker.likeness(self.name, self.path, self.branch)


class Nodes:
    """The nodes of one run."""

    def __init__(self) -> None:
        self.steps = 0
        self.run = _Node()
        self._known: dict[str, _Node] = {}
        """All nodes that began: what is handed over to begins below a node that has ended."""
        self._open: dict[str, _Node] = {}
        """Those that run and are shown."""
        self._hidden: dict[str, str] = {}
        """Nodes that run and are not shown, tools among them → the node shown around them."""

    def begin(
        self, item: NodeBegan, time: float, found: Snapshot, asked: Asked
    ) -> NodeStart | None:
        """Note a start; return its frame, or None for a node that is not shown."""
        above = self._known.get(item.parent, self.run)
        is_tool, parent = item.kind == "tool", self._hidden.get(item.parent, item.parent)
        node = self._known[item.node] = _Node(
            item.name,
            item.kind,
            above.path if is_tool else item.path,
            item.branch,
            _shown_path(item, above),
            item.node if is_tool else above.tool,
        )
        if is_tool or item.name.startswith(INTERNAL):
            self._hidden[item.node] = parent
            return None
        self.steps += 1
        is_called = bool(item.call) or node.tool == item.parent != ""
        query = asked.query if is_called else self._join(node, parent)
        node.query = query if item.kind in _ASKED else NOTHING
        node.before, node.started = lay(found, node.query), time
        snapshot, overlay = between(node.before, lay(NOTHING_YET))
        node.start = NodeStart(
            node=item.name,
            step=self.steps,
            state_snapshot=snapshot,
            state_keys=node.before.keys,
            timestamp=milliseconds(time),
            id=item.node,
            kind=item.kind,
            path=node.shown or UNSET,
            parent=parent or UNSET,
            call=asked.id or UNSET,
            iteration=item.iteration if item.iteration > 1 else UNSET,
            overlay=overlay,
            derived=item.derived or UNSET,
        )
        self._open[item.node] = node
        return node.start

    def _join(self, node: _Node, parent: str) -> Raw:
        """Use an answer at the node's place; return what is asked there."""
        above = self._known.get(parent)
        if above is None or above.start is None:
            above = self.run
        is_there = above is self.run or parent in self._open
        node.around = above if is_there else above.around
        if node.around is not None:
            node.around.answer.expect()
        return NOTHING if above.passes_values else above.query

    def give(self, speaker: Speaker, output: Raw) -> None:
        """Note what a node gives on; the next of its path to end will say it."""
        for node in reversed(self._open.values()):
            if node.path == speaker.path:
                node.result = output
                return

    def end(self, item: NodeFinished, time: float, left: Snapshot) -> NodeEnd | None:
        """Note an end: the node's answer becomes part of its parent's. Return its frame, or None for a node
        that is not shown."""
        self._hidden.pop(item.node, None)
        node = self._open.pop(item.node, None)
        if node is None or node.start is None:
            return None
        if node.around is not None:
            node.around.answer.hear(node.answer.text)
            node.around.passes_values = node.around.kind == "workflow" and bool(node.around.path)
        node.answer.is_over = True
        return _ended(node, node.start, time, left, item)

    def find(self, speaker: Speaker, tool: str) -> NodeReply:
        """Return whose answer words are: a node's that runs, by path or name; else the run's."""
        fits = [node for node in self._open.values() if not tool or node.tool == tool]
        likest = max(reversed(fits), key=lambda node: node.likeness(speaker), default=self.run)
        return (likest if any(likest.likeness(speaker)[:2]) else self.run).answer


def _ended(
    node: _Node, start: NodeStart, time: float, left: Snapshot, item: NodeFinished
) -> NodeEnd:
    said = node.answer.text
    after = lay(left, node.query, said)
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
        status=STATUS[item.status],
        error=item.error or UNSET,
        derived=item.derived or start.derived,
    )


# ---------------------------------------------------------------------------
# One voice at a time: the text of agents that speak at once, each block in one piece.
#
# A `chunk` does not say who speaks, so the words of parallel agents would run into each other. While
# one block of text is open, the words of others are kept; when it ends, the next one that began is
# said, as far as it is there. A run without parallel speakers is not delayed.


class _Waiting(Struct, eq=False):
    """A block whose turn has not come."""

    pieces: list[str] = []
    ended: bool = False


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
