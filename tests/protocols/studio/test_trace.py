"""The trace: nodes with their steps, bounds and ends, and the state as it goes through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.protocols.studio.logs import (
    Json,
    begins,
    child,
    ended,
    ends,
    event,
    frames,
    log,
    started,
    told,
)

from adk_prism.log.entry import Agent, AgentEvent, Outcome, Record, to_raw
from adk_prism.protocols.studio.trace import Snapshots


def traces(*records: Record | tuple[float, Record]) -> list[Json]:
    """The traces of a log, every field of them."""
    return [data for name, data in frames(log(*records)) if name == "trace"]


def steps(*records: Record | tuple[float, Record]) -> list[tuple[str, str, int]]:
    """What starts and ends, in order."""
    found = (data for data in traces(*records) if "node" in data)
    return [(data["type"], data["node"], data["step"]) for data in found]


def test_steps_are_counted_in_the_order_of_starts() -> None:
    """Nodes that run side by side keep their steps, whichever ends first."""
    assert steps(
        started(),
        begins("1", "root"),
        begins("2", "left", parent="1"),
        begins("3", "right", parent="1"),
        ends("3"),
        ends("2"),
        ends("1"),
        ended(),
    ) == [
        ("node_start", "root", 1),
        ("node_start", "left", 2),
        ("node_start", "right", 3),
        ("node_end", "right", 3),
        ("node_end", "left", 2),
        ("node_end", "root", 1),
    ]


def test_a_node_keeps_its_input_while_the_state_goes_on() -> None:
    """Input is the state that was found, output the whole state when the node ended, not its own part."""
    found = traces(
        started({"query": "q"}),
        begins("1", "first"),
        event(delta={"a": 1}),
        ends("1", state={"b": 2}),
        begins("2", "second"),
        ends("2", gone=["a"]),
        ended(),
    )
    snapshots = [(data["type"], data["state_snapshot"], data["state_keys"]) for data in found]
    first = {"query": "q"}
    then = {"query": "q", "a": 1, "b": 2}
    last = {"query": "q", "b": 2}
    assert snapshots == [
        ("node_start", {"input": first, "output": {}}, ["query"]),
        ("state", {"input": {}, "output": {"query": "q", "a": 1}}, ["query", "a"]),
        ("node_end", {"input": first, "output": then}, ["query", "a", "b"]),
        ("node_start", {"input": then, "output": {}}, ["query", "a", "b"]),
        ("node_end", {"input": then, "output": last}, ["query", "b"]),
        ("done", {"input": first, "output": last}, ["query", "b"]),
    ]


@dataclass(frozen=True)
class End:
    id: str
    record: Any
    expected: Json


ENDS = (
    End("a success says nothing of it", ends("1"), {}),
    End(
        "failed",
        ends("1", "failed", error="ValueError"),
        {"status": "error", "error": "ValueError"},
    ),
    End("cancelled", ends("1", "cancelled"), {"status": "cancelled"}),
    End("waiting", ends("1", "waiting"), {"status": "waiting"}),
    End("inferred", ends("1", derived=True), {"derived": True}),
)


@pytest.mark.parametrize("case", ENDS, ids=lambda case: case.id)
def test_how_a_node_ends(case: End) -> None:
    """A failed node is told from a finished one; what is not a success is an optional field."""
    end = traces(started(), begins("1", "node"), case.record, ended())[1]
    assert {key: end[key] for key in ("status", "error", "derived") if key in end} == case.expected


def test_a_duration_comes_from_the_log() -> None:
    """Milliseconds between the two records; a clock that was set back gives none, not less."""
    records = (
        (1.0, begins("1", "a")),
        (1.2346, ends("1")),
        (2.0, begins("2", "b")),
        (1.0, ends("2")),
    )
    found = traces((0.0, started()), *records, (3.0, ended()))
    assert [data["duration_ms"] for data in found if data["type"] == "node_end"] == [235, 0]
    assert [data["timestamp"] for data in found] == [1000, 1235, 2000, 1000, 3000]


OPEN_AT_THE_END: tuple[tuple[Outcome, str | None], ...] = (
    ("finished", None),
    ("failed", "error"),
    ("cancelled", "cancelled"),
    ("waiting", "waiting"),
)


@pytest.mark.parametrize(("outcome", "status"), OPEN_AT_THE_END)
def test_nodes_that_never_end_end_with_the_run(outcome: Outcome, status: str | None) -> None:
    """Innermost first, before anything says that the run is over, and marked as inferred."""
    said = told(started(), begins("1", "outer"), begins("2", "inner", parent="1"), ended(outcome))
    last = [data for name, data in said if name == "trace" and data["type"] == "node_end"]
    assert [data["node"] for data in last] == ["inner", "outer"]
    assert [data.get("status") for data in last] == [status, status]
    closing = frames(log(started(), begins("1", "a"), ended(outcome)))
    assert [data.get("derived") for _, data in closing if data and "duration_ms" in data] == [True]


def test_a_loop_tells_its_iterations() -> None:
    """The same name again in the same parent; the first time needs no number."""
    records: list[Record] = [started(), begins("1", "loop", "workflow")]
    for number in (1, 2, 3):
        node = str(number + 1)
        records += [begins(node, "round", parent="1", iteration=number), ends(node)]
    found = traces(*records, ends("1"), ended())
    rounds = [data for data in found if data.get("node") == "round"]
    assert [data.get("iteration") for data in rounds] == [None, None, 2, 2, 3, 3]
    assert [data["id"] for data in rounds] == ["2", "2", "3", "3", "4", "4"]


def test_tools_are_calls_and_no_nodes() -> None:
    """A tool's record is passed over; an agent that it runs stands below the agent that called it.

    Its model may count calls from the same number again: the ids are not the same.
    """
    call = {"functionCall": {"id": "c1", "name": "ask", "args": {"request": "?"}}}
    inner = {"functionCall": {"id": "c1", "name": "look", "args": {}}}
    said = list(
        frames(
            log(
                started(agents=[Agent(name="child", model="m", tools=1)]),
                begins("1", "root", path="root@1"),
                event(call, author="root"),
                begins("2", "ask", "tool", call="c1", parent="1"),
                begins("3", "child", parent="2", call="c1"),
                child("c1", {"text": "secret thoughts"}, node="2"),
                child("c1", inner, node="2"),
                child(
                    "c1",
                    {"functionResponse": {"id": "c1", "name": "look", "response": {"result": 1}}},
                    node="2",
                ),
                ends("3"),
                ends("2"),
                event(
                    {"functionResponse": {"id": "c1", "name": "ask", "response": {"result": "ok"}}}
                ),
                ends("1"),
                ended(),
            )
        )
    )
    nodes = [data for name, data in said if name == "trace" and data["type"] == "node_start"]
    assert [(data["node"], data["step"], data.get("parent")) for data in nodes] == [
        ("root", 1, None),
        ("child", 2, "1"),
    ]
    assert [data for name, data in said if name == "chunk"] == []
    assert [data for name, data in said if data and "within" in data] == [
        {"message": "Calling m (tools: 1)", "node": "child", "within": "c1"},
        {"message": "Calling m (tools: 1)", "node": "child", "within": "c1"},
        {"name": "look", "args": {}, "id": "c1/c1", "node": "child", "within": "c1"},
        {"name": "look", "result": 1, "id": "c1/c1", "within": "c1"},
        {"message": "Calling m (tools: 1)", "node": "child", "within": "c1"},
    ]


def test_scaffolding_of_adk_is_not_shown() -> None:
    """Names that begin with two underscores have no step; what runs in them stands in their parent."""
    found = traces(
        started(),
        begins("1", "flow", "workflow"),
        begins("2", "__START__", "node", parent="1"),
        begins("3", "step", "function", parent="2"),
        ends("3"),
        ends("2"),
        ends("1"),
        ended(),
    )
    assert [(data["node"], data["step"]) for data in found if data["type"] == "node_start"] == [
        ("flow", 1),
        ("step", 2),
    ]
    assert found[1]["parent"] == "1"
    assert found[-1]["total_steps"] == 2


def test_a_record_that_does_not_fit_is_passed_over() -> None:
    """A second start of a running node, and an end of one that never started, change nothing."""
    records = (begins("1", "a"), begins("1", "a"), ends("2"), ends("1"), ends("1"))
    assert steps(started(), *records, ended()) == [("node_start", "a", 1), ("node_end", "a", 1)]


def test_what_a_workflow_node_gives_on_is_told_at_its_end() -> None:
    """The output of a function has no place in the state, and would be seen nowhere else."""
    found = traces(
        started(),
        begins("1", "flow", "workflow", path="flow@1"),
        begins("2", "step", "function", path="flow@1/step@1", parent="1"),
        event(
            author="flow", output={"a": {"b": {"c": {"d": 1}}}}, nodeInfo={"path": "flow@1/step@1"}
        ),
        ends("2"),
        ends("1"),
        ended(),
    )
    results = [(data["node"], data.get("result")) for data in found if data["type"] == "node_end"]
    assert results == [("step", {"a": {"b": {"c": "{… 1 key}"}}}), ("flow", None)]


DEPTHS = (
    ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 1}}}),
    ({"a": {"b": {"c": {"d": 1, "e": 2}}}}, {"a": {"b": {"c": "{… 2 keys}"}}}),
    ({"a": [[[1, 2, 3]]]}, {"a": [["[… 3 items]"]]}),
    ({"a": {"b": {"c": {}}}}, {"a": {"b": {"c": {}}}}),
    ({"a": "{[{[not deep"}, {"a": "{[{[not deep"}),
)


@pytest.mark.parametrize(("state", "shown"), DEPTHS)
def test_depth_is_limited_on_the_wire_with_a_visible_marker(state: Json, shown: Json) -> None:
    """Three levels, the state being the first; what is missing says how much it is."""
    found = traces(started(state), begins("1", "a"), ends("1"), ended())
    assert found[0]["state_snapshot"]["input"] == shown
    assert found[1]["state_snapshot"] == {"input": shown, "output": shown}
    assert found[2]["state_snapshot"] == {"input": shown, "output": shown}


def test_a_state_that_no_strict_reader_takes_is_repaired() -> None:
    """What Python writes for numbers that JSON does not have never reaches a client."""
    values = b'{"author":"agent","actions":{"stateDelta":{"n":NaN,"deep":{"m":[Infinity]}}}}'
    [change] = [
        data for data in traces(started(), AgentEvent(values), ended()) if data["type"] == "state"
    ]
    assert change["state_snapshot"]["output"] == {"n": None, "deep": {"m": [None]}}


def test_a_snapshot_is_written_once_until_the_state_changes() -> None:
    """A thousand nodes that change nothing share one piece of JSON."""
    snapshots = Snapshots()
    first = snapshots.change({"a": to_raw({"b": 1})})
    assert snapshots.take() is first
    assert snapshots.change({}) is first
    then = snapshots.change({"a": to_raw(2)})
    assert bytes(then.state) == b'{"a":2}'
    assert then.keys is first.keys
    assert bytes(snapshots.change({}, ["a"]).keys) == b"[]"
