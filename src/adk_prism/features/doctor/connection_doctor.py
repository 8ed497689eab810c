"""A running adk-prism server as it is reached through whatever is in between: `adk-prism doctor URL`.

Each finding is one plain line, with the remedy where there is a problem. No agent is run: the server has a
slow stream of its own for this (`GET /api/connection-check`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode, urlsplit

import httpx
import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from msgspec import Struct

from adk_prism.errors import UsageError
from adk_prism.features.conform.checks import CannotTry, Exchange, HttpResponse, read_json
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.run_streams import HEADERS, base_url
from adk_prism.server.settings import Settings
from adk_prism.version import VERSION

# ---------------------------------------------------------------------- remedies
#
# What to do about a connection that does not work as it should, in the words of the usual proxies.

BUFFERING = (
    "nginx: proxy_buffering off; and no proxy_ignore_headers X-Accel-Buffering. Others: switch the "
    "buffering of responses off for /api and /run_sse."
)
COMPRESSION = (
    "Switch compression off for text/event-stream (nginx: take it out of gzip_types; Express: a filter of "
    "compression()), since events wait until a block is full."
)
TIMEOUTS = "nginx: proxy_read_timeout 3600s; load balancers: raise the idle timeout."
SOCKETS = (
    "nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
    'proxy_set_header Connection "upgrade";'
)


def json_object(answer: HttpResponse) -> dict[str, Any]:
    """Return the object that an answer is; empty if it is none."""
    found = read_json(answer.body.decode(errors="replace"))
    return found if isinstance(found, dict) else {}


def unreached(answer: HttpResponse) -> tuple[str, str] | None:
    """Return why an answer is not the server's own, and what to do."""
    said = f"GET /health gets HTTP {answer.status}"
    if 300 <= answer.status < 400:
        where = answer.headers.get("location", "nowhere").removesuffix("/health")
        return f"{said}, a redirect", f"Use the address that it leads to: {where}"
    if answer.status in (502, 504):
        return (
            f"{said} from a proxy",
            "The proxy does not reach the server: check its address there.",
        )
    if answer.status == 404:
        return (
            f"{said}: there is no adk-prism at this path",
            "Give the path prefix, if there is one. A proxy has to take it off (nginx: location /prism/ "
            "{ proxy_pass http://127.0.0.1:8000/; }, with both slashes).",
        )
    status = json_object(answer).get("status")
    if status == "draining":
        return f"{said}: the server is going down", "Wait for the one that takes its place."
    if status is None:
        return f"{said}, which is not the server's: {answer.text[:120]}", "Check address and proxy."
    return None


# ---------------------------------------------------------------------- the checks

EVENTS, PAUSE = 5, 0.2
"""The slow stream: long enough to tell a pause from the jitter of a network."""
ATTEMPTS = 3
"""Times that a stream is tried before it is said to be held back: a busy client is late as well."""
CLOCK = 60.0
"""Seconds by which clocks may differ: what most verifiers of tokens allow."""
MARGIN = 1.0
"""Seconds by which the silence is longer than the server's keep-alive."""

Verdict = Literal["ok", "problem", "not tried"]


