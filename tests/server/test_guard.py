"""Who may call: Host and Origin, on HTTP and on WebSocket handshakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from adk_prism.server.guards.guard import Guard
from adk_prism.server.settings import Settings

LOCAL = ("127.0.0.1", 8000)
LAN = ("192.168.1.7", 8000)


@dataclass(frozen=True)
class Call:
    id: str
    passes: bool
    host: str = "127.0.0.1:8000"
    origin: str | None = None
    server: tuple[str, int] | None = LOCAL
    scheme: str = "http"
    settings: dict[str, Any] = field(default_factory=dict)


CALLS = [
    Call("no origin", True),
    Call("localhost", True, host="localhost:8000"),
    Call("ipv6", True, host="[::1]:8000"),
    Call("root dot, upper case", True, host="LOCALHOST.:8000"),
    Call("rebound name", False, host="evil.example:8000"),
    Call("rebound name, same origin", False, host="evil.example", origin="http://evil.example"),
    Call("name that begins like us", False, host="127.0.0.1.evil.example:8000"),
    Call("port that goes on", False, host="127.0.0.1:8000.evil.example"),
    Call("user info", False, host="127.0.0.1@evil.example"),
    Call("empty host", False, host=""),
    Call("listed host", True, host="Agents.Example", settings={"allow_host": ("agents.example",)}),
    Call(
        "public url's host",
        True,
        host="agents.example",
        settings={"public_url": "https://agents.example/x"},
    ),
    Call("not over loopback: any host", True, host="agents.example", server=LAN),
    Call(
        "not over loopback, hosts listed",
        False,
        host="other.example",
        server=LAN,
        settings={"allow_host": ("agents.example",)},
    ),
    Call("unix socket: any host", True, host="agents.example", server=None),
    Call("same origin", True, origin="http://127.0.0.1:8000"),
    Call("same origin, default port", True, host="127.0.0.1", origin="http://127.0.0.1:80"),
    Call("same origin, TLS", True, host="localhost", origin="https://localhost", scheme="https"),
    Call("other scheme", False, host="localhost", origin="https://localhost"),
    Call("other port", False, origin="http://127.0.0.1:3000"),
    Call("other name of this machine", False, origin="http://localhost:8000"),
    Call("foreign origin", False, origin="https://evil.example"),
    Call(
        "foreign origin over LAN",
        False,
        host="x.example",
        origin="https://evil.example",
        server=LAN,
    ),
    Call("null origin", False, origin="null"),
    Call("empty origin", False, origin=""),
    Call("file origin", False, origin="file://"),
    Call("origin with path", False, origin="http://127.0.0.1:8000/x"),
    Call(
        "listed origin",
        True,
        origin="http://localhost:3000",
        settings={"allow_origin": ("http://localhost:3000",)},
    ),
    Call(
        "listed origin, other case",
        True,
        origin="https://app.example",
        settings={"allow_origin": ("HTTPS://APP.example:443",)},
    ),
    Call(
        "prefix of a listed origin",
        False,
        origin="https://app.example.evil",
        settings={"allow_origin": ("https://app.example",)},
    ),
    Call(
        "public url is same origin",
        True,
        host="agents.example",
        origin="https://agents.example",
        settings={"public_url": "https://agents.example/prefix"},
    ),
]


class Server:
    """An application behind the guard, and what it answered."""

    def __init__(self, settings: Settings) -> None:
        self.reached = False
        self.sent: list[Message] = []
        self._guard = Guard(self._app, settings)

    async def _app(self, scope: Scope, _receive: Receive, send: Send) -> None:
        self.reached = True
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, message: Message) -> None:
        self.sent.append(dict(message))

    async def _receive(self) -> Message:
        raise AssertionError("the guard reads nothing")

    async def ask(self, scope: Scope) -> None:
        await self._guard(scope, self._receive, self._send)

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


def scope_of(call: Call, kind: str = "http", method: str = "GET", **headers: str) -> Scope:
    named = {"host": call.host, "origin": call.origin} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return {
        "type": kind,
        "method": method,
        "path": "/health",
        "scheme": call.scheme if kind == "http" else call.scheme.replace("http", "ws"),
        "server": call.server,
        "headers": [(k.encode(), v.encode()) for k, v in named.items() if v is not None],
    }


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
async def test_http_callers(call: Call, method: str) -> None:
    """Refused is 403 with a problem, before the application; GET too, since reads are private."""
    server = Server(Settings(**call.settings))
    await server.ask(scope_of(call, method=method))
    assert server.reached is call.passes
    assert server.sent[0]["status"] == (200 if call.passes else 403)
    if not call.passes:
        assert server.headers[b"content-type"] == b"application/problem+json"
        assert b"access-control-allow-origin" not in server.headers


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
async def test_websocket_callers(call: Call) -> None:
    """A WebSocket is refused before it is accepted: with a 403, or a close that becomes one."""
    server = Server(Settings(**call.settings))
    await server.ask(scope_of(call, "websocket"))
    assert server.reached is call.passes
    if not call.passes:
        assert [message["type"] for message in server.sent] == ["websocket.close"]
        answering = Server(Settings(**call.settings))
        extensions = {"extensions": {"websocket.http.response": {}}}
        await answering.ask(scope_of(call, "websocket") | extensions)
        assert answering.sent[0]["type"] == "websocket.http.response.start"
        assert answering.sent[0]["status"] == 403


async def test_repeated_headers_are_refused() -> None:
    """Two Hosts or two Origins: whoever sends that hopes that two readers disagree."""
    for name, value in ((b"host", b"127.0.0.1:8000"), (b"origin", b"http://127.0.0.1:8000")):
        server = Server(Settings())
        scope = scope_of(Call("", True, origin="http://127.0.0.1:8000"))
        scope["headers"].append((name, value))
        await server.ask(scope)
        assert not server.reached


ALLOWED = Call("allowed", True, origin="http://localhost:3000")
LISTED = Settings(allow_origin=("http://localhost:3000",))


async def test_an_allowed_origin_may_read_the_answer() -> None:
    """CORS for that origin alone, with the run's header exposed; caches are told."""
    server = Server(LISTED)
    await server.ask(scope_of(ALLOWED))
    assert server.headers[b"access-control-allow-origin"] == b"http://localhost:3000"
    assert server.headers[b"vary"] == b"origin"
    assert b"x-prism-run" in server.headers[b"access-control-expose-headers"]
    assert b"*" not in b"".join(server.headers.values())


async def test_a_preflight_is_answered_by_the_guard() -> None:
    """The application never sees it; what was asked for is allowed."""
    server = Server(LISTED)
    asked = {
        "access_control_request_method": "POST",
        "access_control_request_headers": "content-type",
    }
    await server.ask(scope_of(ALLOWED, method="OPTIONS", **asked))
    assert not server.reached
    assert server.sent[0]["status"] == 204
    assert b"POST" in server.headers[b"access-control-allow-methods"]
    assert server.headers[b"access-control-allow-headers"] == b"content-type"


async def test_a_foreign_preflight_is_refused() -> None:
    """No CORS header: the browser then sends nothing."""
    server = Server(Settings())
    call = Call("", False, origin="https://evil.example")
    await server.ask(scope_of(call, method="OPTIONS", access_control_request_method="POST"))
    assert server.sent[0]["status"] == 403


async def test_lifespan_passes() -> None:
    """The guard looks at requests only."""
    server = Server(Settings())
    await server.ask({"type": "lifespan"})
    assert server.reached
