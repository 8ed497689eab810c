"""Runs as files: replayed, downloaded as recordings, and uploaded from wherever they were captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
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


EXTENSION = Extension(
    name="captures",
    summary="recordings and captures: replay, upload and download",
    requires=("conversations", "model_calls", "usage"),
    commands=(
        Command(
            "replay",
            "print a recording in any protocol, without calling a model",
            "adk_prism.features.captures.replay",
        ),
    ),
    serve=_serve,
)
