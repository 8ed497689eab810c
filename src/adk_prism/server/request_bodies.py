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
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Annotated, Any, ClassVar

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from msgspec import Raw, Struct
from pydantic import AfterValidator, WithJsonSchema
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adk_prism.adk.apps import is_hidden, no_app
from adk_prism.errors import Busy, NotFound, TooLarge, UsageError
from adk_prism.runs.off_loop import call_sized

DEEPEST = 100
"""Levels. Tool arguments have a dozen; pydantic stops at 255 and ADK wraps values a few deep."""

MOST_HOLDERS = 250_000
MOST_VALUES = 1_000_000
"""Counted by their bytes, those inside of texts included. Of empty lists, eight MiB would be two hundred in
memory and seconds of work; a session of ten thousand events has a hundred thousand."""

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
    with _explaining(raw):
        value = msgspec.json.decode(raw)
    if _needs_check(raw):
        _check(value)
    return value


@contextmanager
def _explaining(raw: bytes) -> Iterator[None]:
    """Raise `UsageError` that says what is wrong with bytes that cannot be decoded."""
    try:
        yield
    except RecursionError:
        raise UsageError(f"The body is nested deeper than {DEEPEST} levels.") from None
    except UnicodeDecodeError:
        raise UsageError("The body must be UTF-8.") from None
    except msgspec.MsgspecError as error:
        raise UsageError(explain_invalid(raw, str(error))) from None


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
        raise UsageError(f"The body is nested deeper than {DEEPEST} levels.")


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
                check_json_type(strict)
                strict.parsed = await call_sized(len(raw), parse_body, raw)
            return await inner(strict)

        return handle

    async def read(self, request: StrictRequest) -> bytes:
        """Return the body to be parsed."""
        return await request.body()


def check_json_type(request: Request) -> None:
    """Raise 415 for a body that does not say that it is JSON: a form of another page could send it."""
    content_type = request.headers.get("content-type", "")
    if _JSON_TYPE.fullmatch(content_type.strip()) is None:
        shown = ascii(content_type)[:60]
        raise HTTPException(415, f"The body is {shown}; expected Content-Type: application/json.")


# ---------------------------------------------------------------------------
# Limits the size of request bodies: one over the limit is refused before it is read.
#
# With a Content-Length the refusal comes before the first byte; without one (chunked), the bytes are
# counted as they come and the request ends at the first one too many. Bodies are not decompressed, so
# a compressed one is refused. Paths may have their own limits.
#
# Also limits how slowly a body may arrive, and how much of all bodies may be there at a time: they
# occupy connections and memory.

PATIENCE = 20.0
"""Seconds for a body to begin, and to be slow in: a mobile network's worst pause."""
SLOWEST = 2048
"""Bytes a second on the average, after that."""
MOST_ARRIVING = 512 * 1024**2
"""Bytes of all bodies that are arriving: eight chats at the limit of their history. Memory has to hold them
twice for a moment, in pieces and as a whole."""


class PathLimit(Struct, frozen=True):
    """The limit of some paths."""

    path: re.Pattern[str]
    """Matches the whole path, without the prefix that the server is mounted under."""
    option: str
    """Sets the limit."""
    limit: int
    is_held: bool = True
    """The body is held in memory until it is read, so it counts against what may arrive at a time."""


