"""What a run did, step by step: its nodes and calls in a tree, with what each said, got and gave.

Made to be compared with that of another run (`compare`): it has no cursor for every word, only what was in
the end. A step is a node of the run, or a call; a call and the tool that ran it are one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, UnsetType

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.model_calls.calls import ModelRequest
from adk_prism.features.page.graph import FailureFilm, places
from adk_prism.features.page.state import StateFilm
from adk_prism.features.page.timeline import NodeSpan, TimelineFilm, sum_counts
from adk_prism.features.usage.usage import Prices
from adk_prism.log.entry import Entry, ModelCalled, NodeKind, RunEnded, RunStarted, is_absent

_SECOND = 1_000_000
_ENDS: dict[type[fact.Fact], str] = {
    fact.CallAnswered: "answered",
    fact.CallFailed: "failed",
    fact.CallDenied: "denied",
    fact.CallAbandoned: "abandoned",
    fact.ApprovalRequested: "awaiting approval",
}
"""What became of a call."""
_Answer = (
    fact.CallAnswered
    | fact.CallFailed
    | fact.CallDenied
    | fact.CallAbandoned
    | fact.ApprovalRequested
)


Requests = Mapping[int, ModelRequest]
"""By the cursor of the model call."""


class Step(Struct, kw_only=True):
    """A node, or a call."""

    kind: NodeKind
    name: str
    since: int
    """Cursor of its start."""
    until: int | None = None
    node: str = ""
    call: str = ""
    branch: str = ""
    parent: Step | None = None
    status: str = "running"
    error: str = ""
    input: Any = None
    """Of a call: its arguments."""
    output: Any = None
    """Of a call: its result."""
    text: str = ""
    """What the node said, in order."""
    is_said: bool = True
    """It was said to the user, not inside a tool."""
    start: float = 0.0
    """Seconds since the run began."""
    seconds: float = 0.0
    tokens: dict[str, int] = {}
    costs: list[float | UnsetType | None] = []
    """Of its model calls, where there are prices."""
    requests: list[ModelRequest] = []
    """Of an agent, where its source saw them."""
    steps: list[Step] = []
    """What ran inside it, in order."""


class Outline(Struct, kw_only=True):
    """A run."""

    run: str = ""
    app: str = ""
    session: str = ""
    message: str = ""
    """The user's."""
    outcome: str | None = None
    code: str = ""
    started: float | None = None
    """In seconds since 1970."""
    seconds: float = 0.0
    entries: int = 0
    steps: list[Step] = []
    """Those that are in no other."""
    state: dict[str, Any] = {}
    """At the end."""
    tokens: dict[str, int] = {}
    costs: list[float | UnsetType | None] = []
    model_calls: int = 0
    """As far as the log has them."""
    failures: int = 0
    """Each counts once, however often it is reported."""
    ids: frozenset[str] = frozenset()
    """Names that are drawn anew for each run: of calls and approvals, of the run itself."""


def outline(
    entries: Iterable[Entry], requests: Requests | None = None, prices: Prices | None = None
) -> Outline:
    """Return the outline of a run, or of what there is of it.

    `requests` are those whose parts are kept beside the log; those of a file are in it. With `prices`, it
    says what model calls cost.
    """
    reader = _OutlineReader(requests or {}, prices)
    for entry in entries:
        reader.feed(entry)
    return reader.finish()


class _Text:
    """A block of text while it grows."""

    __slots__ = ("pieces", "trimmed")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.trimmed = 0

    def whole(self) -> str:
        text = "".join(self.pieces)
        return text[: len(text) - self.trimmed]


