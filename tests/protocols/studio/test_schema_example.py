"""The example stream of SSE Schema v2, event by event and field by field."""

from __future__ import annotations

import pytest
from tests.protocols.studio.logs import begins, ended, ends, event, log, started, told

from adk_prism.errors import BadPosition
from adk_prism.features.captures.replay import project, replay
from adk_prism.log.entry import Agent, run_of_position
from adk_prism.protocols.contract import Payload
from adk_prism.protocols.registry import protocol
from adk_prism.server.run_streams import _unplaced

RESEARCHER = Agent(name="researcher", model="gemini-2.5-flash", tools=2)

RECORDS = (
    (0.0, started({"query": "test"}, [RESEARCHER])),
    (0.0, begins("1", "researcher")),
    (
        0.3,
        event(
            {"functionCall": {"id": "c1", "name": "search", "args": {"query": "test"}}},
            author="researcher",
        ),
    ),
    (
        0.9,
        event(
            {"functionResponse": {"id": "c1", "name": "search", "response": {"result": "..."}}},
            author="researcher",
        ),
    ),
    (1.4, event({"text": "Based on my research..."}, author="researcher", partial=True)),
    (1.5, ends("1", state={"results": "..."})),
    (1.6, event(author="app", delta={"response": "..."})),
    (1.7, ended()),
)


def snapshot(before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
    return {"input": before, "output": after}


def test_the_example_is_reproduced() -> None:
    """Every event of the schema's example, in its order, with every field and no other of its own.

    Beyond it: a call of its own for each model call, the agent's result, and the change of state after
    the node, which the example only shows in its last snapshot. What is laid over is taken off.
    """
    query = {"query": "test"}
    after_node = {**query, "results": "..."}
    last = {**after_node, "response": "..."}
    calling = ("log", {"message": "Calling gemini-2.5-flash (tools: 2)"})
    assert told(*RECORDS) == [
        ("session", "abc123"),
        (
            "trace",
            {
                "type": "node_start",
                "node": "researcher",
                "step": 1,
                "state_snapshot": snapshot(query, {}),
                "state_keys": ["query"],
            },
        ),
        calling,
        ("tool_call", {"name": "search", "args": query}),
        ("tool_result", {"name": "search", "result": "..."}),
        calling,
        ("chunk", "Based on my research..."),
        (
            "trace",
            {
                "type": "node_end",
                "node": "researcher",
                "step": 1,
                "duration_ms": 1500,
                "state_snapshot": snapshot(query, after_node),
                "state_keys": ["query", "results"],
                "result": "Based on my research...",
            },
        ),
        (
            "trace",
            {
                "type": "state",
                "state_snapshot": snapshot({}, last),
                "state_keys": ["query", "results", "response"],
                "changed": ["response"],
            },
        ),
        (
            "trace",
            {
                "type": "done",
                "total_steps": 1,
                "state_snapshot": snapshot(query, last),
                "state_keys": ["query", "results", "response"],
            },
        ),
        ("end", ""),
    ]


def test_the_example_as_bytes() -> None:
    """Named events; plain text where the schema has it; an `end` with an empty data line."""
    spec = protocol("studio").format()
    stream = b"".join(replay(log(*RECORDS), spec)).decode().split("\n\n")
    assert stream[0] == "id: run-1:1.1\nevent: session\ndata: abc123"
    assert "id: run-1:5.1\nevent: chunk\ndata: Based on my research..." in stream
    assert stream[-2:] == ["id: run-1:8.2\nevent: end\ndata: ", ""]


def test_keys_come_in_the_order_of_the_schema() -> None:
    """A person who compares a stream with the schema finds the fields where they are there."""
    spec = protocol("studio").format()
    stream = b"".join(replay(log(*RECORDS), spec)).decode()
    assert (
        '{"type":"node_start","node":"researcher","step":1,"state_snapshot":'
        '{"input":{"query":"test"},"output":{}},"state_keys":["query"],' in stream
    )
    assert (
        '{"type":"node_end","node":"researcher","step":1,"duration_ms":1500,"state_snapshot":'
        in stream
    )
    assert '{"type":"done","total_steps":1,"state_snapshot":' in stream
    assert '{"name":"search","args":{"query":"test"},' in stream


def test_project_names_the_run_in_its_positions() -> None:
    """A frame's position is what a server would send as its id."""
    events = [{"author": "agent", "content": {"role": "model", "parts": [{"text": "Hello"}]}}]
    frames = list(project(events, protocol="studio"))
    assert [frame.event for frame in frames] == [
        "session",
        "trace",
        "chunk",
        "trace",
        "trace",
        "end",
    ]
    assert all(frame.position.startswith("run-") for frame in frames)
    assert frames[0].position.endswith(":1.1")


POSITIONS = (
    ("run-1:12.3", "run-1"),
    ("run-1:12", "run-1"),
    ("12.3", None),
    ("run 1:2.3", None),
    ("", None),
)


@pytest.mark.parametrize(("text", "run"), POSITIONS)
def test_a_position_tells_its_run(text: str, run: str | None) -> None:
    """Or is none that one could go on with, having nothing else."""
    if run is not None:
        assert run_of_position(text) == run
        return
    with pytest.raises(BadPosition):
        run_of_position(text)


def test_a_frame_of_no_entry_has_a_name_and_no_id() -> None:
    """Told to a client whose stream broke off: it must not move the place that it goes on from."""
    assert _unplaced(Payload(b"{}", "error")) == b"event: error\ndata: {}\n\n"
    assert _unplaced(Payload(b"[DONE]")) == b"data: [DONE]\n\n"
