"""HTTP client of an adk-prism server: apps, sessions, runs and recordings.

Errors are either a rejection (`Refused`) or no usable answer (`Unreachable`). A run is read as ADK events
with positions, so that it can be resumed after a broken connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import msgspec
from msgspec import Struct

from adk_prism.console import words
from adk_prism.console.token import Token
from adk_prism.errors import PrismError, SourceError, UsageError
from adk_prism.runlog.entry import Entry, Outcome
from adk_prism.source.recording_file import read_run
from adk_prism.transport.sse_decoder import SseDecoder, SseEvent

USER = "user"
"""The user of a server without sign-in; the page uses the same one, so both see the same sessions."""


class SessionAddress(Struct, frozen=True):
    """An app, a user and a session."""

    app: str
    session: str
    user: str = USER

    @property
    def path(self) -> str:
        """Return the session's URL path."""
        names = (quote(name, safe="") for name in (self.app, self.user, self.session))
        return "/apps/{}/users/{}/sessions/{}".format(*names)

    @property
    def body(self) -> dict[str, str]:
        """Return the fields that name it in a run request."""
        return {"appName": self.app, "userId": self.user, "sessionId": self.session}


class Unreachable(PrismError):
    """The server does not answer, or the connection broke. Trying again may help."""

    title = words.UNREACHABLE


class Refused(PrismError):
    """The server rejected the request. Trying the same again does not help."""

    title = words.REFUSED

    def __init__(self, detail: str, code: int) -> None:
        super().__init__(detail)
        self.code = code
        """The HTTP status code."""


CONNECT = 10.0
"""Seconds to reach a server."""
SILENCE = 60.0
"""Seconds without a byte. Streams send a keep-alive comment every 15; the first run also loads its app."""
LARGEST_RECORDING = 64 * 1024**2
"""Largest recording that is read back, in bytes; also the server's upload limit."""

_SAFE_HOSTS = ("127.0.0.1", "localhost", "::1")
_BROKEN = "stream_broken"


class Summary(msgspec.Struct, frozen=True):
    """One run, as the server lists it."""

    run: str
    started: float = 0.0
    outcome: Outcome | None = None
    bytes: int = 0


class Stream:
    """The events of a run after a position."""

    def __init__(self, run: str, response: httpx.Response) -> None:
        self.run = run
        self._response = response

    async def events(self) -> AsyncIterator[SseEvent]:
        """Yield events until the run ends. Raise `Unreachable` if the connection breaks."""
        decoder = SseDecoder()
        with _reaching():
            async for piece in self._response.aiter_raw():
                for event in decoder.feed(piece):
                    if _reports_broken_stream(event):
                        raise Unreachable(words.STREAM_LOST)
                    yield event


