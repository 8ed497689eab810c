"""Answers matched with what is pending, on recordings of real runs: what is taken, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from msgspec import Raw
from tests.recordings.library import load

from adk_prism.errors import Conflict, Unprocessable
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import Decision
from adk_prism.runs.answers import AdkResponse, asks_for, match_adk, match_responses

DONE = Raw(b'{"done":true}')


def pending_of(name: str) -> Pending:
    """Return what a recorded run waits for at its end."""
    pending, reader = Pending(), Reader()
    for entry in load(name):
        pending.feed(reader.feed(entry))
    return pending


def approvals(pending: Pending) -> list[str]:
    return list(pending.approvals)


def client_call(pending: Pending) -> tuple[str, str]:
    """Return ADK's id and the name of the only call that a client runs."""
    (call,) = pending.client_calls.values()
    return call.adk_id, call.name


def yes(approval: str) -> AdkResponse:
    return AdkResponse(approval, "", Decision(approval=approval, approved=True))


def no(approval: str) -> AdkResponse:
    return AdkResponse(approval, "", Decision(approval=approval, approved=False))


def result(pending: Pending, name: str | None = None) -> AdkResponse:
    adk_id, true_name = client_call(pending)
    return AdkResponse(adk_id, true_name if name is None else name, DONE)


@dataclass(frozen=True)
class Case:
    id: str
    recording: str
    given: Callable[[Pending], list[AdkResponse]]
    decisions: int = 0
    outputs: int = 0
    is_complete: bool = False
    is_refused: bool = False


CASES = [
    Case("one approval", "approval", lambda p: [yes(approvals(p)[0])], 1, 0, True),
    Case("one denial", "approval", lambda p: [no(approvals(p)[0])], 1, 0, True),
    Case("one of two", "two_approvals", lambda p: [yes(approvals(p)[0])], 1, 0, False),
    Case("both", "two_approvals", lambda p: [yes(a) for a in approvals(p)], 2, 0, True),
    Case("a client's result", "client_tool", lambda p: [result(p)], 0, 1, True),
    Case("without its name", "client_tool", lambda p: [result(p, "")], 0, 1, True),
    Case("the result of a mixed batch, approval open", "mixed_batch", lambda p: [result(p)], 0, 1),
    Case(
        "all of a mixed batch",
        "mixed_batch",
        lambda p: [result(p), *map(yes, approvals(p))],
        1,
        1,
        True,
    ),
    Case("an unknown approval", "approval", lambda _: [yes("forged")], is_refused=True),
    Case("an unknown call", "approval", lambda _: [AdkResponse("x", "", DONE)], is_refused=True),
    Case("another name", "client_tool", lambda p: [result(p, "other")], is_refused=True),
    Case(
        "one that is right and one that is forged",
        "approval",
        lambda p: [yes(approvals(p)[0]), yes("forged")],
        is_refused=True,
    ),
    Case("an approval where nothing waits", "text", lambda _: [yes("x")], is_refused=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_answers_by_adk_ids(case: Case) -> None:
    """Only what was asked is answered; one forged answer refuses all of them."""
    pending = pending_of(case.recording)
    given = case.given(pending)
    if case.is_refused:
        with pytest.raises(Conflict):
            match_adk(pending, given)
        return
    assert asks_for(pending, given)
    matched = match_adk(pending, given)
    assert (len(matched.decisions), len(matched.outputs)) == (case.decisions, case.outputs)
    assert matched.is_complete == case.is_complete


def test_the_result_of_a_gated_call_is_no_answer() -> None:
    """It waits for an approval; a result in its place would run nothing and approve everything."""
    pending = pending_of("approval")
    (call,) = pending.open_calls.values()
    with pytest.raises(Conflict):
        match_adk(pending, [AdkResponse(call.adk_id, call.name, DONE)])


def test_held_answers_complete_a_batch() -> None:
    """The second answer comes alone; the first one is not taken twice."""
    pending = pending_of("two_approvals")
    first, second = approvals(pending)
    pending.hold([Decision(approval=first, approved=False)], {})
    with pytest.raises(Conflict):
        match_adk(pending, [yes(first)])
    matched = match_adk(pending, [yes(second)])
    assert not matched.is_complete
    whole = matched.with_held()
    assert whole.is_complete
    assert {name: d.approved for name, d in whole.decisions.items()} == {first: False, second: True}


def test_a_message_answers_what_it_can() -> None:
    """What nothing waits for is passed over: the message is said all the same."""
    pending = pending_of("input_request")
    (request,) = pending.requests
    answer = Raw(b'{"guests": 3}')
    matched = match_responses(pending, {request: answer, "unknown": answer}, ())
    assert set(matched.outputs) == {request}
    forged = [Decision(approval="unknown", approved=True)]
    assert match_responses(pending, {}, forged).decisions == {}


def test_an_answer_that_does_not_fit_its_question_is_refused() -> None:
    """The question stays open."""
    pending = pending_of("input_request")
    (request,) = pending.requests
    with pytest.raises(Unprocessable):
        match_responses(pending, {request: Raw(b'{"guests": "three"}')}, ())
    assert set(pending.requests) == {request}
