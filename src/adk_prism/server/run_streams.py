"""Runs as streams for HTTP clients: in which format, from which position on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response

from adk_prism.diagnostics import Report
from adk_prism.pipeline.broadcast import Broadcaster
from adk_prism.projection.contract import Format, ProtocolSpec
from adk_prism.projection.file_links import FileLinks
from adk_prism.runlog.entry import BEGINNING, Position, RunId
from adk_prism.server.base_url import base_url
from adk_prism.server.error_text_store import ErrorTexts
from adk_prism.server.event_stream import EventStream, Viewable
from adk_prism.server.settings import Settings

RUN_HEADER = "x-prism-run"
"""Names the run that a response is about."""


class RunStreams:
    """Streams the runs of one server."""

    def __init__(
        self, broadcaster: Broadcaster, errors: ErrorTexts, report: Report, settings: Settings
    ) -> None:
        self.broadcaster = broadcaster
        self._errors = errors
        self._report = report
        self._settings = settings

    def format(
        self,
        request: HTTPConnection,
        spec: ProtocolSpec[Any],
        dialect: str = "",
        *,
        raw: bool = False,
    ) -> Format:
        """Return a protocol as the client of a request gets it. Raise `UsageError` for its dialect."""
        files = FileLinks(base_url(request, self._settings))
        complete = self._errors.completion(request.scope)
        return spec.format(dialect, files, complete=complete, raw=raw)

    async def start(
        self,
        run: RunId,
        format: Format,
        after: Position = BEGINNING,
        *,
        on_left: Callable[[], None] | None = None,
    ) -> Response:
        """Return the response that streams a run after a position; 204 where everything was seen.

        Raise what `Broadcaster.open` raises.
        """
        view = await self.broadcaster.open(run, format, after)
        if view.nothing_left:
            return Response(status_code=204, headers={RUN_HEADER: run})
        return self.response(view, format, run, on_left=on_left)

    def response(
        self,
        view: Viewable,
        format: Format,
        run: RunId | None = None,
        *,
        on_left: Callable[[], None] | None = None,
    ) -> EventStream:
        """Return the response that streams a view; with a run, one that names it."""
        headers = {RUN_HEADER: run} if run is not None else {}
        return EventStream(
            view,
            format.spec,
            headers,
            report=self._report,
            errors=self._errors,
            patience=self._settings.stalled,
            on_left=on_left,
        )
