"""The timeline as rows: nodes below their parents, a tool that runs an agent as that agent, failures once."""

from __future__ import annotations

from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page import text as timeline
from adk_prism.features.page.film import fold


def test_rows_stand_below_their_parents() -> None:
    """Also where agents ran side by side; a tool that only runs an agent is that agent."""
    view = fold(load("parallel_specialists")).at(panel="timeline")["timeline"]
    names = [
        row.text.rstrip().split("▬")[0].split("█")[0].rstrip() for row in timeline.rows(view, 100)
    ]
    assert names == [
        "tour",
        "  weather_specialist",
        "    get_weather",
        "  food_specialist",
        "  budget_specialist",
    ]
    assert timeline.strip(view, 100).text.endswith("5 nodes")


def test_one_failure_has_one_mark() -> None:
    """The nodes around a failing tool fail with it; only the tool's failure is marked and counted."""
    log = Log()
    log.start("boss")
    log.start("look", "boss", "tool")
    log.end("look", "failed", error="ValueError")
    log.event("boss", text="sorry")
    log.end("boss", "failed", error="ValueError")
    log.over("failed")
    strip = timeline.strip(fold(log.entries).at(panel="timeline")["timeline"], 80).text
    assert strip.count("✗") == 1
    assert strip.endswith("1 failure")


def test_nodes_that_stand_inside_of_each_other_are_shown() -> None:
    """A damaged recording loses no row."""
    log = Log()
    log.start("a", "b")
    log.start("b", "a")
    log.over()
    rows = timeline.rows(fold(log.entries).at(panel="timeline")["timeline"], 80)
    assert [row.text[:2] for row in rows] == ["~a", "~b", "~ "]
