"""The grounding box at a playhead: true at every cursor, for any app, whatever its state holds."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.features.page.entries import Log

from adk_prism.features.page.film import fold

KEY = "grounding:{}".format


def receipt(number: int, **more: Any) -> dict[str, Any]:
    about = {"timestamp": f"2026-03-01T14:{number % 60:02}:05+00:00", "database": "D", "query": "q"}
    return {**about, "results_count": number, **more}


def panel(log: Log, cursor: int | None = None) -> dict[str, Any]:
    """Return the panel as a client gets it."""
    film = fold(log.entries)
    shown: dict[str, Any] = msgspec.to_builtins(film.at(cursor, "grounding"))["grounding"]
    return shown


def test_a_run_without_grounding_has_an_empty_box() -> None:
    """Of any other app."""
    log = Log("Hi", other=1)
    log.event(text="Hello.", delta={"x": 1})
    shown = panel(log)
    assert shown["present"] is False
    assert (shown["box"], shown["changed"], shown["receipts"]) == ({}, [], [])
    assert (shown["step"], shown["remedies"], shown["unreadable"]) == (None, [], [])


def test_the_box_and_what_changed_at_each_cursor() -> None:
    """Against how the run began, so that what was there before is not news."""
    log = Log("ok", grounding__stage="scoping", grounding__research_question="Why?")
    plan = {"database": "D", "query": "why"}
    proposed = log.event(delta={KEY("pending_search_plan"): plan, "other": 1})
    searched = log.event(delta={KEY("pending_search_plan"): None, KEY("stage"): "retrieval"})
    assert panel(log, 1)["changed"] == []
    assert panel(log, 1)["step"] == {"number": 1, "of": 4}
    shown = panel(log, proposed)
    assert shown["box"]["pending_search_plan"] == plan
    assert [(c["key"], c["kind"]) for c in shown["changed"]] == [
        (KEY("pending_search_plan"), "added")
    ]
    shown = panel(log, searched)
    assert shown["box"]["pending_search_plan"] is None
    assert shown["step"] == {"number": 2, "of": 4}
    assert {c["key"] for c in shown["changed"]} == {KEY("stage"), KEY("pending_search_plan")}
    assert "other" not in json.dumps(shown)


def test_receipts_have_the_cursor_that_brought_them() -> None:
    """Those from before the run are not new; the time of day is shown beside the timestamp."""
    log = Log("ok", grounding__search_history=[receipt(1)])
    second = log.event(delta={KEY("search_history"): [receipt(1), receipt(2)]})
    third = log.event(delta={KEY("search_history"): [receipt(1), receipt(2), receipt(3)]})
    shown = panel(log)["receipts"]
    assert [(r["number"], r["since"], r["new"]) for r in shown] == [
        (1, 1, False),
        (2, second, True),
        (3, third, True),
    ]
    assert [r["time"] for r in shown] == ["14:01", "14:02", "14:03"]
    assert len(panel(log, second)["receipts"]) == 2


def test_a_history_that_is_rewritten_or_gone() -> None:
    """What no longer stands in it holds only up to there."""
    log = Log("ok", grounding__search_history=[receipt(1), receipt(2)])
    changed = log.event(delta={KEY("search_history"): [receipt(1), receipt(9), receipt(3)]})
    gone = log.event(delta={KEY("search_history"): None})
    counts = [[r["results_count"] for r in panel(log, at)["receipts"]] for at in (1, changed, gone)]
    assert counts == [[1, 2], [1, 9, 3], []]
    items = fold(log.entries).grounding.items()["receipts"]
    assert [item.marks for item in items] == [
        [(gone, {"gone": True})],
        [(changed, {"gone": True})],
        [(gone, {"gone": True})],
        [(gone, {"gone": True})],
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("papers_found", "many"),
        ("papers_found", -1),
        ("stage", "panic"),
        ("search_assumptions", {"a": 1}),
        ("next_action", []),
        ("next_action", {"owner": "nobody", "action": "search"}),
        ("pending_search_plan", "a plan"),
        ("last_search_failure", {"type": 5}),
        ("user_approval", "perhaps"),
        ("nonsense", 1),
        ("search_history", {"not": "a list"}),
        ("search_history", 7),
    ],
)
def test_what_cannot_be_read_is_shown_as_such(key: str, value: Any) -> None:
    """With the value and the reason, and it takes nothing else with it."""
    log = Log("ok", grounding__databases_searched=["D"])
    log.event(delta={KEY(key): value})
    shown = panel(log)
    [odd] = shown["unreadable"]
    assert odd["key"].startswith(KEY(key))
    assert odd["value"] == value
    assert odd["why"]
    assert key not in shown["box"]
    assert shown["box"]["databases_searched"] == ["D"]


def test_one_bad_receipt_leaves_the_others() -> None:
    """It is named by its place."""
    history = [receipt(1), "nonsense", {**receipt(3), "results_count": "x"}, receipt(4)]
    log = Log("ok", grounding__search_history=history)
    shown = panel(log)
    assert [r["number"] for r in shown["receipts"]] == [1, 4]
    assert [odd["key"] for odd in shown["unreadable"]] == [
        KEY("search_history[1]"),
        KEY("search_history[2]"),
    ]


def test_unknown_members_are_kept() -> None:
    """Another app may say more than the contract names."""
    plan = {"database": "D", "query": "q", "colour": "blue"}
    log = Log("ok", grounding__pending_search_plan=plan)
    assert panel(log)["box"]["pending_search_plan"] == plan


def test_remedies_are_numbered() -> None:
    """The ready ones; the words of an app that has no others."""
    words = {"primary": "Try synonyms", "fallback": "Try IEEE", "ask_researcher": "Which?"}
    failure = {"type": "database_coverage_gap", "context": {}, "remedies": words}
    log = Log("ok", grounding__last_search_failure=failure)
    assert panel(log)["remedies"] == [
        {"number": 1, "name": "primary", "label": "Try synonyms"},
        {"number": 2, "name": "fallback", "label": "Try IEEE"},
    ]
    ready = [{"name": "try_synonyms", "label": "Synonyms", "query": "a OR b"}]
    log.event(delta={KEY("last_search_failure"): {**failure, "actions": ready}})
    assert panel(log)["remedies"] == [{"number": 1, **ready[0]}]


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("2026-03-01T09:05:00Z", "09:05"),
        ("14:23", "14:23"),
        ("2026-03-01 09:05", "09:05"),
        ("x", ""),
    ],
)
def test_the_time_of_day_of_any_timestamp(stamp: str, time: str) -> None:
    """As it stands there; other apps write other forms."""
    log = Log("ok", grounding__search_history=[{**receipt(1), "timestamp": stamp}])
    assert panel(log)["receipts"][0]["time"] == time
