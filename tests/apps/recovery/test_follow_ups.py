"""A conversation: what no tool answers, what a question takes from the one before, and what is said once."""

from __future__ import annotations

import re

import pytest
from tests.app_runner import AppRun, AppRunner
from tests.apps.recovery.questions import QUESTIONS

from adk_prism_apps.recovery.agent import recovery_app
from adk_prism_apps.recovery.agent_names import COORDINATOR, SPECIALISTS
from adk_prism_apps.recovery.script.unanswered import unanswered

FIRE = {"incident": {"name": "Cedar Creek Fire", "synthetic": False}}
UNANSWERED = (
    "Is it safe to camp?|Is it safe to camp at Cedar Creek?|Can we fish there?|May I bring my dog and camp?|"
    "Is the air quality fine?|When will it reopen?|When will the trails be open again?|"
    "How long until the forest recovers?|Will it burn again?|How sure are you?|Can I trust this?|"
    "Is this real data?|Are these numbers made up?|Where does the data come from?|How many animals died?|"
    "How many people died in the Cedar Creek Fire?|Who started it?|What will the weather be like?|"
    "What is the capital of France?|Would you let your kids hike there?|How confident should I be in this?|"
    "Did you make this up?|Are you guessing?|What's your opinion on salvage logging?|"
    "Is salvage morally right?|"
    "Is it safe to reopen the road to the lake?|How long will that take?|Will the forest grow back?|"
    "Are these figures correct?|¿Cuántos acres se quemaron?"
).split("|")


@pytest.mark.parametrize("question", UNANSWERED)
async def test_what_no_tool_answers(question: str) -> None:
    """No specialist is asked, and the answer holds no number at all, also after an answer that had some."""
    stage = AppRunner(recovery_app(0))
    await stage.send("Which trails have to stay shut?")
    take = await stage.send(question)
    assert not {call.name for call in take.calls} & set(SPECIALISTS)
    assert not re.search(r"\d", take.text)
    assert len(take.text) > 60


@pytest.mark.parametrize("question", [text for text, names in QUESTIONS if names])
def test_what_a_specialist_answers_is_not_turned_away(question: str) -> None:
    """The rules for the others match no question that has a specialist."""
    assert unanswered(question, FIRE) == ""


@pytest.mark.parametrize(
    "question",
    [
        "Which trail would you repair first?",
        "Do you think T01 should be closed?",
        "Which trails north of the lake are open?",
        "Is the bridge on the road side passable?",
        "How sure is the timber volume estimate?",
        "How confident should I be in the cruise?",
        "How accurate is the severity map?",
        "How long until the wood rots?",
        "How much timber will we recover?",
        "Is half a mile of temporary road allowed with salvage of 100 acres?",
    ],
)
def test_what_only_looks_unanswerable(question: str) -> None:
    """A tool has the answer, so it is asked."""
    assert unanswered(question, FIRE) == ""


async def test_a_day_by_its_distance_from_none() -> None:
    """Nobody has named a day that "last year" could count from: it is asked for, and nothing is answered."""
    take = await talk("Which trails are shut?|and last year?")
    assert not {call.name for call in take.calls} & set(SPECIALISTS)
    assert "Which day" in take.text
    assert "%" not in take.text


FOLLOW_UPS: dict[str, tuple[str, str, dict[str, object]]] = {
    # words, and the tool with the arguments that the last question has to come to
    "another number": (
        "Can we salvage 180 acres under a categorical exclusion as of November 2026?|and 300 acres?",
        "screen_nepa",
        {"acres": 300.0, "activity": "salvage", "as_of": "2026-11-01"},
    ),
    "another number without its unit": (
        "Can we salvage 180 acres under a categorical exclusion as of November 2026?|and 300?",
        "screen_nepa",
        {"acres": 300.0, "activity": "salvage", "as_of": "2026-11-01"},
    ),
    "a year later": (
        "Which trails are shut as of November 2022?|and a year later?",
        "evaluate_closures",
        {"as_of": "2023-11-01"},
    ),
    "another subject, the same day": (
        "Can we salvage 180 acres under a categorical exclusion as of November 2026?|Which trails are shut?",
        "evaluate_closures",
        {"as_of": "2026-11-01"},
    ),
    "another day": (
        "Which trails are shut as of November 2026?|What about 2023-05-01?",
        "evaluate_closures",
        {"as_of": "2023-05-01"},
    ),
    "the rule": (
        "Is 36 CFR 220.6(e)(6) in force as of 2026-02-01?|What replaced it?",
        "check_citation",
        {"as_of": "2026-02-01"},
    ),
    "after a question that no tool answers": (
        "Which trails are shut?|How sure are you?|Why are they?",
        "evaluate_closures",
        {},
    ),
}


@pytest.mark.parametrize("name", FOLLOW_UPS)
async def test_a_question_takes_up_the_one_before(name: str) -> None:
    """Its subject, its day and its rule."""
    words, tool, arguments = FOLLOW_UPS[name]
    take = await talk(words)
    [call] = [call for call in take.calls if call.name == tool]
    assert arguments.items() <= (call.args or {}).items()


async def test_a_second_fire_is_named_as_not_covered() -> None:
    """Beside the answer about the fire that there is data for; its own name is no second fire."""
    take = await talk(
        "Compare the trail closures of Cedar Creek Fire with those of the Holiday Farm Fire"
    )
    assert "Holiday Farm Fire is not covered" in take.text
    alone = await talk("Which trails are shut at the Cedar Creek Fire of 2022, the big fire?")
    assert "not covered" not in alone.text


async def test_a_successor_that_was_set_aside_is_said_so() -> None:
    """The rule that follows a superseded one may itself be of no force."""
    take = await talk("Is 36 CFR 220.6(e)(6) still good law as of November 2026?")
    assert "7 CFR 1b.4(d)(30) follows it, and is itself set aside since 2026-01-13" in take.text
    good = await talk("Is 36 CFR 220.6(e)(13) still good law as of November 2026?")
    assert "7 CFR 1b.4(d)(36) follows it." in good.text


@pytest.mark.parametrize(
    "question",
    [
        "Which trails have to stay shut?",
        "Which NEPA pathway fits the recovery work at Cedar Creek Fire?",
        "What is the salvage volume worth?",
        "How severe was the burn?",
    ],
)
async def test_a_narrow_answer_is_said_once(question: str) -> None:
    """What the coordinator says, its specialist has not said before."""
    take = await talk(question)
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for event in take.whole:
        for part in (event.content.parts or ()) if event.content else ():
            said[event.author == COORDINATOR] |= set((part.text or "").splitlines()) - {""}
    assert said[False]
    assert not said[True] & said[False]
    assert "**Source:**" in take.text
    assert "**Overall Confidence:**" in take.text


async def test_another_language() -> None:
    """It is named, with what can be done."""
    take = await talk("Welche Wege sind gesperrt?")
    assert "German" in take.text
    assert "English" in take.text


async def talk(words: str) -> AppRun:
    """Say some things, separated by "|"; return the last run."""
    stage = AppRunner(recovery_app(0))
    for text in words.split("|"):
        take = await stage.send(text)
    return take
