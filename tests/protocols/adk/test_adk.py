"""ADK's own protocol: its events as they are, and one more for a failure that none of them told."""

from __future__ import annotations

import json

import pytest
from tests.laws.events import Json, entries, event, text
from tests.recordings.library import RECORDINGS, load

from adk_prism.log.entry import (
    Agent,
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    Entry,
    Origin,
    RunEnded,
    RunStarted,
    RunTakenOver,
)
from adk_prism.protocols.adk.projection import AdkProjection

STARTED = RunStarted(
    run="run-1",
    origin=Origin(app="app", user="u", session="s"),
    invocation="e-1",
    agents=[Agent(name="root")],
)


def fed(*records: RunStarted | AgentEvent | RunEnded | ApprovalAsked) -> list[bytes]:
    projection = AdkProjection()
    run = [Entry(number, float(number), record) for number, record in enumerate(records, 1)]
    return [frame.data for entry in run for frame in projection.feed(entry)]


@pytest.mark.parametrize("name", RECORDINGS)
def test_events_come_as_they_were_recorded(name: str) -> None:
    """Byte for byte: whatever a newer ADK adds is carried."""
    projection = AdkProjection()
    run = load(name)
    frames = [frame.data for entry in run for frame in projection.feed(entry)]
    events = [entry.record.event for entry in run if isinstance(entry.record, AgentEvent)]
    assert frames[: len(events)] == events
    assert len(frames) - len(events) <= 1


def test_a_failure_that_no_event_told_is_one_event() -> None:
    """With the code, a reference for the operator, and nothing that only an operator may see."""
    ended = RunEnded(outcome="failed", code="OSError", correlation="abc")
    (told,) = fed(STARTED, ended)
    assert json.loads(told) == {
        "errorCode": "OSError",
        "errorMessage": "The run failed (OSError). Reference: abc.",
        "invocationId": "e-1",
        "author": "root",
        "actions": {
            "stateDelta": {},
            "artifactDelta": {},
            "requestedAuthConfigs": {},
            "requestedToolConfirmations": {},
        },
        "id": "error-2",
        "timestamp": 2.0,
    }


@pytest.mark.parametrize(
    ("last", "count"),
    [
        (event(errorCode="OSError"), 1),
        (event(errorCode="ValueError"), 2),
        (event(text("Fine.")), 2),
        (b"{", 2),
    ],
    ids=["told", "another one", "no error", "unreadable"],
)
def test_a_failure_is_told_once(last: Json | bytes, count: int) -> None:
    """Where the agent's own error event was the last thing said, there is no second one."""
    data = last if isinstance(last, bytes) else json.dumps(last).encode()
    assert len(fed(STARTED, AgentEvent(data), RunEnded(outcome="failed", code="OSError"))) == count


@pytest.mark.parametrize("outcome", ["finished", "cancelled", "waiting"])
def test_no_other_end_has_a_frame(outcome: str) -> None:
    """ADK's stream ends by ending."""
    run = entries([event(text("a"))], outcome)
    assert AdkProjection().feed(run[-1]) == []


def test_records_that_adk_has_no_word_for_are_left_out() -> None:
    """They are ours: who owns the run, and what a live run asked."""
    assert (
        fed(
            STARTED,
            RunTakenOver(epoch=2),
            ApprovalAsked(approval="a", call="c", name="f"),
            ApprovalGiven(approval="a", approved=True),
        )
        == []
    )


def test_an_app_whose_agents_nobody_listed_speaks_for_itself() -> None:
    """A capture knows only the app."""
    started = RunStarted(run="run-1", origin=Origin(app="app", user="u", session="s"))
    (told,) = fed(started, RunEnded(outcome="failed"))
    assert json.loads(told)["author"] == "app"
    assert json.loads(told)["errorCode"] == "error"
