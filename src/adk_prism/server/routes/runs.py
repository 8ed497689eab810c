"""Every run, in every protocol: look at it, stream it from any position, stop it, fetch its files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from adk_prism.errors import BadPosition
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import BEGINNING, Position, RunId, parse_position
from adk_prism.protocols.registry import protocol
from adk_prism.runs.runs import Canceller
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.identity.identity import Cursor, Run
from adk_prism.server.observability.observability import AuditLog
from adk_prism.server.run_files import RunFiles
from adk_prism.server.run_streams import RunStreams

Describe = Callable[[RunSummary], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class RunsRoutes:
    """The routes of runs, made of the parts that they use."""

    log: RunLog
    canceller: Canceller
    files: RunFiles
    audit: AuditLog
    streams: RunStreams
    describe: Sequence[Describe]
    """What features add to the description of a run."""

    def router(self) -> APIRouter:
        """Return the router of self."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}")(self.get_run)
        router.get("/{run}/stream", response_class=Response)(self.stream)
        router.post("/{run}/cancel")(self.cancel)
        router.get("/{run}/files/{cursor}/{part}", response_class=Response)(self.file)
        return router

    async def get_run(self, run: Run) -> dict[str, Any]:
        """Return one run, with the tokens by kind, the time and the cost of its model calls."""
        summary = await self.log.summary(run)
        shown = shown_run(summary)
        for describe in self.describe:
            shown |= await describe(summary)
        return shown

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
        """Stream a run, live or over, after a position or a cursor; 204 if it is over and all was seen.

        `raw` adds ADK's own events (ag-ui).
        """
        format = self.streams.format(request, protocol(as_), dialect, raw=raw)
        return await self.streams.start(run, format, _after(run, after, last_event_id))

    async def cancel(self, run: Run) -> dict[str, Any]:
        """Stop a run and return it; one that is over stays as it is.

        The answer does not wait for tools that ignore it: `toolRunning` tells whether one is still at work
        (null: not known here), `runningTools` which; `outcome` is null while the run is not over.
        """
        summary, stopped = await self.canceller.cancel(run)
        if stopped.found:
            action = AuditedAction(action="run cancelled", origin=summary.origin, run=run)
            await self.audit.note(action)
        return {**shown_run(summary), **stopped.shown()}

    async def file(
        self,
        run: Run,
        cursor: Cursor,
        part: str,
        range_: Annotated[str, Header(alias="Range")] = "",
    ) -> Response:
        """Return a file that an event of the run holds or refers to."""
        return await self.files.answer(run, cursor, part, range_)


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


def _after(run: RunId, after: str, last_event_id: str) -> Position:
    if after and last_event_id and after != last_event_id:
        raise BadPosition("`after` and Last-Event-ID are different positions; send one of them.")
    given = after or last_event_id
    return parse_position(given, run) if given else BEGINNING
