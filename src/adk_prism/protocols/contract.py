"""What a protocol is: one `ProtocolSpec`, exported as `SPEC` by its folder.

A protocol reads requests into commands, and writes the entries of a run as frames. Its projection is a
deterministic function: `feed(entry)` returns the frames that this entry causes, in order. It has no clock,
no randomness, no I/O and no end of its own, since a run's end is a record like any other. The position of a
frame is (cursor, number among that entry's frames, from 1), so a stream can be cut and resumed at any frame.

`docs/write-a-projection.md` builds a protocol step by step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Raw, Struct, structs

from adk_prism.commands import ClientRequest
from adk_prism.errors import Unprocessable, UsageError
from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Annotator, MakeAnnotator
from adk_prism.facts.state import is_given, sound
from adk_prism.log.entry import Decision, Entry, Response, RunId, RunStarted, to_raw

# ---------------------------------------------------------------------------
# Which method of a projection shows which fact: the one with the fact's name.
#
# `_call_answered` shows `CallAnswered`. Facts that are shown in another way, or not at all, are
# listed by the projection. A fact that is neither fails the import, so none is forgotten.

Json = dict[str, Any]

FactMethods = Mapping[type[Any], Callable[..., None]]
"""By fact: takes the projection, unless it is of one, and the fact; some take the frames to add to."""

_METHODS = {
    kind: re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", kind.__name__)
    for kind in fact.FACTS
    if kind is not fact.BlockGrew
}


def fact_methods(projection: object, others: FactMethods) -> FactMethods:
    """Return the methods for all facts but `BlockGrew`: the most frequent one is shown by `feed` itself."""
    return {kind: others.get(kind) or getattr(projection, name) for kind, name in _METHODS.items()}


# ---------------------------------------------------------------------------
# Where a client finds a file: in the frame itself, at this server, or at its own address.
#
# A data URL while it is small, else a link to the run's file route. Links of the web stay as they
# are; any other reference (`gs://…`) is only ever given as a link to this server, which decides
# whether to fetch it. Without a server (`replay`) everything that is in the log is inlined.

INLINE_LIMIT = 64 * 1024
"""Base64 characters. An icon or a thumbnail travels inline; a photo would travel back to us with every
later request of the chat, since clients send their whole history."""

_WEB = ("http://", "https://")


def plain_base64(data: str) -> str:
    """Return base64 as every client reads it: ADK writes it for URLs, which a browser's `atob` refuses."""
    return data.replace("-", "+").replace("_", "/")


UPLOADED = "prism-file:"
"""Begins the reference to an uploaded file that a client names by its id alone."""


def file_part(url: str, media_type: str, name: str) -> Json:
    """Return the genai part of a file that a client sent: inline from a data URL, else by reference.

    Raise `Unprocessable` for a data URL that is not base64.
    """
    about: Json = {"displayName": name} if name else {}
    if not url.startswith("data:"):
        return {"fileData": {"fileUri": url, "mimeType": media_type, **about}}
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise Unprocessable("The data URL of a file must be base64-encoded.")
    declared = head.removeprefix("data:").removesuffix(";base64").partition(";")[0]
    return {"inlineData": {"mimeType": declared or media_type, "data": data, **about}}


class FileLinks(Struct, frozen=True):
    """How to link files of one run."""

    base: str = ""
    """Absolute address of the server, with no slash at the end; empty where there is none."""

    def url(self, run: str, cursor: int, part: str, media_type: str, data: str, uri: str) -> str:
        """Return an absolute URL; empty for a reference that cannot be served."""
        if data or not uri:
            if self.base and len(data) > INLINE_LIMIT:
                return self._link(run, cursor, part)
            return f"data:{media_type};base64,{plain_base64(data)}"
        if uri.startswith(_WEB):
            return uri
        return self._link(run, cursor, part) if self.base else ""

    def artifact(self, run: str, cursor: int, part: str) -> str:
        """Return an absolute URL of an artifact that an event saved; empty where there is no server."""
        return self._link(run, cursor, part) if self.base else ""

    def _link(self, run: str, cursor: int, part: str) -> str:
        return f"{self.base}/api/runs/{run}/files/{cursor}/{part}"


# ---------------------------------------------------------------------------
# What several protocols read and write in the same way.


