"""Every run, in every protocol: list, look at, stream from any position, stop, download."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from adk_prism.errors import BadPosition
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.pipeline.cancellation import Canceller
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.model_calls import CallsLeftOut, ModelCalls
from adk_prism.pipeline.protocols import protocol
from adk_prism.pipeline.run_index import RunIndex
from adk_prism.pipeline.run_list_item import shown_found, shown_run
from adk_prism.pipeline.search_fields import SEARCH_FIELDS, read_query
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import BEGINNING, Entry, ModelCalled, Position, RunId, parse_position
from adk_prism.server.conversation_title import ConversationTitles
from adk_prism.server.files.download_name import attachment
from adk_prism.server.files.run_files import RunFiles
from adk_prism.server.identity.caller import Guest, listed_user
from adk_prism.server.identity.parameters import LARGEST_NUMBER, CallerOf, Cursor, Run
from adk_prism.server.observability.audit.audit_log import AuditLog
from adk_prism.server.routes.model_calls import WithCalls, check_may_see_calls
from adk_prism.server.run_streams import RunStreams
from adk_prism.source.recording_file import write_run

DEFAULT_PAGE, MOST_FOUND = 50, 200
"""Runs in one answer to a search."""

PARTIAL = {"x-prism-search": "partial"}
"""The header of an answer for which not every run could be searched."""


@dataclass(frozen=True, slots=True)
class RunsRoutes:
    """The routes of runs, made of the parts that they use."""

    log: RunLog
    index: RunIndex
    chats: Chats
    canceller: Canceller
    files: RunFiles
    audit: AuditLog
    streams: RunStreams
    calls: ModelCalls
    titles: ConversationTitles

    def router(self) -> APIRouter:
        """Return the router of self."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("", openapi_extra={"parameters": _SEARCH_PARAMETERS})(self.list_runs)
        router.get("/{run}")(self.get_run)
        router.get("/{run}/stream", response_class=Response)(self.stream)
        router.post("/{run}/cancel")(self.cancel)
        router.get("/{run}/recording", response_class=Response)(self.recording)
        router.get("/{run}/files/{cursor}/{part}", response_class=Response)(self.file)
        return router

    async def list_runs(
        self,
        request: Request,
        response: Response,
        caller: CallerOf,
        app: str = "",
        user: str = "",
        session: str = "",
        limit: Annotated[int | None, Query(ge=1, le=MOST_FOUND)] = None,
        before: Annotated[int | None, Query(ge=1, le=LARGEST_NUMBER)] = None,
    ) -> list[Any]:
        """Return the runs that the caller may see, oldest first; each filter may be left out.

        With a field of a search, `limit` or `before`: the ended runs that fit, newest first, with what they
        are found by. The header `link` names the next page; `x-prism-search: partial` says that some runs
        could not be searched, because they are not indexed yet, or older than what Redis keeps for it.
        """
        owner = listed_user(caller, user)
        fields = {name: request.query_params.get(name, "") for name in SEARCH_FIELDS}
        if not any(fields.values()) and limit is None and before is None:
            found = await self.log.list(app=app, user=owner, session=session)
            return [shown_run(summary) for summary in found]
        query = read_query(fields, self.calls.prices, app=app, user=owner, session=session)
        await self.index.settled()
        page = await self.log.search(query, limit=limit or DEFAULT_PAGE, before=before)
        if page.before is not None:
            following = request.url.include_query_params(before=page.before).query
            response.headers["link"] = f'<?{following}>; rel="next"'
        if not page.complete:
            response.headers.update(PARTIAL)
        return [shown_found(each, query.text, self.calls.prices) for each in page.found]

    async def get_run(self, run: Run) -> dict[str, Any]:
        """Return one run, with the tokens by kind, the time and the cost of its model calls."""
        summary = await self.log.summary(run)
        return shown_run(summary) | await self.calls.usage(summary)

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

    async def file(
        self,
        run: Run,
        cursor: Cursor,
        part: str,
        range_: Annotated[str, Header(alias="Range")] = "",
    ) -> Response:
        """Return a file that an event of the run holds or refers to."""
        return await self.files.answer(run, cursor, part, range_)


_SEARCH_PARAMETERS = [
    {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
    for name, text in SEARCH_FIELDS.items()
]


def _after(run: RunId, after: str, last_event_id: str) -> Position:
    if after and last_event_id and after != last_event_id:
        raise BadPosition("`after` and Last-Event-ID are different positions; send one of them.")
    given = after or last_event_id
    return parse_position(given, run) if given else BEGINNING
