"""A run cut at a cursor: what of it counts, and how it goes on from there."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from tests.features.page.entries import STEP, Log

from adk_prism.errors import BadPosition
from adk_prism.facts.model import CallAbandoned, CallAnswered, RunOver
from adk_prism.facts.run_reader import Reader
from adk_prism.features.forks.truncated_run import truncate_run
from adk_prism.features.page.film import fold
from adk_prism.log.entry import AgentEvent, Entry, NodeEnded, NodeStarted, RunEnded, RunTakenOver

CALL = {"functionCall": {"id": "c1", "name": "look", "args": {}}}
ANSWER = {"functionResponse": {"id": "c1", "name": "look", "response": {"x": 1}}}
CONFIRM = {
    "functionCall": {
        "id": "a1",
        "name": "adk_request_confirmation",
        "args": {"originalFunctionCall": CALL["functionCall"], "toolConfirmation": {}},
    }
}


def ids(entries: list[Entry] | Any) -> list[str]:
    """Return which events are there, in short."""
    kinds = []
    for entry in entries:
        record = entry.record
        name = type(record).__name__
        kinds.append(
            record.event.decode().split('"id": "')[1][0] if isinstance(record, AgentEvent) else name
        )
    return kinds


def chat() -> Log:
    """Return a run with a sentence, a call and an answer to it."""
    log = Log("Hi")
    log.event(text="Let ", partial=True, id="A")
    log.event(text="Let me see.", id="A")
    log.event(parts=[CALL], id="B")
    log.event(parts=[ANSWER], id="C")
    log.event(text="It ", partial=True, id="D")
    log.event(text="It is 1.", id="D")
    log.over()
    return log


@pytest.mark.parametrize(
    ("at", "kept", "further"),
    [
        (1, ["RunStarted"], "again"),
        (2, ["RunStarted"], "again"),
        (3, ["RunStarted", "A", "A"], "resume"),
        (4, ["RunStarted", "A", "A", "B"], "resume"),
        (5, ["RunStarted", "A", "A", "B", "C"], "resume"),
        (6, ["RunStarted", "A", "A", "B", "C"], "resume"),
        (7, ["RunStarted", "A", "A", "B", "C", "D", "D"], "nothing"),
        (8, ["RunStarted", "A", "A", "B", "C", "D", "D"], "nothing"),
    ],
)
def test_the_cut_is_after_the_last_whole_event(at: int, kept: list[str], further: str) -> None:
    """A sentence that was being spoken does not count; the last answer leaves nothing to do."""
    cut = truncate_run(chat().entries, at)
    assert (ids(cut.entries), cut.further) == (kept, further)
    assert cut.until == (at - 1) * STEP
    outcome = "finished" if further == "nothing" else "cancelled"
    assert cut.closed() == [RunEnded(outcome=outcome)]


@pytest.mark.parametrize("at", [0, -1, 9])
def test_a_cursor_that_is_not_there(at: int) -> None:
    with pytest.raises(BadPosition, match="1 to 8"):
        truncate_run(chat().entries, at)


def test_pieces_of_a_sentence_that_another_agent_was_speaking_do_not_count() -> None:
    """Side by side, one has finished and the other has not: it begins anew."""
    log = Log("Hi")
    log.event("a", text="One", partial=True, id="A", branch="a")
    log.event("b", text="Two", partial=True, id="B", branch="b")
    log.event("a", text="One.", id="A", branch="a")
    log.event("b", text="Two.", id="B", branch="b")
    assert ids(truncate_run(log.entries, 4).entries) == ["RunStarted", "A", "A"]
    assert ids(truncate_run(log.entries, 5).entries) == ["RunStarted", "A", "B", "A", "B"]


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_a_run_that_ended_badly_goes_on_before_its_error(outcome: Any) -> None:
    """With a new message the error is part of the past, as it is in ADK's session."""
    log = Log("Hi")
    log.event(parts=[CALL], id="B")
    log.event(parts=[ANSWER], id="C")
    log.event(errorCode="BOOM", id="X")
    log.over(outcome)
    for at in (4, 5):
        assert ids(truncate_run(log.entries, at).entries)[-1] == "X"
        going_on = truncate_run(log.entries, at, new_turn=False)
        assert (ids(going_on.entries)[-1], going_on.further) == ("C", "resume")
        assert "X" in going_on.later


def test_a_run_that_failed_at_once_is_started_again() -> None:
    """Nothing of it had happened."""
    log = Log("Hi")
    log.event(errorCode="BOOM", id="X")
    log.over("failed")
    for at in (1, 2, 3):
        cut = truncate_run(log.entries, at, new_turn=False)
        assert (ids(cut.entries), cut.further) == (["RunStarted"], "again")


