"""Files of runs that are stored in Google Cloud Storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension, Served

if TYPE_CHECKING:
    from adk_prism.features.cloud_files.settings import CloudFileSettings
    from adk_prism.server.context import Context


def _settings() -> type[CloudFileSettings]:
    from adk_prism.features.cloud_files.settings import CloudFileSettings

    return CloudFileSettings


def _serve(context: Context) -> Served:
    from adk_prism.features.cloud_files.settings import CloudFileSettings

    settings = context.settings.of(CloudFileSettings)
    if settings.files_from:
        from adk_prism.features.cloud_files.storage import CloudFiles

        files = CloudFiles(settings, context.settings.files_limit)
        context.lifecycle.hold(files.storage.opened)
        context.files.stores.append(files.open)
    return Served()


EXTENSION = Extension(
    name="cloud_files",
    summary="files of runs from Google Cloud Storage (--files-from)",
    serve=_serve,
    settings=_settings,
)
