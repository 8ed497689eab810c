"""What each thing an agent does is in AG-UI's stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.laws.events import Json, answer, call, confirmation, event, placeholder, text, thought
from tests.protocols.events import ag_ui_events, ended, named, of_type, told

from adk_prism.facts.model import FACTS, BlockGrew
from adk_prism.log.entry import (
    Continues,
    Decision,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunStarted,
    RunTakenOver,
    to_raw,
)
from adk_prism.protocols.ag_ui.projection import AgUiProjection
from adk_prism.protocols.contract import FileLinks, Options, Scope

BY_AGENT = {"adk": {"author": "agent"}}
LONG = "call-0123456789abcdef"
"""An id that no counter makes."""
PAY = call("pay", LONG, {"amount": 5})
START = {
    "type": "TOOL_CALL_START",
    "toolCallId": LONG,
    "toolCallName": "pay",
    "parentMessageId": "run-1-call-2",
    "metadata": BY_AGENT,
}
ARGS = {"type": "TOOL_CALL_ARGS", "toolCallId": LONG, "delta": '{"amount": 5}'}
END = {"type": "TOOL_CALL_END", "toolCallId": LONG}
MADE = [START, ARGS, END]


def result(content: str, **about: Any) -> Json:
    metadata = {"metadata": {"adk": about}} if about else {}
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"run-1-result-{LONG}",
        "toolCallId": LONG,
        "content": content,
        "role": "tool",
        **metadata,
    }


@dataclass(frozen=True)
class Case:
    """Events of ADK, and what is told of them."""

    id: str
    events: list[Json | Record]
    told: list[Json]


def message(kind: str, block: str, *deltas: str) -> list[Json]:
    name = f"run-1-{block}"
    begun = {"messageId": name, "role": "assistant", "name": "agent", "metadata": BY_AGENT}
    return [
        {"type": f"{kind}_START", **begun},
        *({"type": f"{kind}_CONTENT", "messageId": name, "delta": delta} for delta in deltas),
        {"type": f"{kind}_END", "messageId": name},
    ]


CASES = [
    Case("text", [event(text("Hello"))], message("TEXT_MESSAGE", "text-2.0", "Hello")),
    Case(
        "text in pieces",
        [event(text("Hel"), partial=True), event(text("lo"), partial=True), event(text("Hello"))],
        message("TEXT_MESSAGE", "text-2.0", "Hel", "lo"),
    ),
    Case(
        "a thought, signed",
        [event(thought("Hm.", thoughtSignature="c2ln"))],
        [
            {"type": "REASONING_START", "messageId": "run-1-reasoning-2.0"},
            {
                "type": "REASONING_MESSAGE_START",
                "messageId": "run-1-reasoning-2.0",
                "role": "reasoning",
                "metadata": BY_AGENT,
            },
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": "run-1-reasoning-2.0",
                "encryptedValue": "c2ln",
            },
            {
                "type": "REASONING_MESSAGE_CONTENT",
                "messageId": "run-1-reasoning-2.0",
                "delta": "Hm.",
            },
            {"type": "REASONING_MESSAGE_END", "messageId": "run-1-reasoning-2.0"},
            {"type": "REASONING_END", "messageId": "run-1-reasoning-2.0"},
        ],
    ),
    Case(
        "a tool",
        [event(PAY), event(answer("pay", LONG, {"ok": 1}))],
        [*MADE, result('{"ok": 1}')],
    ),
    Case(
        "a tool that failed",
        [event(PAY), event(answer("pay", LONG, {"error": "No money."}))],
        [*MADE, result('{"error": "No money."}', status="error", error="No money.")],
    ),
    Case(
        "a signed call",
        [event({**PAY, "thoughtSignature": "c2ln"}), event(answer("pay", LONG, {"ok": 1}))],
        [
            *MADE,
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "tool-call",
                "entityId": LONG,
                "encryptedValue": "c2ln",
            },
            result('{"ok": 1}'),
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_an_agent_does_is_told(case: Case) -> None:
    """Event by event."""
    assert told(*case.events) == case.told


def test_every_fact_has_its_row() -> None:
    """A fact without one would end the stream."""
    head = RunStarted(run="run-1", origin=Origin(app="app", user="user", session="session"))
    assert AgUiProjection(Options(), head).methods.keys() == {*FACTS} - {BlockGrew}


# ------------------------------------------------------------------ calls


def test_an_answer_without_its_call() -> None:
    """It may be a call of an earlier run: begun and ended, but with no arguments that would be added."""
    found = told(event(answer("pay", LONG, {"ok": 1})))
    assert [each["type"] for each in found] == [
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]


def test_a_run_that_goes_on_answers_without_beginning_again() -> None:
    """The client has the call from the run before."""
    decisions = {LONG: Decision(approval="a1", approved=True)}
    continues = Continues(message="run-0", open_calls={LONG: "pay"}, decisions=decisions)
    paid = event(answer("pay", LONG, {"ok": 1}))
    begun, _, *rest = ag_ui_events(paid, continues=continues, outcome="finished")
    assert begun["parentRunId"] == "run-0"
    assert [each["type"] for each in rest] == ["TOOL_CALL_RESULT", "RUN_FINISHED"]


def test_a_result_belongs_to_the_sub_agent_that_called() -> None:
    """Also in a run that goes on: whose the call is, is known when its tool runs."""
    decisions = {LONG: Decision(approval="a1", approved=True)}
    continues = Continues(message="run-0", open_calls={LONG: "pay"}, decisions=decisions)
    nodes: list[Record] = [
        NodeStarted(node="n1", name="root", kind="agent", path="root@1"),
        NodeStarted(node="n2", name="child", kind="agent", path="root@1/child@1", parent="n1"),
        NodeStarted(node="n3", name="pay", kind="tool", parent="n2", call=LONG),
    ]
    paid = event(answer("pay", LONG, {"ok": 1}))
    (shown,) = of_type("TOOL_CALL_RESULT", *nodes, paid, continues=continues, outcome="finished")
    assert shown["subagentRunId"] == "run-0/root@1/child@1"


def test_a_call_that_was_only_streamed_and_then_answered() -> None:
    """Its arguments are what was streamed."""
    begun = event(call("pay", LONG, {"amount": 5}), partial=True)
    (end,) = of_type("TOOL_CALL_END", begun, event(answer("pay", LONG, {"ok": 1})))
    assert end == END


def test_what_the_client_answered_itself_is_told_to_others_only() -> None:
    """Its own tool message stands in its list already."""
    answers = {LONG: to_raw({"city": "Rome"})}
    continues = Continues(message="run-0", open_calls={LONG: "locate"}, answers=answers)
    how: Any = {"continues": continues, "outcome": "finished"}
    assert of_type("TOOL_CALL_RESULT", **how) == []
    (shown,) = of_type("TOOL_CALL_RESULT", **how, scope=Scope(part="2 of 2", replayed=True))
    assert (shown["toolCallId"], shown["content"]) == (LONG, '{"city":"Rome"}')


def test_a_denied_call() -> None:
    """Told from an error by its status."""
    decisions = {LONG: Decision(approval="a1", approved=False, reason="Too much.")}
    continues = Continues(message="run-0", open_calls={LONG: "pay"}, decisions=decisions)
    denied = event(answer("pay", LONG, {"error": "This tool call is rejected."}))
    (shown,) = of_type("TOOL_CALL_RESULT", denied, continues=continues, outcome="finished")
    assert shown["content"] == "Denied: Too much."
    assert shown["metadata"]["adk"]["status"] == "denied"


def test_a_short_id_is_made_unique() -> None:
    """A model that counts its calls begins anew in the next message."""
    (begun,) = of_type("TOOL_CALL_START", event(call("pay", "c1")))
    assert begun["toolCallId"] == "c1@run-1"


def test_streamed_arguments_that_the_call_contradicts() -> None:
    """What was sent cannot be taken back: the end says with what the call was made."""
    streamed = call("pay", LONG, {"amount": 5})
    made = call("pay", LONG, {"amount": 7})
    found = told(event(streamed, partial=True), event(made))
    assert "".join(each["delta"] for each in found if "delta" in each) == '{"amount": 5}'
    (end,) = [each for each in found if each["type"] == "TOOL_CALL_END"]
    assert end["metadata"]["adk"] == {"author": "agent", "input": {"amount": 7}}


def test_code_is_a_call_of_its_own() -> None:
    """With its result; code whose result never comes is abandoned, not pending."""
    code = {"executableCode": {"code": "1+1", "language": "PYTHON"}}
    done = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    found = told(event(code), event(done))
    assert [each["type"] for each in found][-1] == "TOOL_CALL_RESULT"
    assert found[0]["toolCallName"] == "code_execution"
    (left,) = of_type("TOOL_CALL_RESULT", event(code))
    assert left["metadata"]["adk"]["status"] == "abandoned"


def test_a_long_running_tool_is_told_of_beside_its_first_answer() -> None:
    """And what it says later changes the activity: a client takes one result for a call."""
    begun = event(PAY, longRunningToolIds=[LONG])
    first, second = (event(answer("pay", LONG, {"done": done})) for done in (10, 90))
    found = told(begun, first, second)
    results = [each for each in found if each["type"] == "TOOL_CALL_RESULT"]
    assert [each["metadata"]["adk"]["status"] for each in results] == ["interim"]
    activities = [each for each in found if each["type"] == "ACTIVITY_SNAPSHOT"]
    assert len({each["messageId"] for each in activities}) == 1
    assert activities[-1]["content"]["output"] == '{"done": 90}'


# ------------------------------------------------------------------ how a run ends


def test_an_approval_is_an_interrupt_about_the_call() -> None:
    """ADK's own request stays hidden; its id is the interrupt's."""
    asked = event(confirmation(PAY, "a1", "Really?", {"limit": 3}))
    found = ag_ui_events(event(PAY), asked, placeholder(PAY))
    assert [each["toolCallName"] for each in found if each["type"] == "TOOL_CALL_START"] == ["pay"]
    (interrupt,) = found[-1]["outcome"]["interrupts"]
    schema = interrupt.pop("responseSchema")
    assert interrupt == {
        "id": "a1",
        "reason": "tool_call",
        "message": "Really?",
        "toolCallId": LONG,
        "metadata": {"adk": {"toolName": "pay", "payload": {"limit": 3}}},
    }
    assert schema["required"] == ["approved"]
    assert schema["properties"]["payload"]["required"] == ["limit"]
    assert schema["then"] == {"required": ["payload"]}


def test_a_request_for_input_has_its_schema() -> None:
    """As JSON schema spells it, whoever wrote it."""
    wanted = {"type": "OBJECT", "properties": {"guests": {"type": "INTEGER"}}}
    asked = call("adk_request_input", "ask-1", {"message": "How many?", "response_schema": wanted})
    outcome = ended(event(asked, longRunningToolIds=["ask-1"]))["outcome"]
    (interrupt,) = outcome["interrupts"]
    assert (interrupt["id"], interrupt["reason"]) == ("ask-1", "input_required")
    assert interrupt["message"] == "How many?"
    assert interrupt["responseSchema"]["properties"] == {"guests": {"type": "integer"}}


@pytest.mark.parametrize(
    ("dialect", "outcome"),
    [("0.0.59", {"type": "success"}), ("1.0", {"type": "success", "pendingToolCallIds": [LONG]})],
)
def test_a_call_that_waits_for_the_client(dialect: str, outcome: Json) -> None:
    """Named where the protocol can name it."""
    waits = event(PAY, longRunningToolIds=[LONG])
    assert ended(waits, dialect=dialect)["outcome"] == outcome


@pytest.mark.parametrize(
    ("dialect", "told_as"),
    [
        ("0.0.59", {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "STOPPED"}),
        (
            "1.0",
            {
                "type": "RUN_FINISHED",
                "threadId": "session",
                "runId": "run-1",
                "outcome": {"type": "cancelled"},
            },
        ),
    ],
)
def test_a_stopped_run(dialect: str, told_as: Json) -> None:
    """Everything that is open is closed first."""
    found = ag_ui_events(event(text("Hel"), partial=True), outcome="cancelled", dialect=dialect)
    assert found[-2]["type"] == "TEXT_MESSAGE_END"
    assert found[-1] == told_as


def test_a_failed_run_closes_everything_and_says_so_once() -> None:
    """With its code."""
    found = ag_ui_events(
        event(text("Hel"), partial=True), event(PAY), outcome="failed", code="Overload"
    )
    assert [each["type"] for each in found].count("RUN_ERROR") == 1
    assert found[-1]["code"] == "Overload"
    assert "Overload" in found[-1]["message"]


def test_usage_is_summed_per_model() -> None:
    """Thoughts count among the output."""
    counts = {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 4}
    first = event(text("a"), usageMetadata=counts, modelVersion="m1")
    again = event(text("b"), usageMetadata={"promptTokenCount": 1}, modelVersion="m1")
    other = event(text("c"), usageMetadata={"promptTokenCount": "x"}, modelVersion="m2")
    assert ended(first, again, other)["usage"] == [
        {"model": "m1", "inputTokens": 4, "outputTokens": 6, "reasoningTokens": 4}
    ]


# ------------------------------------------------------------------ state


def test_state_begins_with_a_snapshot_and_goes_on_in_patches() -> None:
    """Keys are escaped as JSON pointers; one that JavaScript refuses has another name."""
    delta = {"a/b~c": 1, "__proto__": {"x": 1}, "gone": None}
    found = ag_ui_events(event(actions={"stateDelta": delta}))
    assert found[1] == {"type": "STATE_SNAPSHOT", "snapshot": {}}
    (patch,) = [each["delta"] for each in found if each["type"] == "STATE_DELTA"]
    assert [operation["path"] for operation in patch] == ["/a~1b~0c", "/(__proto__)", "/gone"]
    assert {operation["op"] for operation in patch} == {"add"}


def test_only_what_is_there_is_removed() -> None:
    """A client drops a whole patch of which one operation fails."""
    nodes: list[Record] = [
        NodeStarted(node="n1", name="agent", kind="agent", state={"a": to_raw(1)}),
        NodeEnded(node="n1", status="finished", gone=["a", "never"]),
    ]
    patches = [each["delta"] for each in of_type("STATE_DELTA", *nodes, outcome="finished")]
    assert patches == [
        [{"op": "add", "path": "/a", "value": 1}],
        [{"op": "remove", "path": "/a"}],
    ]


# ------------------------------------------------------------------ what has no event of its own


def test_text_that_was_not_stored_is_taken_back() -> None:
    """Its message becomes an activity; what was stored follows."""
    found = told(event(text("Secret"), partial=True), event(text("Withheld.")))
    (gone,) = [each for each in found if each["type"] == "ACTIVITY_SNAPSHOT"]
    assert gone["messageId"] == "run-1-text-2.0"
    assert gone["activityType"] == "adk.replaced"
    assert found[-2]["delta"] == "Withheld."


def test_files_are_activities_with_an_address() -> None:
    """Small ones inside, large ones at the server, or by their size where there is none."""
    part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    (small,) = named("adk.file", event(part))
    assert small["url"] == "data:image/png;base64,AAAA"
    large = {"inlineData": {"mimeType": "image/png", "data": "A" * 5_000_000}}
    (linked,) = named("adk.file", event(large), files=FileLinks("https://host"))
    assert linked["url"] == "https://host/api/runs/run-1/files/2/0"
    (alone,) = named("adk.file", event(large))
    assert (alone.get("url"), alone["size"]) == (None, 3_750_000)


def test_an_artifact_is_an_activity() -> None:
    """With the address of its version."""
    saved = event(actions={"artifactDelta": {"a.txt": 3}})
    (shown,) = named("adk.artifact", saved, files=FileLinks("https://host"))
    assert shown == {
        "filename": "a.txt",
        "version": 3,
        "url": "https://host/api/runs/run-1/files/2/artifact-0",
    }


def test_sources_are_metadata_of_the_text_and_an_activity() -> None:
    """For whoever shows the message, and for whoever shows sources."""
    web = {"groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}]}
    found = told(event(text("So."), groundingMetadata=web))
    (end,) = [each for each in found if each["type"] == "TEXT_MESSAGE_END"]
    source = {"id": "source-1", "type": "url", "uri": "https://a.example", "title": "A"}
    assert end["metadata"]["sources"] == [source]
    (shown,) = [each for each in found if each["type"] == "ACTIVITY_SNAPSHOT"]
    assert shown["content"] == {"sources": [source], "grounding": web}


def test_a_source_keeps_its_id() -> None:
    """However often it is cited; each answer lists all that it rests on."""
    web = {"groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}]}
    found = named("adk.sources", *(event(text(t), groundingMetadata=web) for t in ("a", "b")))
    assert [[source["id"] for source in each["sources"]] for each in found] == [["source-1"]] * 2


def test_the_rest_is_told_by_custom_events() -> None:
    """Nothing is swallowed."""
    moved = event(actions={"transferToAgent": "other"})
    noted = event(text("x"), customMetadata={"a": 1})
    odd = event({"hologram": {"a": 1}})
    begun = event(text("Hel"), partial=True)
    names = {
        each["name"]
        for each in ag_ui_events(
            moved, noted, odd, begun, RunTakenOver(epoch=1), outcome="finished"
        )
        if each["type"] == "CUSTOM"
    }
    assert names == {
        "adk.transfer",
        "adk.metadata",
        "adk.unrecognised",
        "prism.takeover",
        "prism.rewound",
        "prism.warning",
    }


# ------------------------------------------------------------------ large things


def test_no_event_is_larger_than_a_client_takes() -> None:
    """Text and arguments come in pieces, and are whole; anything else is told by its size."""
    many = "x" * 11_000_000
    made = call("pay", LONG, {"note": many})
    found = ag_ui_events(
        event(text(many)),
        event(made),
        event(answer("pay", LONG, {"note": many})),
        event(actions={"stateDelta": {"big": many, "small": 1}}),
        event({"hologram": many}),
    )
    sizes = [len(str(each)) for each in found]
    assert max(sizes) < 10_000_000
    texts = [each["delta"] for each in found if each["type"] == "TEXT_MESSAGE_CONTENT"]
    assert "".join(texts) == many
    arguments = [each["delta"] for each in found if each["type"] == "TOOL_CALL_ARGS"]
    assert len("".join(arguments)) > len(many)
    (delta,) = [each["delta"] for each in found if each["type"] == "STATE_DELTA"]
    assert delta[0]["value"] == "[11000002 bytes: too large for an event]"
