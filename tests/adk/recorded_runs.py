"""RecordedRun runs: a real Runner, recorded into a real log with its nodes, and told as a short story."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from msgspec import Raw
from tests.adk.runs import ORIGIN, Reports, say

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.facts.model import Fact, NodeBegan, NodeFinished, RunBegan, StateChanged
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import StateFold
from adk_prism.log.entry import (
    AgentEvent,
    ChildEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunId,
)
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.recorder import RunRecorder

State = dict[str, Any]


class RecordedRun:
    """One recorded run."""

    def __init__(self, entries: Sequence[Entry], reports: Reports) -> None:
        self.entries = list(entries)
        self.reports = reports
        reader = Reader()
        self.facts: list[Fact] = [fact for entry in entries for fact in reader.feed(entry)]

    @property
    def starts(self) -> list[NodeStarted]:
        return [e.record for e in self.entries if isinstance(e.record, NodeStarted)]

    @property
    def ends(self) -> list[NodeEnded]:
        return [e.record for e in self.entries if isinstance(e.record, NodeEnded)]

    @property
    def ended(self) -> RunEnded:
        last = self.entries[-1].record
        assert isinstance(last, RunEnded)
        return last

    @property
    def names(self) -> dict[str, str]:
        """Node id → its name, with the iteration if it is not the first."""
        return {n.node: _label(n) for n in self.starts}

    def node(self, label: str, kind: str = "") -> NodeStarted:
        """Return the only node of that name (and kind)."""
        found = [n for n in self.starts if _label(n) == label and kind in ("", n.kind)]
        assert len(found) == 1, f"{len(found)} nodes {label!r} in {self.story}"
        return found[0]

    def status(self, label: str, kind: str = "") -> str:
        """Return how a node ended, read from the facts."""
        node = self.node(label, kind).node
        ends = [f for f in self.facts if isinstance(f, NodeFinished) and f.node == node]
        assert len(ends) == 1
        return f"{ends[0].status} {ends[0].error}".strip()

    def parents(self) -> dict[str, str]:
        """Return `kind name` → `kind name` of the node around it; empty for the outermost."""
        by_id = {n.node: f"{n.kind} {_label(n)}" for n in self.starts}
        return {by_id[n.node]: by_id.get(n.parent, "") for n in self.starts}

    @property
    def story(self) -> list[str]:
        """The log in short: `> agent root`, `root: text`, `< root finished`; no partial events."""
        lines = (_line(entry.record, self.names) for entry in self.entries)
        return [line for line in lines if line]

    def asked(self) -> str:
        """Return the id of the only confirmation that a person is asked for."""
        (found,) = self._calls("adk_request_confirmation")
        return found

    def requests(self) -> list[str]:
        """Return the ids of what a person is asked to enter."""
        return self._calls("adk_request_input")

    def calls(self) -> list[dict[str, Any]]:
        """Return every call that was made, as ADK tells it."""
        events = [json.loads(e.record.event) for e in self.entries if type(e.record) is AgentEvent]
        whole = [event for event in events if not event.get("partial")]
        parts = [p for event in whole for p in event.get("content", {}).get("parts", [])]
        return [part["functionCall"] for part in parts if "functionCall" in part]

    def _calls(self, name: str) -> list[str]:
        return [call["id"] for call in self.calls() if call["name"] == name]

    # -------------------------------------------------------------- what must hold for every run

    def check(self, *replayed: str) -> RecordedRun:
        """Check what holds for every watched run, and return it.

        Of the nodes `replayed`, ADK tells the output again in a run that goes on; they do not run.
        """
        assert [r.detail or r.cause for r in self.reports if r.kind == "node not seen"] == []
        self._check_balance()
        self._check_places(replayed)
        return self

    def _check_balance(self) -> None:
        """Each start has one end, in the log's facts; ids are counted in the order of starts."""
        open_nodes: list[str] = []
        for fact in self.facts:
            if isinstance(fact, NodeBegan):
                open_nodes.append(fact.node)
            elif isinstance(fact, NodeFinished):
                open_nodes.remove(fact.node)
        assert open_nodes == []
        assert [n.node for n in self.starts] == [f"n{i + 1}" for i in range(len(self.starts))]

    def _check_places(self, replayed: Sequence[str]) -> None:
        """A node starts after the one around it; an event comes while the node of its path runs."""
        known: set[str] = {""}
        running: dict[str, str] = {}
        hidden = {n.node for n in self.starts if self._is_hidden(n)}
        for entry in self.entries:
            record = entry.record
            if isinstance(record, NodeStarted):
                assert record.parent in known
                known.add(record.node)
                if record.path and record.node not in hidden:
                    running[record.node] = record.path
            elif isinstance(record, NodeEnded):
                running.pop(record.node, None)
            elif isinstance(record, AgentEvent):
                path = json.loads(record.event)["nodeInfo"]["path"]
                if path.rpartition("/")[2].partition("@")[0] not in replayed:
                    assert not path or path in running.values(), (path, running, self.story)

    def _is_hidden(self, node: NodeStarted) -> bool:
        """Tell whether a node belongs to a run inside a tool: its path begins anew."""
        around = {n.node: n for n in self.starts}
        chain = [node]
        while chain[-1].parent:
            chain.append(around[chain[-1].parent])
        paths = [n.path for n in chain if n.path]
        return any(not inner.startswith(outer) for inner, outer in pairwise(paths))

    def states(self) -> list[tuple[str, str, State]]:
        """Return (`start` or `end`, kind and name, state) of each node, folded from the log."""
        fold = StateFold()
        told: dict[str, str] = {}
        out: list[tuple[str, str, State]] = []
        for fact in self.facts:
            if isinstance(fact, RunBegan | StateChanged | NodeBegan | NodeFinished):
                fold.feed(fact)
            if isinstance(fact, NodeBegan):
                told[fact.node] = f"{fact.kind} {fact.name}"
                out.append(("start", told[fact.node], plain(fold)))
            elif isinstance(fact, NodeFinished):
                out.append(("end", told[fact.node], plain(fold)))
        return out


