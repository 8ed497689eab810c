"""Fetches objects of Cloud Storage for requests of a run's files.

Follows the JSON API (`GET /storage/v1/b/BUCKET/o/NAME?alt=media`). One host, over TLS, no redirects: the
only request that can be made from here is this one. Bytes are handed on as they come and counted: what is
longer than it said, or than the limit, is cut off. Nothing is unpacked: a bomb stays packed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol
from urllib.parse import quote

import httpx
from msgspec import Struct

from adk_prism.errors import NotFound, SourceError, TooLarge, TooMany, UsageError
from adk_prism.log.entry import Origin

# ---------------------------------------------------------------------------
# Places in Cloud Storage: which a reference names, and from which this server may fetch.
#
# A reference is in our log, but a model may have written it: which places may be read is decided by
# the operator's list alone, which is empty unless set. A name that some reader on the way could
# understand as another one (dots, empty folders, control characters) is not accepted.

SCHEME = "gs://"

LONGEST_NAME = 1024
"""Bytes of an object's name, as Cloud Storage allows."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PLACEHOLDER = re.compile(r"\{(app|user|session)\}")
_NAVIGATION = frozenset({"", ".", ".."})


class GcsLocation(Struct, frozen=True):
    """One object."""

    bucket: str
    name: str


def place_of(uri: str) -> GcsLocation | None:
    """Return the place that a `gs://` reference names; None for anything that is not exactly one."""
    bucket, _, name = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or _BUCKET.fullmatch(bucket) is None or not _is_path(name):
        return None
    return GcsLocation(bucket, name)


class AllowedLocations:
    """Folders of buckets from which files may be fetched."""

    def __init__(self, texts: Iterable[str]) -> None:
        """`gs://BUCKET/FOLDER`, where `{app}`, `{user}` and `{session}` are replaced by the run's own.

        Raise `UsageError` for anything else.
        """
        self._folders = [_folder(text) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._folders)

    def allow(self, place: GcsLocation, origin: Origin) -> bool:
        """Return whether a run of this origin may be given the file at a place."""
        return any(
            place.bucket == bucket and place.name.startswith(_filled(folder, origin))
            for bucket, folder in self._folders
        )


def _folder(text: str) -> tuple[str, str]:
    bucket, _, folder = text.removeprefix(SCHEME).partition("/")
    folder = folder.rstrip("/")
    plain = _PLACEHOLDER.sub("x", folder)
    if (
        not text.startswith(SCHEME)
        or _BUCKET.fullmatch(bucket) is None
        or not (not folder or _is_path(plain))
        or "{" in plain
        or "}" in plain
    ):
        raise UsageError(
            f"{text[:80]!r} is not a file location; expected gs://BUCKET or gs://BUCKET/FOLDER, in which"
            " {app}, {user} and {session} are replaced with those of the run."
        )
    return bucket, f"{folder}/" if folder else ""


def _filled(folder: str, origin: Origin) -> str:
    """Return a folder for one run. A value with a slash would be several folders: it matches none."""
    values = {"app": origin.app, "user": origin.user, "session": origin.session}
    filled = _PLACEHOLDER.sub(lambda match: values[match[1]].replace("/", "\0"), folder)
    return filled if not folder or _is_path(filled[:-1]) else "\0"


def _is_path(name: str) -> bool:
    return (
        name.isprintable()
        and "\\" not in name
        and len(name.encode(errors="replace")) <= LONGEST_NAME
        and _NAVIGATION.isdisjoint(name.split("/"))
    )


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


class AccessToken(Protocol):
    """Gives the value of an `Authorization` header; an empty one where none is needed."""

    async def header(self) -> str: ...


class NoToken:
    """For an emulator, which asks for none and must not be shown one."""

    async def header(self) -> str:
        return ""


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

    def __init__(self, token: AccessToken, limit: int, host: str = HOST) -> None:
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
    async def fetch(self, place: GcsLocation, wanted: str = "") -> AsyncIterator[Fetched]:
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
        token = await self._token.header()
        return {
            "accept-encoding": "identity",
            **({"authorization": token} if token else {}),
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
