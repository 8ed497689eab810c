"""Large files: sent once and in pieces (tus 1.0.0), saved as ADK artifacts, referenced in messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import FOLDER, SIZE, SPAN, FeatureSettings, several

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class UploadSettings(FeatureSettings):
    """Which files clients may upload, and how long they are kept."""

    title: ClassVar[str] = "Uploaded files"
    uploads_dir: str = FOLDER.option(
        "folder of uploaded files; processes that share a run log need one that all of them have"
        " (default: uploads in --data-dir)"
    )
    uploads_file_limit: int = SIZE.option("largest file that can be uploaded", 100 * 1024**2)
    uploads_quota: int = SIZE.option(
        "bytes of uploaded files, unfinished ones included, that one user may have", 1024**3
    )
    uploads_expiry: float = SPAN.option(
        "how long an uploaded file is kept after its last byte came", 24 * 3600.0
    )
    uploads_type: tuple[str, ...] = several("PATTERN", "media types such as image/*").option(
        "media type that can be uploaded, such as application/pdf or image/*; repeatable (default: all)"
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.uploads import files, openai_files, references, routes
    from adk_prism.server.lifecycle import housekeeping

    settings = context.settings.of(UploadSettings)
    folder = files.UploadFolder(files.folder_of(settings, context.settings), settings)
    recording = context.recording
    context.lifecycle.hold(
        lambda: housekeeping([folder.sweep], recording.leases, context.report, name="uploads")
    )
    messages = references.MessageFiles(context, folder)
    context.starter.attach.append(messages.attached)
    return Served(
        routers=[
            routes.UploadRoutes(context, folder, messages).router(),
            openai_files.FileRoutes(context, folder).router(),
        ],
        body_limits=[*routes.body_limits(settings), *openai_files.body_limits(settings)],
    )


EXTENSION = Extension(
    name="uploads",
    summary="upload large files in pieces (tus), and reference files in messages",
    serve=_serve,
    settings=lambda: UploadSettings,
)
