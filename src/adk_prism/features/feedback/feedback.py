"""Feedback: what people think of an answer, kept as notes of the run that gave it.

One for each person and message: a later one takes the place of the earlier. A message that spans several
runs has its feedback at the first of them, so that it is found whichever run is asked.

A score is a number from -1 (bad) to 1 (good). Thumbs are its ends: clients send them as 1 and -1, as true and
false, or as "up" and "down". Other scales (stars, percent) have to be mapped by who knows them: a number
outside of the range is refused, because 3 of 5 and 3 of 10 look the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter
from msgspec import Struct, field, structs, to_builtins
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.adk.apps import Apps
from adk_prism.errors import Conflict, Gone, NotFound, TooLarge, UsageError
from adk_prism.features.search.index import FEEDBACK
from adk_prism.log.contract import RunLog, RunSummary, SideValue
from adk_prism.log.entry import SESSION_RUN, Origin, RunId
from adk_prism.protocols.ag_ui.history import ThreadMessages
from adk_prism.protocols.contract import WHOLE, Options
from adk_prism.runs.chats import Chats, spoken_messages
from adk_prism.server.identity.caller import Caller, Guest, Principal, may_operate
from adk_prism.server.identity.identity import CallerOf, Chat, Run
from adk_prism.server.problems import TEXT_RESPONSES
from adk_prism.server.request_bodies import StrictRoute

LONGEST_COMMENT = 2000
"""Characters: a page. It fits a note in any script."""

_WORDS = {"up": 1.0, "down": -1.0}


class Feedback(Struct, frozen=True, kw_only=True):
    """What one person said about one message, as it is answered."""

    run: RunId
    """The run that has it: the first of the message."""
    message: str = field(name="messageId")
    score: float
    comment: str
    by: str
    """The person: an authenticated caller, otherwise the user of the conversation."""
    time: float


class _Stored(Struct):
    message: str
    score: float
    by: str
    comment: str = ""


def read_score(given: Any) -> float | None:
    """Return a score from -1 to 1; None takes feedback back. Raise `UsageError` for anything else."""
    if given is None:
        return None
    if isinstance(given, bool):
        return 1.0 if given else -1.0
    if isinstance(given, int | float) and math.isfinite(given) and -1 <= given <= 1:
        return float(given)
    if isinstance(given, str) and given in _WORDS:
        return _WORDS[given]
    raise UsageError(
        '`score` must be a number from -1 (bad) to 1 (good), true or false, "up" or "down", or null to '
        f"take the feedback back; got {_short(given)}."
    )


def _short(given: Any) -> str:
    return repr(given)[:40] if isinstance(given, str | int | float) else f"a {type(given).__name__}"


def check_comment(comment: str) -> str:
    """Return a comment. Raise `TooLarge` for a long one."""
    if len(comment) > LONGEST_COMMENT:
        raise TooLarge(f"`comment` has {len(comment)} characters; at most {LONGEST_COMMENT}.")
    return comment


class Feedbacks:
    """Keeps and finds feedback."""

    def __init__(self, log: RunLog, changed: Callable[[RunId], None]) -> None:
        """`changed` is called with a run whose feedback has changed."""
        self._log = log
        self._changed = changed

    async def give(
        self, summary: RunSummary, message: str, score: float | None, comment: str, by: str = ""
    ) -> Feedback | None:
        """Keep what a person says about a message of a run; without `by`, the user of the conversation.

        Return it; None if it was taken back. Raise `Conflict` for a run that is not in the log, or has too
        much feedback.
        """
        owner, by = await self._owner(summary), by or summary.origin.user
        key = msgspec.json.encode((message, by)).decode()
        if score is None:
            await self._log.side.delete(owner, FEEDBACK, key)
            self._changed(owner)
            return None
        stored = msgspec.json.encode(_Stored(message, score, by, comment))
        note = await self._log.side.put(owner, FEEDBACK, key, stored)
        self._changed(owner)
        return _read(owner, note)

    async def of_run(self, summary: RunSummary) -> Sequence[Feedback]:
        """Return the feedback on the message that a run belongs to."""
        return await self._of(dict.fromkeys((RunId(summary.message), summary.run)))

    async def of_session(self, origin: Origin) -> Sequence[Feedback]:
        """Return the feedback on all messages of a session."""
        runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        return await self._of([run.run for run in runs])

    async def _of(self, runs: Iterable[RunId]) -> list[Feedback]:
        known = [run for run in runs if not run.startswith(SESSION_RUN)]
        found = await self._log.side.list(known)
        return [
            _read(run, note)
            for run in known
            for note in found.get(run, ())
            if note.space == FEEDBACK
        ]

    async def _owner(self, summary: RunSummary) -> RunId:
        """Return the first run of a message, if the log still has it."""
        first = RunId(summary.message)
        if summary.run.startswith(SESSION_RUN):
            raise Conflict(
                "Only ADK's session has this run; feedback needs a run that was recorded."
            )
        if first == summary.run or first.startswith(SESSION_RUN):
            return summary.run
        try:
            found = await self._log.summary(first)
        except (NotFound, Gone):
            return summary.run
        return first if found.origin == summary.origin else summary.run


def _read(run: RunId, note: SideValue) -> Feedback:
    stored = msgspec.json.decode(note.value, type=_Stored)
    return Feedback(run=run, time=note.time, **structs.asdict(stored))


# ---------------------------------------------------------------------------
# Feedback on answers: `POST` and `GET /api/runs/{run}/feedback`, and all of a chat at once.
#
# Body: `score`, from -1 to 1 (or true and false, "up" and "down"; null takes it back), `messageId`
# (default: the run's answer), `comment`. A caller sees its own feedback, an administrator
# everybody's.


class GiveFeedback(BaseModel):
    """What a person says about an answer."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    score: Annotated[
        Any, Field(description="From -1 to 1; true, false, up, down; null takes it back.")
    ]
    message_id: str | None = Field(default=None, description="Without: the run's answer.")
    comment: str | None = None


