"""Limits the size of request bodies: one over the limit is refused before it is read.

With a Content-Length the refusal comes before the first byte; without one (chunked), the bytes are
counted as they come and the request ends at the first one too many. Bodies are not
decompressed, so a compressed one is refused. Paths may have their own limits.

Also limits how slowly a body may arrive: a slow body occupies a connection and memory.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.errors import TooLarge, UsageError

PATIENCE = 20.0
"""Seconds for a body to begin, and to be slow in: a mobile network's worst pause."""
SLOWEST = 2048
"""Bytes a second on the average, after that."""


class PathLimit(Struct, frozen=True):
    """The limit of some paths."""

    path: re.Pattern[str]
    """Matches the whole path, without the prefix that the server is mounted under."""
    option: str
    """Sets the limit."""
    limit: int


class BodyLimit:
    """Bounds the body of every request; raises `TooLarge` where the body is read."""

    def __init__(self, app: ASGIApp, limit: int, other: Sequence[PathLimit] = ()) -> None:
        self._app = app
        self._limit = ("--body-limit", limit)
        self._other = other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise HTTPException(415, "The body is compressed; send it without Content-Encoding.")
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise UsageError("Content-Length must be a number.")
        limit = self._limit_of(scope)
        # More digits than any real length: not converted to an integer.
        if len(declared) > 20 or int(declared) > limit[1]:
            raise _too_large(*limit)
        await self._app(scope, _counted(receive, *limit), send)

    def _limit_of(self, scope: Scope) -> tuple[str, int]:
        """Return the option and the limit of a request's path."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        own = (each for each in self._other if each.path.fullmatch(path))
        return next(((each.option, each.limit) for each in own), self._limit)


def _counted(receive: Receive, option: str, limit: int) -> Receive:
    read, more = 0, True
    clock = asyncio.get_running_loop().time
    began = clock()

    async def receive_counted() -> Message:
        nonlocal read, more
        if not more:
            return await receive()  # waits for the client to leave
        try:
            async with asyncio.timeout_at(began + PATIENCE + read / SLOWEST):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The body arrived too slowly; send it again.") from None
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > limit:
                raise _too_large(option, limit)
        more = message.get("more_body", False)
        return message

    return receive_counted


def _too_large(option: str, limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes; the operator sets it with {option}.")
