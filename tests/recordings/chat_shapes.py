"""Runs that only a chat makes: answers that are kept until the others of their batch are there."""

from __future__ import annotations

from typing import Protocol

from tests.app_runner import AppRun
from tests.recordings.shapes import Takes

from adk_prism.apps.tour.agent import tour_app
from adk_prism.commands import ToolAnswer
from adk_prism.log.entry import NOTHING, Decision, to_raw


class ChatStage(Protocol):
    """A stage whose runs can be gone on with as a chat client does."""

    async def send(self, prompt: str) -> AppRun: ...
    async def answer_chat(self, message: str, *answers: ToolAnswer) -> AppRun: ...


class MakesChatStage(Protocol):
    def __call__(self, app: object) -> ChatStage: ...


async def held(make: MakesChatStage) -> Takes:
    """Answer a mixed batch one by one: the client's own tool, then the approval."""
    stage = make(tour_app(delay=0))
    first = await stage.send("mixed batch")
    place = ToolAnswer(
        call=first.call("get_location").id or "", input=NOTHING, output=to_raw({"city": "Rome"})
    )
    kept = await stage.answer_chat("run-1", place)
    return {"": first, "2": kept, "3": await stage.answer_chat("run-1", _approved(first))}


async def denied_with_reason(make: MakesChatStage) -> Takes:
    """Deny a call and say why."""
    stage = make(tour_app(delay=0))
    first = await stage.send("approval")
    denial = _approved(first, approved=False, reason="Too much.")
    return {"": first, "2": await stage.answer_chat("run-1", denial)}


def _approved(take: AppRun, approved: bool = True, reason: str = "") -> ToolAnswer:
    asked = take.call("adk_request_confirmation")
    gated = (asked.args or {})["originalFunctionCall"]["id"]
    decision = Decision(approval=asked.id or "", approved=approved, reason=reason)
    return ToolAnswer(call=gated, input=NOTHING, decision=decision)


CHAT_SHAPES = {"chat_held": held, "chat_denied": denied_with_reason}
