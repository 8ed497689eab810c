"""Everything but the trace: text, calls, questions, logs and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.protocols.studio.logs import (
    Json,
    Said,
    begins,
    ended,
    event,
    frames,
    log,
    started,
    told,
)

from adk_prism.facts.model import FACTS, BlockGrew
from adk_prism.log.entry import Agent, Continues, Decision, Record
from adk_prism.protocols.registry import protocol
from adk_prism.protocols.studio.projection import _NESTED, _SHOW


def said(*records: Record | tuple[float, Record]) -> list[Said]:
    """What a run says between its session and its end."""
    return [
        item
        for item in told(started(), *records, ended())
        if item[0] not in ("session", "trace", "end")
    ]


def call(name: str, args: Any = None, call_id: str = "c1") -> Json:
    return {"functionCall": {"id": call_id, "name": name, "args": args or {}}}


def answer(name: str, response: Any, call_id: str = "c1") -> Json:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def confirmation(gated: Json, **about: Any) -> Json:
    args = {"originalFunctionCall": gated["functionCall"], "toolConfirmation": about}
    return call("adk_request_confirmation", args, "a1")


def test_every_fact_has_its_row() -> None:
    """A fact that is added to the union has to be given a place, or none, on purpose."""
    assert set(_SHOW) == set(FACTS) - {BlockGrew}, "that one is shown before it is asked"
    assert set(_NESTED) < set(FACTS)


def test_a_chunk_is_a_delta_as_raw_text() -> None:
    """Pieces to be appended: the whole text comes once, whatever ADK repeats at the end."""
    pieces = [event({"text": text}, partial=True) for text in ("Hello\n", "  world")]
    assert said(*pieces, event({"text": "Hello\n  world"})) == [
        ("chunk", "Hello\n"),
        ("chunk", "  world"),
    ]


def test_agents_that_speak_at_once_are_heard_one_after_the_other() -> None:
    """A chunk does not say who speaks: each text stays in one piece, and none is lost or doubled.

    What is replaced before its turn has come is never said.
    """

    def says(author: str, text: str, partial: bool = True) -> Record:
        return event({"text": text}, author=author, branch=author, partial=partial)

    pieces = (
        says("left", "One "),
        says("right", "uno "),
        says("third", "eins "),
        says("right", "dos"),
        says("left", "two"),
        says("third", "zwei", partial=False),
        says("left", "One two", partial=False),
        says("right", " tres"),
    )
    assert said(*pieces) == [
        ("chunk", "One "),
        ("chunk", "two"),
        ("chunk", "uno dos"),
        ("chunk", " tres"),
        ("chunk", "zwei"),
    ]


def test_text_that_was_replaced_is_taken_back_by_a_log() -> None:
    """It has all that stands; what ADK stored follows."""
    kept = event({"text": "Let me see.", "thought": True}, {"text": "First."})
    pieces = (
        event({"text": "Hm.", "thought": True}, partial=True),
        event({"text": "The secret"}, partial=True),
        event({"text": "Hm.", "thought": True}, {"text": "[withheld]"}, partial=False),
    )
    message = "What was said is replaced by what follows."
    assert said(kept, *pieces)[2:] == [
        ("thinking", {"content": "Hm."}),
        ("chunk", "The secret"),
        ("log", {"message": message, "text": "First.", "thinking": "Let me see.Hm."}),
        ("chunk", "[withheld]"),
    ]


def test_thoughts_are_no_text() -> None:
    thought = {"text": "hm", "thought": True}
    assert said(event(thought, partial=True)) == [("thinking", {"content": "hm"})]


@dataclass(frozen=True)
class Result:
    id: str
    response: Any
    expected: Json


RESULTS = (
    Result("an object as it is", {"a": 1, "b": 2}, {"result": {"a": 1, "b": 2}}),
    Result("a plain value without ADK's wrapping", {"result": "sunny"}, {"result": "sunny"}),
    Result(
        "an object that only has a key of that name",
        {"result": 1, "b": 2},
        {"result": {"result": 1, "b": 2}},
    ),
    Result("nothing", {"result": None}, {"result": None}),
    Result(
        "an error",
        {"error": "no such order"},
        {"result": {"error": "no such order"}, "status": "error", "error": "no such order"},
    ),
)


@pytest.mark.parametrize("case", RESULTS, ids=lambda case: case.id)
def test_results_of_tools(case: Result) -> None:
    """A result is the tool's own value; a failed one says so."""
    found = said(event(call("look", {"q": 1})), event(answer("look", case.response)))
    assert found == [
        ("tool_call", {"name": "look", "args": {"q": 1}}),
        ("tool_result", {"name": "look", **case.expected}),
    ]


