"""An adk-prism server over HTTP: its apps, a session, runs as they go on, and recordings.

Decides what is an answer, what is a refusal (`Refused`) and what is no answer at all (`Unreachable`).
A run is read as ADK's events with positions, so it can be gone on with where the connection broke.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from adk_prism.console.place import USER, Place
from adk_prism.console.problems import Refused, Unreachable
from adk_prism.console.token import Token
from adk_prism.errors import SourceError, UsageError
from adk_prism.runlog.entry import Entry, Outcome
from adk_prism.source.recording import read_run
from adk_prism.transport.sse_decoder import SseDecoder, SseEvent

CONNECT = 10.0
"""Seconds to reach a server."""
SILENCE = 60.0
"""Seconds without a byte. A stream has a keep-alive comment every fifteen; a first run loads its app."""
LARGEST_RECORDING = 64 * 1024**2
"""Bytes of a run that are read back whole: what a server takes as an upload."""

_SAFE_HOSTS = ("127.0.0.1", "localhost", "::1")
_BROKEN = "stream_broken"


class Summary(msgspec.Struct, frozen=True):
    """One run, as the server lists it."""

    run: str
    started: float = 0.0
    outcome: Outcome | None = None
    bytes: int = 0


class Stream:
    """The events of a run from a position on."""

    def __init__(self, run: str, response: httpx.Response) -> None:
        self.run = run
        self._response = response

    async def events(self) -> AsyncIterator[SseEvent]:
        """Yield the events; the run is over when they end. Raise `Unreachable` if they break off."""
        decoder = SseDecoder()
        with _reaching():
            async for piece in self._response.aiter_raw():
                for event in decoder.feed(piece):
                    if _tells_broken(event):
                        raise Unreachable("The server could not go on with the stream.")
                    yield event


class Client:
    """One server."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def apps(self) -> list[str]:
        """Return the names of the apps."""
        return [str(name) for name in await self._json("GET", "/list-apps")]

    async def has_app(self, name: str) -> bool:
        """Tell whether an app is served under a name; an app may have more names than are listed."""
        try:
            await self._json("GET", f"/api/apps/{quote(name, safe='')}")
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            return name in await self.apps()
        return True

    async def user(self) -> str:
        """Return whom the server takes us for; where it asks nobody, whom the page is."""
        try:
            told = await self._json("GET", "/api/me")
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            return USER  # An older server.
        user = told.get("user") if isinstance(told, dict) else None
        return user if isinstance(user, str) and user else USER

    async def open_session(self, place: Place) -> dict[str, Any]:
        """Return a session's state; make the session if it is not there."""
        try:
            session = await self._json("GET", place.path)
        except Refused as refused:
            if refused.code != httpx.codes.NOT_FOUND:
                raise
            session = await self._json("POST", place.path, json={})
        state = session.get("state")
        return state if isinstance(state, dict) else {}

    async def runs(self, place: Place) -> list[Summary]:
        """Return the runs of a session, oldest first."""
        asked = {"app": place.app, "user": place.user, "session": place.session}
        found = await self._json("GET", "/api/runs", params=asked)
        return msgspec.convert(found, list[Summary])

    async def summary(self, run: str) -> Summary:
        """Return one run."""
        return msgspec.convert(await self._json("GET", f"/api/runs/{run}"), Summary)

    async def cancel(self, run: str) -> None:
        """Stop a run."""
        await self._json("POST", f"/api/runs/{run}/cancel")

    async def head(self, run: str) -> Entry:
        """Return how a run began."""
        async with self._stream("GET", f"/api/runs/{run}/recording") as response:
            line = b""
            with _reaching():
                async for piece in response.aiter_raw():
                    line += piece
                    if b"\n" in line or len(line) > LARGEST_RECORDING:
                        break
        return next(iter(read_run([line.partition(b"\n")[0] + b"\n"])))

    async def recording(self, run: str) -> list[Entry]:
        """Return all entries of a run so far."""
        async with self._stream("GET", f"/api/runs/{run}/recording") as response:
            with _reaching():
                pieces = [piece async for piece in response.aiter_raw()]
        return await asyncio.to_thread(lambda: list(read_run(iter(pieces))))

    @asynccontextmanager
    async def begin(self, place: Place, body: dict[str, Any], key: str) -> AsyncIterator[Stream]:
        """Start a run; the same key and body again attach to the same run."""
        asked = {**place.body, "streaming": True, **body}
        headers = {"idempotency-key": key}
        async with self._stream("POST", "/run_sse", json=asked, headers=headers) as response:
            yield Stream(response.headers.get("x-prism-run", ""), response)

    @asynccontextmanager
    async def follow(self, run: str, after: str) -> AsyncIterator[Stream]:
        """Go on with a run after a position; without one, from its beginning."""
        headers = {"last-event-id": after} if after else {}
        path = f"/api/runs/{run}/stream?as=adk"
        async with self._stream("GET", path, headers=headers) as response:
            yield Stream(run, response)

    # -------------------------------------------------------------- requests

    async def _json(self, method: str, path: str, **extras: Any) -> Any:
        with _reaching():
            response = await self._http.request(method, path, **extras)
        _check(response)
        try:
            return msgspec.json.decode(response.content)
        except msgspec.MsgspecError:
            raise SourceError(
                f"{response.url.copy_with(query=None)} did not answer with JSON;"
                " is it an adk-prism server?"
            ) from None

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
    """Return a connection to a server. Raise `UsageError` for what is no address of one."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"--url is {url[:80]!r}; expected an address such as http://127.0.0.1:8000."
        )
    return httpx.AsyncClient(
        base_url=url.rstrip("/"),
        timeout=httpx.Timeout(SILENCE, connect=CONNECT),
        headers={"accept": "application/json, */*", "accept-encoding": "identity"},
        auth=token,
        # A proxy that is set for the internet does not lead back to this machine.
        trust_env=parts.hostname not in _SAFE_HOSTS,
    )


def shown_url(url: str) -> str:
    """Return an address without a name and password that it may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@contextmanager
