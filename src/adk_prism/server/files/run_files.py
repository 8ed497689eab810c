"""A run's files, by their place in the log, never by an address that a client gives.

What is in the log is served. A reference is followed where that is safe: to an artifact that an event saved,
or that is of the run's own session or user, and to a folder of Cloud Storage that the operator named
(`--files-from`, none by default). What a client named (in a recording that was uploaded, or as a live user)
is followed nowhere.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse
from msgspec import Struct
from starlette.types import Receive, Scope, Send

from adk_prism.errors import Forbidden, TooLarge
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.pipeline.chats import Chats
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin, RunId, RunStarted
from adk_prism.server.files import artifacts
from adk_prism.server.files.access_token import DefaultCredentials, NoToken
from adk_prism.server.files.cloud_storage import HOST, CloudStorage
from adk_prism.server.files.embedded_files import HeldBytes, Reference, Saved, held_file
from adk_prism.server.files.gcs_locations import AllowedLocations, GcsLocation, place_of
from adk_prism.server.settings import Settings
from adk_prism.source.apps import Apps


class RunFiles:
    """Answers requests for files of runs."""

    def __init__(self, log: RunLog, chats: Chats, apps: Apps, settings: Settings) -> None:
        """Raise `UsageError` where Cloud Storage is wanted and what it needs is not installed."""
        self._log = log
        self._chats = chats
        self._apps = apps
        self._limit = settings.files_limit
        self._allowed = AllowedLocations(settings.files_from)
        self._storage = _storage(settings) if self._allowed else None

    def opened(self) -> AbstractAsyncContextManager[object]:
        """Hold what fetching needs."""
        return self._storage.opened() if self._storage is not None else nullcontext()

    async def answer(self, run: RunId, cursor: int, part: str, wanted: str = "") -> Response:
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
        return self._elsewhere(found, head.origin, wanted)

    async def load(self, run: RunId, cursor: int, part: str) -> HeldBytes:
        """Return a part's file, if this server has its bytes. Raise as `answer` does."""
        file = await held_file(self._log, run, cursor, part)
        if isinstance(file, HeldBytes):
            return file
        found = await self._artifact(file, await self._chats.head(run))
        if isinstance(found, Reference):
            raise Forbidden(_reason(found.uri))
        return found

    async def _artifact(self, file: Reference | Saved, head: RunStarted) -> HeldBytes | Reference:
        """Return the artifact that an agent saved or referred to, or the reference to something else."""
        is_users = isinstance(file, Reference) and file.is_users
        if head.untrusted or is_users:
            raise Forbidden(
                "This file was named by a client, not by an agent of this server, so it is not fetched."
            )
        if isinstance(file, Saved):
            found = await artifacts.load_saved(self._apps, head.origin, file)
        elif file.uri.startswith(artifacts.SCHEME):
            found = await artifacts.load_artifact(self._apps, head.origin, file.uri)
        else:
            return file
        self._check_size(len(found.data))
        return found

    def _elsewhere(self, file: Reference, origin: Origin, wanted: str) -> Response:
        place = place_of(file.uri)
        if place is None or self._storage is None or not self._allowed.allow(place, origin):
            raise Forbidden(_reason(file.uri))
        return _Fetched(self._storage, place, file, wanted)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise TooLarge(
                f"The file has {size} bytes; this server serves at most {self._limit}"
                " (--files-limit)."
            )


def _storage(settings: Settings) -> CloudStorage:
    if settings.files_emulator:
        return CloudStorage(NoToken(), settings.files_limit, settings.files_emulator)
    return CloudStorage(DefaultCredentials(), settings.files_limit, HOST)


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


def _believed(stored: str, referred: str) -> str:
    """Return a fetched file's type: the store knows better than the reference, if it knows at all."""
    unsaid = stored.partition(";")[0].strip().lower() in ("", UNKNOWN_TYPE)
    return plain_type(referred if unsaid else stored)


def _whole(file: HeldBytes, max_age: int) -> Response:
    shown = Presentation(plain_type(file.media_type), file.name, max_age)
    return Response(file.data, media_type=shown.media_type, headers=shown.headers())


class _Fetched(Response):
    """A file handed on from its store. What the store refuses is raised before the first byte."""

    def __init__(
        self, storage: CloudStorage, place: GcsLocation, file: Reference, wanted: str
    ) -> None:
        super().__init__()
        self._storage = storage
        self._place = place
        self._file = file
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._storage.fetch(self._place, self._wanted) as found:
            media_type = _believed(found.media_type, self._file.media_type)
            shown = Presentation(media_type, self._file.name or self._place.name, A_WHILE)
            chunks: AsyncIterator[bytes] = found.chunks
            answer = StreamingResponse(
                chunks,
                status_code=found.status,
                media_type=media_type,
                headers={**shown.headers(), **found.headers},
            )
            await answer(scope, receive, send)


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
