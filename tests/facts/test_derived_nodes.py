"""Node bounds that nobody recorded: balanced in every run, and close to what a watched run shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import ParallelAgent, SequentialAgent
from google.adk.workflow import BaseNode, JoinNode, Workflow
from hypothesis import given
from hypothesis import strategies as st
from tests.adk.recorded_runs import watch
from tests.adk.runs import new_runner
from tests.recordings.shapes import agent, calling

from adk_prism.facts.model import BlockBegan, Fact, NodeBegan, NodeFinished
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import (
    DERIVED,
    AgentEvent,
    ChildEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    labels,
)
from adk_prism.models import Call, Turn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

RAW = Path(__file__).parent.parent / "recordings" / "raw"
STARTED = RunStarted(
    run="r", origin=Origin(app="a", user="u", session="s"), labels=labels(DERIVED(True))
)


def read(records: Sequence[Record], ended: RunEnded | None = None) -> list[Fact]:
    """Return the facts of a log; without an end, its outcome is folded from the events."""
    reader = Reader()
    entries = [Entry(cursor, 0.0, record) for cursor, record in enumerate(records, 1)]
    facts = [fact for entry in entries for fact in reader.feed(entry)]
    if ended is None:
        outcome, code = reader.outcome()
        ended = RunEnded(outcome=outcome, code=code)
    return [*facts, *reader.feed(Entry(len(entries) + 1, 0.0, ended))]


def story(facts: Sequence[Fact]) -> list[str]:
    names: dict[str, str] = {}
    lines: list[str] = []
    for fact in facts:
        if isinstance(fact, NodeBegan):
            number = f"#{fact.iteration}" if fact.iteration > 1 else ""
            names[fact.node] = f"{fact.name}{number}"
            lines.append(f"> {fact.kind} {names[fact.node]}")
        elif isinstance(fact, NodeFinished):
            lines.append(f"< {names[fact.node]} {fact.status} {fact.error}".strip())
    return lines


def balanced(facts: Sequence[Fact]) -> None:
    """Each start has one end; what is around a node started before it; all is marked derived."""
    begun: set[str] = {""}
    running: set[str] = set()
    for fact in facts:
        if isinstance(fact, NodeBegan):
            assert fact.node not in begun
            assert fact.parent in begun
            assert fact.derived
            begun.add(fact.node)
            running.add(fact.node)
        elif isinstance(fact, NodeFinished):
            assert fact.derived
            running.remove(fact.node)
    assert running == set()


@pytest.mark.parametrize("file", sorted(RAW.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_recording_has_balanced_nodes(file: Path) -> None:
    lines = [line for line in file.read_bytes().splitlines() if line.strip()]
    facts = read([STARTED, *map(AgentEvent, lines)])
    balanced(facts)
    names = {fact.name for fact in facts if isinstance(fact, NodeBegan)}
    speakers = {fact.speaker.author for fact in facts if isinstance(fact, BlockBegan)} - {"user"}
    assert speakers <= names


# --------------------------------------------------------------------------- against watched runs


def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


def _tool() -> BaseNode:
    return agent("root", calling(Call("add", {"a": 1, "b": 2}), then="Three."), tools=[add])


def _sequence() -> BaseNode:
    return SequentialAgent(name="steps", sub_agents=[agent("one", "1."), agent("two", "2.")])


def _parallel() -> BaseNode:
    return ParallelAgent(name="both", sub_agents=[agent("left", "A b."), agent("right", "C d.")])


def _workflow() -> BaseNode:
    def prepare(node_input: Any) -> str:
        return "prepared"

    def finish(node_input: Any) -> str:
        return "finished"

    readers = (agent("reader_one", "One."), agent("reader_two", "Two."))
    join = JoinNode(name="together")
    return Workflow(name="reading", edges=[("START", prepare, readers, join, finish)])


def _transfer() -> BaseNode:
    desk = agent("desk", "The desk speaks.", description="A desk.")
    handing = Turn((Call("transfer_to_agent", {"agent_name": "desk"}),))
    return agent("front", lambda request: handing, sub_agents=[desk])


def _specialists() -> BaseNode:
    echo = agent("echo", "I echo.", mode="single_turn", description="Echoes.")
    calls = (Call("echo", {"request": "a"}), Call("echo", {"request": "b"}))
    return agent("caller", calling(*calls, then="Both."), sub_agents=[echo])


def _flow_among_tools() -> BaseNode:
    def step(node_input: str) -> str:
        return "done"

    flow = Workflow(name="flow", description="Flows.", input_schema=str, edges=[("START", step)])
    return agent("root", calling(Call("flow", {"request": "x"}), then="Done."), tools=[flow])


def _failing() -> BaseNode:
    def broken() -> None:
        """Break."""
        raise OSError("synthetic")

    return agent("root", calling(Call("broken"), then="Never."), tools=[broken])


SILENT = {"workflow steps", "workflow both"}
"""Older composites say nothing, so nothing tells of them."""


@pytest.mark.parametrize(
    "make",
    [
        _tool,
        _sequence,
        _parallel,
        _workflow,
        _transfer,
        _specialists,
        _flow_among_tools,
        _failing,
    ],
    ids=lambda make: make.__name__[1:],
)
async def test_what_is_inferred_is_what_ran(make: Callable[[], BaseNode]) -> None:
    """The same log without its node records gives the same nodes, parents and calls."""
    seen = (await watch(await new_runner(make(), resumable=False))).check()
    events = [
        entry.record
        for entry in seen.entries
        if not isinstance(entry.record, NodeStarted | NodeEnded | ChildEvent)
    ]
    facts = read(events[:-1], seen.ended)
    balanced(facts)
    assert _tree(facts) == _tree(seen.facts)
    assert _ends(facts) == _ends(seen.facts)


def _tree(facts: Sequence[Fact]) -> list[tuple[str, str, str]]:
    """Return each node's name, call and the name around it; of kinds only what is a tool."""
    began = {fact.node: fact for fact in facts if isinstance(fact, NodeBegan)}
    shown = {n: f for n, f in began.items() if f"{f.kind} {f.name}" not in SILENT}

    def label(node: str) -> str:
        fact = shown.get(node)
        return f"{'tool ' if fact.kind == 'tool' else ''}{fact.name}" if fact else ""

    return sorted((label(n), f.call, label(f.parent)) for n, f in shown.items())