class _OutlineReader:
    def __init__(self, requests: Requests, prices: Prices | None) -> None:
        self._requests = requests
        self._reader = Reader()
        self._timeline = TimelineFilm(prices)
        self._state = StateFilm()
        self._failures = FailureFilm()
        self._outline = Outline()
        self._steps: list[Step] = []
        """In the order of their starts."""
        self._nodes: dict[str, Step] = {}
        self._calls: dict[tuple[str, str], Step] = {}
        """By the call inside which they were made, and their own."""
        self._unrun: dict[str, list[Step]] = {}
        """Calls that no tool has run yet, by id. Ids start again inside a tool: the last one is meant."""
        self._blocks: dict[tuple[str, str], _Text] = {}
        self._said: dict[int, list[_Text]] = {}
        """The texts of each step, by its identity."""
        self._ids: set[str] = set()

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        self._outline.entries = entry.cursor
        self._timeline.tick(entry)
        for item in self._reader.feed(entry):
            self._state.feed(entry.cursor, item)
            self._timeline.feed(entry, item)
            self._failures.feed(entry.cursor, item)
            within, inner = (item.call, item.fact) if isinstance(item, fact.Nested) else ("", item)
            self._read(entry.cursor, inner, within)
        if isinstance(entry.record, RunEnded):
            self._failures.end(entry.cursor, entry.record)
        if isinstance(entry.record, RunStarted):
            self._ids.add(entry.record.invocation)
        if isinstance(entry.record, ModelCalled):
            self._outline.model_calls += 1
            self._ask(entry.cursor, entry.record)

    def _ask(self, cursor: int, record: ModelCalled) -> None:
        step = self._nodes.get(record.node or self._timeline.running(record.agent))
        if step is not None:
            known = self._requests.get(cursor) or _in_file(record)
            step.requests.append(known)

    def _read(self, cursor: int, item: fact.Fact, within: str) -> None:
        """Read a fact; the others are no step, and no part of one."""
        match item:
            case fact.RunBegan():
                about = self._outline
                about.run, about.message = item.run, item.query
                about.app, about.session = item.origin.app, item.origin.session
            case fact.BlockBegan():
                self._begin_block(cursor, item, within)
            case fact.BlockGrew():
                if (block := self._blocks.get((within, item.block))) is not None:
                    block.pieces.append(item.text)
            case fact.BlockEnded():
                if (block := self._blocks.get((within, item.block))) is not None:
                    block.trimmed = item.trimmed
            case fact.BlocksReplaced():
                for name in item.blocks:
                    if (block := self._blocks.pop((within, name), None)) is not None:
                        block.pieces.clear()
            case _:
                self._read_step(cursor, item, within)

    def _read_step(self, cursor: int, item: fact.Fact, within: str) -> None:
        match item:
            case fact.RunOver():
                self._outline.outcome, self._outline.code = item.outcome, item.code
            case fact.NodeBegan():
                self._begin_node(cursor, item)
            case fact.CallRequested():
                self._request(cursor, item, within)
            case (
                fact.CallAnswered()
                | fact.CallFailed()
                | fact.CallDenied()
                | fact.CallAbandoned()
                | fact.ApprovalRequested()
            ):
                self._answer(cursor, item, within)
            case _:
                pass

    def _add(self, step: Step) -> Step:
        self._steps.append(step)
        return step

    def _begin_block(self, cursor: int, item: fact.BlockBegan, within: str) -> None:
        if item.kind == "reasoning":
            return
        span = self._timeline.speaking(item.speaker)
        # Of an agent of which nobody said that it runs, the path and name stand for its node.
        node = span.node if span is not None else f"{item.speaker.path} {item.speaker.author}"
        step = self._nodes.get(node)
        if step is None:
            step = self._add(Step(kind="agent", name=item.speaker.author, since=cursor))
            self._nodes[node] = step
        step.is_said = not within
        block = self._blocks[within, item.block] = _Text()
        self._said.setdefault(id(step), []).append(block)

    def _begin_node(self, cursor: int, item: fact.NodeBegan) -> None:
        made = self._unrun.get(item.call) if item.kind == "tool" else None
        step = made.pop() if made else None
        if step is None:
            step = self._add(Step(kind=item.kind, name=item.name, since=cursor))
        step.node, step.call, step.branch = item.node, item.call, item.branch
        self._nodes[item.node] = step

    def _request(self, cursor: int, item: fact.CallRequested, within: str) -> None:
        self._ids.add(item.call)
        self._ids.add(item.adk_id)
        span = self._timeline.speaking(item.speaker)
        step = Step(kind="tool", name=item.name, since=cursor, call=item.call)
        step.status, step.input = "requested", _plain(item.input)
        step.parent = self._nodes.get(span.node) if span is not None else None
        self._calls[within, item.call] = self._add(step)
        self._unrun.setdefault(item.call, []).append(step)

    def _answer(self, cursor: int, item: _Answer, within: str) -> None:
        step = self._calls.get((within, item.call))
        if isinstance(item, fact.ApprovalRequested):
            self._ids.add(item.approval)
        elif step is None:  # Made in the run that this one continues.
            self._ids.add(item.call)
            step = Step(kind="tool", name=item.name, since=cursor, call=item.call)
            self._calls[within, item.call] = self._add(step)
        if step is None:
            return
        step.status, step.until = _ENDS[type(item)], cursor
        if isinstance(item, fact.CallAnswered | fact.CallFailed):
            step.output = _plain(item.output)
        if isinstance(item, fact.CallFailed):
            step.error = item.error
        elif isinstance(item, fact.CallDenied):
            step.error = item.reason

    # -------------------------------------------------------------- in the end

    def finish(self) -> Outline:
        """Return what was read."""
        done, timeline = self._outline, self._timeline
        spans = timeline.spans(done.entries)
        stands = places(spans)
        for span in spans:
            self._take(span, stands[span.node])
        for step in self._steps:
            step.text = "\n\n".join(filter(None, (t.whole() for t in self._said.get(id(step), ()))))
            (step.parent.steps if step.parent is not None else done.steps).append(step)
        done.failures = len(self._failures.at(done.entries))
        done.started = timeline.start
        done.seconds = timeline.times[-1] / _SECOND if timeline.times else 0.0
        done.tokens = sum_counts(step.tokens for step in self._steps)
        done.costs = [cost for step in self._steps for cost in step.costs]
        done.state = self._state.some_at(done.entries, lambda key: not key.startswith("temp:"))
        known = {done.run, done.session}
        done.ids = frozenset(self._ids | known) - {""}
        return done

    def _take(self, span: NodeSpan, place: str) -> None:
        """Take what the timeline knows of a node."""
        step = self._nodes[span.node]
        if step.parent is None:
            step.parent = self._nodes.get(place)
        if step.kind != "tool" or step.status in ("running", "requested"):
            step.status, step.error = span.status or "running", span.error
        step.until = max(filter(None, (step.until, span.until)), default=None)
        step.start = span.started / _SECOND
        ended = span.ended if span.ended is not None else self._timeline.times[-1]
        step.seconds = (ended - span.started) / _SECOND
        step.tokens = sum_counts(counts for _, counts in span.tokens)
        step.costs = [cost for _, cost in span.costs]


def _in_file(record: ModelCalled) -> ModelRequest:
    """Return a request as a file has it; most have none."""
    if is_absent(record.request):
        return ModelRequest(model=record.model)
    request = read_object(record.request)
    config = request.get("config")
    config = dict(config) if isinstance(config, dict) else {}
    instruction, tools = config.pop("systemInstruction", None), request.get("tools")
    return ModelRequest(
        model=record.model,
        is_kept=True,
        instruction=_written(instruction),
        tools=_written(tools),
        config=_written(config),
    )


def _written(value: Any) -> bytes:
    return b"" if value in (None, {}, []) else msgspec.json.encode(value)


def _plain(raw: Raw) -> Any:
    return read_value(raw) if bytes(raw) else None
