"""The coordinator's offline model: finds the fire, asks specialists, follows up once, and briefs.

It has no numbers of its own: what it says at the end is the text that `compose_briefing` rendered
from the findings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest

from adk_prism.models import (
    Call,
    Conversation,
    Say,
    Think,
    Turn,
    foreign_language,
    read_conversation,
    say,
)

from ..agent_names import SPECIALISTS
from ..skills.incident import not_covered
from .dates import day_asked, is_shift, shifted_day
from .places import OWNERS, places_in
from .request import Request
from .routing import is_small_talk, route
from .unanswered import NO_TOOL, OTHER_LANGUAGE, unanswered

FIND, COMPOSE = "find_fire", "compose_briefing"
# The first briefing may ask for one more round; what is open after that is left to the person.
_MOST_BRIEFINGS = 2
# Every word is compared with the vocabulary. What a question asks, it asks before this.
_MOST_CHARACTERS = 4_000
_HELP = (
    "I coordinate recovery after a wildfire. Ask me for a briefing, or about burn severity and the "
    "perimeter, trails and closures, timber and salvage, or the NEPA pathway. Name the fire, and the "
    "day that the answer shall speak of if it matters."
)

_MOST_EARLIER = 10
"""Questions before this one that may have its subject or day."""
_FOLLOWS_ON = re.compile(
    r"\s*(?:(?:and|or|but|so|then|also|what about|how about|what if|why|which one|what else)\b"
    r"|(?:\S+\s+){0,6}(?:it|its|that|this|they|them|those|these|there|the same|one)\b)",
    re.I,
)
"""How a question begins that takes up the one before: "and 300 acres?", "what replaced it?"."""

_BARE_NUMBER = re.compile(r"\D*\d[\d,]*\W*")
_ACRES = re.compile(r"\d\s*acres?\b", re.I)
_WHICH_DAY = (
    "Which day is that? The answers here speak of {day}; name the day that is meant, for example "
    '"as of November 2023". Until then I give no answer and no number.'
)

Answer = Mapping[str, Any]


def coordinator_script(request: LlmRequest) -> Turn:
    """Return what the coordinator does next."""
    conversation = read_conversation(request)
    question = conversation.prompt.strip()[:_MOST_CHARACTERS]
    if _says_nothing(request) or is_small_talk(question):
        return say(_HELP)
    if language := foreign_language(question):
        return say(OTHER_LANGUAGE.format(language=language) + _HELP)
    # A look-up has sources, which a question without an answer should not seem to rest on.
    if honest := unanswered(question):
        return say(honest)
    fire = conversation.answer(FIND)
    if fire is None:
        return Turn((Think("First I find out which fire is meant."), _find(conversation, question)))
    data = fire.get("data") or {}
    if not data.get("found"):
        return say(str(fire.get("result") or fire.get("error")))
    if honest := unanswered(question, data):
        return say(honest)
    if is_shift(question) and not _day(conversation, question):
        return say(_WHICH_DAY.format(day=data["as_of"]))
    question, specialists = _subject(conversation, question, data)
    if not specialists:
        return say(NO_TOOL + _HELP if specialists is None else str(fire["result"]))
    return _next(conversation, question, data, specialists)


def _subject(
    conversation: Conversation, question: str, fire: Answer
) -> tuple[str, tuple[str, ...] | None]:
    """Return a question with the specialists it is for; one without a subject takes up an earlier one's."""
    specialists = _specialists(question, fire)
    if specialists is not None or not _FOLLOWS_ON.match(question):
        return question, specialists
    for before in conversation.earlier[:_MOST_EARLIER]:
        asked = _specialists(before, fire)
        if asked and not unanswered(before, fire):
            # What is said now comes first: "and 300 acres?" is about 300.
            if _BARE_NUMBER.fullmatch(question) and _ACRES.search(before):
                question = f"{question.rstrip(' ?.!')} acres?"
            return f"{question} {before}"[:_MOST_CHARACTERS], asked
    return question, specialists


