"""The connection to one remote app: found on first use, with the dialect that its server speaks.

`/version` says which server it is, where there is one. The app is looked for in `/list-apps`, so that a wrong
name or address is said before anything runs.
"""

from __future__ import annotations

import asyncio
import shlex
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import httpx
import msgspec
from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

from adk_prism import errors
from adk_prism.features.remote.settings import AUTO, DIALECTS, Dialect, Refusals, Remote

# ---------------------------------------------------------------------------
# HTTP and WebSockets to one remote ADK server, with limits: what it answers is untrusted input.
#
# httpx speaks HTTP/1.1, with TLS, kept connections and the proxy that the environment names. No
# redirect is followed, no cookie kept, nothing is decompressed. An answer has a size and a time; a
# stream has a size of one event and a time between two (`source`). The head of an answer is bounded
# by h11, at 100 KiB. Each failure is one `RemoteFailed` with text that is safe for a client, and one
# line for the operator with the address.
#
# What proves who calls are fixed headers, and a token from a command of the operator's. The token is
# kept until the remote refuses it. Neither is ever logged.

Method = Literal["GET", "POST", "PATCH", "DELETE"]

IDLE = 2.0
"""Seconds for which a connection is kept: servers close theirs after five, and one that is closed while a
request is on its way loses the request."""

MOST_IDLE = 32
"""Connections that are kept."""

COMMAND_TIME = 30.0
"""Seconds that the token command may take."""

LONGEST_TOKEN = 16 * 1024

_SENT = {"content-type": "application/json", "accept-encoding": "identity"}
"""No compression: a small answer could unpack to gigabytes."""

_CREDENTIALS_REFUSED = (
    "it does not accept our credentials (401); set --remote-header or --remote-token-command"
)
_MEANINGS = {
    401: _CREDENTIALS_REFUSED,
    403: "it does not allow our credentials this (403)",
    429: "it has too many requests (429); try again later",
}
_LIVE_MEANINGS = {
    401: _CREDENTIALS_REFUSED,
    403: "it refuses live runs (403)",
    404: "it has no route for live runs",
}
EVENTS = ("text/event-stream",)
NONE: Refusals = {}
_REFUSALS: Refusals = {404: errors.NotFound, 409: errors.Conflict, 422: errors.Unprocessable}
"""What the remote may say of a request, and the caller handles."""


def path_of(*names: str) -> str:
    """Return a path of these names, each as one segment."""
    return "".join(f"/{quote(name, safe='')}" for name in names)


