"""Feedback on answers: `POST` and `GET /api/runs/{run}/feedback`, and all of a chat at once.

Body: `score`, from -1 to 1 (or true and false, "up" and "down"; null takes it back), `messageId` (default:
the run's answer), `comment`. A caller sees its own feedback, an administrator everybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism.errors import NotFound
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.feedback import Feedback, Feedbacks, check_comment, read_score
from adk_prism.pipeline.live_transcript import spoken_messages
from adk_prism.projection.ag_ui.history import ThreadMessages
from adk_prism.projection.contract import Options
from adk_prism.projection.message_scope import WHOLE
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.server.guards.session_path import Chat
from adk_prism.server.guards.strict_body import StrictRoute
from adk_prism.server.identity.caller import Caller, Guest, Principal, may_operate
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.problem_format import TEXT_RESPONSES
from adk_prism.source.apps import Apps


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
        return (
            kept.shown() if kept is not None else {"run": run, "messageId": message, "score": None}
        )

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
    return [each.shown() for each in found if may_operate(caller) or each.by == _name(caller)]


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
