"""HTTP client of an adk-prism server: apps, sessions, runs and recordings.

Errors are either a rejection (`Refused`) or no usable answer (`Unreachable`). A run is read as ADK events
with positions, so that it can be resumed after a broken connection.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import msgspec
import uvicorn
from msgspec import Struct

from adk_prism.cli import DiagnosticPrinter
from adk_prism.errors import LogError, PrismError, SourceError, UsageError
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.captures.streams import SseDecoder, SseEvent
from adk_prism.log.entry import Entry, Outcome
from adk_prism.server.settings import Settings, read_settings

# ---------------------------------------------------------------------- access token
#
# The access token for a server: from the command line, a file, or the environment.
#
# A file is read again when the server rejects the token, so that the console survives a renewal. The token is
# sent only to that server and never shown.

TOKEN_VARIABLE = "ADK_PRISM_TOKEN"
LONGEST_TOKEN = 16 * 1024
"""Most characters that a server accepts."""

_TOKEN = re.compile(r"[\x21-\x7e]+")


class Token(httpx.Auth):
    """Adds the token to every request."""

    def __init__(self, read: Callable[[], str]) -> None:
        """`read` returns the token or raises `UsageError`; it is called again after a 401."""
        self._read = read
        self._token = read()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the token; retry once if a newer token is available."""
        used = self._token
        request.headers["authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self._token = self._read()
            if self._token != used:
                request.headers["authorization"] = f"Bearer {self._token}"
                yield request


def find_token(given: str | None, file: str | None, environment: Mapping[str, str]) -> Token | None:
    """Return the token from one of the sources, or None. Raise `UsageError` if it is not valid."""
    if given is not None and file is not None:
        raise UsageError("--token and --token-file cannot be used together; pass one of them.")
    if file is not None:
        return Token(lambda: _read(Path(file)))
    text = given if given is not None else environment.get(TOKEN_VARIABLE)
    if not text:
        return None
    checked = _checked_token(text, "--token" if given is not None else TOKEN_VARIABLE)
    return Token(lambda: checked)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as opened:
            return _checked_token(opened.read(LONGEST_TOKEN + 2), "--token-file")
    except UnicodeDecodeError:
        raise UsageError(
            f"--token-file {str(path)!r} is not a text file; it must contain the token only."
        ) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"--token-file {str(path)!r} cannot be read: {why}.") from None


def _checked_token(text: str, source: str) -> str:
    token = text.strip()
    if len(token) > LONGEST_TOKEN or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"{source} must be one token: ASCII characters without spaces, at most {LONGEST_TOKEN} of"
            " them."
        )
    return token


# ---------------------------------------------------------------------- client

_NO_ANSWER = "The server does not answer."

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

    title = "Server unreachable"


class Refused(PrismError):
    """The server rejected the request. Trying the same again does not help."""

    title = "Refused"

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
                        raise Unreachable("The server could not continue the stream.")
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
        raise UsageError(f"--url must be a URL such as http://127.0.0.1:8000, got {url[:80]!r}.")
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
        raise UsageError(f"The server URL is not valid: {error}.") from None
    except httpx.TransportError as error:
        raise Unreachable(_WHY.get(type(error), "The connection was lost.")) from error


_WHY: dict[type[httpx.TransportError], str] = {
    httpx.ConnectError: _NO_ANSWER,
    httpx.ConnectTimeout: _NO_ANSWER,
    httpx.ReadTimeout: f"The server has sent nothing for {SILENCE:.0f} seconds.",
}


def _decoded(response: httpx.Response) -> Any:
    try:
        return msgspec.json.decode(response.content)
    except msgspec.MsgspecError:
        raise SourceError(
            f"{response.url.copy_with(query=None)} did not return JSON. Is it an adk-prism server?"
        ) from None


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


_TOKEN_MISSING = (
    "The server requires a token. Set ADK_PRISM_TOKEN, or pass a file with --token-file."
)
_TOKEN_REJECTED = (
    "The server rejected your token: it is wrong or has expired. Ask the operator for a new one."
)


def _detail(response: httpx.Response) -> str:
    try:
        problem = msgspec.json.decode(response.content)
    except msgspec.MsgspecError:
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return str(detail or f"The server returned {response.status_code} {response.reason_phrase}.")


def _reports_broken_stream(event: SseEvent) -> bool:
    """Return whether an event reports that the server's run log failed; it has no position."""
    return _BROKEN in event.data and not event.id and f'"errorCode":"{_BROKEN}"' in event.data


# ---------------------------------------------------------------------------
# Runs a server in a thread of this process, for a command that is its client.
#
# It runs in a thread so that a blocking tool does not freeze the console, and on a loopback port so that
# there is only one way to talk to a server.


LAST_SECONDS = 2
"""Seconds for connections and runs to end after the command is done."""


def own_settings(*, kept: bool) -> Settings:
    """Return the settings of a server that stores nothing, or in the data folder of `serve`."""
    if not kept:
        return Settings(log="memory:", sessions="memory://", artifacts="memory://")
    return Settings(data_dir=read_settings({"insecure": True}, os.environ, Path.cwd()).data_dir)


@contextmanager
def serving(agents_dir: str, settings: Settings, say: Callable[[str], object]) -> Iterator[str]:
    """Serve until the block ends; yield the URL. Raise `PrismError` if the server cannot start."""
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.server.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(agents_dir or None, settings, report=DiagnosticPrinter(say))
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                http="httptools",
                timeout_graceful_shutdown=LAST_SECONDS,
            )
        )
        thread = threading.Thread(target=server.run, args=([listener],), name="own server")
        thread.start()
        try:
            server.settled.wait()
            if not server.started:
                raise LogError("the command's own server did not start; see the messages above.")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that signals when its startup has finished, successfully or not."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then signal it."""
        try:
            await super().startup(sockets)
        finally:
            self.settled.set()
