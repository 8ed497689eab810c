"""Runs as files: downloaded as recordings, and uploaded from wherever they were captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.adk.recording_file import Capture, FileForm
    from adk_prism.log.entry import Origin
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.captures import routes
    from adk_prism.features.conversations.listing import ConversationTitles
    from adk_prism.features.model_calls import model_calls

    log, chats, recording = context.log, context.chats, context.recording
    uploads = routes.Uploads(recording.log, recording.leases, recording.calls)
    titles = ConversationTitles(log, chats)
    return Served(
        routers=[
            routes.DownloadRoutes(log, chats, model_calls(context), titles).router(),
            routes.routes(uploads, context.lifecycle, log),
        ],
        upload_paths=[routes.PATH],
    )


def _find_form(start: bytes) -> FileForm | None:
    from adk_prism.features.captures.file_forms import find_form

    return find_form(start)


def _capture(origin: Origin | None) -> Capture:
    from adk_prism.features.captures.events import EventCapture

    return EventCapture(origin)


EXTENSION = Extension(
    name="captures",
    summary="upload and download recordings",
    requires=("conversations", "model_calls"),
    serve=_serve,
    file_form=_find_form,
    capture=_capture,
)
