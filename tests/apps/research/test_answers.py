"""Every way to answer a plan: words, panel, ADK confirmation, AI SDK approval; one decision each."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apps.research.talk import CONFIRMATION, SYSTEM, Talk
from tests.end_to_end.adk_client import answers
from tests.end_to_end.clients import APPROVE, DENIED, DENY, DONE, Player, send

SEARCH = "search_sample_library"
QUESTION = "counterfactual explanations"


def searched(turn: Any) -> bool:
    """Tell whether a search has run in a turn."""
    return any("papers" in each["response"] for each in turn.parts("functionResponse"))


# ------------------------------------------------------------------ words


@pytest.mark.parametrize("words", ["ok", "Yes, go ahead", "OK!", "sure, run it please"])
async def test_words_that_approve(talk: Talk, words: str) -> None:
    """The plan runs at once, and is not asked about a second time."""
    await talk.say(QUESTION)
    turn = await talk.say(words)
    assert searched(turn)
    assert CONFIRMATION not in turn.calls
    assert turn.written["search_history"][0]["approval"] == "approved in chat"


@pytest.mark.parametrize(
    "words",
    ["not ok", "a book", "ok?", "maybe later", "what does that mean?", "ok, cancel", "hmm", "..."],
)
async def test_what_is_unclear_is_asked_again(talk: Talk, words: str) -> None:
    """It is no approval and no cancellation: the plan waits on."""
    await talk.say(QUESTION)
    plan = (await talk.grounding()).box().pending_search_plan
    turn = await talk.say(words)
    assert not searched(turn)
    assert "still waits" in turn.text
    box = (await talk.grounding()).box()
    assert box.pending_search_plan == plan
    assert box.next_action is not None
    assert box.next_action.action == "approve_search"
    assert searched(await talk.say("ok"))


async def test_words_that_cancel(talk: Talk) -> None:
    """The plan is gone, and an ok after it finds nothing to approve."""
    await talk.say(QUESTION)
    turn = await talk.say("cancel")
    assert "cancelled" in turn.text
    assert turn.written["pending_search_plan"] is None
    late = await talk.say("ok")
    assert not searched(late)
    assert "no search plan" in late.text


@pytest.mark.parametrize(
    ("words", "filters"),
    [
        ("modify: since 2021", {"year": ">=2021"}),
        ("ok, but only since 2021", {"year": ">=2021"}),
        ("2019-2020", {"year": "2019-2020"}),
        ("only conference papers", {"kinds": ["conference"]}),
    ],
)
async def test_words_that_modify(talk: Talk, words: str, filters: dict[str, Any]) -> None:
    """The changed plan is asked about again: an approval of the old one does not count."""
    await talk.say(QUESTION)
    turn = await talk.say(words)
    assert not searched(turn)
    assert CONFIRMATION in turn.calls
    plan = turn.written["pending_search_plan"]
    assert (plan["query"], plan["filters"]) == (QUESTION, filters)
    found = await talk.say("ok")
    assert found.written["search_history"][0]["filters"] == filters


async def test_modify_alone_asks_what(talk: Talk) -> None:
    """And the next message is the change."""
    await talk.say(QUESTION)
    asked = await talk.say("modify")
    assert asked.written["next_action"]["action"] == "modify_plan"
    turn = await talk.say("saliency maps, since 2019")
    plan = turn.written["pending_search_plan"]
    assert (plan["query"], plan["filters"]) == ("saliency maps", {"year": ">=2019"})


async def test_another_question_takes_the_place_of_the_plan(talk: Talk) -> None:
    """One that says what it is about."""
    await talk.say(QUESTION)
    turn = await talk.say("Find papers on graph neural networks")
    assert turn.written["pending_search_plan"]["query"] == "graph neural networks"
    assert turn.written["research_question"] == "Find papers on graph neural networks"


# ------------------------------------------------------------------ the panel


@pytest.mark.parametrize(
    "message", ["continue", "go on", ".", "thanks, whatever you think is right here"]
)
async def test_the_panel_s_approval_is_acted_on_with_the_next_message(
    talk: Talk, message: str
) -> None:
    """Recorded without a model call, then acted on, whatever the message says."""
    await talk.say(QUESTION)
    written = await talk.write(user_approval="ok", approval_timestamp="2026-03-01T14:23:05+00:00")
    assert written.shape == ["box"]
    turn = await talk.say(message)
    assert searched(turn)
    box = await talk.grounding()
    assert box.answers().user_approval is None
    assert box.answers().approval_timestamp == "2026-03-01T14:23:05+00:00"


async def test_the_panel_s_short_run(talk: Talk) -> None:
    """With the flag that goes with it."""
    await talk.say(QUESTION)
    await talk.write(user_approval="short_run", preview_mode=True)
    turn = await talk.say("continue")
    assert turn.response(SEARCH)["count"] == 10
    await talk.write(user_approval="ok")
    assert (await talk.say("continue")).response(SEARCH)["count"] > 10


async def test_the_panel_s_modification(talk: Talk) -> None:
    """The filters that it has changed are planned with."""
    await talk.say(QUESTION)
    await talk.write(user_approval="modify", current_filters={"year": ">=2022", "colour": "blue"})
    turn = await talk.say("continue")
    assert turn.written["pending_search_plan"]["filters"] == {"year": ">=2022"}
    assert "colour='blue'" in turn.text


async def test_the_panel_cancels(talk: Talk) -> None:
    """It takes the plan away itself."""
    await talk.say(QUESTION)
    await talk.write(user_approval="cancel", pending_search_plan=None)
    turn = await talk.say("continue")
    assert not searched(turn)
    assert (await talk.grounding()).box().pending_search_plan is None


async def test_words_are_newer_than_the_panel(talk: Talk) -> None:
    """What is typed last counts."""
    await talk.say(QUESTION)
    await talk.write(user_approval="ok")
    turn = await talk.say("cancel")
    assert not searched(turn)


async def test_an_early_approval_approves_nothing(talk: Talk) -> None:
    """Given before there was a plan, it does not count for the plan that comes."""
    await talk.write(user_approval="ok")
    turn = await talk.say(QUESTION)
    assert not searched(turn)
    assert CONFIRMATION in turn.calls
    assert (await talk.grounding()).answers().user_approval is None


@pytest.mark.parametrize("choice", ["try_synonyms", "1", "Try Synonyms"])
async def test_a_remedy_by_the_panel(talk: Talk, choice: str) -> None:
    """By name, number or words."""
    await talk.say("AI transparency")
    await talk.say("ok")
    await talk.write(selected_remedy=choice)
    turn = await talk.say("continue")
    assert "OR" in turn.written["pending_search_plan"]["query"]
    assert turn.written["selected_remedy"] is None


@pytest.mark.parametrize("choice", ["9", "burn_the_library"])
async def test_a_remedy_that_is_not_offered(talk: Talk, choice: str) -> None:
    """It is refused with those there are, and the help stands."""
    await talk.say("AI transparency")
    await talk.say("ok")
    await talk.write(selected_remedy=choice)
    turn = await talk.say("continue")
    assert "no remedy" in turn.text
    assert "try_synonyms" in turn.text
    box = (await talk.grounding()).box()
    assert box.pending_search_plan is None
    assert box.last_search_failure is not None


# ------------------------------------------------------------------ ADK's confirmation


async def test_adk_s_confirmation(talk: Talk) -> None:
    """It lets the very call run that it was asked for; the second answer is too late."""
    await talk.say(QUESTION)
    turn = await talk.confirm(True)
    assert searched(turn)
    assert turn.written["search_history"][0]["approval"] == "approved by confirmation"
    await talk.counts_add_up()
    again = {"id": talk.pending(), "name": CONFIRMATION, "response": {"confirmed": True}}
    late = await talk.adk.post("/run_sse", answers(again))
    assert late.status_code == 409


async def test_adk_s_denial(talk: Talk) -> None:
    """The plan is cancelled."""
    await talk.say(QUESTION)
    turn = await talk.confirm(False)
    assert not searched(turn)
    assert turn.written["pending_search_plan"] is None
    assert "cancelled" in turn.text


async def test_a_confirmation_can_say_short_run(talk: Talk) -> None:
    """A client that knows the app may send the decision along."""
    await talk.say(QUESTION)
    turn = await talk.confirm(True, {"decision": "short_run"})
    assert turn.response(SEARCH)["count"] == 10


@pytest.mark.parametrize("words", ["ok", "cancel"])
async def test_a_confirmation_after_a_typed_answer_searches_nothing(talk: Talk, words: str) -> None:
    """ADK's routes take it, however late; the plan that it is for no longer waits."""
    await talk.say(QUESTION)
    asked = talk.pending()
    await talk.say(words)
    before = (await talk.grounding()).box()
    late = {"id": asked, "name": CONFIRMATION, "response": {"confirmed": True}}
    turn = await talk.run(answers(late))
    assert not searched(turn)
    assert "no longer waits" in turn.text
    assert (await talk.grounding()).box() == before


