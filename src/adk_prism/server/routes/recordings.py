"""Upload of recordings: a file of a run from anywhere becomes a run of this server.

The body is the file as it is: a recording (`GET /api/runs/{run}/recording`), JSON lines of ADK events,
a body of `/run_sse`, or a JSON list or session. It is written to disk as it comes, bounded by a setting
of its own; only then it is read. A body of a type that a foreign web page could send without asking
(text, forms) is refused, as on every other route.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from tempfile import TemporaryFile
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from adk_prism.errors import PrismError
from adk_prism.pipeline.conversation_label import change_label
from adk_prism.pipeline.run_list_item import shown_run
from adk_prism.pipeline.uploaded_runs import Uploads
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin
from adk_prism.server.conversation_title import short_title
from adk_prism.server.guards.name_rules import check_app, check_user
from adk_prism.server.identity.caller import Caller, Principal, caller_of
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.run_streams import RUN_HEADER
from adk_prism.source.recording_file import UNNAMED

PATH = "/api/recordings"
TYPES = (
    "application/jsonl",
    "application/x-ndjson",
    "text/event-stream",
    "application/json",
    "application/octet-stream",
)


FileName = Annotated[str, Query(max_length=1000, description="Name of the file")]


def routes(uploads: Uploads, lifecycle: Lifecycle, log: RunLog) -> APIRouter:
    """Return the router of recordings."""
    router = APIRouter(tags=["runs"])

    async def upload(request: Request, response: Response, name: FileName = "") -> dict[str, Any]:
        """Take a recording or capture into the log; answer the run that it is now.

        `name` is the file's, and becomes the title of its conversation.
        """
        lifecycle.check_open()
        check_type(request, TYPES)
        with TemporaryFile() as file:
            async for chunk in request.stream():
                file.write(chunk)
            caller = caller_of(request)
            summary = await uploads.store(
                file, _naming(caller), keeps_id=not isinstance(caller, Principal)
            )
        if title := short_title("".join(c if c.isprintable() else " " for c in name)):
            await change_label(log, summary.origin, title, None)
        response.headers[RUN_HEADER] = summary.run
        response.headers["location"] = (
            f"{request.scope.get('root_path', '')}/api/runs/{summary.run}"
        )
        return shown_run(summary)

    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in TYPES}
    body = {"requestBody": {"required": True, "content": content}}
    router.post(PATH, status_code=201, openapi_extra=body)(upload)
    return router


def check_type(request: Request, types: Sequence[str]) -> None:
    """Refuse a body of another type, such as a foreign web page could send without asking."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() not in types:
        known = ", ".join(types)
        raise HTTPException(
            415, f"The body is {ascii(given)[:60]}; expected Content-Type: one of {known}."
        )


def _naming(caller: Caller) -> Callable[[Origin], Origin]:
    """Return how an upload is named: whoever is known owns what it sends, whatever the file says."""
    if not isinstance(caller, Principal):
        return safe_names
    return lambda origin: replace(safe_names(origin), user=caller.user)


def safe_names(origin: Origin) -> Origin:
    """Return the origin's app and user, or those of a capture that says nothing, if they are no names."""
    try:
        app = check_app(origin.app)
    except PrismError:
        app = UNNAMED.app
    try:
        user = check_user(origin.user)
    except PrismError:
        user = UNNAMED.user
    return Origin(app=app, user=user, session=origin.session)
