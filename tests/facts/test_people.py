"""Questions to a person and to the client: asked once, waited for, answered, denied."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from msgspec import structs
from tests.facts.fact_lines import fact_lines, facts_of
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

from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import CaptureEnding, Reader
from adk_prism.log.entry import Continues, Decision, Outcome, to_raw

PAY = call("pay", "c1", {"amount": 5})
GATED = event(PAY, partial=False)
ASKED = event(confirmation(PAY, "a1"), longRunningToolIds=["a1"])
WAITING = placeholder(PAY)
PAID = event(answer("pay", "c1", {"paid": 5}))
REJECTED = event(answer("pay", "c1", {"error": "This tool call is rejected."}))


def decided(approved: bool, *, as_text: bool = False) -> Json:
    """A person's decision, in one of the two forms that ADK takes."""
    if not as_text:
        return decision("a1", approved)
    given = {"response": json.dumps({"confirmed": approved})}
    return event(answer("adk_request_confirmation", "a1", given), author="user")


def going_on(approved: bool, reason: str = "") -> Continues:
    given = Decision(approval="a1", approved=approved, reason=reason)
    return Continues(message="run-0", open_calls={"c1": "pay"}, decisions={"c1": given})


CALL = 'call c1 pay {"amount": 5}'
BELOW = {"c0": "helper", "c1": "pay"}
"""A call, and one of the agent that it runs."""


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    told: list[str]
    continues: Continues | None = None


