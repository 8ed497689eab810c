"""HTTP to one remote ADK server, with limits: what it answers is untrusted input.

No redirect is followed and no cookie kept. An answer has a size and a time, a stream has a size of one event
and a time between two (`source`). Each failure is one `RemoteFailed` with text that is safe for a client, and
one line for the operator that also has the address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection

from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.errors import Conflict, NotFound, RemoteFailed, Unprocessable
from adk_prism.source.remote.app_options import Remote
from adk_prism.source.remote.credentials import Credentials
from adk_prism.source.remote.dialect import Refusals
from adk_prism.source.remote.http_exchange import Exchange, HttpFailed
from adk_prism.source.remote.http_pool import HttpPool
from adk_prism.source.remote.live_socket import open_socket

Method = Literal["GET", "POST", "PATCH", "DELETE"]

_SENT = {"content-type": "application/json", "accept-encoding": "identity"}
"""No compression: a small answer could unpack to gigabytes."""

_MEANINGS = {
    401: "it does not accept our credentials (401); set --remote-header or --remote-token-command",
    403: "it does not allow our credentials this (403)",
    429: "it has too many requests (429); try again later",
}
EVENTS = ("text/event-stream",)
NONE: Refusals = {}
_REFUSALS: Refusals = {404: NotFound, 409: Conflict, 422: Unprocessable}
"""What the remote may say of a request, and the caller handles."""


def path_of(*names: str) -> str:
    """Return a path of these names, each as one segment."""
    return "".join(f"/{quote(name, safe='')}" for name in names)


class RemoteClient:
    """Calls one remote."""

    def __init__(self, remote: Remote, report: Report) -> None:
        self._remote = remote
        self._report = report
        self._credentials = Credentials(remote)
        self._pool = HttpPool(remote.url, remote.connect)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.close()

    async def ask(
        self, method: Method, path: str, body: Any = None, refusals: Refusals = NONE
    ) -> bytes:
        """Return the JSON that the remote answers.

        Raise `NotFound`, `Conflict` or `Unprocessable` where it says so, or as `refusals` mean it; else
        `RemoteFailed`.
        """
        opening = self._open(method, path, body, refusals=refusals)
        try:
            async with asyncio.timeout(self._remote.answer), opening as got:
                return await self._body(got)
        except TimeoutError:
            raise self.failed(f"it did not answer within {self._remote.answer:g} seconds") from None

    @asynccontextmanager
    async def stream(
        self, path: str, body: Any, kinds: tuple[str, ...] = EVENTS
    ) -> AsyncIterator[Exchange]:
        """Open a stream of events; closing it stops the run. Raise as `ask` does.

        Whoever reads it limits how long that takes, and calls `broken` for what it raises.
        """
        async with self._open("POST", path, body, accept=", ".join(kinds)) as response:
            kind = response.headers.get("content-type", "")
            if not kind.startswith(kinds):
                raise self.failed(f"it answered {_kind(kind)} instead of a stream of events")
            response.is_stream = True
            yield response

    def socket(self, path: str) -> AbstractAsyncContextManager[ClientConnection]:
        """Return a WebSocket; it is closed with its block. It raises `RemoteFailed`."""
        return open_socket(self._remote, self._credentials, path, self.failed)

    @asynccontextmanager
    async def _open(
        self,
        method: Method,
        path: str,
        body: Any,
        accept: str = "application/json",
        refusals: Refusals = NONE,
    ) -> AsyncIterator[Exchange]:
        response = await self._send(method, path, body, accept)
        try:
            self._check(response, {**_REFUSALS, **refusals})
            yield response
        finally:
            self._pool.release(response)

    async def _send(self, method: Method, path: str, body: Any, accept: str) -> Exchange:
        data = None if body is None else msgspec.json.encode(body)
        for is_last in (not self._credentials.can_renew, True):
            headers = await self._credentials.headers()
            try:
                response = await self._pool.send(
                    method, path, {**_SENT, "accept": accept, **headers}, data
                )
            except HttpFailed as error:
                raise self.broken(error) from None
            if is_last or response.status != HTTPStatus.UNAUTHORIZED:
                return response
            self._pool.release(response)
            self._credentials.forget(headers)
        raise AssertionError("the last attempt returns")

    def _check(self, response: Exchange, refusals: Refusals) -> None:
        status = response.status
        if status // 100 == 2:
            return
        if status in refusals:
            raise refusals[status](
                f"The remote app {self._remote.name!r} refuses this request ({status})."
            )
        if status // 100 == 3:
            place = urlsplit(response.headers.get("location", ""))
            where = f"{place.scheme}://{place.netloc}" if place.netloc else "another path"
            raise self.failed(
                "it redirects elsewhere, which is not followed; set the address itself", where
            )
        raise self.failed(_MEANINGS.get(status) or f"it answered with status {status}")

    async def _body(self, response: Exchange) -> bytes:
        kind = response.headers.get("content-type", "")
        found = bytearray()
        try:
            while chunk := await response.read():
                found += chunk
                if len(found) > self._remote.body_bytes:
                    raise self.failed(f"its answer is larger than {self._remote.body_bytes} bytes")
        except HttpFailed as error:
            raise self.broken(error) from None
        if found and "json" not in kind:
            raise self.failed(f"it answered {_kind(kind)} instead of JSON; is the address right?")
        return bytes(found)

    # ------------------------------------------------------------------ failures

    def broken(self, error: HttpFailed) -> RemoteFailed:
        """Return what a failure of the connection means."""
        return self.failed(str(error), error.cause)

    def failed(self, why: str, cause: str = "") -> RemoteFailed:
        """Tell the operator; return the error for the client."""
        name = self._remote.name
        self._report(
            Diagnostic(
                kind="remote failed",
                detail=f"{name} at {self._remote.url}: {why}.",
                app=name,
                cause=cause,
            )
        )
        return RemoteFailed(f"The remote app {name!r} cannot be used: {why}.")


def _kind(content_type: str) -> str:
    """Return a content type as it may be shown."""
    kind = content_type.partition(";")[0].strip()
    return kind[:40] if kind.isascii() and kind.isprintable() and kind else "something unnamed"