def test_a_call_that_nobody_will_answer_has_a_result_that_says_so() -> None:
    found = told(started(), event(call("look")), ended("cancelled"))
    assert next(item for item in found if item[0] == "tool_result") == (
        "tool_result",
        {
            "name": "look",
            "result": None,
            "status": "abandoned",
            "error": "The run stopped before this tool returned.",
        },
    )


def test_a_denied_call_says_so() -> None:
    """By the decision that was given, not by the words that ADK answers with."""
    decision = Decision(approval="a1", approved=False, reason="too much")
    asked = Continues(message="run-0", open_calls={"c1": "pay"}, decisions={"c1": decision})
    refused = event(answer("pay", {"error": "This tool call is rejected."}))
    denied = {"name": "pay", "result": None, "status": "denied", "error": "too much"}
    assert ("tool_result", denied) in told(started(continues=asked), refused, ended())


def test_an_approval_is_an_interrupt() -> None:
    """With everything that a person needs to decide, and a client to answer."""
    gated = call("pay", {"amount": 5})
    records = (
        event(gated, author="clerk"),
        (7.5, event(confirmation(gated, hint="Pay?"), author="clerk")),
    )
    [interrupt] = [data for name, data in frames(log(started(), *records)) if name == "interrupt"]
    assert interrupt == {
        "type": "approval",
        "node_id": "clerk",
        "message": "Pay?",
        "data": {"id": "a1", "call": "c1", "name": "pay", "args": {"amount": 5}},
        "thread_id": "abc123",
        "checkpoint_id": "run-1:3",
        "timestamp": 7500,
    }


def test_a_hint_that_adk_made_up_is_not_shown_to_a_person() -> None:
    gated = call("pay")
    hint = "Please approve or reject the tool call pay() by responding with a FunctionResponse …"
    found = said(event(gated), event(confirmation(gated, hint=hint, payload={"n": 1})))
    assert found[1][1]["message"] == "pay waits for your approval."
    assert found[1][1]["data"]["payload"] == {"n": 1}


QUESTIONS = (
    (
        "adk_request_input",
        {"message": "Which colour?", "payload": {"n": 1}},
        {"type": "input", "message": "Which colour?", "node_id": "ask"},
    ),
    (
        "adk_request_input",
        {},
        {"type": "input", "message": "An answer is needed.", "node_id": "ask"},
    ),
    (
        "adk_request_credential",
        {"functionCallId": "c9"},
        {"type": "credential", "message": "A sign-in is needed.", "node_id": "ask"},
    ),
)


@pytest.mark.parametrize(("name", "args", "expected"), QUESTIONS)
def test_requests_to_a_person_are_interrupts(name: str, args: Json, expected: Json) -> None:
    """The node that asks is named as the graph names it, also where a workflow speaks for its steps."""
    asked = event(call(name, args, "r1"), author="flow", nodeInfo={"path": "flow@1/ask@1"})
    [(_, interrupt)] = said(asked)
    assert {key: interrupt[key] for key in expected} == expected
    assert interrupt["data"]["id"] == "r1"
    assert interrupt["data"]["request"] == args


def test_a_continuation_resumes_the_nodes_that_asked() -> None:
    """Each once; where an older record does not say who asked, the root."""
    decisions = {"c1": Decision(approval="a1", approved=True)}
    asked = Continues(
        message="run-0",
        open_calls={"c1": "pay", "c2": "pay"},
        decisions=decisions,
        askers={"c1": "clerk", "c2": "clerk", "r1": "ask"},
    )
    answered = event(answer("pay", {"ok": True}), author="clerk")
    found = told((2.0, started(continues=asked)), answered, ended())
    assert found[:4] == [
        ("session", "abc123"),
        ("resume", {"node_id": "clerk"}),
        ("resume", {"node_id": "ask"}),
        ("tool_result", {"name": "pay", "result": {"ok": True}}),
    ]
    old = Continues(message="run-0", decisions=decisions)
    agents = [Agent(name="root"), Agent(name="clerk")]
    assert told(started(continues=old, agents=agents))[1] == ("resume", {"node_id": "root"})
    held = Continues(message="run-0", held=True, askers={"c1": "clerk"})
    assert told(started(continues=held)) == [("session", "abc123")]


