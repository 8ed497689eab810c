"""The WebSocket of a live run to a remote server: with its credentials, no redirect, no compression."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

from adk_prism.errors import RemoteFailed
from adk_prism.source.remote.app_options import Remote
from adk_prism.source.remote.credentials import Credentials

Failed = Callable[[str, str], RemoteFailed]
"""Tells the operator why and what caused it; returns the error for the client."""

_MEANINGS = {
    401: "it does not accept our credentials (401); set --remote-header or --remote-token-command",
    403: "it refuses live runs (403)",
    404: "it has no route for live runs",
}


class _Connect(connect):
    """Follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def open_socket(
    remote: Remote, credentials: Credentials, path: str, failed: Failed
) -> AsyncIterator[ClientConnection]:
    """Connect to a path of the remote; the connection is closed with the block. Raise `RemoteFailed`."""
    socket = await _connected(remote, credentials, path, failed)
    try:
        yield socket
    finally:
        await socket.close()


async def _connected(
    remote: Remote, credentials: Credentials, path: str, failed: Failed
) -> ClientConnection:
    for is_last in (not credentials.can_renew, True):
        headers = await credentials.headers()
        try:
            return await _Connect(
                f"ws{remote.url.removeprefix('http')}{path}",
                additional_headers=headers,
                open_timeout=remote.connect,
                max_size=remote.event_bytes,
                compression=None,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            if status != HTTPStatus.UNAUTHORIZED or is_last:
                why = _MEANINGS.get(status) or f"it answered with status {status}"
                raise failed(why, "") from None
            credentials.forget(headers)
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
            raise failed("no connection for a live run", str(error)) from None
    raise AssertionError("the last attempt returns")
