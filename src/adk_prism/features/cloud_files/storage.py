"""Fetches objects of Cloud Storage for requests of a run's files.

Follows the JSON API (`GET /storage/v1/b/BUCKET/o/NAME?alt=media`). One host, over TLS, no redirects: the
only request that can be made from here is this one. Bytes are handed on as they come and counted: what is
longer than it said, or than the limit, is cut off. Nothing is unpacked: a bomb stays packed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

import httpx
from fastapi import Response
from fastapi.responses import StreamingResponse
from msgspec import Struct
from starlette.types import Receive, Scope, Send

from adk_prism.errors import NotFound, SourceError, TooLarge, TooMany, UsageError
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.features.cloud_files import settings as storage_settings
from adk_prism.log.entry import Origin
from adk_prism.server.run_files import A_WHILE, Presentation, Reference, plain_type

# ---------------------------------------------------------------------------
# The right to read from Cloud Storage: a token of the server's own account (`google-auth`, ADC).
#
# Read-only, asked for when the first file is, kept until it is about to expire. Getting one blocks,
# so it happens beside the event loop, once for all who wait. Why there is none is the operator's to
# know.

SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"

PATIENCE = 15.0
"""Seconds: a metadata server answers in one, a federation of identities asks two others first."""

NEEDED = "Files of Cloud Storage need google-auth: pip install 'adk-prism[gcs]'."


class DefaultCredentials:
    """Application Default Credentials."""

    def __init__(self) -> None:
        """Raise `UsageError` if google-auth is not installed."""
        try:
            import google.auth
            import google.auth.exceptions
            import google.auth.transport.requests
        except ImportError as error:
            raise UsageError(NEEDED) from error
        self._auth = google.auth
        self._request = google.auth.transport.requests.Request()
        self._credentials: google.auth.credentials.Credentials | None = None
        self._turn = asyncio.Lock()

    async def header(self) -> str:
        """Return a token that is still good. Raise `SourceError` if there is none to be had."""
        try:
            async with asyncio.timeout(PATIENCE), self._turn:
                return await asyncio.to_thread(self._fresh)
        except (self._auth.exceptions.GoogleAuthError, TimeoutError) as error:
            raise SourceError(
                "This server may not read files from Cloud Storage; the operator can grant access."
            ) from error

    def _fresh(self) -> str:
        if self._credentials is None:
            self._credentials, _ = self._auth.default(scopes=[SCOPE])
        if not self._credentials.valid:
            self._credentials.refresh(self._request)  # type: ignore[no-untyped-call] # upstream's
        return f"Bearer {self._credentials.token}"


# ---------------------------------------------------------------------------

HOST = "https://storage.googleapis.com"

TO_CONNECT = 5.0
BETWEEN_BYTES = 15.0
"""Seconds of silence after which the store is given up."""
IN_ALL = 300.0
"""Seconds for one file, a slow client's own included: at the usual limit that is 220 kB a second."""
AT_ONCE = 32
"""Files fetched at a time: that many sockets and, with a few chunks each, some MiB."""
CHUNK = 64 * 1024

_RANGE = re.compile(r"bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})")
_CONTENT_RANGE = re.compile(r"bytes (?:\d{1,15}-\d{1,15}|\*)/(?:\d{1,15}|\*)")


class Fetched(Struct, frozen=True):
    """An answer of the store that can be handed on."""

    status: int
    """200, or 206 for the range that was asked for."""
    media_type: str
    headers: Mapping[str, str]
    """What a client should know of its length."""
    chunks: AsyncIterator[bytes]
    """Raises `SourceError` where the store does not keep its word."""