class BodyLimit:
    """Bounds the body of every request; raises `TooLarge` where the body is read.

    The last layer before the routes: it also has the server started, where no lifespan did.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        other: Sequence[PathLimit] = (),
        start: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._app = app
        self._start = start
        self._limit = PathLimit(re.compile(""), "--body-limit", limit)
        self._other = other
        self._arriving = 0
        """Bytes of all bodies that have begun to arrive, and not ended."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._start is not None and scope["type"] != "lifespan":
            await self._start()
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise HTTPException(415, "The body is compressed; send it without Content-Encoding.")
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise UsageError("Content-Length must be a number.")
        limit = self._limit_of(scope)
        # More digits than any real length: not converted to an integer.
        if len(declared) > 20 or int(declared) > limit.limit:
            raise _too_large(limit)
        body = _Arriving(self, receive, limit)
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.end()

    def add(self, size: int) -> None:
        """Count bytes that have come. Raise `Busy` if there are too many."""
        self._arriving += size
        if self._arriving > MOST_ARRIVING:
            raise Busy("The server is reading other large requests; send it again in a moment.")

    def remove(self, size: int) -> None:
        """Count bytes of a body that has ended, or is not read any more."""
        self._arriving -= size

    def _limit_of(self, scope: Scope) -> PathLimit:
        """Return the limit of a request's path."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        return next((each for each in self._other if each.path.fullmatch(path)), self._limit)


class _Arriving:
    """A body that is being read."""

    def __init__(self, bodies: BodyLimit, receive: Receive, limit: PathLimit) -> None:
        self._bodies = bodies
        self._receive = receive
        self._limit = limit
        self._began = asyncio.get_running_loop().time()
        self._read = 0
        self._has_more = True

    def end(self) -> None:
        """Note that nothing more of it is read."""
        if self._has_more:
            self._has_more = False
            self._bodies.remove(self._read * self._limit.is_held)

    async def receive(self) -> Message:
        """Return the next message, within the limits."""
        if not self._has_more:
            return await self._receive()  # waits for the client to leave
        try:
            async with asyncio.timeout_at(self._began + PATIENCE + self._read / SLOWEST):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "The body arrived too slowly; send it again.") from None
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self._read += size
            self._bodies.add(size * self._limit.is_held)
            if self._read > self._limit.limit:
                raise _too_large(self._limit)
        if not message.get("more_body", False):
            self.end()
        return message


def _too_large(path: PathLimit) -> TooLarge:
    return TooLarge(
        f"The body is larger than {path.limit} bytes; the operator sets it with {path.option}."
    )


# ---------------------------------------------------------------------------
# Bodies of chat requests, without the history that their clients repeat.
#
# Chat clients post their whole history with every message, photos included; the server needs the last
# message, and only role and id of the others. So a body may be larger than other bodies
# (`--history-limit`), is parsed once without decoding its messages, and each earlier message is
# replaced by a stub `{"id", "role"}`. What is left may have `--body-limit` bytes, and is parsed
# strictly like any other body.
#
# Kept whole are the last message, short system messages, and results of the client's tools, if a
# protocol has them as messages: those at the end of the list and right before the user's new message
# are new. Those further up mostly repeat what the client was shown, but one may answer a call that
# the user had passed over: clients put it beside its call. So short ones are kept, too.

MOST_COMMAS = 4_000_000
"""In one body, those inside of texts included. A message takes some 60 bytes while the list is read, so a
list of as many numbers takes 240 MB; a history of ten thousand long messages has a tenth of that."""

LONGEST_NAME = 1024
"""Bytes of an id that is kept of an earlier message; a longer one is none that this server knows."""

LONGEST_SYSTEM = 32 * 1024
"""Bytes of a system message that is kept whole."""

LONGEST_EARLIER = 16 * 1024
"""Bytes of a result further up that is kept: what a person chose or typed."""
MOST_EARLIER = 256 * 1024
"""Bytes of all results further up that are kept."""

_INSTRUCTIONS = frozenset({b'"system"', b'"developer"'})
_SPEAKERS = frozenset({b'"user"', b'"assistant"'})
"""Whoever speaks after results makes them history."""

CHAT_PATH = re.compile(r"/api/chat/[^/]+")
"""Where chat clients post."""

AGENT_PATH = re.compile(
    r"/api/ag-ui/[^/]+(?:/connect)?|/api/copilotkit/agent/[^/]+/(?:run|connect)"
)
"""Where AG-UI clients post threads."""


class ChatRoute(StrictRoute):
    """A route whose JSON body is kept without its earlier messages, and then parsed strictly."""

    result_roles: ClassVar[frozenset[bytes]] = frozenset()
    """Roles, as JSON strings, of messages that are results of the client's tools."""

    async def read(self, request: StrictRequest) -> bytes:
        """Return what is kept of the body; the request has the digest of all of it."""
        limit = request.app.state.context.settings.body_limit
        # Not `request.body()`: the request would hold all of it until its stream ends.
        raw = b"".join([piece async for piece in request.stream()])

        def shorten() -> tuple[str, bytes]:
            return sha256(raw).hexdigest(), shorten_history(raw, limit, self.result_roles)

        request.digest, kept = await call_sized(len(raw), shorten)
        request.kept = kept
        return kept


