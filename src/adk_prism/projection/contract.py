"""What a projection is: a deterministic function from entries to the frames of one protocol.

`feed(entry)` returns the frames that this entry causes, in order. A projection has no clock, no
randomness, no I/O and no end of its own: a run's end is a record like any other. The place of a
frame is (cursor, number in that entry's frames, from 1), so a stream can be cut and gone on with
at any frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, structs

from adk_prism.runlog.entry import Entry, RunStarted

Frame = TypeVar("Frame")
Frame_co = TypeVar("Frame_co", covariant=True)


class Payload(Struct, frozen=True, gc=False):
    """A frame as text for a transport: what is said, and under which event name (if any)."""

    data: bytes
    event: str = ""


class Projection(Protocol[Frame_co]):
    """Entries in, frames out; one instance per reading of one run."""

    def feed(self, entry: Entry) -> Sequence[Frame_co]:
        """Return the frames that `entry` causes. Entries come in order, from cursor 1, once."""


Complete = Callable[[str], str]
"""Takes the text of an error as the log has it; gives the one to show."""


class ProtocolSpec(Struct, Generic[Frame], frozen=True, kw_only=True):
    """One protocol: how to make its projection, and its frames' payloads."""

    name: str
    make: Callable[[], Projection[Frame]]
    """A new projection, for one reading of one run."""
    payload: Callable[[Frame], Payload]
    failure: Callable[[str], Sequence[Payload]]
    """What tells a client that the stream itself broke off: frames of no entry, so without a place."""
    completed: Callable[[Frame, Complete], Frame]
    """The frame with its error text completed; itself, where it tells no error."""
    named: bool = False
    """Positions name the run (`run:12.3`): all that its clients have to come back with is the last one."""
    headers: Mapping[str, str] = {}
    """What its HTTP responses carry besides the transport's own headers."""

    def prefix(self, first: Entry) -> str:
        """Return what the positions of a run begin with, which is told by its first entry."""
        record = first.record
        return record.run if self.named and isinstance(record, RunStarted) else ""


def completing(spec: ProtocolSpec[Frame], complete: Complete | None) -> ProtocolSpec[Frame]:
    """Return a protocol whose payloads have completed error texts; the same one if there is nothing to do."""
    if complete is None:
        return spec

    def payload(frame: Frame) -> Payload:
        return spec.payload(spec.completed(frame, complete))

    return structs.replace(spec, payload=payload)