class CloudStorage:
    """Fetches objects. Use it between `opened` and its end."""

    def __init__(self, token: DefaultCredentials | None, limit: int, host: str = HOST) -> None:
        """An emulator asks for no `token`, and must not be shown one."""
        self._token = token
        self._limit = limit
        self._host = host
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Hold the connections."""
        async with httpx.AsyncClient(
            timeout=httpx.Timeout(BETWEEN_BYTES, connect=TO_CONNECT, pool=TO_CONNECT),
            limits=httpx.Limits(max_connections=AT_ONCE),
            follow_redirects=False,
            # A proxy of the environment is the operator's own way out; to this machine none leads.
            trust_env=self._host == HOST,
        ) as self._client:
            yield
        self._client = None

    @asynccontextmanager
    async def fetch(
        self, place: storage_settings.GcsLocation, wanted: str = ""
    ) -> AsyncIterator[Fetched]:
        """Give an object, or the range of it that a `Range` header asks for.

        Raise `NotFound` for one that is not there, `TooLarge` over the limit, `UsageError` for a range
        outside it, `TooMany` while too many are fetched, `SourceError` for all else that the store does.
        """
        assert self._client is not None, "fetch outside of opened()"
        address = (
            f"{self._host}/storage/v1/b/{place.bucket}/o/{quote(place.name, safe='')}?alt=media"
        )
        request = self._client.build_request("GET", address, headers=await self._headers(wanted))
        try:
            async with asyncio.timeout(IN_ALL):
                answer = await self._client.send(request, stream=True)
                try:
                    yield self._checked(answer)
                finally:
                    await answer.aclose()
        except httpx.PoolTimeout:
            raise TooMany("Too many files are being fetched; try again shortly.", 5) from None
        except (httpx.TimeoutException, TimeoutError) as error:
            raise SourceError("The file storage did not answer in time.") from error
        except httpx.HTTPError as error:
            raise SourceError(
                "The file storage cannot be reached, or the connection was lost."
            ) from error

    async def _headers(self, wanted: str) -> dict[str, str]:
        token = {"authorization": await self._token.header()} if self._token is not None else {}
        return {
            "accept-encoding": "identity",
            **token,
            **({"range": wanted} if _RANGE.fullmatch(wanted) else {}),
        }

    def _checked(self, answer: httpx.Response) -> Fetched:
        status, length = answer.status_code, answer.headers.get("content-length", "")
        if status not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            raise _refusal(status)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise SourceError("The file storage returned compressed data, which was not requested.")
        if length and int(length) > self._limit:
            raise TooLarge(
                f"The file has {length} bytes; this server serves at most {self._limit}"
                " (--files-limit)."
            )
        within = answer.headers.get("content-range", "")
        headers = {"content-length": length, "content-range": within, "accept-ranges": "bytes"}
        if status == httpx.codes.OK or _CONTENT_RANGE.fullmatch(within) is None:
            del headers["content-range"]
        return Fetched(
            status,
            answer.headers.get("content-type", ""),
            {name: value for name, value in headers.items() if value},
            self._counted(answer),
        )

    async def _counted(self, answer: httpx.Response) -> AsyncIterator[bytes]:
        left = self._limit
        async for chunk in answer.aiter_raw(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise SourceError("The file is larger than announced, or than this server serves.")
            yield chunk


def _refusal(status: int) -> NotFound | UsageError | SourceError:
    if status == httpx.codes.NOT_FOUND:
        return NotFound("The file no longer exists in its storage.")
    if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
        return UsageError("The requested range is outside of the file.")
    if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return SourceError(
            "The file storage denied access to this server; the operator can grant it."
        )
    return SourceError(f"The file storage returned status {status} without usable content.")


# ---------------------------------------------------------------------------


class CloudFiles:
    """Opens references to objects of Cloud Storage."""

    def __init__(self, settings: storage_settings.CloudFileSettings, limit: int) -> None:
        """Raise `UsageError` where what Cloud Storage needs is not installed."""
        self._allowed = storage_settings.AllowedLocations(settings.files_from)
        emulator = settings.files_emulator
        self.storage = CloudStorage(
            None if emulator else DefaultCredentials(), limit, emulator or HOST
        )

    def open(self, file: Reference, origin: Origin, wanted: str) -> Response | None:
        """Return the response with a file, or a `Range` of it; None for one that may not be fetched."""
        place = storage_settings.place_of(file.uri)
        if place is None or not self._allowed.allow(place, origin):
            return None
        return _Fetched(self.storage, place, file, wanted)


class _Fetched(Response):
    """A file handed on from its store. What the store refuses is raised before the first byte."""

    def __init__(
        self,
        storage: CloudStorage,
        place: storage_settings.GcsLocation,
        file: Reference,
        wanted: str,
    ) -> None:
        super().__init__()
        self._storage = storage
        self._place = place
        self._file = file
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._storage.fetch(self._place, self._wanted) as found:
            # The store knows the type better than the reference, if it knows it at all.
            is_unknown = found.media_type.partition(";")[0].strip().lower() in ("", UNKNOWN_TYPE)
            media_type = plain_type(self._file.media_type if is_unknown else found.media_type)
            shown = Presentation(media_type, self._file.name or self._place.name, A_WHILE)
            chunks: AsyncIterator[bytes] = found.chunks
            answer = StreamingResponse(
                chunks,
                status_code=found.status,
                media_type=media_type,
                headers={**shown.headers(), **found.headers},
            )
            await answer(scope, receive, send)
