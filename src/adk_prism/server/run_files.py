"""A run's files, by their place in the log, never by an address that a client gives.

What is in the log is served. A reference is followed where that is safe: to an artifact that an event saved,
or that is of the run's own session or user, and to what a feature opens (`RunFiles.stores`), such as a folder
of Cloud Storage that the operator named. What a client named (in a recording that was uploaded, or as a live
user) is followed nowhere.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import quote

from fastapi import Response
from google.adk.artifacts.artifact_util import parse_artifact_uri
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types
from msgspec import Struct

from adk_prism import errors
from adk_prism.adk.apps import Apps
from adk_prism.facts.adk_event import AdkEvent, Blob, FileData, read_event
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog
from adk_prism.runs.chats import Chats
from adk_prism.server.request_bodies import USER_SCOPE, check_artifact

# ---------------------------------------------------------------------------
# What an entry of the log holds at one of its parts: bytes, or a reference to a file elsewhere.

_SAVED = re.compile(r"artifact-(\d{1,6})")
_PART = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_STANDARD = str.maketrans("-_", "+/")


class HeldBytes(Struct, frozen=True):
    """A file that is in the event itself."""

    data: bytes
    media_type: str
    name: str


class Reference(Struct, frozen=True):
    """A file that is stored elsewhere."""

    uri: str
    media_type: str
    name: str
    is_users: bool = False
    """A user named it, and no agent."""


class Saved(Struct, frozen=True):
    """A version of an artifact that the event says was saved."""

    name: str
    version: int


async def held_file(
    log: RunLog, run: records.RunId, cursor: int, part: str
) -> HeldBytes | Reference | Saved:
    """Return what a part holds. Raise `NotFound` where there is none, `Gone` for a trimmed entry."""
    event = await _event(log, run, cursor)
    if (match := _SAVED.fullmatch(part)) is not None:
        return _saved(event, int(match[1]))
    found = _find(event, part)
    media_type, name = found.mime_type or "", found.display_name or ""
    if isinstance(found, FileData):
        return Reference(found.file_uri or "", media_type, name, event.author == "user")
    try:
        data = base64.b64decode((found.data or "").translate(_STANDARD) + "==")
    except binascii.Error:
        raise errors.NotFound("The file in this part cannot be decoded.") from None
    return HeldBytes(data, media_type, name)


async def _event(log: RunLog, run: records.RunId, cursor: int) -> AdkEvent:
    """Return the event of an entry; of a run's first entry, what the user said as one."""
    last = (await log.summary(run)).cursor
    if not 1 <= cursor <= last:
        raise errors.NotFound(f"The run has no entry {cursor}.")
    async with aclosing(log.read(run, cursor - 1)) as batches:
        async for batch in batches:
            record = batch[0].record
            if isinstance(record, records.AgentEvent):
                return read_event(record.event)
            if isinstance(record, records.ChildEvent):
                return read_event(bytes(record.event))
            if isinstance(record, records.RunStarted) and not records.is_absent(record.message):
                return read_event(b'{"author":"user","content":%s}' % bytes(record.message))
            break
    raise errors.NotFound(f"Entry {cursor} is not an event.")


def _saved(event: AdkEvent, index: int) -> Saved:
    saved = list(event.actions.artifact_delta.items()) if event.actions else []
    if index >= len(saved):
        raise errors.NotFound("The event did not save this artifact.")
    return Saved(*saved[index])


def _find(event: AdkEvent, part: str) -> Blob | FileData:
    match = _PART.fullmatch(part)
    parts = (event.content.parts if event.content else None) or []
    if match is None or int(match[1]) >= len(parts):
        raise errors.NotFound("The event has no such part.")
    outer = parts[int(match[1])]
    if match[2] is None:
        found = outer.inline_data or outer.file_data
    else:
        inner = (outer.function_response.parts if outer.function_response else None) or []
        index = int(match[2])
        found = (inner[index].inline_data or inner[index].file_data) if index < len(inner) else None
    if found is None:
        raise errors.NotFound("That part is not a file.")
    return found