def _reaching() -> Any:
    """Turn whatever a broken connection raises into `Unreachable`."""
    try:
        yield
    except httpx.InvalidURL as error:
        raise UsageError(f"The server's address cannot be used: {error}.") from None
    except httpx.TransportError as error:
        raise Unreachable(_WHY.get(type(error), "The connection broke off.")) from error


_WHY: dict[type[httpx.TransportError], str] = {
    httpx.ConnectError: "The server does not answer.",
    httpx.ConnectTimeout: "The server does not answer.",
    httpx.ReadTimeout: f"The server has been silent for {SILENCE:.0f} seconds.",
}


def _check(response: httpx.Response) -> None:
    """Raise for an answer that is no success: `Unreachable` where the server will be back."""
    if response.is_success:
        return
    detail = _detail(response)
    if response.status_code in (502, 503, 504):
        raise Unreachable(detail)
    if response.status_code == httpx.codes.UNAUTHORIZED:
        detail = _UNKNOWN if "authorization" in response.request.headers else _UNTOLD
    raise Refused(detail, response.status_code)


_UNTOLD = (
    "The server has to know who you are: put your token into the environment as ADK_PRISM_TOKEN, or into"
    " a file that --token-file names."
)
_UNKNOWN = (
    "The server does not know your token, or knows it no longer; ask its operator for another."
)


def _detail(response: httpx.Response) -> str:
    try:
        problem = msgspec.json.decode(response.content)
    except msgspec.MsgspecError:
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return str(detail or f"The server answered {response.status_code} {response.reason_phrase}.")


def _tells_broken(event: SseEvent) -> bool:
    """Tell the frame without a place by which the server says that its own log failed."""
    return _BROKEN in event.data and not event.id and f'"errorCode":"{_BROKEN}"' in event.data
