"""What a protocol is: one `ProtocolSpec`, exported as `SPEC` by its folder.

A protocol reads requests into commands, and writes the entries of a run as frames. Its projection is a
deterministic function: `feed(entry)` returns the frames that this entry causes, in order. It has no clock,
no randomness, no I/O and no end of its own, since a run's end is a record like any other. The position of a
frame is (cursor, number among that entry's frames, from 1), so a stream can be cut and resumed at any frame.

`docs/write-a-projection.md` builds a protocol step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, structs

from adk_prism.commands import ClientRequest
from adk_prism.errors import UsageError
from adk_prism.projection.file_links import FileLinks
from adk_prism.projection.message_scope import WHOLE, Scope
from adk_prism.runlog.entry import Entry, RunId, RunStarted

Frame = TypeVar("Frame")
Frame_co = TypeVar("Frame_co", covariant=True)
Json = dict[str, Any]

STREAM_BROKEN = "stream_broken"
"""The code of an error that ends a stream whose run may go on."""


class Payload(Struct, frozen=True, gc=False):
    """A frame as text for a transport: its data, and its event name (if any)."""

    data: bytes
    event: str = ""


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
            dialect=self.check_dialect(dialect), files=files or FileLinks(), scope=scope, raw=raw
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
