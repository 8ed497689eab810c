"""How a capture ended, which nobody wrote down: told from its events, also where it was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.facts.fact_lines import facts_of
from tests.laws.events import (
    Json,
    answer,
    call,
    confirmation,
    decision,
    entries,
    event,
    placeholder,
    text,
)
from tests.protocols.chunks import chunks

from adk_prism.facts.model import CallAbandoned, NodeFinished, RunOver
from adk_prism.log.entry import Outcome, RunEnded
from adk_prism.protocols.registry import protocol

PAY = call("pay", "c1")
FAILED = {"errorCode": "Overload", "errorMessage": "busy"}
SERVED = {"errorCode": "ERROR", "errorMessage": "the model is gone"}
"""An error without an author: the server's own."""
LEFT = {"author": "left", "path": "wf@1/left@1", "branch": "left"}
RIGHT = {"author": "right", "path": "wf@1/right@1", "branch": "right"}


def piece(said: str, **more: Any) -> Json:
    return event(text(said), partial=True, **more)


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    outcome: Outcome
    code: str = ""


CASES = [
    Case("the whole follows its pieces", [piece("Hel"), event(text("Hello"))], "finished"),
    Case("it ends in a piece", [piece("Hel")], "incomplete"),
    Case("it ends in a later piece", [piece("Hel"), piece("lo"), piece("!")], "incomplete"),
    Case("it ends in a piece of another turn", [event(text("Hi")), piece("Hel")], "incomplete"),
    Case("it ends in a call", [event(PAY)], "incomplete"),
    Case("it ends in a call that is announced", [event(PAY, partial=True)], "incomplete"),
    Case(
        "one of two calls has no answer",
        [event(PAY, call("f", "c2")), event(answer("f", "c2"))],
        "incomplete",
    ),
    Case(
        "words of somebody else come after the call",
        [event(PAY, **LEFT), event(text("So."), **RIGHT)],
        "incomplete",
    ),
    Case("the call is answered", [event(PAY), event(answer("pay"))], "finished"),
    Case("the call may take long", [event(PAY, longRunningToolIds=["c1"])], "waiting"),
    Case(
        "the call takes long, and was answered for now",
        [event(PAY, longRunningToolIds=["c1"]), event(answer("pay", response={"id": 1}))],
        "finished",
    ),
    Case("a person is asked", [event(PAY), event(confirmation(PAY)), placeholder(PAY)], "waiting"),
    Case(
        "a person is asked, which stops what runs beside",
        [event(call("f", "c2")), event(PAY), event(confirmation(PAY)), placeholder(PAY)],
        "waiting",
    ),
    Case(
        "a person has agreed, and nothing followed",
        [event(PAY), event(confirmation(PAY)), placeholder(PAY), decision("a1", True)],
        "incomplete",
    ),
    Case(
        "the user went on without an answer",
        [event(PAY), event(text("Never mind."), author="user"), event(text("Fine."))],
        "finished",
    ),
    Case(
        "the provider runs its own tools",
        [event({"toolCall": {"id": "s1", "toolType": "SEARCH"}}), event(text("So."))],
        "finished",
    ),
    Case("it ends in an error", [piece("Hel"), event(**FAILED)], "failed", "Overload"),
    Case("an error leaves a call open", [event(PAY), event(**FAILED)], "failed", "Overload"),
    Case(
        "somebody else speaks after the error",
        [piece("So", **RIGHT), event(**FAILED, **LEFT), piece(" I", **RIGHT)],
        "failed",
        "Overload",
    ),
    Case("the server reports an error", [event(text("Hi")), SERVED], "failed", "ERROR"),
    Case(
        "the server reports an error and goes on",
        [event(text("Hi")), SERVED, event(text("Hello"), path="root@1")],
        "finished",
    ),
    Case(
        "the server reports an error, goes on deeper, and ends there",
        [event(text("Hi"), path="root@1"), SERVED, event(text("Hello"), path="root@1/deep@1")],
        "finished",
    ),
    Case("the server goes on after an error, and is cut", [SERVED, piece("Hel")], "incomplete"),
    Case("it is tried again, and cut", [event(**FAILED), piece("Hel")], "incomplete"),
    Case("it was stopped", [piece("Hel"), event(errorCode="INVOCATION_ABORTED")], "cancelled"),
    Case("nothing was said", [event(actions={"stateDelta": {"a": 1}})], "finished"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_how_a_capture_ended(case: Case) -> None:
    """A capture that was cut is neither finished nor failed."""
    ended = entries(case.events)[-1].record
    assert ended == RunEnded(outcome=case.outcome, code=case.code)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_run_whose_source_is_exhausted_was_not_cut(case: Case) -> None:
    """Whoever ran it knows that nothing was to follow."""
    ended = entries(case.events, captured=False)[-1].record
    assert isinstance(ended, RunEnded)
    assert ended.outcome != "incomplete"


CUT = [event(text("I look."), PAY), piece("So")]
WHY = "The recording ends before the run did."


def test_what_was_open_when_a_capture_was_cut_is_closed() -> None:
    """Nobody will answer the call; who was at work is known to have been."""
    facts = facts_of(entries(CUT))
    assert [item.call for item in facts if isinstance(item, CallAbandoned)] == ["c1"]
    ends = [item.status for item in facts if isinstance(item, NodeFinished)]
    assert ends == ["cancelled", "incomplete"]
    assert facts[-1] == RunOver("incomplete", "", "")


def test_a_client_is_told_that_a_capture_was_cut() -> None:
    """As an error in the AI SDK's stream and in Studio's; ADK's own stream just ends, as it did."""
    last = chunks(*CUT)
    assert last[-2:] == [{"type": "error", "errorText": WHY}, "[DONE]"]
    assert last[-3]["messageMetadata"]["failure"] == WHY
    run = entries(CUT)
    studio, adk = (protocol(name).format().reader() for name in ("studio", "adk"))
    frames = [payload for entry in run for payload in studio.feed(entry)]
    assert frames[-1].event == "error"
    assert WHY.encode() in frames[-1].data
    assert b'"incomplete"' in frames[-1].data
    assert sum(len(adk.feed(entry)) for entry in run) == len(CUT)