# ---------------------------------------------------------------------------


OpenReference = Callable[[Reference, records.Origin, str], Response | None]
"""Takes a reference, the run's origin and a `Range`; returns the response with the file, or None for one that
it may not fetch."""


class RunFiles:
    """Answers requests for files of runs."""

    def __init__(self, log: RunLog, chats: Chats, apps: Apps, limit: int) -> None:
        """`limit`: bytes of the largest file that is served from elsewhere."""
        self._log = log
        self._chats = chats
        self._apps = apps
        self._limit = limit
        self.stores: list[OpenReference] = []
        """Open references to files elsewhere: features add theirs."""

    async def answer(
        self, run: records.RunId, cursor: int, part: str, wanted: str = ""
    ) -> Response:
        """Return a part's file, or a `Range` of it if it is in Cloud Storage.

        Raise `NotFound` or `Gone` where there is none, `Forbidden` for a reference that is not
        followed, `TooLarge`, `SourceError` for what its store does.
        """
        file = await held_file(self._log, run, cursor, part)
        if isinstance(file, HeldBytes):
            return _whole(file, FOR_EVER)
        head = await self._chats.head(run)
        found = await self._artifact(file, head)
        if isinstance(found, HeldBytes):
            return _whole(found, A_WHILE)
        opened = (open_file(found, head.origin, wanted) for open_file in self.stores)
        response = next(filter(None, opened), None)
        if response is None:
            raise errors.Forbidden(_reason(found.uri))
        return response

    async def load(self, run: records.RunId, cursor: int, part: str) -> HeldBytes:
        """Return a part's file, if this server has its bytes. Raise as `answer` does."""
        file = await held_file(self._log, run, cursor, part)
        if isinstance(file, HeldBytes):
            return file
        found = await self._artifact(file, await self._chats.head(run))
        if isinstance(found, Reference):
            raise errors.Forbidden(_reason(found.uri))
        return found

    async def _artifact(
        self, file: Reference | Saved, head: records.RunStarted
    ) -> HeldBytes | Reference:
        """Return the artifact that an agent saved or referred to, or the reference to something else."""
        is_users = isinstance(file, Reference) and file.is_users
        if records.is_untrusted(head) or is_users:
            raise errors.Forbidden(
                "This file was named by a client, not by an agent of this server, so it is not fetched."
            )
        if isinstance(file, Saved):
            found = await load_saved(self._apps, head.origin, file)
        elif file.uri.startswith(SCHEME):
            found = await load_artifact(self._apps, head.origin, file.uri)
        else:
            return file
        if len(found.data) > self._limit:
            raise errors.TooLarge(
                f"The file has {len(found.data)} bytes; this server serves at most {self._limit}"
                " (--files-limit)."
            )
        return found


def _reason(uri: str) -> str:
    """Return why a reference is not followed, and what can be done."""
    if uri.startswith(("http://", "https://")):
        return "The file is on the web: open its own address. This server fetches none from there."
    if uri.startswith("gs://"):
        return (
            "The file is in a Cloud Storage folder that this server may not read;"
            " the operator can allow one with --files-from."
        )
    return "The file is in a place that this server may not read."


def _whole(file: HeldBytes, max_age: int) -> Response:
    shown = Presentation(plain_type(file.media_type), file.name, max_age)
    return Response(file.data, media_type=shown.media_type, headers=shown.headers())


# ---------------------------------------------------------------------- headers


LONGEST_NAME = 100
"""Characters of a download's name: with an ending, every file system takes it."""

FOR_EVER = 31536000
"""Seconds for which a browser may keep what is in the log: an entry never changes."""
A_WHILE = 300
"""Seconds for files that are stored elsewhere, and may change or be removed."""