def routes(apps: Apps, log: RunLog, chats: Chats, feedbacks: Feedbacks) -> APIRouter:
    """Return the router of feedback."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["runs"])

    @router.post("/runs/{run}/feedback")
    async def give(caller: CallerOf, run: Run, given: GiveFeedback) -> dict[str, Any]:
        """Say what you think of an answer; a second time takes the place of the first."""
        summary = await log.summary(run)
        score, comment = read_score(given.score), check_comment(given.comment or "")
        message = await _find_answer(chats, summary, given.message_id or "")
        kept = await feedbacks.give(summary, message, score, comment, _name(caller))
        if kept is None:
            return {"run": run, "messageId": message, "score": None}
        shown: dict[str, Any] = to_builtins(kept)
        return shown

    @router.get("/runs/{run}/feedback")
    async def of_run(caller: CallerOf, run: Run) -> list[dict[str, Any]]:
        """Return the feedback on a run's answer: your own; for administrators, everybody's."""
        if isinstance(caller, Guest):
            raise NotFound("A share link does not show feedback.")
        return _shown(caller, await feedbacks.of_run(await log.summary(run)))

    @router.get("/chat/{app_name}/{chat_id}/feedback", responses=TEXT_RESPONSES)
    async def of_chat(caller: CallerOf, chat: Chat) -> list[dict[str, Any]]:
        """Return the feedback on all answers of a chat."""
        found = await feedbacks.of_session(chat)
        if not found:
            apps.check(chat.app)  # What was recorded elsewhere needs no app here.
        return _shown(caller, found)

    return router


def _name(caller: Caller) -> str:
    """Return who gives it; empty: whose conversation it is."""
    return caller.user if isinstance(caller, Principal) else ""


def _shown(caller: Caller, found: Sequence[Feedback]) -> list[dict[str, Any]]:
    return [to_builtins(each) for each in found if may_operate(caller) or each.by == _name(caller)]


async def _find_answer(chats: Chats, summary: RunSummary, named: str) -> str:
    """Return the id of a run's answer; `named` may be empty. Raise `NotFound` for any other id.

    To the AI SDK a run is a part of one message. A live run has many, and AG-UI counts each text of an agent
    as one.
    """
    if named in ("", summary.run, summary.message):
        return summary.message
    history = ThreadMessages(Options())
    history.begin_run(WHOLE)
    async for entry in chats.entries(summary.run):
        history.feed(entry)
    answers = {each["id"] for each in history.messages() if each["role"] == "assistant"}
    spoken = await spoken_messages(chats, summary.run)
    if named in answers or any(each.id == named and each.role == "assistant" for each in spoken):
        return named
    raise NotFound(f"The run has no answer with the id {named[:60]!r}.")
