"""Each time a node ran: what it got, said, called, passed on and changed, at a cursor."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page.film import Film, fold

Json = dict[str, Any]


def runs(film: Film, name: str, at: int | None = None) -> list[Json]:
    found = msgspec.to_builtins(film.at(at, "nodes")["nodes"])
    return [run for run in found if run["name"] == name]


def test_each_turn_of_a_loop_is_a_run_of_its_own() -> None:
    """Ten runs of one node keep apart what each said and changed; at a cursor, those so far are there."""
    log = Log("Improve it.", draft=0)
    log.start("loop", kind="workflow")
    for turn in range(1, 11):
        log.start(f"writer{turn}", "loop", iteration=turn)
        log.event("writer", id=f"e{turn}", text=f"Draft {turn}.", delta={"draft": turn})
        log.end(f"writer{turn}")
    log.end("loop")
    log.over()
    film = fold(log.entries)
    found = runs(film, "writer")
    assert [run["said"][0]["text"] for run in found] == [f"Draft {turn}." for turn in range(1, 11)]
    assert [run["changes"][0]["after"] for run in found] == list(range(1, 11))
    assert found[3]["received"] == [{"from": "writer", "value": "Draft 3."}]
    assert len(runs(film, "writer", found[4]["since"])) == 5
    assert runs(film, "writer", found[4]["since"])[4]["said"] == []


def test_values_of_a_workflow_go_from_node_to_node() -> None:
    """An output belongs to the step that made it, though the event is the workflow's."""
    film = fold(load("workflow"))
    (brief,), (gather,), (conclude,) = (runs(film, n) for n in ("brief", "gather", "conclude"))
    assert brief["outputs"] == ["3 days in Lisbon"]
    assert {each["from"] for each in gather["received"]} == {"route_planner", "hotel_planner"}
    assert conclude["received"] == [{"from": "gather", "value": gather["outputs"][0]}]
    tool, workflow = runs(film, "plan_trip")
    assert tool["asked"]["input"] == {"destination": "Lisbon", "days": 3}
    assert workflow["outputs"] == []


def test_an_agent_inside_a_tool_has_its_own_words() -> None:
    """What it said is its own, not its caller's; the call that runs it is what it was asked."""
    film = fold(load("agent_tool"))
    _, child = runs(film, "translator")
    assert [one["text"] for one in child["said"]] == ["Bom dia (synthetic)"]
    assert child["asked"]["input"] == {"request": "Good morning"}
    (root,) = runs(film, "tour")
    assert root["received"] == [{"from": "user", "value": "agent tool"}]
    assert "Bom dia (synthetic)" not in [one.get("text") for one in root["said"]]


def test_of_branches_each_change_names_its_writer() -> None:
    """What another branch wrote meanwhile is told apart."""
    log = Log("Go.")
    log.start("both", kind="workflow")
    log.start("left", "both")
    log.start("right", "both")
    log.event("right", delta={"r": 1})
    log.event("left", delta={"l": 1})
    log.end("right")
    log.end("left")
    log.end("both")
    log.over()
    (left,) = runs(fold(log.entries), "left")
    assert {change["key"]: change["writer"] for change in left["changes"]} == {
        "r": "right",
        "l": "left",
    }


def test_of_two_runs_of_one_node_side_by_side_the_branch_decides() -> None:
    """What each said is its own, though both have one name."""
    log = Log("Go.")
    log.start("both", kind="workflow")
    log.start("writer1", "both", branch="both.a")
    log.start("writer2", "both", branch="both.b")
    log.event("writer", id="e1", branch="both.a", text="A.")
    log.event("writer", id="e2", branch="both.b", text="B.")
    log.end("writer1")
    log.end("writer2")
    log.end("both")
    log.over()
    found = runs(fold(log.entries), "writer")
    assert [[one["text"] for one in run["said"]] for run in found] == [["A."], ["B."]]


def test_model_calls_and_inferred_nodes_are_told() -> None:
    """A run lists the cursors of its model calls; one of a capture says that it was inferred."""
    log = Log("What?")
    log.start("root")
    log.called("root", "root", started=0.6)
    log.end("root")
    log.over()
    assert runs(fold(log.entries), "root")[0]["modelCalls"] == [3]
    captured = fold(load("raw/x_recovery_capture"))
    assert all(run["derived"] for run in runs(captured, "nepa_advisor"))
    assert "nodes" not in captured.at()