def _ends(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    began = {fact.node: fact for fact in facts if isinstance(fact, NodeBegan)}
    ends = [fact for fact in facts if isinstance(fact, NodeFinished)]
    shown = [f for f in ends if f"{began[f.node].kind} {began[f.node].name}" not in SILENT]
    return sorted((began[f.node].name, f.status) for f in shown)


# --------------------------------------------------------------------------- single rules


def event(author: str, path: str = "", branch: str = "", **fields: Any) -> AgentEvent:
    told = {"author": author, "nodeInfo": {"path": path}, "branch": branch, **fields}
    return AgentEvent(json.dumps(told).encode())


def text(words: str = "x") -> dict[str, Any]:
    return {"content": {"role": "model", "parts": [{"text": words}]}}


def test_agents_that_take_turns_iterate() -> None:
    """As in a loop of two, or in a capture whose events have no paths."""
    events = [event(author, **text()) for author in ("a", "b", "a", "b")]
    assert story(read([STARTED, *events])) == [
        "> agent a",
        "< a finished",
        "> agent b",
        "< b finished",
        "> agent a#2",
        "< a#2 finished",
        "> agent b#2",
        "< b#2 finished",
    ]


def test_a_turn_of_the_user_ends_everything() -> None:
    events = [event("a", "a@1", **text()), event("user", **text()), event("a", "a@1", **text())]
    assert story(read([STARTED, *events])) == [
        "> agent a",
        "< a finished",
        "> agent a#2",
        "< a#2 finished",
    ]


def test_a_node_that_fails_and_speaks_again_is_tried_again() -> None:
    events = [
        event("wf", "wf@1/x@1", errorCode="ValueError", errorMessage="x"),
        event("wf", "wf@1/x@1", output="done"),
    ]
    assert story(read([STARTED, *events], RunEnded(outcome="finished"))) == [
        "> workflow wf",
        "> node x",
        "< x failed ValueError",
        "> node x#2",
        "< x#2 finished",
        "< wf finished",
    ]


def test_one_error_fails_a_node_once() -> None:
    """Whatever else its event says: what it says belongs to the node that fails."""
    said = text("Half an answer") | {"usageMetadata": {"totalTokenCount": 5}}
    facts = read([STARTED, event("a", "a@1", errorCode="Overload", **said)])
    assert story(facts) == ["> agent a", "< a failed Overload"]


def test_a_failure_fails_the_nodes_around_it_and_cancels_those_beside() -> None:
    """Nobody else failed."""
    events = [
        event("left", "wf@1/left@1", branch="left", **text()),
        event("right", "wf@1/right@1", branch="right", **text()),
        event("left", "wf@1/left@1", branch="left", errorCode="ValueError"),
    ]
    ended = RunEnded(outcome="failed", code="ValueError")
    assert story(read([STARTED, *events], ended))[-3:] == [
        "< left failed ValueError",
        "< right cancelled",
        "< wf failed",
    ]


def test_the_user_is_no_node() -> None:
    delta = {"actions": {"stateDelta": {"a": 1}}}
    assert story(read([STARTED, event("user", **delta)])) == []


def test_streamed_pieces_begin_a_node_once() -> None:
    events = [event("a", "a@1", partial=True, **text("one ")) for _ in range(3)]
    facts = read([STARTED, *events, event("a", "a@1", **text("one one one "))])
    assert story(facts) == ["> agent a", "< a finished"]


def test_node_records_end_the_guessing() -> None:
    """From the first record on, the log itself says what runs."""
    recorded = NodeStarted(node="n1", name="a", kind="agent", path="a@1")
    ended = NodeEnded(node="n1", status="finished")
    records = [STARTED, event("a", "a@1", **text()), recorded, event("b", "b@1", **text()), ended]
    assert story(read(records)) == [
        "> agent a",
        "< a finished",
        "> agent a",
        "< a finished",
    ]


def test_recorded_nodes_without_an_end_end_with_the_run() -> None:
    """Innermost first, as the run ended; a second start or a stray end is no fact."""
    one = NodeStarted(node="n1", name="a", kind="agent")
    two = NodeStarted(node="n2", name="t", kind="tool", parent="n1")
    stray = NodeEnded(node="n9", status="failed")
    facts = read([STARTED, one, two, one, stray], RunEnded(outcome="cancelled"))
    assert story(facts) == ["> agent a", "> tool t", "< t cancelled", "< a cancelled"]


_spoken = st.builds(
    event,
    st.sampled_from(["a", "b", "wf", "user"]),
    st.sampled_from(["", "a@1", "wf@1/a@1", "wf@1/b@1", "a@1/b@c1", "wf@1/a@1/b@2"]),
    st.sampled_from(["", "a@1", "b@1", "a@1.b@c1", "b@c1"]),
    content=st.fixed_dictionaries(
        {
            "parts": st.lists(
                st.sampled_from(
                    [
                        {"text": "x"},
                        {"functionCall": {"id": "c1", "name": "b", "args": {}}},
                        {"functionResponse": {"id": "c1", "name": "b", "response": {"r": 1}}},
                        {"functionCall": {"id": "c2", "name": "t", "args": {}}},
                        {"functionResponse": {"id": "c2", "name": "t", "response": {"error": "x"}}},
                    ]
                ),
                max_size=3,
            )
        }
    ),
    partial=st.sampled_from([None, True, False]),
    actions=st.sampled_from([{}, {"transferToAgent": "b"}, {"stateDelta": {"k": 1}}]),
    errorCode=st.sampled_from([None, None, None, "ValueError"]),
)


@given(
    st.lists(_spoken, max_size=25), st.sampled_from(["finished", "failed", "waiting", "incomplete"])
)
def test_any_events_give_balanced_nodes(events: list[AgentEvent], outcome: Any) -> None:
    balanced(read([STARTED, *events], RunEnded(outcome=outcome)))
