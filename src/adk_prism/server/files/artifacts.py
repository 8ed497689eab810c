"""`artifact://` references: a version of an artifact, as ADK's artifact service gives it.

Follows google-adk 2.13 `artifacts/artifact_util.py`. A run is given artifacts of its own session and of
its user; any other reference is answered as one that is not there, whatever the service would do. An
artifact that only refers to a file elsewhere may be a client's own, and is not followed.
"""

from __future__ import annotations

import asyncio

from google.adk.artifacts.artifact_util import parse_artifact_uri
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

from adk_prism.errors import Forbidden, NotFound, SourceError, UsageError
from adk_prism.runlog.entry import Origin
from adk_prism.server.files.embedded_files import HeldBytes, Saved
from adk_prism.server.guards.name_rules import USER_SCOPE, check_artifact
from adk_prism.source.apps import Apps

SCHEME = "artifact://"

PATIENCE = 30.0
"""Seconds for a service to load one artifact, which it does as a whole."""

LONGEST_VERSION = 15
"""Digits. A longer number is not a version."""

_MISSING = "The run refers to an artifact that is not there."


async def load_artifact(apps: Apps, origin: Origin, uri: str) -> HeldBytes:
    """Return an artifact that a run refers to. Raise `NotFound` or `Forbidden`."""
    wanted = parse_artifact_uri(uri) if len(uri.rpartition("/")[2]) <= LONGEST_VERSION else None
    if (
        wanted is None
        or (wanted.app_name, wanted.user_id) != (origin.app, origin.user)
        or wanted.session_id not in (None, origin.session)
        or (wanted.session_id is None) != wanted.filename.startswith(USER_SCOPE)
    ):
        raise NotFound(_MISSING)
    return await load_saved(apps, origin, Saved(wanted.filename, wanted.version))


async def load_saved(apps: Apps, origin: Origin, saved: Saved) -> HeldBytes:
    """Return a version of an artifact of a session or its user. Raise `NotFound` or `Forbidden`."""
    service = apps.artifact_service(origin.app)
    if service is None:
        raise NotFound(_MISSING)
    try:
        check_artifact(saved.name)
        async with asyncio.timeout(PATIENCE):
            part = await service.load_artifact(
                app_name=origin.app,
                user_id=origin.user,
                session_id=origin.session,
                filename=saved.name,
                version=saved.version,
            )
    except (InputValidationError, UsageError):
        raise NotFound(_MISSING) from None
    except TimeoutError:
        raise SourceError("The artifact service did not answer in time; try again later.") from None
    if part is None:
        raise NotFound(_MISSING)
    return _as_file(part, saved.name)


def _as_file(part: types.Part, name: str) -> HeldBytes:
    if part.inline_data is not None:
        return HeldBytes(part.inline_data.data or b"", part.inline_data.mime_type or "", name)
    if part.file_data is not None:
        raise Forbidden("The artifact refers to another file, which is not fetched.")
    if part.text is not None:
        return HeldBytes(part.text.encode(errors="replace"), "text/plain", name)
    raise NotFound(_MISSING)
