"""`GET /api/runs/{run}/recording`: a run as a file, which can be replayed, viewed and uploaded anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from adk_prism.adk.recording_file import write_run
from adk_prism.features.conversations.listing import ConversationTitles
from adk_prism.features.model_calls.calls import CallsLeftOut, ModelCalls
from adk_prism.features.model_calls.routes import WithCalls, check_may_see_calls
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, ModelCalled, RunId
from adk_prism.runs.chats import Chats
from adk_prism.server.identity.caller import Guest
from adk_prism.server.identity.identity import CallerOf, Run
from adk_prism.server.responses import attachment


@dataclass(frozen=True, slots=True)
class DownloadRoutes:
    """The download of recordings, made of the parts that it uses."""

    log: RunLog
    chats: Chats
    calls: ModelCalls
    titles: ConversationTitles

    def router(self) -> APIRouter:
        """Return the router of downloads."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}/recording", response_class=Response)(self.recording)
        return router

    async def recording(
        self, caller: CallerOf, run: Run, model_calls: WithCalls = False
    ) -> Response:
        """Return the run as a recording: JSON lines, one entry each; model calls only if asked for."""
        if model_calls:
            check_may_see_calls(caller)
        origin = (await self.log.summary(run)).origin
        title = await self.titles.of(origin, as_named=not isinstance(caller, Guest))
        return StreamingResponse(
            self._lines(run, model_calls),
            media_type="application/jsonl",
            headers={"content-disposition": attachment(title, run, ".jsonl")},
        )

    async def _lines(self, run: RunId, with_calls: bool) -> AsyncIterator[bytes]:
        left_out, calls = CallsLeftOut(), self.calls
        async for entry in self.chats.entries(run):
            if with_calls and isinstance(entry.record, ModelCalled):
                kept: Iterable[Entry] = [await calls.in_file(run, entry)]
            else:
                kept = [entry] if with_calls else left_out.feed(entry)
            for line in write_run(kept):
                yield line