class RemoteClient:
    """Calls one remote."""

    def __init__(self, remote: Remote, report: errors.Report) -> None:
        self._remote = remote
        self._report = report
        self._credentials = Credentials(remote)
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:  # Only now: loading certificates takes a while.
            self._http = httpx.AsyncClient(
                timeout=httpx.Timeout(None, connect=self._remote.connect),
                limits=httpx.Limits(max_keepalive_connections=MOST_IDLE, keepalive_expiry=IDLE),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
            )
        return self._http

    async def ask(
        self, method: Method, path: str, body: Any = None, refusals: Refusals = NONE
    ) -> bytes:
        """Return the JSON that the remote answers.

        Raise `NotFound`, `Conflict` or `Unprocessable` where it says so, or as `refusals` mean it; else
        `RemoteFailed`.
        """
        opening = self._open(method, path, body, refusals=refusals)
        try:
            async with asyncio.timeout(self._remote.answer), opening as response:
                return await self._body(response)
        except TimeoutError:
            raise self.failed(f"it did not answer within {self._remote.answer:g} seconds") from None

    @asynccontextmanager
    async def stream(
        self, path: str, body: Any, kinds: tuple[str, ...] = EVENTS
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream of events, and give its bytes; closing it stops the run. Raise as `ask` does.

        Whoever reads it limits how long that takes, and calls `broken` for an `httpx.TransportError`.
        """
        async with self._open("POST", path, body, accept=", ".join(kinds)) as response:
            kind = response.headers.get("content-type", "")
            if not kind.startswith(kinds):
                raise self.failed(f"it answered {_kind(kind)} instead of a stream of events")
            yield response.aiter_raw()

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ClientConnection]:
        """Open a WebSocket; it is closed with its block. Raise `RemoteFailed`."""
        socket = await self._connected_socket(path)
        try:
            yield socket
        finally:
            await socket.close()

    async def _connected_socket(self, path: str) -> ClientConnection:
        remote = self._remote
        for is_last in (not self._credentials.can_renew, True):
            headers = await self._credentials.headers()
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
                    why = _LIVE_MEANINGS.get(status) or f"it answered with status {status}"
                    raise self.failed(why) from None
                self._credentials.forget(headers)
            except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
                raise self.failed("no connection for a live run", str(error)) from None
        raise AssertionError("the last attempt returns")

    @asynccontextmanager
    async def _open(
        self,
        method: Method,
        path: str,
        body: Any,
        accept: str = "application/json",
        refusals: Refusals = NONE,
    ) -> AsyncIterator[httpx.Response]:
        response = await self._send(method, path, body, accept)
        try:
            self._check(response, {**_REFUSALS, **refusals})
            yield response
        finally:
            # A body that was not read closes its connection. That is needed after a failure: uvicorn
            # closes the connection then, and does not say so.
            await response.aclose()

    async def _send(self, method: Method, path: str, body: Any, accept: str) -> httpx.Response:
        data = None if body is None else msgspec.json.encode(body)
        for is_last in (not self._credentials.can_renew, True):
            headers = await self._credentials.headers()
            try:
                response = await self._request(
                    method, path, {**_SENT, "accept": accept, **headers}, data
                )
            except (httpx.TransportError, httpx.InvalidURL) as error:
                raise self.broken(error) from None
            if is_last or response.status_code != HTTPStatus.UNAUTHORIZED:
                return response
            await response.aclose()
            self._credentials.forget(headers)
        raise AssertionError("the last attempt returns")

    async def _request(
        self, method: Method, path: str, headers: dict[str, str], data: bytes | None
    ) -> httpx.Response:
        client = self._client()
        sent = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]
        request = client.build_request(method, self._remote.url + path, headers=sent, content=data)
        try:
            return await _sent(client, request)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if method != "GET":
                raise
            # The server may have closed a kept connection meanwhile. Reading again changes nothing.
            return await _sent(client, request)

    def _check(self, response: httpx.Response, refusals: Refusals) -> None:
        status = response.status_code
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

    async def _body(self, response: httpx.Response) -> bytes:
        kind = response.headers.get("content-type", "")
        found = bytearray()
        try:
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) > self._remote.body_bytes:
                    raise self.failed(f"its answer is larger than {self._remote.body_bytes} bytes")
        except httpx.TransportError as error:
            raise self.broken(error) from None
        if found and "json" not in kind:
            raise self.failed(f"it answered {_kind(kind)} instead of JSON; is the address right?")
        return bytes(found)

    # ------------------------------------------------------------------ failures

    def broken(self, error: httpx.TransportError | httpx.InvalidURL) -> errors.RemoteFailed:
        """Return what a failure of the connection means."""
        return self.failed(_meaning(error), str(error))

    def failed(self, why: str, cause: str = "") -> errors.RemoteFailed:
        """Tell the operator; return the error for the client."""
        name = self._remote.name
        self._report(
            errors.Diagnostic(
                kind="remote failed",
                detail=f"{name} at {self._remote.url}: {why}.",
                app=name,
                cause=cause,
            )
        )
        return errors.RemoteFailed(f"The remote app {name!r} cannot be used: {why}.")


async def _sent(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    try:
        return await client.send(request, stream=True)
    except AttributeError as error:  # anyio asks a connection for its address that was just closed
        raise httpx.ReadError(f"the connection was closed ({error})") from error


def _meaning(error: httpx.TransportError | httpx.InvalidURL) -> str:
    """Return what a failure of the connection means, without the address."""
    if isinstance(error, httpx.ProxyError):
        return f"the proxy does not connect to it ({str(error)[:3]})"
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.InvalidURL):
        tls = _find_tls_error(error)
        if tls is None:
            return "no connection to its server"
        return f"TLS failed ({(tls.reason or 'no handshake').lower().replace('_', ' ')})"
    if isinstance(error, httpx.RemoteProtocolError) and not _is_cut_off(error):
        return "it does not speak HTTP, or the headers of its answer are too large"
    return "the connection to its server was lost"


def _find_tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _is_cut_off(error: httpx.RemoteProtocolError) -> bool:
    """Return whether an answer did not come to its end, as httpcore and h11 word it."""
    return "disconnected" in str(error) or "closed connection" in str(error)


def _kind(content_type: str) -> str:
    """Return a content type as it may be shown."""
    kind = content_type.partition(";")[0].strip()
    return kind[:40] if kind.isascii() and kind.isprintable() and kind else "something unnamed"


class _Connect(connect):
    """Follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Credentials:
    """The headers of every request to one remote."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._token = ""
        self._asking = asyncio.Lock()

    @property
    def can_renew(self) -> bool:
        """Whether another token can be had when one is refused."""
        return bool(self._remote.token_command)

    async def headers(self) -> dict[str, str]:
        """Return the headers. Raise `RemoteFailed` if the token command fails."""
        headers = dict(self._remote.headers)
        if self._remote.token_command:
            headers["authorization"] = f"Bearer {await self._known_token()}"
        return headers

    def forget(self, headers: dict[str, str]) -> None:
        """Drop the token that these headers hold: it was refused."""
        if headers.get("authorization") == f"Bearer {self._token}":
            self._token = ""

    async def _known_token(self) -> str:
        async with self._asking:  # One command at a time, however many requests wait for it.
            if not self._token:
                self._token = await self._ask()
            return self._token

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(COMMAND_TIME):
                output = await _output(shlex.split(self._remote.token_command))
        except (OSError, ValueError, TimeoutError) as error:
            raise self._failed(type(error).__name__) from None
        token = output.decode(errors="replace").strip()
        if (
            not token
            or len(token) > LONGEST_TOKEN
            or not token.isascii()
            or not token.isprintable()
        ):
            raise self._failed("it printed no token")
        return token

    def _failed(self, why: str) -> errors.RemoteFailed:
        return errors.RemoteFailed(
            f"The token command of the remote app {self._remote.name!r} failed ({why})."
        )


async def _output(words: list[str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
        raise
    if process.returncode:
        raise ValueError(f"exit code {process.returncode}")
    return output


# ---------------------------------------------------------------------------


class _Version(Struct):
    version: str = ""
    language: str = ""


class AgentInfo(Struct, frozen=True):
    """One agent, as `app-info` describes it: in snake case, unlike everything else."""

    name: str = ""
    description: str = ""
    instruction: str = ""
    tools: list[dict[str, Any]] = []
    sub_agents: list[str] = []


class AppInfo(Struct, frozen=True, rename="camel"):
    """What a server says of an app."""

    root_agent_name: str = ""
    description: str = ""
    agents: dict[str, AgentInfo] = {}
    is_derived: bool = False
    """Read from what the server tells its page: of what kind the root is, is not known."""


class _Tool(Struct, frozen=True):
    name: str


class _Drawn(Struct, frozen=True):
    """One agent, as `build_graph` describes it."""

    name: str
    type: str = ""
    description: str = ""
    tools: list[_Tool] = []
    sub_agents: list[_Drawn] = []


class _Drawing(Struct, frozen=True):
    root_agent: _Drawn


_read_version = msgspec.json.Decoder(_Version).decode
_read_names = msgspec.json.Decoder(list[str]).decode
_read_info = msgspec.json.Decoder(AppInfo, strict=False).decode
_read_drawing = msgspec.json.Decoder(_Drawing).decode


class Connection:
    """Speaks to one remote app."""

    def __init__(self, remote: Remote, client: RemoteClient) -> None:
        self.remote = remote
        self.client = client
        self.info = AppInfo()
        self._dialect: Dialect | None = None
        self._opening = asyncio.Lock()

    @property
    def app(self) -> str:
        """The app's name on its server."""
        return self.remote.app

    @property
    def is_open(self) -> bool:
        """Whether the app was found."""
        return self._dialect is not None

    @property
    def dialect(self) -> Dialect:
        """What its server speaks. The connection has to be open."""
        assert self._dialect is not None, "await open() first"
        return self._dialect

    async def open(self) -> None:
        """Find the app, unless it was found before. Raise `RemoteFailed`."""
        async with self._opening:
            if self._dialect is not None:
                return
            dialect = await self._detect()
            if not dialect.is_engine:
                await self._check_app(dialect)
                self.info = await self._read_info(dialect)
            self._dialect = dialect

    async def ask(
        self, method: Method, path: str, body: Any = None, refusals: Refusals = NONE
    ) -> bytes:
        """Return what the remote answers to a request of its own routes; raise as `RemoteClient.ask`."""
        await self.open()
        if self.dialect.is_engine:
            raise errors.NotSupported(
                f"The app {self.remote.name!r} runs on Agent Engine, which has no method for this."
            )
        return await self.client.ask(method, self.dialect.prefix + path, body, refusals)

    async def close(self) -> None:
        """Close it."""
        await self.client.close()

    async def _detect(self) -> Dialect:
        if self.remote.dialect != AUTO:
            return DIALECTS[self.remote.dialect]
        if self.remote.is_engine:
            return DIALECTS["agent-engine"]
        try:
            said = _read_version(await self.client.ask("GET", "/version"))
        except errors.NotFound:
            return await self._probe()
        except msgspec.MsgspecError:
            raise self.client.failed("its /version is not that of an ADK server") from None
        if said.language == "python":
            return DIALECTS["python-1" if said.version.startswith(("0.", "1.")) else "python"]
        name = (
            said.language.lower() or "typescript"
        )  # The only one that does not name its language.
        if name not in DIALECTS:
            raise self.client.failed(
                f"it is an ADK server in {name[:20]!r}, which this version does not speak"
            )
        return DIALECTS[name]

    async def _probe(self) -> Dialect:
        """Tell servers apart that have no `/version`: by where their apps are, and by FastAPI's document."""
        try:
            if await self._has("/api/list-apps"):
                return DIALECTS["go"]
            return DIALECTS["python-1" if await self._has("/openapi.json") else "java"]
        except errors.RemoteFailed as error:
            raise self.client.failed(
                f"it could not be told which kind of ADK server it is ({error.detail.rstrip('.')}); set"
                f" --remote-dialect to one of {', '.join(DIALECTS)}"
            ) from error

    async def _has(self, path: str) -> bool:
        """Return whether there is such a route; one that fails is there."""
        try:
            await self.client.ask("GET", path, refusals={500: errors.Conflict})
        except errors.NotFound:
            return False
        except errors.Conflict:
            return True
        return True

    async def _check_app(self, dialect: Dialect) -> None:
        try:
            names = _read_names(await self.client.ask("GET", dialect.prefix + "/list-apps"))
        except (errors.NotFound, msgspec.MsgspecError):
            raise self.client.failed("it has no list of apps; is it an ADK server?") from None
        if self.app not in names:
            raise self.client.failed(
                f"its server has no app {self.app!r}; set --remote-app", f"it has {names[:20]}"
            )

    async def _read_info(self, dialect: Dialect) -> AppInfo:
        """Return what the server says of the app; a root that is not an LlmAgent is not described."""
        try:
            if dialect.has_app_info:
                path = dialect.prefix + path_of("apps", self.app, "app-info")
                return _read_info(
                    await self.client.ask("GET", path, refusals={400: errors.NotFound})
                )
            if dialect.has_build_graph:
                path = dialect.prefix + path_of("dev", "apps", self.app, "build_graph")
                return _drawn(_read_drawing(await self.client.ask("GET", path)).root_agent)
        except (errors.PrismError, msgspec.MsgspecError, RecursionError):
            return AppInfo()
        return AppInfo()


def _drawn(root: _Drawn) -> AppInfo:
    """Return agents as `app-info` would describe them; nothing of a root that is not an agent."""
    if root.type != "agent":
        return AppInfo()
    found: dict[str, AgentInfo] = {}
    waiting = [root]
    while waiting:
        agent = waiting.pop()
        declared = [{"name": tool.name} for tool in agent.tools]
        found[agent.name] = AgentInfo(
            name=agent.name,
            description=agent.description,
            tools=[{"function_declarations": declared}] if declared else [],
            sub_agents=[member.name for member in agent.sub_agents],
        )
        waiting += agent.sub_agents
    return AppInfo(
        root_agent_name=root.name, description=root.description, agents=found, is_derived=True
    )
