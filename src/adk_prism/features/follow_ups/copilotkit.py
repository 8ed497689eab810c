"""`POST /api/copilotkit/agent/{id}/suggest`: suggestions as CopilotKit asks for them.

Follows `@copilotkit/core` 1.74, to a runtime whose `/info` says `suggestions`: the page sends the messages of
its thread under a thread id of its own, and reads calls of `copilotkitSuggest` from the events of the run. No
agent runs here: the suggestions are those that were made after the last answer, which its id names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, Response

from adk_prism.errors import Gone, NotFound, UsageError
from adk_prism.features.follow_ups.follow_ups import PATIENCE, FollowUpMaker
from adk_prism.log.entry import RunId
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Caller, may_see
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.problems import COPILOTKIT_PATH, TEXT_RESPONSES
from adk_prism.server.request_bodies import AgentRoute, StrictRoute

_TEXT = re.compile(r"(.+?)(?:-n\d+)?-text-\d+\.\d+")
"""How AG-UI messages are named after their run."""


def copilotkit_routes(context: Context, made: FollowUpMaker) -> APIRouter:
    """Return the router of CopilotKit's suggestions."""
    router = APIRouter(
        prefix=COPILOTKIT_PATH,
        route_class=StrictRoute,
        tags=["CopilotKit"],
        responses=TEXT_RESPONSES,
    )

    async def find(caller: Caller, messages: Any) -> Sequence[str]:
        run = _last_run(messages)
        try:
            summary = await context.log.summary(RunId(run)) if run else None
            if summary is None or not may_see(caller, summary.run, summary.origin.user):
                return ()
            return (await made.of_chat(summary.origin, PATIENCE, run)).suggestions
        except (NotFound, Gone):
            return ()

    async def suggest(caller: CallerOf, agent_id: str, body: dict[str, Any]) -> Response:
        """Return what the person may say next, as the call of a tool; no call if there is nothing."""
        del agent_id  # The message says which one answered.
        ids = {name: body.get(name) for name in ("threadId", "runId")}
        if not all(isinstance(value, str) for value in ids.values()):
            raise UsageError("`threadId` and `runId` must be strings.")
        texts = await find(caller, body.get("messages"))
        events = [{"type": "RUN_STARTED", **ids}, *_call(texts), {"type": "RUN_FINISHED", **ids}]
        stream = b"".join(b"data: %b\n\n" % msgspec.json.encode(event) for event in events)
        return Response(stream, media_type="text/event-stream")

    router.add_api_route(
        "/agent/{agent_id}/suggest",
        suggest,
        methods=["POST"],
        response_class=Response,
        route_class_override=AgentRoute,
    )
    return router


def _last_run(messages: Any) -> str:
    """Return the run that the last answer among some messages names; empty if none does."""
    found = messages if isinstance(messages, list) else []
    answers = (
        m for m in reversed(found) if isinstance(m, Mapping) and m.get("role") == "assistant"
    )
    names = (_TEXT.fullmatch(str(m.get("id"))[:200]) for m in answers)
    return next((name[1] for name in names if name is not None), "")


def _call(texts: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        return []
    given = {"suggestions": [{"title": text, "message": text} for text in texts]}
    call = {"toolCallId": "copilotkit-suggest"}
    return [
        {"type": "TOOL_CALL_START", **call, "toolCallName": "copilotkitSuggest"},
        {"type": "TOOL_CALL_ARGS", **call, "delta": msgspec.json.encode(given).decode()},
        {"type": "TOOL_CALL_END", **call},
    ]
