"""Questions reach the right specialists, and specialists choose the right tools."""

from __future__ import annotations

import pytest
from tests.apps.recovery.questions import BURN, CRUISE, NEPA, QUESTIONS, TRAIL

from adk_prism_apps.recovery.script.request import Request, read_request
from adk_prism_apps.recovery.script.routing import is_small_talk, route
from adk_prism_apps.recovery.script.tool_calls import calls_for

NAMES = ("Cedar Creek Fire", "Cedar Creek", "cedar-creek-2022")


@pytest.mark.parametrize(("question", "expected"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_a_question_reaches_its_specialists(
    question: str, expected: tuple[str, ...] | None
) -> None:
    named = "cedar creek" in question.lower()
    asked = None if is_small_talk(question) else route(question, NAMES, fire_named=named)

    assert asked == expected


@pytest.mark.parametrize(
    "question",
    [
        "How long is the Nile?",
        "Who was the first president?",
        "Is it safe to eat raw eggs?",
        "Tell me a joke about trees",
    ],
)
def test_one_weak_word_makes_no_subject(question: str) -> None:
    assert route(question) is None


def test_a_fires_name_is_no_subject() -> None:
    """A Pine Bridge Fire is neither about timber nor about trails."""
    names = ("Pine Bridge Fire", "Pine Bridge")
    assert route("Erosion at the Pine Bridge Fire?", names, fire_named=True) == (BURN,)


CASE = {"fire_id": "f", "as_of": "2022-12-01"}
ERRANDS = (
    (BURN, "How severe was it?", ["assess_severity"]),
    (BURN, "Is the perimeter closed?", ["check_boundary"]),
    (BURN, "When is the BAER request due?", ["baer_clock"]),
    (BURN, "Anything?", ["assess_severity", "check_boundary", "baer_clock"]),
    (BURN, "Look at S05", ["examine_sector"]),
    (TRAIL, "Which trails stay shut?", ["evaluate_closures"]),
    (TRAIL, "What do we repair first?", ["rank_trails"]),
    (TRAIL, "Anything?", ["classify_damage", "evaluate_closures", "rank_trails"]),
    (CRUISE, "How fast does it rot?", ["assess_salvage"]),
    (CRUISE, "What is the sampling error?", ["cruise_statistics"]),
    (CRUISE, "Anything?", ["cruise_statistics", "assess_salvage"]),
    (NEPA, "Which CE?", ["screen_nepa"]),
    (NEPA, "Does 36 CFR 220.6(e)(13) stand?", ["check_citation"]),
    (
        NEPA,
        "Does 36 CFR 220.6(e)(13) allow 90 acres of salvage?",
        ["check_citation", "screen_nepa"],
    ),
)


@pytest.mark.parametrize(("specialist", "question", "tools"), ERRANDS)
def test_a_specialist_calls_the_tools_that_the_words_mean(
    specialist: str, question: str, tools: list[str]
) -> None:
    calls = calls_for(specialist, Request(CASE, question))

    assert [call.name for call in calls] == tools
    assert all(call.args["fire_id"] == "f" for call in calls)


@pytest.mark.parametrize(
    ("question", "inputs"),
    [
        ("Can we salvage 1,180.5 acres?", {"activity": "salvage", "acres": 1180.5}),
        (
            "salvage of 90 acres with half a mile of temporary road",
            {"activity": "salvage", "acres": 90.0, "temp_road_miles": 0.5},
        ),
        ("Do we need an EA to replant?", {"activity": "rehabilitation"}),
        ("What about thinning 40 ac?", {"activity": "stand improvement", "acres": 40.0}),
        ("Which review for trails and salvage?", {}),
    ],
)
def test_sizes_and_activities_are_read_from_the_question(
    question: str, inputs: dict[str, object]
) -> None:
    (call,) = calls_for(NEPA, Request(CASE, question))
    assert dict(call.args) == CASE | inputs


def test_a_follow_up_names_its_tool() -> None:
    line = (
        "fire_id:f as_of:2022-12-01 follow_up:screen_nepa proposal:P1 acres:228 question:How many?"
    )
    (call,) = calls_for(NEPA, read_request(line))

    assert call.name == "screen_nepa"
    assert dict(call.args) == CASE | {"proposal": "P1", "acres": 228.0}


def test_a_request_is_read_as_it_was_written() -> None:
    request = Request(CASE | {"trail": "T01"}, "Is it open: yes or no?")
    assert read_request(request.text()) == request
    assert read_request("just a question").question == "just a question"
