"""Every run, in every protocol: list, look at, stream from any position, stop, download."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from adk_prism.errors import BadPosition
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.cancellation import Canceller
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.protocols import protocol
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import BEGINNING, Position, RunId, parse_position
from adk_prism.server.files.run_files import RunFiles
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.parameters import CallerOf, Run
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.run_streams import RunStreams
from adk_prism.source.recording import write_run


def routes(
    log: RunLog,
    chats: Chats,
    canceller: Canceller,
    files: RunFiles,
    audit: AuditLog,
    streams: RunStreams,
) -> APIRouter:
    """Return the router of runs."""
    router = APIRouter(prefix="/api/runs", tags=["runs"])
    runs = _RunsRoutes(log, chats, canceller, files, audit, streams)
    router.get("")(runs.list_runs)
    router.get("/{run}")(runs.get_run)
    router.get("/{run}/stream", response_class=Response)(runs.stream)
    router.post("/{run}/cancel")(runs.cancel)
    router.get("/{run}/recording", response_class=Response)(runs.recording)
    router.get("/{run}/files/{cursor}/{part}", response_class=Response)(runs.file)
    return router


class _RunsRoutes:
    def __init__(
        self,
        log: RunLog,
        chats: Chats,
        canceller: Canceller,
        files: RunFiles,
        audit: AuditLog,
        streams: RunStreams,
    ) -> None:
        self._log = log
        self._chats = chats
        self._canceller = canceller
        self._files = files
        self._audit = audit
        self._streams = streams

    async def list_runs(
        self, caller: CallerOf, app: str = "", user: str = "", session: str = ""
    ) -> list[Any]:
        """Return the runs that the caller may see, oldest first; each filter may be left out."""
        owner = listed_user(caller, user)
        found = await self._log.list(app=app, user=owner, session=session)
        return [shown_run(summary) for summary in found]

    async def get_run(self, run: Run) -> dict[str, Any]:
        """Return one run."""
        return shown_run(await self._log.summary(run))

    async def stream(
        self,
        request: Request,
        run: Run,
        as_: Annotated[str, Query(alias="as")] = "adk",
        dialect: str = "",
        raw: bool = False,
        after: str = "",
        last_event_id: Annotated[str, Header(alias="Last-Event-ID")] = "",
    ) -> Response:
        """Stream a run, live or over, after a position or a cursor. `raw` adds ADK's own events (ag-ui)."""
        format = self._streams.format(request, protocol(as_), dialect, raw=raw)
        return await self._streams.start(run, format, _after(run, after, last_event_id))

    async def cancel(self, run: Run) -> dict[str, Any]:
        """Stop a run and return it; one that is over stays as it is.

        The answer does not wait for tools that ignore it: `toolRunning` tells whether one is still at work
        (null: not known here), `runningTools` which; `outcome` is null while the run is not over.
        """
        summary, stopped = await self._canceller.cancel(run)
        if stopped.found:
            action = AuditedAction(action="run cancelled", origin=summary.origin, run=run)
            await self._audit.note(action)
        return {**shown_run(summary), **stopped.shown()}

    async def recording(self, run: Run) -> Response:
        """Return the run as a recording: JSON lines, one entry each."""
        await self._log.summary(run)
        return StreamingResponse(
            self._lines(run),
            media_type="application/jsonl",
            headers={"content-disposition": f'attachment; filename="{run}.jsonl"'},
        )

    async def _lines(self, run: RunId) -> AsyncIterator[bytes]:
        async for entry in self._chats.entries(run):
            for line in write_run([entry]):
                yield line

    async def file(
        self,
        run: Run,
        cursor: int,
        part: str,
        range_: Annotated[str, Header(alias="Range")] = "",
    ) -> Response:
        """Return a file that an event of the run holds or refers to."""
        return await self._files.answer(run, cursor, part, range_)


def _after(run: RunId, after: str, last_event_id: str) -> Position:
    if after and last_event_id and after != last_event_id:
        raise BadPosition("`after` and Last-Event-ID are different positions; send one of them.")
    given = after or last_event_id
    return parse_position(given, run) if given else BEGINNING


def shown_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as it is answered."""
    return {
        "run": summary.run,
        "app": summary.origin.app,
        "user": summary.origin.user,
        "session": summary.origin.session,
        "invocation": summary.invocation,
        "message": summary.message,
        "started": summary.started,
        "ended": summary.ended,
        "outcome": summary.outcome,
        "cursor": summary.cursor,
        "bytes": summary.bytes,
    }
