"""How much a client may send: a request body over the limit is refused before it is read.

With a Content-Length the refusal comes before the first byte; without one (chunked), the bytes are
counted as they come and the request ends at the first one too many. No body is ever decompressed
here, so a compressed one is refused rather than read as if it were plain.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.errors import TooLarge, UsageError


class BodyLimit:
    """Bounds the body of every request; raises `TooLarge` where the body is read."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise HTTPException(415, "The body is compressed; send it without Content-Encoding.")
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise UsageError("Content-Length is not a number.")
        # Longer than any number of bytes there is: not worth turning into an integer.
        if len(declared) > 20 or int(declared) > self._limit:
            raise self._too_large()
        await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        read = 0

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > self._limit:
                    raise self._too_large()
            return message

        return receive_counted

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._limit} bytes; the operator sets it with --body-limit."
        )