def test_a_question_to_a_person_is_waited_for() -> None:
    """From the question on, wherever the run itself broke off."""
    log = Log("Hi")
    log.event(parts=[CALL], id="B")
    asked = log.event(parts=[CONFIRM], longRunningToolIds=["a1"], id="Q")
    log.event(
        parts=[{"functionResponse": {"id": "c1", "name": "look", "response": {"error": "?"}}}],
        actions={"requestedToolConfirmations": {"c1": {}}},
        id="P",
    )
    log.over("waiting")
    assert truncate_run(log.entries, asked - 1).further == "resume"
    for at in range(asked, log.cursor + 1):
        cut = truncate_run(log.entries, at)
        assert cut.further == "nothing"
        assert cut.closed() == [RunEnded(outcome="waiting")]


@pytest.mark.parametrize("answered", [True, False])
def test_a_call_that_the_client_runs_is_waited_for(answered: bool) -> None:
    """One that the server answered later in the run is not the client's."""
    log = Log("Hi")
    at = log.event(parts=[CALL], longRunningToolIds=["c1"], id="B")
    if answered:
        log.event(parts=[ANSWER], id="C")
        log.event(text="Done.", id="D")
    log.over("finished" if answered else "waiting")
    assert truncate_run(log.entries, at).further == ("resume" if answered else "nothing")


def test_runs_that_are_no_turns_leave_nothing_to_do() -> None:
    """A state-only update, a rewind."""
    log = Log("Hi")
    first = log.entries[0]
    for kind in ("state", "rewind"):
        head = structs.replace(first.record, kind=kind)
        assert truncate_run([Entry(1, first.time, head)], 1).further == "nothing"


def test_nodes_that_were_running_end_with_the_cut() -> None:
    """Innermost first, marked as inferred; those of a run that goes on are of the past."""
    log = Log("Hi")
    log.start("root")
    log.start("a", "root")
    log.event("a", text="Hm.", id="A")
    log.end("a")
    log.event("root", text="So.", id="B")
    log.over()
    cut = truncate_run(log.entries, 4)
    *ends, over = cut.closed()
    assert [end.node for end in ends if isinstance(end, NodeEnded)] == ["a", "root"]
    assert over == RunEnded(outcome="cancelled")
    going_on = [entry.record for entry in cut.continued(100.0)]
    named = [r.node for r in going_on if isinstance(r, NodeStarted | NodeEnded)]
    assert named == ["past-root", "past-a", "past-a", "past-root"]
    assert isinstance(going_on[-1], RunTakenOver)


def test_the_past_ends_when_the_new_begins() -> None:
    """Durations stay; a timeline has no gap of days."""
    cut = truncate_run(chat().entries, 5, new_turn=False)
    past = cut.continued(1000.0)
    assert past[-1].time == 1000.0
    assert [round(1000.0 - entry.time, 6) for entry in past] == [2.0, 1.5, 1.0, 0.5, 0.0, 0.0]


def test_the_state_at_the_cut() -> None:
    """What the run began with, and what the events that count changed."""
    log = Log("Hi", k=1)
    log.event(delta={"k": 2}, id="A")
    log.event(delta={"k": 3}, id="B")
    assert {key: bytes(raw) for key, raw in truncate_run(log.entries, 2).state().items()} == {
        "k": b"2"
    }


# ------------------------------------------------------------------ the seam


def facts(log: Log) -> list[Any]:
    reader = Reader()
    return [fact for entry in log.entries for fact in reader.feed(entry)]


def test_a_call_in_doubt_may_be_answered() -> None:
    """A resumable app ran it."""
    log = Log("Hi")
    log.event(parts=[CALL])
    log.seam("c1")
    log.event(parts=[ANSWER])
    log.over()
    found = facts(log)
    assert any(isinstance(fact, CallAnswered) and fact.call == "c1" for fact in found)
    assert not any(isinstance(fact, CallAbandoned) for fact in found)


def test_a_call_in_doubt_that_nobody_answered_is_abandoned() -> None:
    """Also at a good end: no client is asked to run it."""
    log = Log("Hi")
    log.event(parts=[CALL])
    log.seam("c1", "never made")
    log.event(text="Otherwise.")
    log.over()
    [left] = [fact for fact in facts(log) if isinstance(fact, CallAbandoned)]
    assert left.call == "c1"
    assert fold(log.entries).at(None, "conversation")["conversation"][1]["status"] == "abandoned"


def test_what_stopped_the_past_is_not_the_end_of_what_goes_on() -> None:
    """Neither the abort nor the error before the seam."""
    log = Log("Hi")
    log.event(errorCode="INVOCATION_ABORTED")
    log.seam()
    log.event(text="Done.")
    reader = Reader()
    for entry in log.entries:
        reader.feed(entry)
    assert reader.outcome() == ("finished", "")
    assert not any(isinstance(fact, RunOver) for fact in facts(log))
