"""JSON request bodies, parsed once and strictly, before any route sees them.

What ADK, a session database or a JavaScript client could not hold is refused here with a 400 that
says why: NaN and infinities, lone surrogates and broken UTF-8, NUL (PostgreSQL's text cannot hold
it), integers of more than 64 bits, nesting past a limit, more values than a request needs.
Duplicate keys are legal JSON: the last one counts.

`StrictRoute` is the route class of every router that takes JSON. A body must be declared
as JSON (415): forms and plain text can be sent by a web page of another origin without a preflight.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from adk_prism.errors import UsageError

DEEPEST = 100
"""Levels. Tool arguments have a dozen; pydantic stops at 255 and ADK wraps values a few deep."""

MOST_HOLDERS = 250_000
MOST_VALUES = 1_000_000
"""Counted by their bytes, those inside of texts included. Of empty lists, eight MiB would be two hundred in
memory and seconds of work; a session of ten thousand events has a hundred thousand."""

LARGE = 256 * 1024
"""Larger bodies are parsed in a thread: they would block the event loop for milliseconds."""

_JSON_TYPE = re.compile(r"application/(?:json|[a-z0-9.-]+\+json)\s*(?:;.*)?", re.IGNORECASE)
_LONG_INTEGER = re.compile(rb"\d{19}")
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_NUL = b"\\u0000"
_NOT_NUMBERS = (b"NaN", b"Infinity", b"nan", b"inf")

Json = Any
"""Any JSON value; the type of the route's parameter validates it."""


def parse_body(raw: bytes) -> Json:
    """Return the JSON value of a body. Raise `UsageError` saying what is wrong with it."""
    _check_count(raw)
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        raise too_deep() from None
    except UnicodeDecodeError:
        raise UsageError("The body must be UTF-8.") from None
    except msgspec.MsgspecError as error:
        raise UsageError(explain_invalid(raw, str(error))) from None
    if _needs_check(raw):
        _check(value)
    return value


def _check_count(raw: bytes) -> None:
    """Refuse a body that is small on the wire and large in memory, before it is read."""
    if len(raw) > MOST_HOLDERS and (
        raw.count(b"[") + raw.count(b"{") > MOST_HOLDERS or raw.count(b",") > MOST_VALUES
    ):
        raise UsageError(
            f"The body is nested deeper than {DEEPEST} levels, or has more than {MOST_HOLDERS} objects"
            f" and lists, or more than {MOST_VALUES} values."
        )


def check_frame(frame: str | bytes) -> None:
    """Refuse in a socket's frame, which was decoded already, what a body may not hold. Raise `UsageError`."""
    raw = frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else frame
    if _needs_check(raw):
        parse_body(raw)


def explain_invalid(raw: bytes, text: str) -> str:
    """Return why some bytes are not JSON, from what the decoder says of them."""
    place = re.search(r"byte (\d+)", text)
    token = raw[int(place[1]) :].lstrip(b"-") if place else b""
    if token.startswith(_NOT_NUMBERS):
        return "The body has NaN or Infinity, which JSON does not know; use null or a string."
    if b"\\u" in raw and ("surrogate" in text or "truncated" in text or "escape" in text):
        return (
            f"The body is not valid JSON ({text}); is there half of a surrogate pair in a string?"
        )
    return f"The body is not valid JSON: {text}."


def _needs_check(raw: bytes) -> bool:
    """Return whether the decoded value must be checked; a fast test of the bytes."""
    nested = raw.count(b"[") + raw.count(b"{") > DEEPEST
    return nested or _NUL in raw or _LONG_INTEGER.search(raw) is not None


def _check(value: Json) -> None:
    """Walk a value level by level, so that depth costs no stack."""
    level: list[Json] = [value]
    for _ in range(DEEPEST):
        level = [child for item in level for child in _children(item)]
    if any(isinstance(item, dict | list) or _children(item) for item in level):
        raise too_deep()


def _children(item: Json) -> Iterable[Json]:
    if isinstance(item, dict):
        return (*item.keys(), *item.values())
    if isinstance(item, list):
        return item
    if isinstance(item, str) and "\0" in item:
        raise UsageError("A string in the body contains a NUL character, which cannot be stored.")
    if type(item) is int and not _LOWEST <= item <= _HIGHEST:
        raise UsageError("An integer in the body has more than 64 bits; send it as a string.")
    return ()


def too_deep() -> UsageError:
    """Return the error of a body that is nested too deep."""
    return UsageError(f"The body is nested deeper than {DEEPEST} levels.")


# --------------------------------------------------------------------------- routes


class StrictRequest(Request):
    """A request whose JSON was parsed by `parse_body`."""

    parsed: Json = None
    digest: str = ""
    """Of the original body, if only a part of it was kept."""
    kept: bytes | None = None
    """The body, where it was read as a stream."""

    async def body(self) -> bytes:
        return await super().body() if self.kept is None else self.kept

    async def json(self) -> Json:
        return self.parsed


class StrictRoute(APIRoute):
    """A route whose JSON body is parsed strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        if self.body_field is None:
            return inner

        async def handle(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            # Read here, because FastAPI would turn the 413 of the limit into a 400.
            raw = await self.read(strict)
            if raw:
                _check_type(strict)
                is_large = len(raw) > LARGE
                strict.parsed = (
                    await asyncio.to_thread(parse_body, raw) if is_large else parse_body(raw)
                )
            return await inner(strict)

        return handle

    async def read(self, request: StrictRequest) -> bytes:
        """Return the body to be parsed."""
        return await request.body()


def _check_type(request: Request) -> None:
    content_type = request.headers.get("content-type", "")
    if _JSON_TYPE.fullmatch(content_type.strip()) is None:
        shown = ascii(content_type)[:60]
        raise HTTPException(415, f"The body is {shown}; expected Content-Type: application/json.")