class AgentRoute(ChatRoute):
    """A route of AG-UI, whose JSON body is kept without the earlier messages of its thread."""

    result_roles = frozenset({b'"tool"'})


def shorten_history(raw: bytes, limit: int, result_roles: Collection[bytes] = ()) -> bytes:
    """Return a body whose earlier messages are stubs.

    Raise `TooLarge` if that is larger than `limit`, and `UsageError` for a body that is not JSON.
    """
    kept = _shortened(raw, limit, result_roles) if raw.lstrip().startswith(b"{") else raw
    if len(kept) > limit:
        raise TooLarge(
            f"The body is larger than {limit} bytes without its earlier messages; the operator sets"
            " it with --body-limit."
        )
    return kept


class _Head(Struct):
    """What is read of an earlier message."""

    id: Raw = Raw()
    role: Raw = Raw()


_read_fields = msgspec.json.Decoder(dict[str, Raw])
_read_list = msgspec.json.Decoder(list[Raw])
_read_head = msgspec.json.Decoder(_Head)


def _shortened(raw: bytes, limit: int, result_roles: Collection[bytes]) -> bytes:
    if raw.count(b",") > MOST_COMMAS:
        raise UsageError(f"The body has more than {MOST_COMMAS} values; send a shorter history.")
    with _explaining(raw):
        fields = _read_fields.decode(raw)
        listed = fields.get("messages", Raw())
        if not _begins_with(listed, b"["):
            return raw
        kept = _keep(_read_list.decode(listed), limit, result_roles)
    fields["messages"] = Raw(b"[" + b",".join(kept) + b"]")
    return msgspec.json.encode(fields)


