"""Who may call: Host and Origin, on HTTP and on WebSocket handshakes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from adk_prism.errors import Diagnostic, UsageError
from adk_prism.server.host_and_origin import MOST_ORIGINS, Guard
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
    more: dict[str, str] = field(default_factory=dict)
    """Further headers."""


DEV = {"dev": True}
PUBLIC = "https://agents.example"
LISTED: dict[str, Any] = {"allow_host": ("agents.example",)}
KNOWN: dict[str, Any] = {"proxy_user_header": "x-user"}
FORWARDED = {"x-forwarded-host": "agents.example", "x-forwarded-proto": "https"}

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
    Call("not over loopback: a name", False, host="agents.example", server=LAN),
    Call("not over loopback: a rebound name and port", False, host="evil.example:8000", server=LAN),
    Call("not over loopback: an address", True, host="192.168.1.7:8000", server=LAN),
    Call("not over loopback: an IPv6 address", True, host="[fd00::7]:8000", server=LAN),
    Call("not over loopback: IPv6 without brackets", False, host="fd00::7", server=LAN),
    Call("not over loopback: an address and more", False, host="10.0.0.7.nip.io", server=LAN),
    Call("not over loopback: a private name", True, host="prism:8000", server=LAN),
    Call("not over loopback, callers known", True, host="x.example", server=LAN, settings=KNOWN),
    Call("not over loopback, listed", True, host="agents.example:80", server=LAN, settings=LISTED),
    Call("not over loopback, not listed", False, host="other.example", server=LAN, settings=LISTED),
    Call("listed, and a private name", False, host="prism:8000", server=LAN, settings=LISTED),
    Call("listed, callers known", False, host="x.example", server=LAN, settings=LISTED | KNOWN),
    Call("a probe of the pod's address", True, host="10.4.0.9:8000", server=LAN, settings=LISTED),
    Call("over loopback: an address elsewhere", False, host="10.4.0.9:8000", settings=LISTED),
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
        "public url, behind a proxy that changes Host",
        True,
        origin="https://agents.example",
        settings={"public_url": "https://agents.example/prefix"},
    ),
    Call("--dev: a page of this machine", True, origin="http://localhost:3000", settings=DEV),
    Call("--dev: by address", True, origin="http://127.0.0.1:5173", settings=DEV),
    Call("--dev: IPv6", True, origin="http://[::1]:3000", settings=DEV),
    Call("--dev: TLS", True, origin="https://localhost:3000", settings=DEV),
    Call("--dev: another machine's", False, origin="http://192.168.1.7:3000", settings=DEV),
    Call("--dev: another site", False, origin="https://evil.example", settings=DEV),
    Call("--dev: begins like us", False, origin="http://localhost.evil.example", settings=DEV),
    Call("--dev: null", False, origin="null", settings=DEV),
    Call(
        "--dev: not over loopback",
        False,
        host="x.example",
        origin="http://localhost:3000",
        server=LAN,
        settings=DEV,
    ),
    Call("--dev: a rebound name", False, host="evil.example:8000", settings=DEV),
    Call("forwarded host, from anybody", False, origin=PUBLIC, more=FORWARDED),
    Call(
        "forwarded host, from a trusted proxy",
        True,
        origin=PUBLIC,
        more=FORWARDED,
        settings={"trusted_proxy": ("127.0.0.0/8",)},
    ),
    Call(
        "forwarded host, from another than the trusted proxy",
        False,
        origin=PUBLIC,
        more=FORWARDED,
        settings={"trusted_proxy": ("10.0.0.5",)},
    ),
    Call(
        "forwarded host of a client before the proxy's own",
        False,
        origin="https://evil.example",
        more={"x-forwarded-host": "evil.example, agents.example", "x-forwarded-proto": "https"},
        settings={"trusted_proxy": ("127.0.0.1",)},
    ),
    Call(
        "forwarded host that is another origin",
        False,
        origin="https://evil.example",
        more=FORWARDED,
        settings={"trusted_proxy": ("127.0.0.1",)},
    ),
    Call(
        "forwarded host does not excuse a rebound name",
        False,
        host="evil.example",
        origin=PUBLIC,
        more=FORWARDED,
        settings={"trusted_proxy": ("127.0.0.1",)},
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

    def __init__(self, settings: Settings, *, listens: bool = True) -> None:
        self.reached = False
        self.sent: list[Message] = []
        self.reports: list[Diagnostic] = []
        self._guard = Guard(self._app, settings, self.reports.append, listens=listens)

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
    def detail(self) -> str:
        """What the last refusal says."""
        return str(json.loads(self.sent[-1]["body"])["detail"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


def scope_of(call: Call, kind: str = "http", method: str = "GET", **headers: str) -> Scope:
    named = {"host": call.host, "origin": call.origin, **call.more} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return {
        "type": kind,
        "method": method,
        "path": "/health",
        "scheme": call.scheme if kind == "http" else call.scheme.replace("http", "ws"),
        "server": call.server,
        "client": ("127.0.0.1", 1),
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


# --------------------------------------------------------------------------- what a refusal says


@dataclass(frozen=True)
class Refused:
    id: str
    call: Call
    says: tuple[str, ...]
    not_said: str = "Settings"
    listens: bool = True


PAGE = "http://localhost:3000"
REFUSED = [
    Refused(
        "another origin",
        Call("", False, origin=PAGE),
        ("--allow-origin http://localhost:3000", "--public-url http://localhost:3000"),
    ),
    Refused(
        "another origin, of a program",
        Call("", False, origin=PAGE),
        (
            "Settings(allow_origin=('http://localhost:3000',))",
            "Settings(public_url='http://localho",
        ),
        not_said="--",
        listens=False,
    ),
    Refused(
        "a host, of a program",
        Call("", False, host="agents.example"),
        ("Settings(allow_host=(…,))", "Settings(public_url=…)"),
        not_said="--",
        listens=False,
    ),
    Refused(
        "nginx: the browser says that it is the same origin",
        Call("", False, origin=PUBLIC, more={"sec-fetch-site": "same-origin"}),
        ("a proxy", "changes Host", "'127.0.0.1:8000'", "--public-url https://agents.example"),
        not_said="--allow-origin",
    ),
    Refused(
        "Next.js: the proxy says what the page called",
        Call("", False, origin=PAGE, more={"x-forwarded-host": "localhost:3000"}),
        ("a proxy", "changes Host", "--public-url http://localhost:3000"),
        not_said="--allow-origin",
    ),
    Refused(
        "a proxy for another page",
        Call("", False, origin="https://evil.example", more=FORWARDED),
        ("--allow-origin https://evil.example",),
        not_said="changes Host",
    ),
    Refused("no origin that could be allowed", Call("", False, origin="null"), ("'null'",), "--"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_a_refusal_says_what_helps(case: Refused) -> None:
    """In the words of whoever runs the server; through a proxy, what the proxy does."""
    server = Server(Settings(**case.call.settings), listens=case.listens)
    await server.ask(scope_of(case.call, method="POST"))
    assert server.sent[0]["status"] == 403
    for words in case.says:
        assert words in server.detail
    assert case.not_said not in server.detail


async def test_the_operator_is_told_of_an_origin_once() -> None:
    """With the option that allows it, for each origin; of so many, and no more."""
    server = Server(Settings())
    for _ in range(3):
        for origin in ("http://localhost:3000", "http://localhost:5173"):
            await server.ask(scope_of(Call("", False, origin=origin)))
    assert [report.kind for report in server.reports] == ["origin refused"] * 2
    assert "--allow-origin http://localhost:3000" in server.reports[0].detail
    assert "--allow-origin http://localhost:5173" in server.reports[1].detail
    for number in range(2 * MOST_ORIGINS):
        await server.ask(scope_of(Call("", False, origin=f"http://{number}.example")))
    assert len(server.reports) == MOST_ORIGINS
    assert not server.reached


@pytest.mark.parametrize(
    "settings",
    [{"host": "0.0.0.0", "insecure": True}, {"public_url": "https://agents.example"}],
    ids=["other machines", "a public address"],
)
def test_dev_is_for_one_machine(settings: dict[str, Any]) -> None:
    """Where others reach the server, pages of their machines would be let in: one clear line."""
    with pytest.raises(UsageError, match="--dev") as refused:
        Settings(dev=True, **settings)
    assert "--allow-origin" in refused.value.detail
    assert "\n" not in refused.value.detail
