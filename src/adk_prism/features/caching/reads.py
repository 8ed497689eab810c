"""Conditional and partial reads of runs that have ended (RFC 9110, RFC 9111).

A run that has ended does not change, but it can be deleted, a share link can be revoked, and a new version
of this server can show it in another way. So a cache may keep what it was sent and has to ask again each
time it uses it: `max-age=0, must-revalidate`. What it is told then is 304 without a body, or 404. Only the
files in a run's log, which nothing shows in another way, keep their own `immutable`, in private caches.

- `private`, unless a share link was opened: whoever has the link may read the run, so a CDN may keep it.
- `Vary` names the headers by which callers are known, and those that change the bytes.
- A run that goes on, an error, and a 204 are not stored at all.

The tag of an answer comes from everything that decides its bytes, without making them: 304 costs no reading
of the log. A run's files are tagged by their bytes: an artifact can be written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism import extension
from adk_prism.errors import PrismError
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import RunId
from adk_prism.log.private_files import Recent
from adk_prism.protocols import registry
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Guest, caller_of
from adk_prism.server.identity.identity import check_run
from adk_prism.server.run_streams import base_url
from adk_prism.version import VERSION


class Kept(NamedTuple):
    """How the answers of a route are kept."""

    has_ranges: bool = False
    """The answer is a file, of which a client can fetch a part."""
    by_bytes: bool = False
    """Tagged by its bytes, not by what decides them."""
    never_with: str = ""
    """A parameter of the query with which nothing is kept."""


ROUTES = {
    "/api/runs/{run}/stream": Kept(),
    "/api/runs/{run}/view": Kept(),
    # Model calls are kept beside the run, and for a shorter time.
    "/api/runs/{run}/recording": Kept(has_ranges=True, never_with="model_calls"),
    "/api/runs/{run}/files/{cursor}/{part}": Kept(has_ranges=True, by_bytes=True),
}

CREDENTIALS = ("authorization", "cookie", "x-api-key")
"""Headers by which callers are known, beside the one that a proxy sets."""
SHAPING = ("last-event-id", "accept-encoding")
"""Headers that change the bytes."""

REVALIDATED = "max-age=0, must-revalidate"
MOST_LENGTHS = 1024
"""Recordings whose length is kept, so that the parts of one are not measured each time."""

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_TAGS = re.compile(r'(?:W/)?"[^"]*"')


@dataclass(frozen=True, slots=True)
class CachedReads:
    """Answers of one server about runs that have ended."""

    context: Context
    made_by: str
    """A digest of what is the same for all answers (`made_by`)."""
    lengths: Recent[str, int] = field(default_factory=lambda: Recent(MOST_LENGTHS))

    def wrap(self, routes: Sequence[BaseRoute]) -> None:
        """Change the routes whose answers can be kept."""
        for route in routes:
            if isinstance(route, APIRoute) and route.path in ROUTES:
                route.app = partial(self._serve, route.app, ROUTES[route.path])

    async def _serve(
        self, app: ASGIApp, kept: Kept, scope: Scope, receive: Receive, send: Send
    ) -> None:
        request = Request(scope)
        run = await self._ended(request)
        if run is None or kept.never_with in request.query_params:
            await app(scope, receive, partial(_send_unkept, send))
            return
        answer = _Exchange(request, self._headers(request), receive, send)
        if kept.by_bytes:
            await _answer_file(app, answer)
            return
        tag = self._tag(request, run)
        if answer.is_known(tag):
            await answer.send_not_modified(tag)
        elif kept.has_ranges and answer.wanted(tag):
            await answer.send_part(app, tag, await self._length(app, answer, tag))
        else:
            await answer.send_whole(app, tag, has_ranges=kept.has_ranges)

    async def _ended(self, request: Request) -> RunSummary | None:
        """Return the run, if it has ended and the caller may read it."""
        run = RunId(request.path_params["run"])
        try:
            summary = await check_run(self.context.log, caller_of(request), run)
        except PrismError:  # The route says what is wrong.
            return None
        return summary if summary.outcome is not None else None

    def _tag(self, request: Request, run: RunSummary) -> str:
        """Return the tag of an answer, from everything that decides its bytes."""
        context, settings = self.context, self.context.settings
        shows_errors = context.errors.completion(request.scope) is not None
        about = [
            self.made_by,
            base_url(request, settings),
            (run.run, run.cursor, run.ended),
            request.scope["path"],
            request.scope["query_string"].decode("latin-1"),
            [request.headers.get(name, "") for name in SHAPING],
            context.errors.newest if shows_errors else None,
        ]
        return _quoted(msgspec.json.encode(about))

    def _headers(self, request: Request) -> dict[str, str]:
        """Return who may keep an answer, and what it depends on beside its address."""
        by_proxy = self.context.settings.proxy_user_header.lower()
        vary = ", ".join(filter(None, (*CREDENTIALS, by_proxy, *SHAPING)))
        shown = "public" if isinstance(caller_of(request), Guest) else "private"
        return {"cache-control": f"{shown}, {REVALIDATED}", "vary": vary}

    async def _length(self, app: ASGIApp, answer: _Exchange, tag: str) -> int | None:
        """Return the bytes of a whole answer; None if it is no success."""
        if tag not in self.lengths:
            measured = _Measured()
            await app(answer.request.scope, answer.receive, measured.take)
            if measured.status != 200:
                return None
            self.lengths[tag] = measured.size
        return self.lengths[tag]


async def _send_unkept(send: Send, message: Message) -> None:
    """Send an answer that nobody may store."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(raw=message["headers"])
        headers["cache-control"] = _with_transform("no-store", headers)
    await send(message)


