"""HTTP with the server under test: bounded in time and size, whatever it answers."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64encode
from collections import abc
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import count
from secrets import token_bytes, token_hex
from typing import Any, Literal
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Struct

from adk_prism.errors import SourceError, UsageError
from adk_prism.features.captures.client import shown_url
from adk_prism.features.captures.streams import SseDecoder, SseEvent

# ---------------------------------------------------------------------- check
#
# Checks, and the sheet on which a probe notes what it saw of each.
#
# A check that must hold fails; one that should hold gives advice, for what every client survives. A check
# that was never noted was not seen.


Level = Literal["must", "should"]
Verdict = Literal["passed", "failed", "advice", "not seen", "left out"]

MAX_FAULTS = 3
"""Faults of one check that are kept; one fault often repeats with every frame."""
MAX_EXCERPT = 240
"""Characters of what came that are shown."""


class Check(Struct, frozen=True):
    """One rule of a protocol."""

    id: str
    expected: str
    source: str
    """Where the protocol says so."""
    level: Level = "must"


_CHECKS = msgspec.toml.decode(
    files("adk_prism.features.conform").joinpath("checks.toml").read_bytes(),
    type=dict[str, dict[str, dict[str, str]]],
)


def checks_of(protocol: str) -> tuple[Check, ...]:
    """Return the checks of a protocol."""
    parts = ("stream", protocol, "mistakes", "client")
    rows = ((id, row) for part in parts for id, row in _CHECKS[part].items())
    return tuple(msgspec.convert({"id": id, **row}, Check) for id, row in rows)


class Fault(Struct, frozen=True):
    """One time that a rule was broken."""

    came: str
    where: str


class Result(Struct, frozen=True):
    """What was found for one check."""

    check: Check
    verdict: Verdict
    faults: tuple[Fault, ...] = ()
    count: int = 0
    """How often the rule was broken."""


class Sheet:
    """Collects what a probe sees."""

    def __init__(
        self,
        checks: abc.Sequence[Check],
        left_out: abc.Collection[str] = (),
        secrets: abc.Iterable[str] = (),
    ) -> None:
        """`secrets` never appear in a report. Raise `UsageError` if `left_out` names an unknown check."""
        self._checks = {check.id: check for check in checks}
        unknown = sorted(set(left_out) - self._checks.keys())
        if unknown:
            raise UsageError(f"--except names an unknown check, {unknown[0]!r}; see --list.")
        self._left_out = frozenset(left_out)
        # The longest first: a shorter secret may be a part of it.
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._seen: set[str] = set()
        self._faults: dict[str, list[Fault]] = {}
        self._counts: dict[str, int] = {}
        self.where = ""
        """What is being tried, such as the prompt; part of each fault."""

    @property
    def has_results(self) -> bool:
        """Whether anything was tried."""
        return bool(self._seen)

    @property
    def has_faults(self) -> bool:
        """Whether anything was wrong."""
        return bool(self._faults)

    def seen(self, *ids: str) -> None:
        """Note that checks were tried; they pass if no fault follows."""
        self._seen.update(ids)

    def fault(self, id: str, came: str, at: str = "") -> None:
        """Note a fault of a check: what came, and at which frame."""
        self._seen.add(id)
        self._counts[id] = self._counts.get(id, 0) + 1
        kept = self._faults.setdefault(id, [])
        if len(kept) < MAX_FAULTS:
            where = ", ".join(filter(None, [self.where, at]))
            kept.append(Fault(self._shown(came), self._shown(where)))

    def expect(self, id: str, holds: bool, came: str, at: str = "") -> bool:
        """Note whether a rule holds; return it."""
        if holds:
            self.seen(id)
        else:
            self.fault(id, came, at)
        return holds

    def results(self) -> tuple[Result, ...]:
        """Return the result of each check, in the protocol's order."""
        return tuple(map(self._result, self._checks.values()))

    def _result(self, check: Check) -> Result:
        if check.id in self._left_out:
            return Result(check, "left out")
        if check.id not in self._seen:
            return Result(check, "not seen")
        faults = tuple(self._faults.get(check.id, ()))
        if not faults:
            return Result(check, "passed")
        verdict: Verdict = "failed" if check.level == "must" else "advice"
        return Result(check, verdict, faults, self._counts[check.id])

    def _shown(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        plain = "".join(c if c.isprintable() else " " for c in text)
        return plain if len(plain) <= MAX_EXCERPT else plain[: MAX_EXCERPT - 1] + "…"


# ---------------------------------------------------------------------- value types
#
# The types of values in a frame, by key: what the JSON schema of a protocol says beyond its keys.

Json = dict[str, Any]
_FITS: dict[str, abc.Callable[[Any], bool]] = {
    "a string": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "an object": lambda value: isinstance(value, dict),
    "a list": lambda value: isinstance(value, list),
    "a string or a list": lambda value: isinstance(value, str | list),
    "a whole number": lambda value: type(value) is int,
    "a number": lambda value: type(value) in (int, float),
    "an object of objects": lambda value: (
        isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
    ),
}
"""Types of values by name, and whether a value has one."""


def typed_keys(**keys: str) -> dict[str, str]:
    """Return the type of each key; given are the keys of each type, whose name has `_` for spaces."""
    return {key: name.replace("_", " ") for name, each in keys.items() for key in each.split()}


def named(value: Any) -> str:
    """Return a value for a report; of objects and lists only what they are."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else repr(value)


def wrong_types(frame: Json, types: abc.Mapping[str, str]) -> abc.Iterator[str]:
    """Yield each value of a frame that is not of its type; null is of none."""
    for key, name in types.items():
        if key in frame and not _FITS[name](frame[key]):
            yield f"{key} must be {name}, got {named(frame[key])}"


def missing_keys(frame: Json, required: tuple[str, ...]) -> abc.Iterator[str]:
    """Yield each required key that a frame lacks."""
    yield from (f"{key} is missing" for key in required if key not in frame)


# ---------------------------------------------------------------------- probe


MAX_BODY = 32 * 1024 * 1024
"""Bytes of one answer that are read."""
CLOSING = 10.0
"""Seconds in which a body has to end after its last frame."""

Ending = Literal["complete", "left", "cut", "slow", "too large", "still open"]
"""How an answer ended: `left` by us, the others by the server."""


class CannotTry(SourceError):
    """The server cannot be judged: it is not there, or does not let us in."""


class HttpResponse(Struct, frozen=True):
    """One answer, as far as it was read."""

    status: int
    headers: httpx.Headers
    body: bytes
    frames: tuple[SseEvent, ...]
    ending: Ending
    times: tuple[float, ...] = ()
    """When each frame was complete, in seconds from the request."""

    @property
    def is_stream(self) -> bool:
        return self.media_type == "text/event-stream"

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The status, and the beginning of the body."""
        start = self.body[:400].decode(errors="replace").strip()
        return f"HTTP {self.status} {self.media_type or 'without content-type'}: {start}"


class Leave(Struct, frozen=True):
    """When to leave a stream: after so many frames, or when a frame says this (and the body stays open)."""

    frames: int = 0
    last: str = ""


NEVER = Leave()


class Exchange:
    """Sends requests to one server."""

    def __init__(self, http: httpx.AsyncClient, timeout: float) -> None:
        self._http = http
        self._timeout = timeout

    async def send(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: abc.Mapping[str, str] | None = None,
        leave: Leave = NEVER,
    ) -> HttpResponse:
        """Return the answer. Raise `CannotTry` if there is none."""
        request = self._http.build_request(
            method, url, json=json, content=content, headers=dict(headers or {})
        )
        response = await self._open(request)
        try:
            return await _Reading(response, leave).read(self._timeout)
        finally:
            await response.aclose()

    async def upgrade(self, url: str) -> int:
        """Ask for a WebSocket, and leave it at once; return the status. Raise `CannotTry`."""
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": b64encode(token_bytes(16)).decode(),
        }
        response = await self._open(self._http.build_request("GET", url, headers=headers))
        await response.aclose()
        return response.status_code

    async def _open(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._http.send(request, stream=True)
        except httpx.HTTPError as error:
            why = "timed out" if isinstance(error, httpx.TimeoutException) else "no answer"
            detail = f"{shown_url(str(request.url.copy_with(query=None)))}: {why} ({type(error).__name__})."
            raise CannotTry(detail) from None


class _Reading:
    """Reads one response."""

    def __init__(self, response: httpx.Response, leave: Leave) -> None:
        self._response = response
        self._leave = leave
        self._decoder = SseDecoder(MAX_BODY)
        self._body = bytearray()
        self._frames: list[SseEvent] = []
        self._times: list[float] = []
        self._began = time.monotonic()

    async def read(self, seconds: float) -> HttpResponse:
        ending: Ending
        try:
            async with asyncio.timeout(seconds) as limit:
                ending = await self._read_all(limit)
        except TimeoutError:
            ending = "still open" if self._has_last else "slow"
        except httpx.HTTPError:
            ending = "cut"
        head = self._response
        frames, times = tuple(self._frames), tuple(self._times)
        return HttpResponse(
            head.status_code, head.headers, bytes(self._body), frames, ending, times
        )

    async def _read_all(self, limit: asyncio.Timeout) -> Ending:
        async for piece in self._response.aiter_bytes():
            self._body += piece
            if len(self._body) > MAX_BODY:
                return "too large"
            if self._response.is_success:
                had_last = self._has_last
                self._take(piece)
                if self._leave.frames and len(self._frames) >= self._leave.frames:
                    return "left"
                if self._has_last and not had_last:
                    soon = asyncio.get_running_loop().time() + CLOSING
                    limit.reschedule(min(soon, limit.when() or soon))
        return "complete"

    def _take(self, piece: bytes) -> None:
        found = self._decoder.feed(piece)
        self._frames += found
        self._times += [time.monotonic() - self._began] * len(found)

    @property
    def _has_last(self) -> bool:
        last, frames = self._leave.last, self._frames
        return bool(last and frames) and (last in frames[-1].data or last == frames[-1].event)


@asynccontextmanager
async def connected(
    url: str, headers: abc.Mapping[str, str], seconds: float, auth: httpx.Auth | None = None
) -> abc.AsyncIterator[Exchange]:
    """Yield an exchange with a server: it sends `headers` with every request and follows no redirect."""
    is_secure = url.startswith("https:")  # Without TLS, reading all root certificates is only slow.
    limits = httpx.Timeout(seconds, connect=min(seconds, 10.0))
    async with httpx.AsyncClient(
        headers=dict(headers), timeout=limits, verify=is_secure, auth=auth
    ) as http:
        yield Exchange(http, seconds)


# ---------------------------------------------------------------------- probe
#
# What a protocol's driver works with: the server's address, the user's options, and the sheet.

SHORT = 60
"""Characters of a prompt that are shown."""


class Options(Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    url: str
    app: str = ""
    prompts: tuple[str, ...]
    approve: bool = False
    """Approvals that are asked for are given; otherwise they are denied."""
    headers: abc.Mapping[str, str] = {}
    timeout: float = 60.0


class Probe:
    """One server under test."""

    def __init__(self, options: Options, exchange: Exchange, sheet: Sheet, endpoint: str) -> None:
        self.options = options
        self.exchange = exchange
        self.sheet = sheet
        self.endpoint = endpoint
        """Where a client sends its messages; for ADK the server's base."""
        self._name, self._numbers = token_hex(4), count(1)

    def new_id(self, kind: str) -> str:
        """Return an id that this server has not seen."""
        return f"conform-{self._name}-{kind}-{next(self._numbers)}"

    def trying(self, what: str) -> None:
        """Say what is tried from now on; faults name it."""
        self.sheet.where = what

    async def post(self, body: Any, *, leave: Leave = NEVER, last_id: str = "") -> HttpResponse:
        """Post JSON to the endpoint."""
        given = {"accept": "text/event-stream"}
        if last_id:
            given["last-event-id"] = last_id
        return await self.exchange.send(
            "POST", self.endpoint, json=body, headers=given, leave=leave
        )

    async def post_text(self, text: str, media_type: str = "application/json") -> HttpResponse:
        """Post a text to the endpoint."""
        headers = {"accept": "text/event-stream", "content-type": media_type}
        return await self.exchange.send(
            "POST", self.endpoint, content=text.encode(), headers=headers
        )


class Driver(Struct, frozen=True, kw_only=True):
    """How one protocol is tried."""

    name: str
    own_path: str
    """Where an adk-prism server speaks it for an app; empty: at the server's address."""
    run: abc.Callable[[Probe], abc.Awaitable[None]]

    def endpoint(self, url: str, app: str) -> str:
        """Return the address that is tried, for an app of an adk-prism server or as it was given."""
        base, _, query = url.partition("?")
        if not app or not self.own_path or base.endswith(self.own_path):
            return url if query else base.rstrip("/") if not self.own_path else base
        return base.rstrip("/") + self.own_path.format(app=quote(app, safe=""))


def shortened(prompt: str) -> str:
    """Return a prompt for a report."""
    plain = " ".join(prompt.split())
    return f"prompt {plain[:SHORT]!r}"


# ---------------------------------------------------------------------- stream checks
#
# What every stream of server-sent events has to be, before a protocol looks at its frames.


_LEAKS = ("Traceback (most recent call last)", 'File "/', "/site-packages/", "node_modules/")

DENIED = (401, 403, 407)
ABSENT = (404, 405, 501)

_FIELD = re.compile(r"(data|event|id|retry)(:|$)|:")


class Item(Struct, frozen=True):
    """One frame whose data is JSON."""

    number: int
    """Counted from 1."""
    event: SseEvent
    value: Any

    @property
    def at(self) -> str:
        return f"frame {self.number}"


class FrameReader:
    """Reads the frames of one answer, and notes at which frame a rule is broken."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._at = ""

    def expect(self, check: str, holds: bool, came: str) -> bool:
        """Note whether a rule holds at this frame; return it."""
        return self._sheet.expect(check, holds, came, self._at)


def check_stream(sheet: Sheet, answer: HttpResponse, *, first: bool = False) -> bool:
    """Check an answer that has to be a stream; return whether its frames can be judged.

    `first`: nothing was answered before, so a refusal means that nothing can be tried. Raise `CannotTry`.
    """
    if first and answer.status in DENIED:
        raise CannotTry(f"the server asks who you are (HTTP {answer.status}); pass --header.")
    if first and answer.status in ABSENT:
        raise CannotTry(
            f"there is no such address (HTTP {answer.status}); give the address that a client posts to, "
            "or --app with the address of an adk-prism server."
        )
    if not sheet.expect("status", answer.status == 200, answer.text):
        return False
    sheet.expect("content-type", answer.is_stream, answer.media_type or "no content-type")
    control = answer.headers.get("cache-control", "").lower()
    allowed = "no-cache" in control or "no-store" in control
    sheet.expect("cache-control", allowed, f"cache-control: {control or 'none'}")
    check_framing(sheet, answer)
    if answer.ending != "left":
        said = f"the answer is {answer.ending} after {len(answer.frames)} frames"
        sheet.expect("complete", answer.ending == "complete", said)
    return True


def check_framing(sheet: Sheet, answer: HttpResponse) -> None:
    """Check the lines of a stream."""
    sheet.seen("framing")
    try:
        text = answer.body.decode()
    except UnicodeDecodeError as error:
        if answer.ending == "complete":
            sheet.fault("framing", f"byte {error.start} is not UTF-8")
        text = answer.body.decode(errors="replace")
    lines = re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))
    for number, line in enumerate(lines, 1):
        if line and not _FIELD.match(line) and answer.ending == "complete":
            sheet.fault("framing", line, f"line {number}")
    if answer.ending == "complete" and any(lines[-2:]) and _has_data(lines):
        sheet.fault("framing", "the last event has no blank line after it, so clients drop it")


def _has_data(lines: list[str]) -> bool:
    """Tell whether an event is open at the end."""
    for line in reversed(lines):
        if line.startswith("data"):
            return True
        if not line and line is not lines[-1]:
            return False
    return False


def read_items(sheet: Sheet, frames: tuple[SseEvent, ...], done: str = "") -> list[Item]:
    """Return the frames that are JSON objects, and note those that are not; `done` is a word of its own."""
    items = []
    for number, frame in enumerate(frames, 1):
        if done and frame.data == done:
            continue
        value = read_json(frame.data)
        if sheet.expect("json", isinstance(value, dict), frame.data, f"frame {number}"):
            items.append(Item(number, frame, value))
    return items


def read_json(text: str) -> Any:
    """Return JSON as every client reads it; None for what is not."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def check_rest(sheet: Sheet, expected: tuple[SseEvent, ...], rest: HttpResponse) -> None:
    """Check that an answer to `Last-Event-ID` has exactly the frames that are left."""
    left, came = ([(each.event, each.data) for each in some] for some in (expected, rest.frames))
    found = f"{len(came)} frames where {len(left)} are left: {rest.text}"
    sheet.expect("reconnect", came == left, found)


def check_error_text(sheet: Sheet, text: str, at: str) -> None:
    """Check what a server tells of an error."""
    sheet.expect("error-text", not any(each in text for each in _LEAKS), text, at)


def refuses(sheet: Sheet, answer: HttpResponse, *, frames_say_so: bool = False) -> None:
    """Check the answer to a bad request: an error of the client, named by the status.

    `frames_say_so`: the answer is a stream whose frames report an error.
    """
    sheet.expect("bad-input", not 200 <= answer.status < 300 or frames_say_so, answer.text)
    sheet.expect("bad-input-status", 400 <= answer.status < 500, answer.text)


async def leave_early(
    probe: Probe, new_body: abc.Callable[[], dict[str, Any]], until: Leave = NEVER
) -> None:
    """Leave a stream after its first frames, then talk to the server again; `until` its last frame."""
    probe.trying("after a client has left in the middle")
    left = await probe.post(new_body(), leave=Leave(frames=2))
    probe.sheet.expect("status", left.status == 200, left.text)
    again = await probe.post(new_body(), leave=until)
    good = again.status == 200 and bool(again.frames)
    probe.sheet.expect("disconnect", good, again.text)


async def send_mistakes(
    probe: Probe, is_error: abc.Callable[[Json], Any], good_body: dict[str, Any]
) -> None:
    """Send no JSON, an empty object, a body as plain text, and another method."""
    sheet = probe.sheet
    for what, text in (("a body that is no JSON", '{"messages": ['), ("an empty object", "{}")):
        probe.trying(what)
        answer = await probe.post_text(text)
        values = (read_json(frame.data) for frame in answer.frames)
        says_so = any(isinstance(value, dict) and is_error(value) for value in values)
        refuses(sheet, answer, frames_say_so=says_so)
    probe.trying("a body as text/plain")
    answer = await probe.post_text(msgspec.json.encode(good_body).decode(), "text/plain")
    sheet.expect("request-type", 400 <= answer.status < 500, answer.text)
    probe.trying("another method")
    answer = await probe.exchange.send("PUT", probe.endpoint, content=b"{}")
    sheet.expect("method", answer.status in (404, 405), answer.text)
