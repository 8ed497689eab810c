"""Every kind of turn: what is next at its end, what it leaves of the question, and what help is left."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types
from tests.app_runner import SESSION, USER, AppRun, AppRunner

from adk_prism.grounding import GroundingBox, read
from adk_prism_apps.research.agent import research_app

QUESTION = "counterfactual explanations"
LOW = "AI transparency"
EMPTY = "explainable wildfire"
CONFIRMATION = "adk_request_confirmation"


class ResearchChat:
    """A conversation with the app, in one process."""

    def __init__(self) -> None:
        self.stage = AppRunner(research_app(0, environment={}))
        self.asked = ""

    async def say(self, *words: str) -> AppRun:
        """Say some things; return the last run."""
        for text in words:
            take = await self._done(await self.stage.send(text))
        return take

    async def confirm(self, confirmed: bool, call: str = "") -> AppRun:
        """Answer a confirmation, the newest one unless another is named."""
        answer = types.FunctionResponse(
            id=call or self.asked, name=CONFIRMATION, response={"confirmed": confirmed}
        )
        return await self._done(await self.stage.answer(answer))

    async def _done(self, take: AppRun) -> AppRun:
        assert take.error is None
        self.asked = next((c.id or "" for c in take.calls if c.name == CONFIRMATION), self.asked)
        return take

    async def box(self) -> GroundingBox:
        """Return the box as the session has it."""
        session = await self.stage.sessions.get_session(
            app_name="research", user_id=USER, session_id=SESSION
        )
        assert session is not None
        found = read(session.state)
        assert found.unreadable == []
        return found.box()


TURNS: dict[str, tuple[str, str]] = {
    # words, separated by "|", and "owner action" at the end of the last turn
    "a question": (QUESTION, "researcher approve_search"),
    "a first remark": ("hm, interesting", "researcher ask"),
    "nothing": ("...", "researcher ask"),
    "help": ("help", "researcher ask"),
    "an approval of nothing": ("ok", "researcher ask"),
    "a remedy of nothing": ("1", "researcher ask"),
    "a synthesis of nothing": ("synthesise", "researcher ask"),
    "a validation of nothing": ("validate", "researcher ask"),
    "an export of nothing": ("export", "researcher ask"),
    "the cost of nothing": ("what would that cost?", "researcher ask"),
    "a filter alone": ("since 2020", "researcher ask"),
    "an unclear answer": (f"{QUESTION}|maybe later", "researcher approve_search"),
    "a remark on a plan": (f"{QUESTION}|hm, interesting", "researcher approve_search"),
    "help on a plan": (f"{QUESTION}|help", "researcher approve_search"),
    "the cost of a plan": (f"{QUESTION}|What would that cost?", "researcher approve_search"),
    "a request beside a plan": (f"{QUESTION}|validate", "researcher approve_search"),
    "an export beside a plan": (f"{QUESTION}|export", "researcher approve_search"),
    "a change": (f"{QUESTION}|since 2021", "researcher approve_search"),
    "a change to no query": (f"{QUESTION}|query: ???", "researcher approve_search"),
    "a change that is not said": (f"{QUESTION}|modify", "researcher modify_plan"),
    "a cancellation": (f"{QUESTION}|cancel", "researcher ask"),
    "a short run": (f"{QUESTION}|short run", "researcher approve_search"),
    "a search": (f"{QUESTION}|ok", "both synthesize"),
    "thanks for a search": (f"{QUESTION}|ok|thanks", "researcher ask"),
    "a synthesis": (f"{QUESTION}|ok|synthesise", "researcher validate"),
    "a validation": (f"{QUESTION}|ok|validate", "researcher export"),
    "an export": (f"{QUESTION}|ok|export", "researcher ask"),
    "a synthesis beside a plan": (f"{QUESTION}|ok|{LOW}|synthesise", "researcher approve_search"),
    "a search that failed": (f"{LOW}|ok", "researcher refine"),
    "an empty search": (f"{EMPTY}|ok", "researcher refine"),
    "a remark on help": (f"{LOW}|ok|what do you think?", "researcher refine"),
    "an approval of help": (f"{LOW}|ok|ok", "researcher refine"),
    "a remedy that is not there": (f"{LOW}|ok|9", "researcher refine"),
    "an export beside help": (f"{LOW}|ok|export", "researcher refine"),
    "a remedy": (f"{LOW}|ok|1", "researcher approve_search"),
    "another remedy": (f"{LOW}|ok|1|2", "researcher approve_search"),
    "a remedy that is cancelled": (f"{LOW}|ok|1|cancel", "researcher refine"),
    "a remedy that is run": (f"{LOW}|ok|1|ok", "both synthesize"),
}


@pytest.mark.parametrize("name", TURNS)
async def test_what_is_next(name: str) -> None:
    """At the end of a turn nobody is at work, and the box says who has to do what."""
    words, expected = TURNS[name]
    chat = ResearchChat()
    await chat.say(*words.split("|"))
    box = await chat.box()
    assert box.next_action is not None
    assert f"{box.next_action.owner} {box.next_action.action}" == expected
    waits = box.pending_search_plan is not None
    assert waits == (box.next_action.action in ("approve_search", "modify_plan"))
    helped = box.last_search_failure is not None
    assert helped == (box.next_action.action == "refine")


@pytest.mark.parametrize(
    ("confirmed", "expected"), [(True, "both synthesize"), (False, "researcher ask")]
)
async def test_what_is_next_after_a_confirmation(confirmed: bool, expected: str) -> None:
    """The same as after words."""
    chat = ResearchChat()
    await chat.say(QUESTION)
    await chat.confirm(confirmed)
    step = (await chat.box()).next_action
    assert step is not None
    assert f"{step.owner} {step.action}" == expected


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_late_confirmation_is_none_of_the_plan_that_waits_now(confirmed: bool) -> None:
    """It searches nothing, cancels nothing, and the plan waits on."""
    chat = ResearchChat()
    await chat.say(QUESTION)
    first = chat.asked
    await chat.say("saliency maps of images")
    take = await chat.confirm(confirmed, first)
    assert take.text
    box = await chat.box()
    assert box.search_history == []
    assert box.pending_search_plan is not None
    assert box.pending_search_plan.query == "saliency maps images"
    assert box.next_action is not None
    assert box.next_action.action == "approve_search"


REMARKS = [
    "hm, interesting",
    "thanks",
    "Thanks a lot!",
    "what do you think?",
    "wow, that is really cool",
    "I see",
    "not sure",
    "That makes sense to me.",
    "really?",
    "why?",
    "this",
    "I don't know, maybe",
    "oh well…",
    "nice work, you are very helpful",
    "what?",
    "tell me more",
]


@pytest.mark.parametrize("before", [[], [QUESTION], [QUESTION, "ok"], [LOW, "ok"]], ids=str)
@pytest.mark.parametrize("remark", REMARKS)
async def test_a_remark_is_no_question(before: list[str], remark: str) -> None:
    """Question, plan and help are as they were, and it is answered."""
    chat = ResearchChat()
    if before:
        await chat.say(*before)
    was: Any = await chat.box() if before else GroundingBox()
    take = await chat.say(remark)
    box = await chat.box()
    assert take.text
    assert box.research_question == was.research_question
    assert box.pending_search_plan == was.pending_search_plan
    assert box.last_search_failure == was.last_search_failure
    assert box.search_history == was.search_history


@pytest.mark.parametrize(
    "question", ["malaria", "What do you think about explainable AI?", "trust", "cost of malaria"]
)
async def test_a_question_is_one(question: str) -> None:
    """However it is put: it names a subject."""
    chat = ResearchChat()
    await chat.say(question)
    assert (await chat.box()).research_question == question


@pytest.mark.parametrize(
    "words",
    ["What would that cost?", "how much does it cost", "How long will it take?", "Is that free?"],
)
async def test_the_cost_is_the_plan_s(words: str) -> None:
    """Answered from the plan, which waits on; afterwards, from the receipt."""
    chat = ResearchChat()
    await chat.say(QUESTION)
    plan = (await chat.box()).pending_search_plan
    assert plan is not None
    take = await chat.say(words)
    for part in (plan.cost_time, str(plan.limit), plan.database, plan.expected_results):
        assert part in take.text
    assert (await chat.box()).pending_search_plan == plan
    await chat.say("ok")
    assert "0 requests" in (await chat.say(words)).text


async def test_choosing_a_remedy_never_says_that_the_search_did_not_fail() -> None:
    """Until another search is made its remedies stay: while one is planned, and after a cancellation."""
    chat = ResearchChat()
    await chat.say(LOW, "ok")
    failure = (await chat.box()).last_search_failure
    assert failure is not None
    assert len(failure.actions) >= 2
    for words in ("1", "2", "cancel", "2", "9", "1", "no", "first"):
        take = await chat.say(words)
        assert "not fail" not in take.text
        box = await chat.box()
        plan = box.pending_search_plan
        chosen = {"1": 0, "2": 1, "first": 0}.get(words)
        if chosen is not None:
            assert plan is not None
            assert plan.query == failure.actions[chosen].query
        elif words in ("cancel", "no"):
            assert box.last_search_failure == failure
    await chat.say("ok")
    assert "not fail" not in (await chat.say("2")).text