def _with_transform(control: str, headers: Mapping[str, str]) -> str:
    """Return a `cache-control` with the `no-transform` that the headers have: streams need it."""
    is_fixed = "no-transform" in headers.get("cache-control", "")
    return f"{control}, no-transform" if is_fixed else control


def made_by(used: Iterable[str], prices: str) -> str:
    """Return a digest of what makes answers: this version, features and protocols, the file of prices."""
    found = [
        point for group in (extension.GROUP, registry.GROUP) for point in entry_points(group=group)
    ]
    versions = [(point.value, point.dist.version if point.dist else "") for point in found]
    list_of_prices = _quoted(Path(prices).read_bytes()) if prices else ""
    return _quoted(msgspec.json.encode([VERSION, sorted(used), sorted(versions), list_of_prices]))


def _quoted(data: bytes) -> str:
    return f'"{sha256(data).hexdigest()[:32]}"'


class _Measured:
    """Counts the bytes of an answer that is sent to nobody."""

    status = 0
    size = 0

    async def take(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.size += len(message.get("body", b""))


class _Part(NamedTuple):
    """Bytes `first` to `last` of a file, both included."""

    first: int
    last: int


@dataclass(slots=True)
class _Exchange:
    """One request whose answer is kept, and the way back."""

    request: Request
    headers: dict[str, str]
    receive: Receive
    send: Send

    def is_known(self, tag: str) -> bool:
        """Return whether the client has this answer already."""
        known = self.request.headers.get("if-none-match", "")
        tags = (each.removeprefix("W/") for each in _TAGS.findall(known))
        return known.strip() == "*" or tag in tags

    def wanted(self, tag: str) -> str:
        """Return the `Range` that is asked for; empty where the whole is to be sent."""
        asked = self.request.headers.get("range", "").strip()
        condition = self.request.headers.get("if-range", tag).strip()
        match = _RANGE.fullmatch(asked)
        # One that is none, or several, may be passed over (RFC 9110, 14.2).
        return asked if match and match[0] != "bytes=-" and condition == tag else ""

    async def send_not_modified(self, tag: str) -> None:
        """Send 304."""
        response = Response(status_code=304, headers=self.headers | {"etag": tag})
        await response(self.request.scope, self.receive, self.send)

    async def send_whole(self, app: ASGIApp, tag: str, *, has_ranges: bool = False) -> None:
        """Send what a route answers, with its tag."""
        more = {"etag": tag} | ({"accept-ranges": "bytes"} if has_ranges else {})

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 200:
                    self._describe(message, more)
                else:
                    MutableHeaders(raw=message["headers"])["cache-control"] = "no-store"
            await self.send(message)

        await app(self.request.scope, self.receive, sending)

    async def send_part(self, app: ASGIApp, tag: str, size: int | None) -> None:
        """Send the part that is asked for of what a route answers with so many bytes."""
        part = _part_of(self.wanted(tag), size) if size is not None else None
        if size is None:
            await self.send_whole(app, tag)
        elif part is None:
            outside = {"content-range": f"bytes */{size}", "cache-control": "no-store"}
            response = Response(status_code=416, headers=outside)
            await response(self.request.scope, self.receive, self.send)
        else:
            await app(self.request.scope, self.receive, self._cutting(part, tag, size))

    def _cutting(self, part: _Part, tag: str, size: int) -> Send:
        """Return what sends only a part of what it is given."""
        position = 0
        about = {
            "etag": tag,
            "accept-ranges": "bytes",
            "content-range": f"bytes {part.first}-{part.last}/{size}",
            "content-length": str(part.last - part.first + 1),
        }

        async def cut(message: Message) -> None:
            nonlocal position
            if message["type"] == "http.response.start":
                message["status"] = 206
                self._describe(message, about)
                await self.send(message)
                return
            body, begin = message.get("body", b""), position
            position += len(body)
            piece = body[max(0, part.first - begin) : max(0, part.last + 1 - begin)]
            if piece or not message.get("more_body"):
                await self.send({**message, "body": piece})

        return cut

    def _describe(self, message: Message, more: Mapping[str, str]) -> None:
        headers = MutableHeaders(raw=message["headers"])
        own = headers.get("cache-control", "")
        # Files in the log never change; what whoever has a link may see can still be taken back.
        keeps_own = "max-age=" in own and self.headers["cache-control"].startswith("private")
        control = own if keeps_own else _with_transform(self.headers["cache-control"], headers)
        headers.update({**self.headers, **more, "cache-control": control})


async def _answer_file(app: ASGIApp, answer: _Exchange) -> None:
    """Send a file of a run: one that is in memory with its tag and by ranges, else as it comes."""
    held: list[Message] = []

    async def hold(message: Message) -> None:
        kind, is_more = message["type"], message.get("more_body", False)
        is_held = message.get("status") == 200 and not _has_ranges(message)
        begins = not held and kind == "http.response.start" and is_held
        if begins or (len(held) == 1 and not is_more):
            held.append(message)
            return
        for early in held[:1]:  # An error, or a store's own stream, which has its own ranges.
            await answer.send(early)
        held.clear()
        await answer.send(message)

    await app(answer.request.scope, answer.receive, hold)
    if not held:
        return

    async def again(_: Scope, __: Receive, send: Send) -> None:
        for message in held:
            await send(message)

    body: bytes = held[1]["body"]
    tag = _quoted(body)
    if answer.is_known(tag):
        await answer.send_not_modified(tag)
    elif answer.wanted(tag):
        await answer.send_part(again, tag, len(body))
    else:
        await answer.send_whole(again, tag, has_ranges=True)


def _has_ranges(start: Message) -> bool:
    return "accept-ranges" in MutableHeaders(raw=start["headers"])


def _part_of(asked: str, size: int) -> _Part | None:
    """Return the part that a `Range` names of a file; None if it is outside of it."""
    match = _RANGE.fullmatch(asked)
    assert match is not None, "wanted() returns a range"
    first, last = match[1], match[2]
    if not first:
        part = _Part(max(0, size - int(last)), size - 1)
    else:
        part = _Part(int(first), min(int(last), size - 1) if last else size - 1)
    return part if part.first <= part.last else None
