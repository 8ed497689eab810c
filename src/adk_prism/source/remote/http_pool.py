"""HTTP/1.1 to one remote server: kept connections, TLS, the proxy that the environment names."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from adk_prism.source.remote.http_exchange import Exchange, HttpFailed

IDLE = 2.0
"""Seconds for which a connection is kept: servers close theirs after five, and one that is closed while a
request is on its way loses the request."""

MOST_IDLE = 32
"""Connections that are kept."""


class HttpPool:
    """Sends requests to one server."""

    def __init__(self, url: str, connect: float) -> None:
        """Take the server's address, and the seconds until a connection has to be there."""
        self._connect_time = connect
        self._url = urlsplit(url)
        self._base = quote(self._url.path, safe="/%!$&'()*+,;=:@~")
        self._idle: list[tuple[Exchange, float]] = []
        self._tls: ssl.SSLContext | None = None
        self._proxy = _proxy_of(self._url)

    def close(self) -> None:
        """Close the connections that are not in use."""
        for exchange, _ in self._idle:
            exchange.abort()
        self._idle.clear()

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Exchange:
        """Send a request; return the exchange once its head is there. Raise `HttpFailed`.

        Whoever gets it gives it back with `release`.
        """
        request = self._request(method, path, headers, body)
        while True:
            kept = self._take()
            exchange = kept or await self._connect()
            try:
                exchange.send(request)
                await exchange.head()
            except HttpFailed:
                exchange.abort()
                if kept is None or exchange.has_answer or method != "GET":
                    raise
            except BaseException:
                exchange.abort()
                raise
            else:
                return exchange

    def release(self, exchange: Exchange) -> None:
        """Keep a connection for the next request, if its answer was read to the end; else close it."""
        status = exchange.status
        if not exchange.finish():
            return
        # After a failure of the app uvicorn closes the connection, and does not say so.
        if len(self._idle) < MOST_IDLE and status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self._idle.append((exchange, asyncio.get_running_loop().time() + IDLE))
        else:
            exchange.abort()

    def _take(self) -> Exchange | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            exchange, until = self._idle.pop()
            if exchange.is_usable and now < until:
                return exchange
            exchange.abort()
        return None

    def _request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> bytes:
        target = self._base + path
        if self._proxy is not None and self._url.scheme == "http":
            target = f"http://{self._url.netloc}{target}"
            headers = {**headers, **_proxy_headers(self._proxy)}
        lines = [f"{method} {target} HTTP/1.1", f"host: {self._url.netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method != "GET":
            lines.append(f"content-length: {len(body or b'')}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")

    # ------------------------------------------------------------------ connecting

    async def _connect(self) -> Exchange:
        try:
            async with asyncio.timeout(self._connect_time):
                exchange = await self._connect_nearest()
        except (OSError, TimeoutError, UnicodeError) as error:
            raise HttpFailed("no connection to its server", str(error)) from None
        return await self._secured(exchange) if self._url.scheme == "https" else exchange

    async def _connect_nearest(self) -> Exchange:
        """Return a connection to the server, or to the proxy before it."""
        nearest = self._proxy or self._url
        tls = self._context() if self._proxy and nearest.scheme == "https" else None
        host, port = nearest.hostname or "", _port(nearest)
        _, exchange = await asyncio.get_running_loop().create_connection(
            Exchange, host, port, ssl=tls
        )
        if self._proxy is not None and self._url.scheme == "https":
            await self._ask_proxy(exchange, self._proxy)
        return exchange

    async def _ask_proxy(self, exchange: Exchange, proxy: SplitResult) -> None:
        place = f"{self._url.hostname}:{_port(self._url)}"
        lines = [f"CONNECT {place} HTTP/1.1", f"host: {place}"]
        lines += [f"{name}: {value}" for name, value in _proxy_headers(proxy).items()]
        exchange.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await exchange.head()
        if exchange.status != HTTPStatus.OK:
            exchange.abort()
            raise HttpFailed(f"the proxy does not connect to it ({exchange.status})")

    async def _secured(self, plain: Exchange) -> Exchange:
        """Return a connection with TLS to the server itself, inside of another."""
        inner, loop = Exchange(), asyncio.get_running_loop()
        name = self._url.hostname
        try:
            async with asyncio.timeout(self._connect_time):
                transport = await loop.start_tls(
                    plain.tunnel(), inner, self._context(), server_hostname=name
                )
        except (OSError, TimeoutError) as error:
            plain.abort()
            reason = getattr(error, "reason", None) or "no handshake"
            raise HttpFailed(
                f"TLS failed ({reason.lower().replace('_', ' ')})", str(error)
            ) from None
        except BaseException:
            plain.abort()
            raise
        assert transport is not None, "the connection was open"
        inner.connection_made(transport)
        return inner

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = httpx.create_ssl_context()  # certifi, or what SSL_CERT_FILE names
        return self._tls


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _proxy_of(url: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for an address."""
    known = getproxies()
    proxy = known.get(url.scheme) or known.get("all")
    if not proxy or proxy_bypass(url.netloc):
        return None
    return urlsplit(proxy if "://" in proxy else f"http://{proxy}")


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    name = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(name.encode()).decode()}"}
