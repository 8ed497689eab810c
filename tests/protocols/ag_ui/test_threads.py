"""A thread of several runs, live runs, and agents inside tools: in the hands of the real client."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from tests.conformance.ag_ui import READERS, AgUiClient
from tests.golden.test_ag_ui_clients import REPLAYED, body, history, without_error
from tests.laws.events import Json, answer, call, entries, event, text
from tests.protocols.events import events_of

from adk_prism.log.entry import (
    ApprovalAsked,
    ApprovalGiven,
    ChildEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Outcome,
    Record,
    RunStarted,
    to_raw,
)
from adk_prism.protocols.registry import protocol

readers = pytest.mark.parametrize(("client", "dialect"), READERS)


def run(name: str, *events: Json | Record, live: bool = False, **how: Any) -> list[Entry]:
    """Return a run of a thread."""
    outcome: Outcome = how.get("outcome", "finished")
    head, *rest = entries(events, outcome)
    assert isinstance(head.record, RunStarted)
    said = to_raw({"role": "user", "parts": [{"text": f"Say {name}."}]})
    record = structs.replace(head.record, run=name, message=said, live=live, labels={}, rewound=[])
    return [structs.replace(head, record=record), *rest]


@readers
def test_a_model_that_counts_its_calls(client: str, dialect: str, ag_ui_client: AgUiClient) -> None:
    """`call-1` of the second run is another call than `call-1` of the first."""
    runs = [
        run(
            name,
            event(call("look", "call-1", {"at": name})),
            event(answer("look", "call-1", {"seen": name})),
            event(text(f"I saw {name}.")),
        )
        for name in ("run-1", "run-2")
    ]
    held = ag_ui_client([body(each, dialect) for each in runs], client)
    assert held.faults == []
    made = [call for message in held.messages for call in message.get("toolCalls", ())]
    assert [call["function"]["arguments"] for call in made] == [
        '{"at": "run-1"}',
        '{"at": "run-2"}',
    ]
    assert [message["role"] for message in held.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ] * 2


@readers
def test_an_agent_inside_a_tool_that_is_cut_off(
    client: str, dialect: str, ag_ui_client: AgUiClient
) -> None:
    """Its words and calls are its sub-agent's own; what it left open is closed with the run."""
    outer = call("ask", "call-0123456789abcdef")
    inner = [
        event(text("Let me "), author="child", partial=True),
        event(call("dig", "call-1"), author="child"),
        event(text("Hm"), author="child", partial=True),
    ]
    found = run(
        "run-1",
        NodeStarted(node="n1", name="agent", kind="agent"),
        event(outer),
        NodeStarted(node="n2", name="ask", kind="tool", parent="n1", call="call-0123456789abcdef"),
        NodeStarted(node="n3", name="child", kind="agent", parent="n2"),
        *(ChildEvent(call="call-0123456789abcdef", node="n2", event=to_raw(e)) for e in inner),
        outcome="cancelled",
    )
    held = ag_ui_client([body(found, dialect)], client)
    assert held.faults == []
    (begun,) = [each for each in events_of(found) if each["type"] == "SUBAGENT_STARTED"]
    assert begun["parentToolCallId"] == "call-0123456789abcdef"
    owners = {message.get("subagentRunId") for message in held.messages if "toolCalls" in message}
    assert owners == {None, begun["subagentRunId"]}


@readers
def test_a_live_run(client: str, dialect: str, ag_ui_client: AgUiClient) -> None:
    """Captions are text, what the user is heard to say is the user's, an approval is an activity."""
    found = run(
        "run-1",
        event(author="user", inputTranscription={"text": "Pay ", "finished": False}, partial=True),
        event(author="user", inputTranscription={"text": "Pay it.", "finished": True}),
        event(call("pay", "call-1")),
        ApprovalAsked(approval="a1", call="call-1", name="pay", hint="May I?"),
        ApprovalGiven(approval="a1", approved=True),
        event(answer("pay", "call-1", {"ok": 1})),
        event(outputTranscription={"text": "Paid.", "finished": True}),
        event(turnComplete=True),
        live=True,
    )
    held = ag_ui_client([body(found, dialect)], client)
    assert held.faults == []
    assert held.interrupts == []
    said = [(m["role"], m["content"]) for m in held.messages if isinstance(m.get("content"), str)]
    assert ("user", "Pay it.") in said
    assert ("assistant", "Paid.") in said
    (approval,) = [m for m in held.messages if m["role"] == "activity"]
    assert approval["content"]["state"] == "approved"


@readers
def test_a_whole_thread_is_rebuilt(client: str, dialect: str, ag_ui_client: AgUiClient) -> None:
    """By a client that reads all its runs, and by our own history."""
    runs = [
        run("run-1", event(text("One."))),
        run("run-2", event(text("Tw"), partial=True), outcome="failed"),
        run("run-3", event(text("Three."))),
    ]
    held = ag_ui_client([body(each, dialect, REPLAYED) for each in runs], client)
    assert held.faults == []
    assert [without_error(each) for each in history(list(runs), dialect)] == held.messages


def test_owners_of_agents_of_one_name() -> None:
    """Two that run side by side are told apart by their branches."""
    path = "root@1/left@1"
    nodes = [
        NodeStarted(node=f"n{n}", name="left", kind="agent", parent="n0", path=path, branch=f"b{n}")
        for n in (1, 2)
    ]
    said = [
        event(text("Hi"), author="left", path=path, branch=f"b{n}", partial=True) for n in (2, 1)
    ]
    ends = [NodeEnded(node=f"n{n}", status="finished") for n in (1, 2, 0)]
    found = events_of(
        run("run-1", NodeStarted(node="n0", name="root", kind="agent"), *nodes, *said, *ends)
    )
    begun = [each["subagentRunId"] for each in found if each["type"] == "SUBAGENT_STARTED"]
    spoken = [each["subagentRunId"] for each in found if each["type"] == "TEXT_MESSAGE_START"]
    assert len(set(begun)) == 2
    assert spoken == begun[::-1]


def test_raw_events_come_last_and_change_no_position() -> None:
    """A position that was sent without them is the same with them."""
    found = run("run-1", event(text("One.")), event(text("Two.")))
    spec = protocol("ag-ui")
    plain, raw = spec.format("1.0").reader(), spec.format("1.0", raw=True).reader()
    for entry in found:
        told, more = plain.feed(entry), raw.feed(entry)
        assert more[: len(told)] == told
        assert all(b'"type":"RAW"' in each.data for each in more[len(told) :])


def test_what_was_withheld_is_not_in_the_history() -> None:
    """Neither text that a callback replaced, nor a call that was not made."""
    secret = "swordfish"
    found = run(
        "run-1",
        event(text(f"It is {secret}."), partial=True),
        event(call("tell", "call-1", {"it": secret}), partial=True),
        event(text("I may not say.")),
    )
    messages = history([found], "1.0")
    assert secret not in str(messages)
    assert [message["role"] for message in messages] == ["user", "assistant"]
