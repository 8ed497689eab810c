"""The timeline: what ran from when to when, who was waited for, and what nobody accounts for."""

from __future__ import annotations

from typing import Any

from tests.features.page.entries import STEP, Log

from adk_prism.features.page.film import fold
from adk_prism.log.entry import Entry

USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}


def shown(log: Log, cursor: int | None = None) -> dict[str, Any]:
    timeline: dict[str, Any] = fold(log.entries).at(cursor, "timeline")["timeline"]
    return timeline


def nodes(log: Log, cursor: int | None = None) -> dict[str, dict[str, Any]]:
    return {row["node"]: row for row in shown(log, cursor)["nodes"]}


def test_a_node_has_the_bounds_of_its_records() -> None:
    """Cursors, and seconds since the run began."""
    log = Log()
    log.event(text="hm")
    began = log.start("a")
    log.event(text="hello")
    ended = log.end("a")
    row = nodes(log)["a"]
    assert (row["since"], row["until"]) == (began, ended)
    assert (row["start"], row["duration"]) == (2 * STEP, 2 * STEP)
    assert (row["status"], row["derived"]) == ("finished", False)


def test_a_node_runs_until_its_end_is_reached() -> None:
    """At a playhead inside, it is running for as long as it has been; before its start it is not there."""
    log = Log()
    began = log.start("a")
    log.event(text="hello")
    ended = log.end("a", "failed", error="BOOM")
    assert "a" not in nodes(log, began - 1)
    for cursor in range(began, ended):
        row = nodes(log, cursor)["a"]
        assert (row["status"], row["until"]) == ("running", None)
        assert row["duration"] == (cursor - began) * STEP
        assert "error" not in row
    assert nodes(log, ended)["a"]["error"] == "BOOM"


def test_a_node_that_nobody_saw_end_ends_with_the_run() -> None:
    """As the run did, and marked as inferred; before that nothing of it is told."""
    log = Log()
    began = log.start("a")
    over = log.over("cancelled")
    assert nodes(log, began)["a"]["derived"] is False
    row = nodes(log, over)["a"]
    assert (row["status"], row["until"], row["derived"]) == ("cancelled", over, True)


def test_depth_steps_and_iterations() -> None:
    """Children are one deeper; tools take no step of their own; a loop counts its rounds."""
    log = Log()
    log.start("root")
    for round_ in (1, 2):
        log.start(f"writer{round_}", "root", iteration=round_)
        log.start(f"look{round_}", f"writer{round_}", "tool", call=f"c{round_}")
        log.end(f"look{round_}")
        log.end(f"writer{round_}")
    log.end("root")
    rows = nodes(log)
    assert {name: row["depth"] for name, row in rows.items()} == {
        "root": 0,
        "writer1": 1,
        "look1": 2,
        "writer2": 1,
        "look2": 2,
    }
    assert [row["step"] for row in rows.values()] == [1, 2, 0, 3, 0]
    assert [rows[name]["iteration"] for name in ("writer1", "writer2")] == [1, 2]
    assert rows["look2"]["call"] == "c2"


def test_tokens_belong_to_who_spoke_and_come_with_the_model_s_answer() -> None:
    """By path and branch where several of a name run side by side; summed over a node's model calls."""
    log = Log()
    log.start("root", path="root@1")
    log.start("a1", "root", path="root@1/a@1", branch="one")
    log.start("a2", "root", path="root@1/a@2", branch="two")
    place = {"nodeInfo": {"path": "root@1/a@1"}, "branch": "one"}
    first = log.event("a", text="hi", usageMetadata=USAGE, finishReason="STOP", **place)
    log.event("a", text="ho", usageMetadata=USAGE, finishReason="STOP", **place)
    assert nodes(log, first - 1)["a1"]["tokens"] == {}
    assert nodes(log, first)["a1"]["tokens"] == {"input": 10, "output": 2, "total": 12}
    assert nodes(log)["a1"]["tokens"] == {"input": 20, "output": 4, "total": 24}
    assert nodes(log)["a2"]["tokens"] == nodes(log)["root"]["tokens"] == {}


def test_a_wait_lasts_from_the_question_to_the_answer() -> None:
    """Open while nobody has answered, at every playhead before."""
    log = Log()
    log.event(parts=[{"functionCall": {"id": "c1", "name": "pay", "args": {}}}])
    gated = {"id": "c1", "name": "pay", "args": {}}
    asked = log.event(
        parts=[
            {
                "functionCall": {
                    "id": "a1",
                    "name": "adk_request_confirmation",
                    "args": {"originalFunctionCall": gated, "toolConfirmation": {"hint": "?"}},
                }
            }
        ],
        longRunningToolIds=["a1"],
    )
    log.event(text="meanwhile")
    answered = log.event(
        parts=[{"functionResponse": {"id": "c1", "name": "pay", "response": {"ok": True}}}]
    )
    assert shown(log, asked - 1)["waits"] == []
    [wait] = shown(log, asked)["waits"]
    assert (wait["kind"], wait["call"]) == ("approval", "c1")
    assert (wait["until"], wait["end"]) == (None, None)
    [wait] = shown(log)["waits"]
    assert (wait["since"], wait["until"]) == (asked, answered)
    assert wait["end"] - wait["start"] == (answered - asked) * STEP


def test_time_in_which_no_node_ran_is_unaccounted_for() -> None:
    """Before, between and after; nested and parallel nodes cover each other."""
    log = Log()
    log.event(delta={"k": 1}, author="user")
    log.start("a")  # at 1.0
    log.start("b", "a")
    log.end("b")
    log.end("a")  # at 2.5
    log.event(delta={"k": 2}, author="user")
    log.start("c")  # at 3.5
    log.end("c")  # at 4.0
    log.over()
    gaps = [
        {"from": 0.0, "until": 1.0},
        {"from": 2.5, "until": 3.5},
        {"from": 4.0, "until": 4.5},
    ]
    whole = _watched(log)
    assert whole["unaccounted"] == gaps
    assert whole["now"] == 4.5


def _watched(log: Log) -> dict[str, Any]:
    """Return the timeline of a run whose first record after the start is a node's.

    Up to there nodes are inferred from who speaks; this one has a silent node before everything.
    """
    silent = Log()
    silent.start("zero")
    silent.end("zero")
    first, *rest = log.entries
    early = [Entry(e.cursor, 0.0, e.record) for e in silent.entries[1:]]
    moved = [Entry(e.cursor + 2, e.time, e.record) for e in rest]
    timeline: dict[str, Any] = fold([first, *early, *moved]).at(None, "timeline")["timeline"]
    return timeline


def test_an_empty_run_has_an_empty_timeline() -> None:
    """One entry, no time, no node."""
    assert shown(Log()) == {
        "start": 0.0,
        "now": 0.0,
        "nodes": [],
        "waits": [],
        "unaccounted": [],
    }