@pytest.mark.parametrize("decision", ["cancel", "modify"])
async def test_a_confirmation_against_the_panel_s_word_runs_nothing(
    talk: Talk, decision: str
) -> None:
    """Two answers that contradict each other are no approval."""
    await talk.say(QUESTION)
    await talk.write(user_approval=decision)
    turn = await talk.confirm(True)
    assert not searched(turn)
    assert decision in turn.text


async def test_the_panel_and_the_confirmation_agree(talk: Talk) -> None:
    """Then there is one search, not two."""
    await talk.say(QUESTION)
    await talk.write(user_approval="ok")
    assert searched(await talk.confirm(True))
    assert len((await talk.grounding()).box().search_history) == 1
    assert not searched(await talk.say("continue"))


# ------------------------------------------------------------------ useChat


def test_an_approval_of_the_chat(play: Player) -> None:
    """A plan as text, an approval card, the papers, the receipt."""
    result = play(send(QUESTION), APPROVE, app="research")
    assert result.call(SEARCH)["state"] == DONE
    assert result.call(SEARCH)["output"]["count"] > 10
    assert "→ Found" in result.text


def test_a_denial_of_the_chat(play: Player) -> None:
    """With a reason that is no other decision."""
    result = play(send(QUESTION), DENY, app="research")
    assert result.call(SEARCH)["state"] == DENIED
    assert "cancelled" in result.text


def test_a_denial_that_wants_something_else(play: Player) -> None:
    """The reason is read like any answer: a short run, or a change of the plan."""
    short = play(send(QUESTION), {**DENY, "reason": "short run, please"}, app="research")
    assert short.call(SEARCH)["state"] == "approval-requested"
    assert "Proceed with full search?" in short.text
    changed = play(send(QUESTION), {**DENY, "reason": "since 2022"}, APPROVE, app="research")
    assert {p["year"] for p in changed.call(SEARCH)["output"]["papers"]} <= set(range(2022, 2027))


def test_typing_in_the_chat(play: Player) -> None:
    """Words answer as well, and the card is no longer asked."""
    result = play(send(QUESTION), send("short run"), send("ok"), app="research")
    assert result.call(SEARCH)["output"]["count"] > 10


async def test_system_messages_are_no_words(talk: Talk) -> None:
    """A state change of role `system` while a plan waits leaves it waiting."""
    await talk.say(QUESTION)
    await talk.run(SYSTEM, stateDelta={"grounding:open_questions": ["Which data?"]})
    box = (await talk.grounding()).box()
    assert box.open_questions == ["Which data?"]
    assert box.pending_search_plan is not None
    assert searched(await talk.confirm(True))