def _says_nothing(request: LlmRequest) -> bool:
    """Return whether the latest message is empty; the prompt is then that of an earlier one."""
    parts = [part for content in request.contents[-1:] for part in content.parts or []]
    asked = request.contents[-1].role == "user" if request.contents else False
    said = any((part.text or "").strip() or part.function_response for part in parts)
    return not (asked and said)


def _next(
    conversation: Conversation, question: str, fire: Answer, specialists: tuple[str, ...]
) -> Turn:
    if conversation.answers[-1].name == FIND:
        return _delegate(question, fire, specialists)
    if conversation.answers[-1].name != COMPOSE:
        return Turn((Call(COMPOSE, {"asked": list(specialists)}),))
    briefing = conversation.answer(COMPOSE) or {}
    follow_ups = (briefing.get("data") or {}).get("follow_ups") or []
    briefed = sum(answer.name == COMPOSE for answer in conversation.answers)
    if follow_ups and briefed < _MOST_BRIEFINGS:
        return _follow_up(follow_ups, fire, specialists)
    return say(str(briefing.get("result")))


def _find(conversation: Conversation, question: str) -> Call:
    """Return the call for the fire, and for the day that was last asked about."""
    day = _day(conversation, question)
    return Call(FIND, {"question": question} | ({"as_of": day} if day else {}))


def _day(conversation: Conversation, question: str) -> str:
    """Return the day that a question is about: its own, an earlier one's, or one so far from that."""
    day = ""
    for each in reversed((question, *conversation.earlier[:_MOST_EARLIER])):
        text = each[:_MOST_CHARACTERS]
        day = day_asked(text) or (shifted_day(text, day) if is_shift(text) else day)
    return day


def _specialists(question: str, fire: Answer) -> tuple[str, ...] | None:
    incident = fire["incident"]
    names = (incident["name"], *incident["aliases"], incident["fire_id"])
    chosen = route(question, names, fire_named=bool(fire["named"]))
    owners = {OWNERS[kind] for kind in places_in(question, fire["places"])}
    if owners and (not chosen or chosen == SPECIALISTS):
        return tuple(name for name in SPECIALISTS if name in owners)
    return chosen


def _delegate(question: str, fire: Answer, specialists: tuple[str, ...]) -> Turn:
    places = places_in(question, fire["places"])
    whole = {"whole": "yes"} if specialists == SPECIALISTS else {}
    whole |= _alone(specialists)
    calls = []
    for name in specialists:
        own = {kind: place for kind, place in places.items() if OWNERS[kind] == name}
        request = Request(_case(fire) | own | whole, question)
        calls.append(Call(name, {"request": request.text()}))
    besides = not_covered(fire)
    said = " ".join(filter(None, (besides, f"I ask {_listed(specialists)}.")))
    return Turn((Say(f"{said}\n\n"), *calls))


def _alone(specialists: tuple[str, ...]) -> dict[str, str]:
    """Return the mark of a request whose answer the coordinator gives: so that it is said once."""
    return {"alone": "yes"} if len(specialists) == 1 else {}


def _follow_up(follow_ups: list[Answer], fire: Answer, specialists: tuple[str, ...]) -> Turn:
    calls = []
    for item in follow_ups:
        marks = _case(fire) | _alone(specialists)
        values = " ".join(f"{name}:{value}" for name, value in marks.items())
        text = f"{values} {item['request']} question:{item['question']}"
        calls.append(Call(str(item["specialist"]), {"request": text}))
    asked = _listed(tuple(dict.fromkeys(call.name for call in calls)))
    return Turn((Say(f"Something is still open; I ask {asked} again.\n\n"), *calls))


def _case(fire: Answer) -> dict[str, str]:
    return {"fire_id": str(fire["fire_id"]), "as_of": str(fire["as_of"])}


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
