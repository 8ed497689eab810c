"""The state panel: snapshots, differences, writers, and the history of one key, at every cursor."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.features.page.entries import Log

from adk_prism.errors import BadPosition, UsageError
from adk_prism.features.page.film import fold


def state_at(log: Log, cursor: int | None = None, **asked: Any) -> dict[str, Any]:
    shown = fold(log.entries).at(cursor, "state", **asked)["state"]
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shown))
    return plain


def changes(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(c["key"], c["kind"], c["before"], c["after"], c["writer"]) for c in found]


@pytest.fixture
def log() -> Log:
    """Return a run in which `a` writes two keys, and `b` changes one and takes one away."""
    log = Log(user__name="Ada", app__motto="slow", plan={"days": 2}, draft="old")
    log.start("a")
    log.event("a", delta={"plan": {"days": 3}, "city": "Rome"})
    log.end("a", state={"seen": True})
    log.start("b")
    log.event("b", delta={"city": "Turin"})
    log.end("b", gone=["draft"])
    log.over()
    return log


def test_a_snapshot_is_by_scope(log: Log) -> None:
    """Keys of the session, the user and the app apart, each under its full name."""
    assert state_at(log)["snapshot"] == {
        "session": {"plan": {"days": 3}, "city": "Turin", "seen": True},
        "user": {"user:name": "Ada"},
        "app": {"app:motto": "slow"},
    }
    assert state_at(log, 1)["snapshot"]["session"] == {"plan": {"days": 2}, "draft": "old"}


def test_every_cursor_has_its_own_snapshot(log: Log) -> None:
    """What is shown at a cursor is what the entries up to it add up to."""
    cities = [state_at(log, cursor)["snapshot"]["session"].get("city") for cursor in range(1, 9)]
    assert cities == [None, None, "Rome", "Rome", "Rome", "Turin", "Turin", "Turin"]


def test_differences_to_the_start_and_to_the_previous_node(log: Log) -> None:
    """Added, changed, removed, with both values and who did it."""
    found = state_at(log)
    assert changes(found["sinceStart"]) == [
        ("plan", "changed", {"days": 2}, {"days": 3}, "a"),
        ("draft", "removed", "old", None, "b"),
        ("city", "added", None, "Turin", "b"),
        ("seen", "added", None, True, "a"),
    ]
    assert found["previousNode"] == 7  # where `b` ended
    assert state_at(log, 6)["previousNode"] == 4
    assert changes(state_at(log, 6)["sincePreviousNode"]) == [
        ("city", "changed", "Rome", "Turin", "b")
    ]


def test_a_difference_to_any_cursor(log: Log) -> None:
    """Forwards or backwards, as the person asks."""
    assert changes(state_at(log, 6, since=3)["difference"]) == [
        ("city", "changed", "Rome", "Turin", "b"),
        ("seen", "added", None, True, "a"),
    ]
    assert changes(state_at(log, 3, since=6)["difference"]) == [
        ("city", "changed", "Turin", "Rome", "a"),
        ("seen", "removed", True, None, ""),
    ]
    with pytest.raises(BadPosition):
        state_at(log, since=99)


def test_who_wrote_each_key_last(log: Log) -> None:
    """Whoever removed a key wrote it last; what was there before the run was written by its start."""
    assert state_at(log)["writers"] == {
        "user:name": "start",
        "app:motto": "start",
        "plan": "a",
        "draft": "b",
        "city": "b",
        "seen": "a",
    }


def test_a_workflow_s_step_is_the_writer_of_its_own_change() -> None:
    """ADK names the workflow as author; the path names the step."""
    log = Log()
    log.event("flow", delta={"k": 1}, nodeInfo={"path": "flow@1/step@1"})
    assert state_at(log)["writers"] == {"k": "step"}


def test_the_history_of_a_key_has_every_write(log: Log) -> None:
    """Of the whole run, so that each can be marked, whatever the playhead."""
    assert state_at(log, 3, key="city")["history"] == [
        {"cursor": 3, "writer": "a", "value": "Rome"},
        {"cursor": 6, "writer": "b", "value": "Turin"},
    ]
    assert state_at(log, key="draft")["history"] == [
        {"cursor": 1, "writer": "start", "value": "old"},
        {"cursor": 7, "writer": "b", "removed": True},
    ]
    assert state_at(log, key="nothing")["history"] == []


def test_a_write_of_the_same_value_is_a_write_and_no_difference() -> None:
    """It is in the history, and not among what changed."""
    log = Log(k=1)
    log.event("a", delta={"k": 1})
    log.event("b", delta={"k": 1})
    found = state_at(log, since=1, key="k")
    assert [write["writer"] for write in found["history"]] == ["start", "a", "b"]
    assert found["difference"] == found["sinceStart"] == []
    assert found["writers"] == {"k": "b"}


def test_a_key_may_go_and_come_again() -> None:
    """Also with the value that it had."""
    log = Log()
    log.start("a", state={"k": 1})
    log.end("a", gone=["k"])
    log.start("b", state={"k": 1})
    sessions = [state_at(log, cursor)["snapshot"]["session"] for cursor in (1, 2, 3, 4)]
    assert sessions == [{}, {"k": 1}, {}, {"k": 1}]


def test_null_is_a_value() -> None:
    """ADK keeps a key that is set to None."""
    log = Log(k=1)
    log.event("a", delta={"k": None})
    assert state_at(log)["snapshot"]["session"] == {"k": None}


def test_only_the_state_has_differences(log: Log) -> None:
    """Asked of another panel they are a mistake, not ignored."""
    with pytest.raises(UsageError):
        fold(log.entries).at(None, "graph", key="city")
    assert fold(log.entries).at(None, "", key="city")["state"]["history"]
