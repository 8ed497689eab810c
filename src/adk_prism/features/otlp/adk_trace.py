"""Traces for ADK's page: what a session did, or one event of it, as spans.

Follows google-adk 2.13 `cli/dev_server.py` and `telemetry/_web_ui.py`: the same addresses and shapes. ADK
keeps all spans of all sessions in memory until it stops. Here they are computed from the run log
(`features.otlp.spans`): they survive a restart, cost nothing until somebody asks, and are for those who may
see the runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import APIRouter, Response

from adk_prism.errors import Gone, NotFound
from adk_prism.features.model_calls.calls import ANSWER_BYTES, ModelCalls
from adk_prism.features.otlp.spans import spans_of
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import AgentEvent, ChildEvent, Entry, ModelCalled
from adk_prism.runs.chats import Chats
from adk_prism.server.identity.caller import Caller, listed_user, may_operate
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.request_names import AppName, SessionId

MOST_BYTES = 32 * 1024**2
"""Of the runs that one answer reads, newest first: an hour of conversation, or some seconds of work."""

MOST_RUNS = 200
"""Runs that one answer reads."""

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class TraceRoutes:
    """The routes of traces, made of the parts that they use."""

    log: RunLog
    chats: Chats
    calls: ModelCalls

    def router(self) -> APIRouter:
        """Return the router of traces."""
        router = APIRouter(prefix="/dev/apps/{app_name}/debug/trace", tags=["ADK: debug"])
        router.get("/session/{session_id}", response_class=Response)(self.session)
        router.get("/{event_id}", response_class=Response)(self.event)
        return router

    async def session(self, caller: CallerOf, app_name: AppName, session_id: SessionId) -> Response:
        """Return the spans of a session's latest runs, oldest first; none of a session that is not there."""
        user = listed_user(caller, "")
        runs = _latest(await self.log.list(app=app_name, user=user, session=session_id))
        found: list[Any] = []
        left = ANSWER_BYTES
        for run in runs:
            entries = await self._entries(caller, run, left)
            left -= sum(len(e.record.request) for e in entries if isinstance(e.record, ModelCalled))
            found = await asyncio.to_thread(spans_of, entries) + found
        return Response(msgspec.json.encode(found), media_type=_JSON)

    async def event(self, caller: CallerOf, app_name: AppName, event_id: str) -> Response:
        """Return the attributes of the model call or tool that an event of the latest runs is of."""
        user = listed_user(caller, "")
        sought = msgspec.json.encode(event_id)
        for run in _latest(await self.log.list(app=app_name, user=user)):
            entries = await self._entries(caller, run)
            if not any(sought in _written(entry) for entry in entries):
                continue
            for span in reversed(await asyncio.to_thread(spans_of, entries)):
                about = span.attributes
                if about.get("gcp.vertex.agent.event_id") == event_id:
                    about |= {"trace_id": span.trace_id, "span_id": span.span_id}
                    return Response(msgspec.json.encode(about), media_type=_JSON)
        raise NotFound("Trace not found")

    async def _entries(
        self, caller: Caller, run: RunSummary, most: int = ANSWER_BYTES
    ) -> list[Entry]:
        # Instructions are the app's, not the user's.
        most = most if may_operate(caller) else 0
        try:
            entries = [entry async for entry in self.chats.entries(run.run)]
            return await self.calls.filled(run.run, entries, most)
        except (NotFound, Gone):  # Deleted since it was listed.
            return []


def _latest(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return as many runs as one answer may read, newest first; at least the last one."""
    read, size = list[RunSummary](), 0
    for run in reversed(runs[-MOST_RUNS:]):
        size += run.bytes
        if read and size > MOST_BYTES:
            break
        read.append(run)
    return read


def _written(entry: Entry) -> bytes:
    match entry.record:
        case AgentEvent() | ChildEvent():
            return bytes(entry.record.event)
        case _:
            return b""