_MEDIA_TYPE = re.compile(
    r"(?:application|audio|font|image|model|text|video)/[A-Za-z0-9!#$&^_.+-]{1,80}", re.IGNORECASE
)
_HARMLESS = re.compile(
    r"(?:image/(?:png|jpeg|gif|webp|avif)|audio/[\w.+-]+|video/[\w.+-]+|text/plain)", re.IGNORECASE
)
"""Shown in place by a browser, and unable to run anything."""


class Presentation(Struct, frozen=True):
    """What is said of a file beside its bytes."""

    media_type: str
    name: str = ""
    max_age: int = FOR_EVER

    def headers(self) -> dict[str, str]:
        """Return the headers of an answer with this file."""
        inline = _HARMLESS.fullmatch(self.media_type) is not None
        return {
            "content-disposition": ("inline" if inline else "attachment") + _named(self.name),
            "x-content-type-options": "nosniff",
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": f"private, max-age={self.max_age}"
            + (", immutable" if self.max_age == FOR_EVER else ""),
        }


def plain_type(claim: str) -> str:
    """Return a media type without its parameters; the type of unknown bytes for what is none."""
    media_type = claim.partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else UNKNOWN_TYPE


def _named(name: str) -> str:
    last = name.replace("\\", "/").rpartition("/")[2]
    clean = "".join(c for c in last if c.isprintable()).strip(" .")[:LONGEST_NAME]
    return f"; filename*=UTF-8''{quote(clean, safe='')}" if clean else ""


# ---------------------------------------------------------------------------
# `artifact://` references: a version of an artifact, as ADK's artifact service gives it.
#
# Follows google-adk 2.13 `artifacts/artifact_util.py`. A run is given artifacts of its own session
# and of its user; any other reference is answered as one that is not there, whatever the service
# would do. An artifact that only refers to a file elsewhere may be a client's own, and is not
# followed.

SCHEME = "artifact://"

PATIENCE = 30.0
"""Seconds for a service to load one artifact, which it does as a whole."""

LONGEST_VERSION = 15
"""Digits. A longer number is not a version."""

_MISSING = "The run refers to an artifact that is not there."


async def load_artifact(apps: Apps, origin: records.Origin, uri: str) -> HeldBytes:
    """Return an artifact that a run refers to. Raise `NotFound` or `Forbidden`."""
    wanted = parse_artifact_uri(uri) if len(uri.rpartition("/")[2]) <= LONGEST_VERSION else None
    if (
        wanted is None
        or (wanted.app_name, wanted.user_id) != (origin.app, origin.user)
        or wanted.session_id not in (None, origin.session)
        or (wanted.session_id is None) != wanted.filename.startswith(USER_SCOPE)
    ):
        raise errors.NotFound(_MISSING)
    return await load_saved(apps, origin, Saved(wanted.filename, wanted.version))


async def load_saved(apps: Apps, origin: records.Origin, saved: Saved) -> HeldBytes:
    """Return a version of an artifact of a session or its user. Raise `NotFound` or `Forbidden`."""
    service = apps.artifact_service(origin.app)
    if service is None:
        raise errors.NotFound(_MISSING)
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
    except (InputValidationError, errors.UsageError):
        raise errors.NotFound(_MISSING) from None
    except TimeoutError:
        raise errors.SourceError(
            "The artifact service did not answer in time; try again later."
        ) from None
    if part is None:
        raise errors.NotFound(_MISSING)
    return _as_file(part, saved.name)


def _as_file(part: types.Part, name: str) -> HeldBytes:
    if part.inline_data is not None:
        return HeldBytes(part.inline_data.data or b"", part.inline_data.mime_type or "", name)
    if part.file_data is not None:
        raise errors.Forbidden("The artifact refers to another file, which is not fetched.")
    if part.text is not None:
        return HeldBytes(part.text.encode(errors="replace"), "text/plain", name)
    raise errors.NotFound(_MISSING)