def _keep(messages: list[Raw], limit: int, result_roles: Collection[bytes]) -> list[Raw | bytes]:
    """Return what is kept of each message, in order."""
    kept: list[Raw | bytes] = []
    room = min(MOST_EARLIER, limit // 8)
    """Bytes that are left for results further up."""
    results: list[Raw] = []
    """The results since somebody spoke, with what else came between."""
    for message in messages[:-1]:
        role = _role_of(message)
        if role in result_roles or (results and role not in _SPEAKERS):
            results.append(message)
            continue
        for each in results:
            if _size(each) <= min(LONGEST_EARLIER, room):
                room -= _size(each)
                kept.append(each)
            else:
                kept.append(_stub(each, limit))
        results.clear()
        kept.append(_stub(message, limit))
    return [*kept, *results, *messages[-1:]]


def _role_of(message: Raw) -> bytes:
    return _string(_read_head.decode(message).role) if _is_object(message) else b""


def _stub(message: Raw, limit: int) -> Raw | bytes:
    """Return what is kept of an earlier message."""
    view = memoryview(message)
    # msgspec does not decode what it passes over, and nobody else reads it.
    str(view, "utf-8")
    if not _is_object(message):
        return b"null"
    head = _read_head.decode(message)
    names = {b'"id":': _string(head.id), b'"role":': _string(head.role)}
    if names[b'"role":'] in _INSTRUCTIONS and len(view) <= min(LONGEST_SYSTEM, limit):
        return message
    return b"{" + b",".join(name + value for name, value in names.items() if value) + b"}"


def _string(value: Raw) -> bytes:
    """Return a JSON string of a usual length; empty for any other value."""
    view = memoryview(value)
    return bytes(view) if _begins_with(value, b'"') and len(view) <= LONGEST_NAME else b""


def _is_object(message: Raw) -> bool:
    return _begins_with(message, b"{")


def _begins_with(value: Raw, mark: bytes) -> bool:
    return bytes(memoryview(value)[:1]) == mark


def _size(message: Raw) -> int:
    return len(memoryview(message))


# ---------------------------------------------------------------------------
# Which names clients may give to apps, users, sessions and artifacts.
#
# Names end up in paths of artifact files, keys of databases, URLs and pages, so they are allow-listed
# at the border, once. Accepted: whatever is printable (`str.isprintable`: no control characters, no
# bidi overrides or other invisible format characters, no surrogates, no spaces but U+0020), hence
# uuids, e-mail addresses, nanoids, names with inner spaces. Refused: slashes, the names that a file
# system or a JavaScript object understands as something else, and what no client meant (a space at
# either end, which ADK strips; U+FFFD, which represents bytes that were not UTF-8).


LONGEST_NAME = 128
"""Characters: ADK's database columns for user and session ids hold as many (schemas/shared.py)."""

LONGEST_SEGMENT = 200
"""Bytes of one file name: file systems allow 255, and ADK adds its own endings."""

LONGEST_ARTIFACT = 512
"""Characters: with ADK's prefixes it stays under the 1024 bytes of an object store's key."""

USER_SCOPE = "user:"
"""ADK's prefix of artifacts that belong to the user, not to one session."""

_APP = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_UNSAFE = frozenset({".", "..", "__proto__", "constructor", "prototype"})


def check_app(name: str) -> str:
    """Return an app's name. Raise `NotFound` for one that no app can have, or that is hidden."""
    if _APP.fullmatch(name) is None or name in _UNSAFE:
        raise NotFound(f"There is no app {_shown(name)}.")
    if is_hidden(name):
        raise no_app(name)
    return name


def check_user(name: str) -> str:
    """Return a user id. Raise `UsageError` for one that is refused."""
    return _check_id(name, "user id")


def check_session(name: str) -> str:
    """Return a session id. Raise `UsageError` for one that is refused."""
    return _check_id(name, "session id")


def check_artifact(name: str) -> str:
    """Return an artifact's name, which may have folders. Raise `UsageError` if it is refused."""
    if len(name) > LONGEST_ARTIFACT:
        raise UsageError(
            f"The artifact name has {len(name)} characters; at most {LONGEST_ARTIFACT}."
        )
    for segment in name.removeprefix(USER_SCOPE).split("/"):
        _check_text(segment, "artifact name")
        if len(segment.encode()) > LONGEST_SEGMENT:
            raise UsageError(f"A part of the artifact name is longer than {LONGEST_SEGMENT} bytes.")
    return name


def _check_id(name: str, what: str) -> str:
    if len(name) > LONGEST_NAME:
        raise UsageError(f"The {what} has {len(name)} characters; at most {LONGEST_NAME}.")
    if "/" in name:
        raise UsageError(f"The {what} {_shown(name)} has a slash; use another character.")
    return _check_text(name, what)


def _check_text(text: str, what: str) -> str:
    if not text:
        raise UsageError(f"The {what} is empty or has an empty part.")
    if not text.isprintable() or "\ufffd" in text or "\\" in text:
        raise UsageError(
            f"The {what} {_shown(text)} has a character that is not allowed: control and"
            " invisible characters, backslashes and broken UTF-8 are not accepted."
        )
    if text in _UNSAFE or text != text.strip(" "):
        raise UsageError(
            f"The {what} {_shown(text)} is not allowed: it is reserved, or starts or ends with a space."
        )
    return text


def _shown(name: str) -> str:
    return ascii(name)[:60]


# --------------------------------------------------------------------------- route parameters


def _described(highest: int, **more: str) -> WithJsonSchema:
    # For OpenAPI only: the checks above give better errors than a pattern.
    return WithJsonSchema({"type": "string", "minLength": 1, "maxLength": highest, **more})


_ID = _described(LONGEST_NAME, pattern=r"^[^/\\\s\x00-\x1f]+( +[^/\\\s\x00-\x1f]+)*$")

AppName = Annotated[
    str, AfterValidator(check_app), _described(LONGEST_NAME, pattern=f"^{_APP.pattern}$")
]
UserId = Annotated[str, AfterValidator(check_user), _ID]
SessionId = Annotated[str, AfterValidator(check_session), _ID]
ArtifactName = Annotated[str, AfterValidator(check_artifact), _described(LONGEST_ARTIFACT)]