ENDINGS = (
    (ended(), ["done", "end"], {}),
    (ended("waiting"), ["done", "end"], {"status": "waiting"}),
    (ended("cancelled"), ["done", "end"], {"status": "cancelled"}),
    (
        ended("failed", code="ValueError", correlation="ref-1"),
        ["error"],
        {"message": "The run failed (ValueError).", "code": "ValueError", "correlation": "ref-1"},
    ),
    (ended("failed"), ["error"], {"message": "The run failed (error).", "code": "error"}),
)


@pytest.mark.parametrize(("record", "names", "fields"), ENDINGS)
def test_a_run_ends_with_exactly_one_of_end_and_error(
    record: Record, names: list[str], fields: Json
) -> None:
    """`end` says that it is over, `error` that it failed; nothing comes after either."""
    found = told(started(), begins("1", "a"), record)
    last = found[-len(names) :]
    assert [
        data.get("type", name) if isinstance(data, dict) else name for name, data in last
    ] == names
    assert {key: last[0][1][key] for key in fields} == fields
    assert ("status" in last[0][1]) == ("status" in fields)


@dataclass(frozen=True)
class Wordless:
    id: str
    record: Record
    expected: list[Said]


def logged(message: str, **more: str) -> list[Said]:
    return [("log", {"message": message, **more})]


WORDLESS = (
    Wordless(
        "a file",
        event({"fileData": {"fileUri": "https://a.example/b.png", "mimeType": "image/png"}}),
        logged("File: image/png https://a.example/b.png"),
    ),
    Wordless(
        "an artifact",
        event(actions={"artifactDelta": {"a.txt": 2}}),
        logged("Saved a.txt (version 2)"),
    ),
    Wordless(
        "a transfer", event(actions={"transferToAgent": "guide"}), logged("Transfer to guide")
    ),
    Wordless(
        "an error that the run survives",
        event(errorCode="TimeoutError", errorMessage="too slow"),
        logged("TimeoutError: too slow", level="error"),
    ),
    Wordless(
        "a part of the future",
        event({"hologram": {"x": 1}}),
        logged("Unrecognised part", level="warn"),
    ),
    Wordless(
        "code and its result",
        event(
            {"executableCode": {"code": "1+1", "language": "PYTHON"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        ),
        [
            (
                "tool_call",
                {"name": "code_execution", "args": {"code": "1+1", "language": "PYTHON"}},
            ),
            (
                "tool_result",
                {"name": "code_execution", "result": {"outcome": "OUTCOME_OK", "output": "2"}},
            ),
        ],
    ),
)


def test_a_result_of_code_that_nobody_saw() -> None:
    """It has a call, made up for it: nothing is answered that was not asked."""
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    names = [name for name, _ in said(event(result))]
    assert names == ["tool_call", "tool_result"]


@pytest.mark.parametrize("case", WORDLESS, ids=lambda case: case.id)
def test_what_the_protocol_has_no_word_for(case: Wordless) -> None:
    """It is told as a log, or as a tool, and never dropped."""
    assert said(case.record) == case.expected


def test_a_model_call_is_told_once_before_its_output() -> None:
    """One line per call, with the agent's model and number of tools; none for agents without a model."""
    agents = [Agent(name="agent", model="gemini", tools=3), Agent(name="flow")]
    records = (
        event({"text": "a"}, partial=True),
        event({"text": "b"}, partial=True),
        event({"text": "ab"}, call("look"), finishReason="STOP"),
        event(answer("look", {"result": 1})),
        event({"text": "c"}, author="flow"),
        event({"text": "d"}, modelVersion="gemini-x"),
    )
    found = [name for name, _ in told(started(agents=agents), *records)]
    assert [name for name in found if name != "trace"] == [
        "session",
        "log",
        "chunk",
        "chunk",
        "tool_call",
        "tool_result",
        "log",
        "chunk",
        "chunk",
    ]


def test_a_stream_that_breaks_off_says_so_under_its_name() -> None:
    """The error of a stream is told from that of a run by its code."""
    [payload] = protocol("studio").failure("The stream broke off.")
    assert payload.event == "error"
    assert b'"code":"stream_broken"' in payload.data