class Finding(Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    text: str
    remedy: str = ""


class Place(Struct, frozen=True, kw_only=True):
    """Where the server is looked for, and from where."""

    url: str
    origin: str = ""
    """Of a page that calls the server from elsewhere."""
    silence: float | None = None
    """Seconds of silence to try; None: somewhat more than the server's keep-alive."""

    @property
    def base(self) -> str:
        return self.url.rstrip("/")


class _Stop(Exception):
    """Nothing more can be tried."""


class Doctor:
    """Looks at one server."""

    def __init__(self, place: Place, exchange: Exchange) -> None:
        self._place = place
        self._exchange = exchange
        self._findings: list[Finding] = []
        self._about: dict[str, Any] = {}

    async def look(self) -> list[Finding]:
        """Return what was found. Raise `UsageError` for an address that is none."""
        if urlsplit(self._place.url).scheme not in ("http", "https"):
            raise UsageError("URL must begin with http:// or https://.")
        try:
            await self._reach()
            await self._sign_in()
            await self._version()
            await self._stream()
            await self._address()
            await self._own_page()
            await self._cors()
            await self._socket()
            await self._silence()
        except _Stop:
            pass
        except CannotTry as error:
            self._problem("reached", error.detail, "Try again: the server was there a moment ago.")
        return self._findings

    # -------------------------------------------------------------- small things

    def _ok(self, name: str, text: str) -> None:
        self._findings.append(Finding(name, "ok", text))

    def _problem(self, name: str, text: str, remedy: str) -> None:
        self._findings.append(Finding(name, "problem", text, remedy))

    def _skip(self, name: str, text: str) -> None:
        self._findings.append(Finding(name, "not tried", text))

    async def _get(self, path: str, **headers: str) -> HttpResponse:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self._exchange.send("GET", self._place.base + path, headers=given)

    async def _check(self, *, silence: float = 0.0, **headers: str) -> HttpResponse:
        events = 1 if silence else EVENTS
        query = urlencode({"events": events, "pause": PAUSE, "silence": silence or PAUSE})
        return await self._get(f"/api/connection-check?{query}", **headers)

    # -------------------------------------------------------------- is it there

    async def _reach(self) -> None:
        try:
            answer = await self._get("/health")
        except CannotTry as error:
            self._problem(
                "reached",
                error.detail,
                "Check the address and the port, and that the server listens on more than "
                "127.0.0.1 (--host) if it is called from another machine.",
            )
            raise _Stop from None
        wrong = unreached(answer)
        if wrong is not None:
            self._problem("reached", *wrong)
            raise _Stop
        self._ok("reached", "GET /health is answered")
        self._clock(answer)

    def _clock(self, answer: HttpResponse) -> None:
        try:
            there = parsedate_to_datetime(answer.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return self._skip("clock", "the answer has no date")
        apart = there - time.time()
        if abs(apart) <= CLOCK:
            return self._ok("clock", "the server's time is this machine's")
        word = "ahead of" if apart > 0 else "behind"
        return self._problem(
            "clock",
            f"the server's clock is {abs(apart):.0f} s {word} this machine's",
            "Synchronise both (NTP): tokens and tickets are good for a limited time.",
        )

    async def _sign_in(self) -> None:
        answer = await self._get("/api/me")
        if answer.status == 401:
            self._problem(
                "signed in",
                "the server asks who you are (401)",
                "Pass --token-file FILE, ADK_PRISM_TOKEN or --header; if you did, the token is not "
                "accepted, or a proxy takes the Authorization header off.",
            )
            raise _Stop
        found = json_object(answer)
        user = found.get("user")
        if answer.status != 200:
            self._problem("signed in", answer.text, "Read the answer: the server says why.")
            raise _Stop
        self._ok("signed in", f"as {user}" if user else "no sign-in: every caller is let in")

    async def _version(self) -> None:
        found = json_object(await self._get("/version"))
        if "adkPrism" not in found:
            self._problem(
                "version",
                "this is not an adk-prism server",
                "adk-prism conform URL --as adk tells whether it speaks ADK's protocol.",
            )
            raise _Stop
        here = "" if found["adkPrism"] == VERSION else f"; here is {VERSION}"
        text = f"adk-prism {found['adkPrism']}, google-adk {found.get('version')}{here}"
        self._ok("version", text)

    # -------------------------------------------------------------- streams

    async def _stream(self) -> None:
        for _ in range(ATTEMPTS):
            answer = await self._check(accept_encoding="gzip, br, deflate")
            if not self._is_checkable("streams", answer):
                return None
            self._about = read_json(answer.frames[0].data)
            encoding = answer.headers.get("content-encoding", "")
            if encoding:
                text = f"a proxy compresses streams ({encoding})"
                return self._problem("streams", text, COMPRESSION)
            sent, came = _spread(answer)
            if came >= sent / 2:
                return self._ok("streams", "events come as they are sent")
        text = f"events that the server sent over {sent:.1f} s came within {came:.1f} s"
        return self._problem("streams", f"a proxy holds streams back: {text}", BUFFERING)

    def _is_checkable(self, name: str, answer: HttpResponse) -> bool:
        if answer.status == 404:
            self._skip(name, "this version of the server has no stream for it")
            return False
        if answer.status != 200 or len(answer.frames) != EVENTS + 1:
            text = f"a slow stream broke off ({answer.ending}): {answer.text}"
            self._problem(name, text, TIMEOUTS)
            return False
        return True

    async def _silence(self) -> None:
        """Let a stream be silent for longer than the server ever is."""
        wished = self._place.silence
        if not self._about or wished == 0:
            return self._skip(
                "idle", "not asked for" if wished == 0 else "streams do not come through"
            )
        keep_alive = float(self._about["keepAlive"])
        seconds = keep_alive + MARGIN if wished is None else wished
        began = time.monotonic()
        answer = await self._check(silence=seconds)
        took = time.monotonic() - began
        if answer.status == 200 and len(answer.frames) == 2 and answer.ending == "complete":
            return self._ok("idle", f"a connection may be silent for {seconds:g} s")
        return self._problem(
            "idle",
            f"a silent connection is cut after {took:.1f} s (HTTP {answer.status}, {answer.ending}); "
            f"the server breaks a silence after {keep_alive:g} s",
            f"{TIMEOUTS} Or let the server speak more often (--keep-alive).",
        )

    # -------------------------------------------------------------- addresses and origins

    async def _address(self) -> None:
        base = str(self._about.get("base", ""))
        if not base:
            return self._skip("address", "streams do not come through")
        if _same(base, self._place.base):
            return self._ok("address", f"links begin with {base}")
        return self._problem(
            "address",
            f"links to files would begin with {base}, and you call the server as {_plain(self._place.base)}",
            f"adk-prism serve --public-url {_plain(self._place.base)}",
        )

    async def _own_page(self) -> None:
        """Ask as a page of the server's own address does."""
        parts = urlsplit(self._place.base)
        own = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        answer = await self._get("/api/me", origin=own, sec_fetch_site="same-origin")
        if answer.status == 403:
            said = str(json_object(answer).get("detail") or answer.text)
            return self._problem(
                "own page",
                f"a page at {own} is refused: {said[:200]}",
                "Let the proxy keep Host (nginx: proxy_set_header Host $host;), or: adk-prism serve "
                f"--public-url {_plain(self._place.base)}",
            )
        return self._ok("own page", f"a page at {own} may call")

    async def _cors(self) -> None:
        origin = self._place.origin
        if not origin:
            return self._skip("CORS", "pass --origin to try it for a page that is elsewhere")
        headers = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type",
        }
        url = f"{self._place.base}/api/chat/app"
        asked = await self._exchange.send("OPTIONS", url, headers=headers)
        answer = await self._get("/api/me", origin=origin)
        allow = f"adk-prism serve --allow-origin {origin}"
        for what, each in (("asking first (OPTIONS)", asked), ("calling (GET)", answer)):
            found = each.headers.get_list("access-control-allow-origin")
            if len(found) > 1 or any("," in value for value in found):
                remedy = "Take the header out of the proxy (nginx: add_header); the server sets it."
                text = f"{what} gets access-control-allow-origin twice, so browsers refuse it"
                return self._problem("CORS", text, remedy)
            if not 200 <= each.status < 300 or found not in ([origin], ["*"]):
                text = f"a page at {origin} may not call: {what} gets HTTP {each.status}"
                return self._problem("CORS", f"{text}, {found or 'no permission'}", allow)
        return self._ok("CORS", f"a page at {origin} may call")

    # -------------------------------------------------------------- sockets

    async def _socket(self) -> None:
        names = read_json((await self._get("/list-apps")).body.decode(errors="replace"))
        if not isinstance(names, list) or not names:
            return self._skip("WebSocket", "the server has no app to try it with")
        path = f"/api/chat/{quote(str(names[0]), safe='')}/socket"
        status = await self._exchange.upgrade(self._place.base + path)
        if status == httpx.codes.SWITCHING_PROTOCOLS:
            return self._ok("WebSocket", "a socket opens")
        return self._problem(
            "WebSocket",
            f"a socket does not open (HTTP {status}): a proxy does not pass it on",
            SOCKETS,
        )


def _spread(answer: HttpResponse) -> tuple[float, float]:
    """Return how far apart the first and the last event were sent, and came."""
    values = [read_json(frame.data) for frame in answer.frames]
    sent = float(values[-1]["sent"]) - float(values[0]["sent"])
    return sent, answer.times[-1] - answer.times[0]


def _same(one: str, other: str) -> bool:
    return str(httpx.URL(one)).rstrip("/") == str(httpx.URL(_plain(other))).rstrip("/")


def _plain(url: str) -> str:
    """Return an address without its password."""
    return str(httpx.URL(url).copy_with(userinfo=b"")).rstrip("/")


# ---------------------------------------------------------------------------
# `GET /api/connection-check`: a slow stream without a run, for `adk-prism doctor URL`.
#
# It tells when each event was sent, so that a client sees what a proxy in between does to it: whether events
# are held back, and whether a silence is cut. Its headers are those of every other stream.


MOST_EVENTS = 20
LONGEST_PAUSE = 1.0
LONGEST_SILENCE = 120.0
"""Longer than any keep-alive may be set to, and than the silence that usual proxies allow."""

Events = Annotated[int, Query(ge=1, le=MOST_EVENTS, description="Events after the first")]
Pause = Annotated[float, Query(ge=0, le=LONGEST_PAUSE, description="Seconds between two events")]
Silence = Annotated[float, Query(ge=0, le=LONGEST_SILENCE, description="Seconds before them")]


def routes(settings: Settings, lifecycle: Lifecycle) -> APIRouter:
    """Return the router. It is not in the schema, since it is no part of any protocol."""
    router = APIRouter(include_in_schema=False)

    @router.get("/api/connection-check", response_class=Response)
    async def check(
        request: Request, events: Events = 5, pause: Pause = 0.2, silence: Silence = 0.0
    ) -> StreamingResponse:
        """Stream some events slowly, after a silence; the first tells how this server is set up."""
        about = {"base": base_url(request, settings), "keepAlive": settings.keep_alive}
        pauses = [silence, *[pause] * (events - 1)]
        return StreamingResponse(_events(about, pauses, lifecycle), headers=HEADERS)

    return router


async def _events(
    about: dict[str, Any], pauses: list[float], lifecycle: Lifecycle
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    yield _event({**about, "sent": 0.0})
    for pause in pauses:
        # In short parts, so that a server that goes down does not wait for it.
        whole, rest = divmod(pause, LONGEST_PAUSE)
        for part in (*[LONGEST_PAUSE] * int(whole), rest):
            if not lifecycle.draining:
                await asyncio.sleep(part)
        yield _event({"sent": loop.time() - began})


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