CASES = [
    Case("asked, then the placeholder", [GATED, ASKED, WAITING], [CALL, "approve? a1 c1"]),
    Case("the placeholder, then asked", [GATED, WAITING, ASKED], [CALL, "approve? a1 c1"]),
    Case(
        "the same words without ADK's mark are an ordinary failure",
        [GATED, event(answer("pay", "c1", {"error": "This tool call requires confirmation."}))],
        [CALL, "fail c1 This tool call requires confirmation."],
    ),
    Case(
        "a hint and a payload are passed on",
        [GATED, event(confirmation(PAY, "a1", "Five euros?", {"max": 9}))],
        [CALL, 'approve? a1 c1 hint=Five euros? payload={"max":9}'],
    ),
    Case("asked twice under one id is asked once", [GATED, ASKED, ASKED], [CALL, "approve? a1 c1"]),
    Case(
        "a question about a call that nobody saw brings the call along",
        [ASKED],
        ['call c1 pay {"amount":5}', "approve? a1 c1"],
    ),
    Case(
        "a question that cannot be read is still a question",
        [event(call("adk_request_confirmation", "a1", {"odd": 1}))],
        ["call a1 {}", "approve? a1 a1"],
    ),
    Case(
        "approved inside a capture",
        [GATED, ASKED, WAITING, decided(True), PAID],
        [CALL, "approve? a1 c1", "decided a1 c1 True", 'answer c1 {"paid": 5}'],
    ),
    *(
        Case(
            f"denied inside a capture, {form}",
            [GATED, ASKED, WAITING, decided(False, as_text=as_text), REJECTED],
            [CALL, "approve? a1 c1", "decided a1 c1 False", "deny c1"],
        )
        for form, as_text in (("as an object", False), ("as text", True))
    ),
    Case(
        "approved by what the run goes on with", [PAID], ['answer c1 {"paid": 5}'], going_on(True)
    ),
    Case(
        "denied by what the run goes on with, whatever the answer says",
        [event(answer("pay", "c1", {"anything": "else"}))],
        ["deny c1 reason=Too much."],
        going_on(False, "Too much."),
    ),
    Case(
        "rejected in words, but approved: the tool itself said no",
        [REJECTED],
        ["fail c1 This tool call is rejected."],
        going_on(True),
    ),
    Case(
        "results of the client are shown at the start",
        [event(text("Thanks."))],
        [
            'answer c1 {"city":"Rome"}',
            "begin text-2.0 by=agent",
            "grow text-2.0 'Thanks.'",
            "end text-2.0",
        ],
        Continues(
            message="run-0", open_calls={"c1": "locate"}, answers={"c1": to_raw({"city": "Rome"})}
        ),
    ),
    Case(
        "a call that goes on is known to ADK by another id",
        [event(answer("pay", "late", 1))],
        ["answer early 1"],
        Continues(message="run-0", open_calls={"early": "pay"}, adk_ids={"early": "late"}),
    ),
    Case(
        "what a person decided, and the run did not answer, is over with it",
        [event(text("So be it."))],
        ["begin text-2.0 by=agent", "grow text-2.0 'So be it.'", "end text-2.0", "abandon c1"],
        going_on(True),
    ),
    Case(
        "agents go on with the run that was delegated to them",
        [event(answer("pay", "c1", 1), branch="helper@c0"), event(answer("helper", "c0", 2))],
        ["delegated c0", "answer c1 1", "answer c0 2"],
        structs.replace(going_on(True), open_calls=BELOW, delegated=["c0"]),
    ),
    Case(
        "input is asked for",
        [event(call("adk_request_input", "i1", {"message": "How many?"}))],
        ["input? i1"],
    ),
    Case(
        "a credential is asked for, for a call",
        [
            GATED,
            event(call("adk_request_credential", "k1", {"functionCallId": "c1", "authConfig": {}})),
            event(answer("pay", "c1", None), actions={"requestedAuthConfigs": {"c1": {}}}),
        ],
        [CALL, "credential? k1 call=c1"],
    ),
    Case(
        "a long-running call is pending until its tool says something",
        [event(call("order", "c1"), longRunningToolIds=["c1"], partial=False)],
        ["call c1 order {} long=True", "pending c1"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_is_asked_what(case: Case) -> None:
    """In either order; the placeholder by its mark alone, a denial by the decision alone."""
    assert fact_lines(*case.events, continues=case.continues) == case.told


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([GATED, ASKED, WAITING], "waiting"),
        ([GATED, ASKED, WAITING, decided(True), PAID], "finished"),
        ([event(call("adk_request_input", "i1"))], "waiting"),
        (
            [
                event(call("adk_request_input", "i1")),
                event(answer("adk_request_input", "i1", {"result": 4}), author="user"),
            ],
            "finished",
        ),
        ([event(call("order", "c1"), longRunningToolIds=["c1"])], "waiting"),
        (
            [
                event(call("order", "c1"), longRunningToolIds=["c1"]),
                event(answer("order", "c1", {"status": "pending"})),
            ],
            "finished",
        ),
        ([GATED], "incomplete"),
    ],
    ids=["asked", "decided", "input", "input given", "long-running", "interim answer", "open call"],
)
def test_a_run_waits_for_people_and_clients(events: list[Json], outcome: Outcome) -> None:
    """Waiting is for somebody; a call that its own run left open is nobody's task: the capture was cut."""
    reader = Reader()
    for entry in entries(events)[:-1]:
        reader.feed(entry)
    assert reader.outcome() == (outcome, "")


@pytest.mark.parametrize(
    ("continues", "outcome"),
    [
        (Continues(message="m", open_calls={"c1": "pay"}, held=True), "waiting"),
        (Continues(message="m", open_calls={"c1": "pay", "c2": "pay"}, decisions={}), "waiting"),
        (going_on(True), "finished"),
        (structs.replace(going_on(True), open_calls=BELOW), "waiting"),
        (structs.replace(going_on(True), open_calls=BELOW, delegated=["c0"]), "finished"),
    ],
    ids=["held", "another is open", "decided", "below one that is open", "below an agent"],
)
def test_what_was_open_goes_on_waiting(continues: Continues, outcome: Outcome) -> None:
    """A run that answers some questions leaves the others as they were."""
    ending = CaptureEnding()
    for entry in entries([], "finished", continues)[:-1]:
        ending.feed(entry)
    assert ending.ended().outcome == outcome


def test_a_run_that_fails_takes_its_agents_along() -> None:
    """Whoever was to go on, and never spoke, leaves no call open."""
    continues = structs.replace(going_on(True), open_calls=BELOW, delegated=["c0"])
    assert fact_lines(outcome="failed", continues=continues) == [
        "delegated c0",
        "abandon c0",
        "abandon c1",
    ]


class TestPending:
    """The table of open questions, read from the facts of a run."""

    @staticmethod
    def after(*events: Json, outcome: Outcome | None = None) -> Pending:
        pending = Pending()
        pending.feed(facts_of(entries(events, outcome)))
        return pending

    def test_it_holds_what_can_be_answered(self) -> None:
        """Approvals by their id, requests by theirs, calls of the client by theirs."""
        pending = self.after(
            event(
                PAY,
                call("locate", "c2"),
                call("search", "c3"),
                longRunningToolIds=["c2"],
                partial=False,
            ),
            ASKED,
            WAITING,
            event(answer("search", "c3", 1)),
            event(call("adk_request_input", "i1")),
        )
        assert list(pending.approvals) == ["a1"]
        assert pending.approval_of("c1") is pending.approvals["a1"]
        assert pending.approval_of("c2") is None
        assert list(pending.client_calls) == ["c2"]
        assert list(pending.requests) == ["i1"]
        assert "c3" in pending.calls
        assert "c4" not in pending.calls

    def test_an_answered_call_asks_nothing_more(self) -> None:
        """With the call its approval goes; a long-running one may be answered again."""
        pending = self.after(
            event(PAY, call("order", "c2"), longRunningToolIds=["c2"], partial=False),
            ASKED,
            WAITING,
            PAID,
            event(answer("order", "c2", {"status": "pending"})),
        )
        assert pending.approvals == {}
        assert pending.approval_of("c1") is None
        assert list(pending.late_calls) == ["c2"]
        assert pending.client_calls == {}

    def test_answers_are_held_until_they_are_passed_on(self) -> None:
        """What is held is no longer asked of the client; what is passed on is no longer held."""
        pending = self.after(
            event(PAY, call("locate", "c2"), longRunningToolIds=["c2"], partial=False),
            ASKED,
            WAITING,
        )
        given = Decision(approval="a1", approved=True)
        pending.hold([given], {"c2": to_raw(1)})
        assert pending.client_calls == {}
        assert pending.held_decisions == {"a1": given}
        pending.pass_on([given], ["c2"])
        assert (pending.held_decisions, pending.held_answers, pending.approvals) == ({}, {}, {})