def text_field(body: Json, key: str) -> str:
    """Return a field of a request; empty without one. Raise `Unprocessable` for one that is not a string."""
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{key}` must be a string.")
    return value or ""


LARGEST_EXTRAS = 64 * 1024
"""Bytes of what a message carries for its client's own use; it is in the log and in every history."""


def read_extras(what: str, given: Json) -> dict[str, Raw]:
    """Return what is kept of a message for its client, by name. Raise `Unprocessable` for too much of it."""
    extras = {name: to_raw(value) for name, value in given.items() if value}
    if sum(len(bytes(value)) for value in extras.values()) > LARGEST_EXTRAS:
        raise Unprocessable(
            f"The message's {what} are larger than {LARGEST_EXTRAS} bytes together; keep them elsewhere and"
            " send their id."
        )
    return extras


def last_with_role(messages: Sequence[Any], roles: Collection[str]) -> list[Json]:
    """Return the messages at the end of a list that have one of some roles."""
    found: list[Json] = []
    for message in reversed(messages):
        if not isinstance(message, dict) or message.get("role") not in roles:
            break
        found.insert(0, message)
    return found


def token_count(value: Any) -> int | None:
    """Return a token count; some adapters write it as text, or as a float."""
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def milliseconds(seconds: float) -> int:
    """Return a log's time as JavaScript counts: milliseconds since 1970."""
    return round(seconds * 1000)


def denial_text(reason: str) -> str:
    """Say that a person denied a call."""
    return f"Denied: {reason}" if reason else "Denied."


def takeover_json(item: fact.TakenOver) -> Json:
    """Return what a client is sent of a takeover."""
    about: Json = {"epoch": item.epoch, "superseded": item.superseded}
    return about | ({"inDoubt": item.in_doubt} if item.in_doubt else {})


def transfer_json(item: fact.AgentTransferred) -> Json:
    """Return what a client is sent of a transfer."""
    return {"to": item.to} | ({"reason": item.reason} if item.reason else {})


def progress_json(item: fact.CallProgressed) -> Json:
    """Return what a client is sent of how far a tool is."""
    said: Json = {"done": item.done, "total": item.total, "message": item.message or None}
    said = {key: value for key, value in said.items() if value is not None}
    return said | ({"data": sound(item.data)} if is_given(item.data) else {})


def progress_text(item: fact.CallProgressed) -> str:
    """Return how far a tool is as a line of text."""
    of = f" of {item.total:g}" if item.total is not None else ""
    far = f"{item.done:g}{of}" if item.done is not None else ""
    return ": ".join(filter(None, (f"{item.name} {far}".rstrip(), item.message)))


def error_json(item: fact.ErrorRaised) -> Json:
    """Return what a client is sent of an error that the run may survive."""
    about = {"code": item.code, "author": item.speaker.author, "path": item.speaker.path}
    return about | ({"message": item.message} if item.message else {})


def audio_json(item: fact.AudioHeard) -> Json:
    """Return a piece of raw sound as a client is sent it."""
    return {
        "content": plain_base64(item.data),
        "sampleRate": item.sample_rate,
        "channels": item.channels,
        "bitDepth": item.bit_depth,
    }


# ---------------------------------------------------------------------------
# Which part of a whole message's replay a run is, and what became of what it asks.


class Scope(Struct, frozen=True, kw_only=True):
    """Which part of a message's replay a run is; by default a stream of its own."""

    part: str = ""
    """Which of the message's runs it is (`1 of 3`); empty: the run is a stream of its own."""
    opens: bool = True
    """It is the message's first run here, and sends the message's start."""
    closes: bool = True
    """It is the last one, and sends the message's end."""
    replayed: bool = False
    """The client rebuilds the message from nothing: it has not seen the requests being answered."""
    decided: Mapping[str, Decision] = {}
    """Approvals of this run that a later run of the message has an answer to, by call."""
    answered: frozenset[str] = frozenset()
    """Calls and requests whose answer a later run of the message has: a tool's first answer is not sent."""
    left: bool = False
    """The conversation continued after the message: what it still asks has expired."""
    resumed: bool = False
    """A later message continued its invocation."""
    elsewhere: Mapping[str, Response] = {}
    """What later messages answered, by the id of the request or approval."""

    @property
    def is_alone(self) -> bool:
        """Whether the run is a stream of its own."""
        return not self.part

    @property
    def key(self) -> str:
        """Identifies a part of a message; everything else here follows from it and the log."""
        return f"{self.part} left" if self.left else self.part

    def asks(self, item: fact.ApprovalRequested) -> bool:
        """Return whether an approval is still open, or was decided by a run of this message."""
        return not self.left or item.call in self.decided

    def status(self, request: str) -> str:
        """Return what became of a request; empty while it is open."""
        if request in self.answered or request in self.elsewhere:
            return "answered"
        if not self.left:
            return ""
        # Logs of before do not say what a message answered: there all that was asked was.
        return "answered" if self.resumed and not self.elsewhere else "expired"


WHOLE = Scope()

# ---------------------------------------------------------------------------

Frame = TypeVar("Frame")
Frame_co = TypeVar("Frame_co", covariant=True)
STREAM_BROKEN = "stream_broken"
"""The code of an error that ends a stream whose run may go on."""


class Payload(Struct, frozen=True, gc=False):
    """A frame as text for a transport: its data, and its event name (if any)."""

    data: bytes
    event: str = ""


class ProjectedFrame(Struct, frozen=True):
    """One frame of a protocol."""

    position: str
    """Its place, as sent in the SSE `id:`."""
    data: str
    """Its payload: JSON, or a terminator such as `[DONE]`."""
    event: str = ""
    """The SSE event name, for protocols that have them."""


class Projection(Protocol[Frame_co]):
    """Entries in, frames out; one instance per reading of one run."""

    def feed(self, entry: Entry) -> Sequence[Frame_co]:
        """Return the frames that `entry` causes. Entries come in order, from cursor 1, once."""


class History(Protocol):
    """Builds the messages of a conversation from its runs, in order."""

    def user_message(self, message_id: str, head: RunStarted, time: float) -> None:
        """Add what the user sent to begin a turn."""

    def begin_run(self, scope: Scope) -> None:
        """Begin a run of the assistant's answer: the entries that follow are its own."""

    def begin_live_run(self, run: RunId) -> None:
        """Begin a live run, which holds messages of both sides."""

    def feed(self, entry: Entry) -> None:
        """Add an entry of the run that began last."""

    def messages(self) -> list[Json]:
        """Return the messages, when everything was fed."""


class Options(Struct, frozen=True, kw_only=True):
    """What a projection is made for."""

    dialect: str = ""
    """Empty: the protocol's default."""
    files: FileLinks = FileLinks()
    scope: Scope = WHOLE
    raw: bool = False
    """Send ADK's own events too, in a protocol that has a place for them."""
    annotators: tuple[MakeAnnotator, ...] = ()
    """Whose annotations the frames carry."""

    def make_annotators(self) -> list[Annotator]:
        """Return annotators for one reading of one run."""
        return [make() for make in self.annotators]


Complete = Callable[[str], str]
"""Takes the text of an error as the log has it; returns the one to show."""

Fault = tuple[str, str]
"""A position, and what is wrong there."""


class Grammar(Protocol):
    """What the laws *balanced* and *terminated* mean in a protocol. Both yield what breaks them."""

    def balanced(
        self, entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]
    ) -> Iterator[Fault]: ...

    def terminated(
        self, entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]
    ) -> Iterator[Fault]: ...


def _unchanged(frame: Frame, complete: Complete) -> Frame:
    del complete
    return frame


class ProtocolSpec(Struct, Generic[Frame], frozen=True, kw_only=True):
    """One protocol, in both directions."""

    name: str
    summary: str
    """One line for `--help` and the documents."""
    make: Callable[[Options, Entry], Projection[Frame]]
    """Make a projection for one reading of one run, of which the first entry is given. It is then fed that
    entry like all others."""
    payload: Callable[[Frame], Payload]
    failure: Callable[[str], Sequence[Payload]]
    """Return what tells a client that the stream itself broke: frames of no entry, so without a position."""
    completed: Callable[[Frame, Complete], Frame] = _unchanged
    """Return the frame with its error text completed; the frame itself where it has none."""
    dialects: tuple[str, ...] = ()
    """The default first; none where there is only one form."""
    read_request: Callable[[Any], ClientRequest] | None = None
    """Read a request body. Raise `Unprocessable` for a bad one. None: the protocol starts no runs."""
    grammar: Grammar | None = None
    """None: the laws *balanced* and *terminated* are not checked."""
    resumes_by: Literal["position", "run position", "message"] = "position"
    """How a client comes back: with a frame's position (`12.3`), with one that names the run too
    (`run:12.3`), or by getting the whole message again."""
    headers: Mapping[str, str] = {}
    """What its HTTP responses carry besides the transport's own headers."""
    annotators: tuple[MakeAnnotator, ...] = ()
    """Of features: `annotated_by` adds them."""

    def annotated_by(self, annotators: Iterable[MakeAnnotator]) -> ProtocolSpec[Frame]:
        """Return the protocol with the annotations of features."""
        return structs.replace(self, annotators=tuple(annotators))

    def check_dialect(self, dialect: str) -> str:
        """Return a dialect by its full name, the default for an empty one. Raise `UsageError`."""
        if not dialect:
            return self.dialects[0] if self.dialects else ""
        if not self.dialects:
            raise UsageError(f"Protocol {self.name!r} has no dialects, got {dialect[:20]!r}.")
        if dialect not in self.dialects:
            raise UsageError(
                f"Unknown dialect {dialect[:20]!r}; expected one of {', '.join(self.dialects)}."
            )
        return dialect

    def format(
        self,
        dialect: str = "",
        files: FileLinks | None = None,
        scope: Scope = WHOLE,
        complete: Complete | None = None,
        *,
        raw: bool = False,
    ) -> Format:
        """Return the protocol as one viewer gets it. Raise `UsageError` for an unknown dialect."""
        options = Options(
            dialect=self.check_dialect(dialect),
            files=files or FileLinks(),
            scope=scope,
            raw=raw,
            annotators=self.annotators,
        )
        return Format(self, options, complete)


class Format(Struct, frozen=True):
    """A protocol as one viewer gets it: dialect, address of files, part of a message, error texts."""

    spec: ProtocolSpec[Any]
    options: Options = Options()
    complete: Complete | None = None
    """Completes error texts, for a viewer who may see them."""

    @property
    def key(self) -> tuple[str, ...]:
        """What decides the bytes: streams of one run with equal keys are encoded once."""
        options = self.options
        whole_errors = "full errors" if self.complete is not None else ""
        return (
            self.spec.name,
            options.dialect,
            options.files.base,
            options.scope.key,
            whole_errors,
            "raw" if options.raw else "",
        )

    @property
    def title(self) -> str:
        """The protocol with its dialect, such as `ai-sdk 7`."""
        return f"{self.spec.name} {self.options.dialect}".strip()

    @property
    def names_run(self) -> bool:
        """Whether positions name the run, since a client's stream may hold several."""
        return self.spec.resumes_by == "run position" or not self.options.scope.is_alone

    def of_part(self, scope: Scope) -> Format:
        """Return the same format for one part of a message."""
        return structs.replace(self, options=structs.replace(self.options, scope=scope))

    def prefix(self, run: RunId) -> str:
        """Return what the positions of a run begin with."""
        return run if self.names_run else ""

    def reader(self) -> FrameReader:
        """Return a reader for one run, from its first entry on."""
        return FrameReader(self)


class FrameReader:
    """One run as payloads: feeds each entry to a projection, and writes its frames."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._projection: Projection[Any] | None = None
        self._payload = _payload_of(format)
        self.prefix = ""
        """What positions begin with, once the first entry was fed."""

    def feed(self, entry: Entry) -> list[Payload]:
        """Return the payloads that an entry causes."""
        projection = self._projection
        if projection is None:
            projection = self._projection = self._begin(entry)
        frames = projection.feed(entry)
        if len(frames) == 1:  # most often, and cheaper than a map
            return [self._payload(frames[0])]
        return list(map(self._payload, frames))

    def _begin(self, first: Entry) -> Projection[Any]:
        if isinstance(first.record, RunStarted):
            self.prefix = self._format.prefix(RunId(first.record.run))
        return self._format.spec.make(self._format.options, first)


def _payload_of(format: Format) -> Callable[[Any], Payload]:
    spec, complete = format.spec, format.complete
    if complete is None:
        return spec.payload
    return lambda frame: spec.payload(spec.completed(frame, complete))