class Client:
    """One server."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def apps(self) -> list[str]:
        """Return the names of the apps."""
        return [str(name) for name in await self._json("GET", "/list-apps")]

    async def has_app(self, name: str) -> bool:
        """Return whether the server has an app of this name; an app may have more names than are listed."""
        try:
            await self._json("GET", f"/api/apps/{quote(name, safe='')}")
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            return name in await self.apps()
        return True

    async def user(self) -> str:
        """Return the user that the server identifies us as, or the default user without sign-in."""
        try:
            me = await self._json("GET", "/api/me")
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            return USER  # An older server.
        user = me.get("user") if isinstance(me, dict) else None
        return user if isinstance(user, str) and user else USER

    async def open_session(self, address: SessionAddress) -> dict[str, Any]:
        """Return a session's state; create the session if it does not exist."""
        try:
            session = await self._json("GET", address.path)
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            session = await self._json("POST", address.path, json={})
        state = session.get("state")
        return state if isinstance(state, dict) else {}

    async def runs(self, address: SessionAddress) -> list[Summary]:
        """Return the runs of a session, oldest first."""
        asked = {"app": address.app, "user": address.user, "session": address.session}
        found = await self._json("GET", "/api/runs", params=asked)
        return msgspec.convert(found, list[Summary])

    async def search(self, fields: dict[str, str]) -> tuple[list[dict[str, Any]], bool]:
        """Return the runs that fit, newest first, and whether every run could be searched."""
        with _reaching():
            response = await self._http.get("/api/runs", params=fields)
        _check(response)
        found = _decoded(response)
        return found, "x-prism-search" not in response.headers

    async def summary(self, run: str) -> Summary:
        """Return one run."""
        return msgspec.convert(await self._json("GET", f"/api/runs/{run}"), Summary)

    async def cancel(self, run: str) -> None:
        """Stop a run."""
        await self._json("POST", f"/api/runs/{run}/cancel")

    async def rerun(self, run: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        """Run a message again; return the new runs when they are over, however long that takes."""
        headers, timeout = {"idempotency-key": key}, httpx.Timeout(None, connect=CONNECT)
        path = f"/api/runs/{run}/rerun"
        found = await self._json("POST", path, json=body, headers=headers, timeout=timeout)
        return found if isinstance(found, dict) else {}

    async def head(self, run: str) -> Entry:
        """Return the first entry of a run."""
        async with self._stream("GET", f"/api/runs/{run}/recording") as response:
            line = b""
            with _reaching():
                async for piece in response.aiter_raw():
                    line += piece
                    if b"\n" in line or len(line) > LARGEST_RECORDING:
                        break
        return next(iter(read_run([line.partition(b"\n")[0] + b"\n"])))

    async def recording(self, run: str, *, model_calls: bool = False) -> list[Entry]:
        """Return all entries of a run so far; with model calls, if the caller may see them."""
        query = "?modelCalls=true" if model_calls else ""
        try:
            return await self._recording(f"/api/runs/{run}/recording{query}")
        except Refused as refused:
            if not model_calls or refused.code != httpx.codes.FORBIDDEN:
                raise
        return await self._recording(f"/api/runs/{run}/recording")

    async def _recording(self, path: str) -> list[Entry]:
        async with self._stream("GET", path) as response:
            with _reaching():
                pieces = [piece async for piece in response.aiter_raw()]
        return await asyncio.to_thread(lambda: list(read_run(iter(pieces))))

    async def eval_case(self, run: str) -> dict[str, Any]:
        """Return the conversation up to a run as an eval case of ADK."""
        found: dict[str, Any] = await self._json("GET", f"/api/runs/{run}/evalcase")
        return found

    async def evaluate(self, app: str, body: dict[str, Any]) -> dict[str, Any]:
        """Let the server evaluate a set; return how that goes."""
        path = f"/api/evals/{quote(app, safe='')}"
        found: dict[str, Any] = await self._json("POST", path, json=body)
        return found

    async def evaluation(self, app: str, name: str) -> dict[str, Any]:
        """Return how an evaluation goes."""
        path = f"/api/evals/{quote(app, safe='')}/evaluations/{name}"
        found: dict[str, Any] = await self._json("GET", path)
        return found

    @asynccontextmanager
    async def begin(
        self, address: SessionAddress, body: dict[str, Any], key: str
    ) -> AsyncIterator[Stream]:
        """Start a run; the same key and body again attach to the same run."""
        asked = {**address.body, "streaming": True, **body}
        headers = {"idempotency-key": key}
        async with self._stream("POST", "/run_sse", json=asked, headers=headers) as response:
            yield Stream(response.headers.get("x-prism-run", ""), response)

    @asynccontextmanager
    async def follow(self, run: str, after: str) -> AsyncIterator[Stream]:
        """Follow a run after a position, or from its start."""
        headers = {"last-event-id": after} if after else {}
        path = f"/api/runs/{run}/stream?as=adk"
        async with self._stream("GET", path, headers=headers) as response:
            yield Stream(run, response)

    # -------------------------------------------------------------- requests

    async def _json(self, method: str, path: str, **extras: Any) -> Any:
        with _reaching():
            response = await self._http.request(method, path, **extras)
        _check(response)
        return _decoded(response)

    @asynccontextmanager
    async def _stream(self, method: str, path: str, **extras: Any) -> AsyncIterator[httpx.Response]:
        with _reaching():
            asked = self._http.build_request(method, path, **extras)
            response = await self._http.send(asked, stream=True)
        try:
            if not response.is_success:
                with _reaching():
                    await response.aread()
            _check(response)
            yield response
        finally:
            await response.aclose()


def connect(url: str, token: Token | None = None) -> httpx.AsyncClient:
    """Return an HTTP client for a server. Raise `UsageError` if `url` is not an http(s) URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(words.BAD_URL.format(given=url[:80]))
    return httpx.AsyncClient(
        base_url=url.rstrip("/"),
        timeout=httpx.Timeout(SILENCE, connect=CONNECT),
        headers={"accept": "application/json, */*", "accept-encoding": "identity"},
        auth=token,
        # A proxy for the internet cannot reach this machine.
        trust_env=parts.hostname not in _SAFE_HOSTS,
    )


def shown_url(url: str) -> str:
    """Return a URL without user name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@contextmanager
def _reaching() -> Any:
    """Convert connection errors to `Unreachable`."""
    try:
        yield
    except httpx.InvalidURL as error:
        raise UsageError(words.INVALID_URL.format(why=error)) from None
    except httpx.TransportError as error:
        raise Unreachable(_WHY.get(type(error), words.CONNECTION_LOST)) from error


_WHY: dict[type[httpx.TransportError], str] = {
    httpx.ConnectError: words.NO_ANSWER,
    httpx.ConnectTimeout: words.NO_ANSWER,
    httpx.ReadTimeout: words.SILENT.format(seconds=SILENCE),
}


def _decoded(response: httpx.Response) -> Any:
    try:
        return msgspec.json.decode(response.content)
    except msgspec.MsgspecError:
        raise SourceError(words.NOT_JSON.format(url=response.url.copy_with(query=None))) from None


def _check(response: httpx.Response) -> None:
    """Raise for an error status: `Unreachable` if the server should be back soon, else `Refused`."""
    if response.is_success:
        return
    detail = _detail(response)
    if response.status_code in (502, 503, 504):
        raise Unreachable(detail)
    if response.status_code == httpx.codes.UNAUTHORIZED:
        detail = _TOKEN_REJECTED if "authorization" in response.request.headers else _TOKEN_MISSING
    raise Refused(detail, response.status_code)


_TOKEN_MISSING = words.TOKEN_REQUIRED
_TOKEN_REJECTED = words.TOKEN_REJECTED


def _detail(response: httpx.Response) -> str:
    try:
        problem = msgspec.json.decode(response.content)
    except msgspec.MsgspecError:
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return str(
        detail or words.RETURNED.format(status=response.status_code, reason=response.reason_phrase)
    )


def _reports_broken_stream(event: SseEvent) -> bool:
    """Return whether an event reports that the server's run log failed; it has no position."""
    return _BROKEN in event.data and not event.id and f'"errorCode":"{_BROKEN}"' in event.data
