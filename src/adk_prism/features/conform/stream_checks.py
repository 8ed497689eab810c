"""What every stream of server-sent events has to be, before a protocol looks at its frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.features.conform.probe import NEVER, CannotTry, HttpResponse, Leave, Probe, Sheet
from adk_prism.protocols.sse import SseEvent

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

    def _expect(self, check: str, holds: bool, came: str) -> bool:
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
    """Check the answer to a bad request: an error of the client, told by the status.

    `frames_say_so`: the answer is a stream whose frames report an error.
    """
    sheet.expect("bad-input", not 200 <= answer.status < 300 or frames_say_so, answer.text)
    sheet.expect("bad-input-status", 400 <= answer.status < 500, answer.text)


async def leave_early(
    probe: Probe, new_body: Callable[[], dict[str, Any]], until: Leave = NEVER
) -> None:
    """Leave a stream after its first frames, then talk to the server again; `until` its last frame."""
    probe.trying("after a client has left in the middle")
    left = await probe.post(new_body(), leave=Leave(frames=2))
    probe.sheet.expect("status", left.status == 200, left.text)
    again = await probe.post(new_body(), leave=until)
    good = again.status == 200 and bool(again.frames)
    probe.sheet.expect("disconnect", good, again.text)


async def send_mistakes(
    probe: Probe, has_error: Callable[[list[Item]], bool], good_body: dict[str, Any]
) -> None:
    """Send no JSON, an empty object, a body as plain text, and another method."""
    sheet = probe.sheet
    for what, text in (("a body that is no JSON", '{"messages": ['), ("an empty object", "{}")):
        probe.trying(what)
        answer = await probe.post_text(text)
        objects = [
            Item(number, frame, value)
            for number, frame in enumerate(answer.frames, 1)
            if isinstance(value := read_json(frame.data), dict)
        ]
        refuses(sheet, answer, frames_say_so=has_error(objects))
    probe.trying("a body as text/plain")
    answer = await probe.post_text(msgspec.json.encode(good_body).decode(), "text/plain")
    sheet.expect("request-type", 400 <= answer.status < 500, answer.text)
    probe.trying("another method")
    answer = await probe.exchange.send("PUT", probe.endpoint, content=b"{}")
    sheet.expect("method", answer.status in (404, 405), answer.text)
