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
from msgspec import Struct

from adk_prism.errors import NotFound, SourceError, TooLarge, TooMany, UsageError
from adk_prism.server.files.access_token import AccessToken
from adk_prism.server.files.gcs_locations import GcsLocation

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
