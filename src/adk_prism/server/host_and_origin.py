"""Checks Host and Origin of every request, and answers CORS for allowed origins.

`identity` authenticates callers later. Before that, and without authentication, the danger is a malicious
web page in a user's browser. DNS rebinding is prevented by the Host, on every method:

- a request over loopback must name this machine or a configured host (`--allow-host`, `--public-url`);
- one at any other address must name an address, or a configured host. If no host is listed it may also have a
  name that nobody can register;
- it may have any name if callers authenticate and no host is listed, since a rebound page has no credential;
- and over a Unix socket without `--insecure`, where only a proxy can connect.

Health checks name the address that they call, so they pass in all of these cases.

Cross-origin requests are refused by their Origin, on HTTP and on WebSocket handshakes, before anything is
read. Callers that send no Origin are not scripts in a browser, and pass; a route that starts something for a
GET asks for more (`FROM_PAGE_KEY`).

Cross-origin callers that are listed get CORS headers for themselves, never `*`. With `--dev` pages of this
machine are listed, whatever their port, for requests that come in over loopback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.errors import Diagnostic, Forbidden, PrismError, Report, ignore
from adk_prism.options import flag_name
from adk_prism.server import proxies
from adk_prism.server.problems import refuse
from adk_prism.server.settings import Settings

# ---------------------------------------------------------------------------
# The errors for an origin or host that is not allowed: for the caller, and once for the operator.
#
# A page on the same origin as the server, behind a proxy that keeps `Origin` and changes `Host`
# (Next.js rewrites, nginx `proxy_pass`), looks like a page of another origin. If the browser or the
# proxy shows that it is not, the error explains it and names the setting to use.

MOST_ORIGINS = 100
"""Origins that are reported, once each: any page can invent more."""


class Refusals:
    """Explains what is refused."""

    def __init__(self, report: Report, *, listens: bool) -> None:
        """`listens`: the server was started with command-line options, not from a program."""
        self._listens = listens
        self._report = report
        self._reported: set[str] = set()

    def of_host(self, shown: str) -> Forbidden:
        """Return why a Host is refused."""
        host, public = self._spelled("allow_host"), self._spelled("public_url")
        return Forbidden(
            f"Host {shown} is not accepted by this server;"
            f" the operator can allow it with {host} or {public}."
        )

    def of_origin(self, shown: str, origin: proxies.WebOrigin | None, scope: Scope) -> Forbidden:
        """Return why an Origin is refused; report it to the operator, once."""
        why = self._why(shown, origin, scope)
        if shown not in self._reported and len(self._reported) < MOST_ORIGINS:
            self._reported.add(shown)
            self._report(Diagnostic(kind="origin refused", detail=why))
        return Forbidden(why)

    def _spelled(self, name: str, value: str = "") -> str:
        """Return how a setting is written, as a command-line option or in a program."""
        if self._listens:
            return f"{flag_name(name)} {value}".rstrip()
        given = repr(value) if value else "…"
        is_many = isinstance(getattr(Settings, name), tuple)
        return f"Settings({name}=({given},))" if is_many else f"Settings({name}={given})"

    def _why(self, shown: str, origin: proxies.WebOrigin | None, scope: Scope) -> str:
        refused = f"Origin {shown} may not call this server"
        if origin is None:
            return f"{refused}: it is not an http or https origin."
        text = proxies.written(origin)
        public = self._spelled("public_url", text)
        if _is_same_origin_elsewhere(origin, scope):
            host = ascii(proxies.last_value(scope, b"host"))[:80]
            return (
                f"{refused}, which was called as {host}: a proxy in front of it changes Host."
                f" Start the server with {public}, or configure the proxy to keep Host."
            )
        allow = self._spelled("allow_origin", text)
        return (
            f"{refused}; the operator can allow it with {allow}, or, if it is the server's own"
            f" address behind a proxy, with {public}."
        )


def _is_same_origin_elsewhere(origin: proxies.WebOrigin, scope: Scope) -> bool:
    """Return whether the browser, or a proxy, says that the page and the server are of one origin."""
    if proxies.last_value(scope, b"sec-fetch-site") == "same-origin":
        return True
    forwarded = proxies.last_value(scope, b"x-forwarded-host")
    schemes = (
        proxies.last_value(scope, b"x-forwarded-proto"),
        proxies.page_scheme(scope),
        origin.scheme,
    )
    return bool(forwarded) and any(
        proxies.parse_origin(f"{scheme}://{forwarded}") == origin for scheme in schemes
    )


# ---------------------------------------------------------------------------

Headers = Iterable[tuple[bytes, bytes]]

EXPOSED = (
    b"x-prism-run, x-request-id, x-prism-problem, x-prism-reference, x-prism-search, link, retry-after,"
    b" content-disposition, etag, location, tus-resumable, tus-version, upload-expires, upload-length,"
    b" upload-offset"
)
"""Response headers that a script of an allowed origin may read."""

FROM_PAGE_KEY = "adk_prism.from_allowed_page"
"""In a scope: a function that tells whether a request comes from a page that may call us, or from none."""
_OWN_SITES = (b"same-origin", b"none")
"""From a page of this server, or typed by the user."""
_BROWSER = b"Mozilla/"
"""How the `User-Agent` of every browser begins; a script cannot change it in a request without an Origin."""

METHODS = b"GET, POST, PATCH, DELETE, OPTIONS"

PREFLIGHT_AGE = b"600"
"""Seconds a browser may remember a preflight: Chromium keeps none longer than two hours."""


class Guard:
    """Refuses requests by Host and Origin; adds CORS headers for the origins that are allowed."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        report: Report = ignore,
        *,
        listens: bool = True,
        known: bool = False,
    ) -> None:
        """`listens`: the server was started with command-line options, not from a program.

        `known`: callers authenticate in a way that is not in the settings.
        """
        self._app = app
        self._dev = settings.dev
        self._proxies = proxies.TrustedProxies(settings.trusted_proxy)
        self._refusals = Refusals(report, listens=listens)
        public = proxies.origin_of_url(settings.public_url)
        allowed = [proxies.parse_origin(text) for text in settings.allow_origin]
        self._origins = frozenset(origin for origin in (*allowed, public) if origin)
        patterns = [proxies.parse_pattern(text) for text in settings.allow_origin]
        self._patterns = [pattern for pattern in patterns if pattern]
        hosts = [proxies.parse_authority(text) for text in settings.allow_host]
        self._hosts = frozenset(host.host for host in (*hosts, public) if host)
        self._hosts_listed = bool(settings.allow_host)
        self._insecure = settings.insecure
        self._is_open = not (known or settings.has_identity)
        """Everybody who reaches the server may call it: so must no page whose name was rebound to it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope[FROM_PAGE_KEY] = partial(self._is_from_allowed_page, scope)
        refusal = self._check_host(scope) or self._check_origin(scope)
        if refusal is not None:
            await refuse(refusal, scope, receive, send)
            return
        origin = _only(scope["headers"], b"origin")
        if origin is None or scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif _is_preflight(scope):
            await _answer_preflight(origin, scope, send)
        else:
            await self._app(scope, receive, _with_cors(origin, send))

    def _check_host(self, scope: Scope) -> PrismError | None:
        is_loopback = _over_loopback(scope)
        is_strict = self._hosts_listed or is_loopback
        can_be_rebound = self._insecure or scope.get("server") is not None
        if not (is_strict or (self._is_open and can_be_rebound)):
            return None
        values = _values(scope["headers"], b"host")
        if not values:
            return None  # HTTP/1.0: no browser.
        authority = proxies.parse_authority(values[0]) if len(values) == 1 else None
        if authority and (proxies.is_loopback(authority.host) or authority.host in self._hosts):
            return None
        if authority and not is_loopback and proxies.is_address(authority.host):
            return None
        if authority and not is_strict and proxies.is_private_name(authority.host):
            return None
        return self._refusals.of_host(_shown(values))

    def _check_origin(self, scope: Scope) -> PrismError | None:
        values = _values(scope["headers"], b"origin")
        if not values:
            return None
        origin = proxies.parse_origin(values[0]) if len(values) == 1 else None
        if origin and self._is_allowed(origin, scope):
            return None
        return self._refusals.of_origin(_shown(values), origin, scope)

    def _is_from_allowed_page(self, scope: Scope) -> bool:
        """Return whether a GET comes from a page that may call the server, or from no page.

        A GET has no Origin. Browsers send `Sec-Fetch-Site`, but not over plain http to a named host. There a
        page of another site can choose all headers but two: `User-Agent`, by which a browser is known, and
        `Referer`, which is absent or true.
        """
        headers = scope["headers"]
        if _only(headers, b"origin") is not None:
            return True  # It was checked.
        site = _only(headers, b"sec-fetch-site")
        if site is not None:
            return site in _OWN_SITES
        if not (_only(headers, b"user-agent") or b"").startswith(_BROWSER):
            return True
        page = proxies.origin_of_url((_only(headers, b"referer") or b"").decode("latin-1"))
        return page is not None and self._is_allowed(page, scope)

    def _is_allowed(self, origin: proxies.WebOrigin, scope: Scope) -> bool:
        return (
            origin in self._origins
            or origin in (_own_origin(scope), self._proxies.origin(scope))
            or any(pattern.fullmatch(proxies.written(origin)) for pattern in self._patterns)
            or (self._dev and proxies.is_loopback(origin.host) and _over_loopback(scope))
        )


def _over_loopback(scope: Scope) -> bool:
    """Return whether the request came in at a loopback address."""
    server = scope.get("server")
    return server is not None and proxies.is_loopback(str(server[0]))


def _own_origin(scope: Scope) -> proxies.WebOrigin | None:
    host = _only(scope["headers"], b"host")
    scheme = proxies.page_scheme(scope)
    authority = proxies.parse_authority(host.decode("latin-1")) if host is not None else None
    if authority is None or scheme not in proxies.DEFAULT_PORTS:
        return None
    return proxies.WebOrigin(
        scheme, authority.host, authority.port or proxies.DEFAULT_PORTS[scheme]
    )


# --------------------------------------------------------------------------- CORS


def _is_preflight(scope: Scope) -> bool:
    wanted = _only(scope["headers"], b"access-control-request-method")
    return scope["method"] == "OPTIONS" and wanted is not None


async def _answer_preflight(origin: bytes, scope: Scope, send: Send) -> None:
    headers = [
        *_cors_headers(origin),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-max-age", PREFLIGHT_AGE),
        (b"content-length", b"0"),
    ]
    asked = _only(scope["headers"], b"access-control-request-headers")
    if asked is not None:
        headers.append((b"access-control-allow-headers", asked))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _with_cors(origin: bytes, send: Send) -> Send:
    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *_cors_headers(origin)]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_cors


def _cors_headers(origin: bytes) -> Sequence[tuple[bytes, bytes]]:
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-credentials", b"true"),
        (b"access-control-expose-headers", EXPOSED),
        (b"vary", b"origin"),
    )


# --------------------------------------------------------------------------- headers


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in headers if key == name]


def _only(headers: Headers, name: bytes) -> bytes | None:
    return next((value for key, value in headers if key == name), None)


def _shown(values: Sequence[str]) -> str:
    return ascii(", ".join(values))[:80]