def plain(fold: StateFold) -> State:
    return {key: json.loads(bytes(value)) for key, value in fold.items()}


def _label(node: NodeStarted) -> str:
    return node.name if node.iteration == 1 else f"{node.name}#{node.iteration}"


def _line(record: object, names: dict[str, str]) -> str:
    match record:
        case NodeStarted():
            return f"> {record.kind} {names[record.node]}"
        case NodeEnded():
            mark = "~" if record.derived else ""
            return f"< {names[record.node]} {record.status} {record.error}".strip() + mark
        case ChildEvent():
            told = _told(bytes(record.event))
            return f"({names[record.node]}) {told}" if told else ""
        case AgentEvent():
            return _told(record.event)
        case _:
            return ""


def _told(data: bytes) -> str:
    event = json.loads(data)
    if event.get("partial"):
        return ""
    parts = (event.get("content") or {}).get("parts") or []
    said = [_part(part) for part in parts]
    if event.get("errorCode"):
        said.append(event["errorCode"])
    if "output" in event:
        said.append("output")
    path = event["nodeInfo"]["path"].rpartition("/")[2].partition("@")[0]
    return f"{path or event['author']}: {', '.join(said)}" if said else ""


def _part(part: dict[str, Any]) -> str:
    if "functionCall" in part:
        return f"call {part['functionCall']['name']}"
    if "functionResponse" in part:
        return f"answer {part['functionResponse']['name']}"
    return next(iter(part))


# --------------------------------------------------------------------------- running


def recorder(
    runner: Runner, log: MemoryLog, reports: Reports, run: str = "run-1", **request: Any
) -> tuple[RunRecorder, RunnerSource]:
    """Return a recorder of a watched run, and its source."""
    wanted = RunRequest(**{"run": run, "origin": ORIGIN, **request})
    source = RunnerSource(runner, wanted, report=reports, nodes=True)
    return RunRecorder(log, RunId(run), source, reports), source


async def watch(
    runner: Runner, text: str = "go", run: str = "run-1", **request: Any
) -> RecordedRun:
    """Run an app with its nodes watched."""
    log, reports = MemoryLog(), Reports()
    await log.open()
    if not {"message", "answers", "decisions", "invocation"} & request.keys():
        request["message"] = say(text)
    recording, _ = recorder(runner, log, reports, run, **request)
    await recording.record()
    return RecordedRun(await entries(log, run), reports)


async def entries(log: MemoryLog, run: str = "run-1") -> list[Entry]:
    return [entry async for batch in log.read(RunId(run)) for entry in batch]


class Witness(BasePlugin):
    """Notes the state that ADK itself shows at each start and end of an agent or a tool."""

    def __init__(self) -> None:
        super().__init__(name="witness")
        self.seen: list[tuple[str, str, State]] = []

    def _note(self, bound: str, what: str, context: Any) -> None:
        state = {k: v for k, v in context.state.to_dict().items() if not k.startswith("temp:")}
        self.seen.append((bound, what, json.loads(json.dumps(state))))

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self._note("start", f"agent {agent.name}", callback_context)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self._note("end", f"agent {agent.name}", callback_context)

    async def before_tool_callback(self, *, tool: Any, tool_context: Any, **_: Any) -> None:
        self._note("start", f"tool {tool.name}", tool_context)

    async def after_tool_callback(self, *, tool: Any, tool_context: Any, **_: Any) -> None:
        self._note("end", f"tool {tool.name}", tool_context)


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())
