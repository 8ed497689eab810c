"""The five laws of every projection, as checks over the entries of one run.

- **deterministic**: the same entries give the same bytes;
- **resumable**: at every position, what was seen and the rest are the whole;
- **prefix-stable**: later entries never change earlier frames;
- **balanced**: each start has one end, nothing lies outside;
- **terminated**: a message ends once; the end of the run ends the stream, last.

    for broken in check_laws(entries):
        print(broken)

What *balanced* and *terminated* mean is each protocol's own: `ai_sdk_grammar`, `adk_grammar`,
`studio_grammar`. Time and memory are in proportion to the run. Where a law speaks of every position,
every frame is compared, and some positions, spread evenly, are really read again: all of a short run, as
many as `EFFORT` allows of a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import Any, Literal, TypeVar

from msgspec import Struct

from adk_prism.pipeline.replay import replay
from adk_prism.projection.contract import Payload, ProtocolSpec
from adk_prism.projection.registry import dialects, protocol
from adk_prism.runlog.entry import Entry, Position
from adk_prism.testing import adk_grammar, ai_sdk_grammar, studio_grammar
from adk_prism.transport.sse_encoder import encode

Law = Literal["deterministic", "resumable", "prefix-stable", "balanced", "terminated"]

EFFORT = 20_000
"""Entries that one law reads again: half a second, and every position of a run of a hundred entries."""


class Broken(Struct, frozen=True):
    """A law that does not hold."""

    law: Law
    protocol: str
    """With its dialect, such as `ai-sdk 7`."""
    position: str
    """Where it shows first."""
    detail: str

    def __str__(self) -> str:
        return f"{self.law} is broken in {self.protocol} at {self.position}: {self.detail}"


Finding = tuple[str, str]
"""Position, and what is wrong there."""
Check = Callable[[Sequence[Entry], ProtocolSpec[Any]], Iterator[Finding]]
Grammar = Callable[[Sequence[Entry], Sequence[Sequence[Payload]]], Iterator[Finding]]


def spoken() -> dict[str, ProtocolSpec[Any]]:
    """Return every protocol in every dialect, by the name that `Broken` uses."""
    return {
        f"{name} {dialect}".strip(): protocol(name, dialect)
        for name in GRAMMARS
        for dialect in dialects(name) or ("",)
    }


def check_laws(
    entries: Sequence[Entry], protocols: Mapping[str, ProtocolSpec[Any]] | None = None
) -> list[Broken]:
    """Return the laws that a run breaks in `protocols`, or in every one; none for a sound run.

    A projection that raises breaks the first law: no bytes are not the same bytes.
    """
    found: list[Broken] = []
    for name, spec in (protocols or spoken()).items():
        crash = _crash(entries, spec)
        if crash is not None:
            found.append(Broken("deterministic", name, *crash))
            continue
        for law, check in LAWS.items():
            broken = next(check(entries, spec), None)
            if broken is not None:
                found.append(Broken(law, name, *broken))
    return found


def deterministic(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[Finding]:
    """Yield where two readings differ that go on at the same time, one an entry ahead."""
    ahead, behind = spec.make(), spec.make()
    held: tuple[Entry, list[bytes]] | None = None
    for entry in entries:
        news = _encoded(spec, ahead.feed(entry))
        if held is not None:
            yield from _differences(*held, _encoded(spec, behind.feed(held[0])))
        held = (entry, news)
    if held is not None:
        yield from _differences(*held, _encoded(spec, behind.feed(held[0])))


def resumable(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[Finding]:
    """Yield positions after which a client would miss something, or get something twice."""
    prefix = spec.prefix(entries[0]) if entries else ""
    pieces: list[bytes] = []
    ends: list[Position] = []
    """Positions, and after each entry its cursor: where a client may have stopped."""
    counts: list[int] = []
    """How many frames it has then seen."""
    for number, (entry, frames) in enumerate(zip(entries, _read(entries, spec), strict=True), 1):
        if entry.cursor != number:
            yield str(entry.cursor), f"the log is not dense: entry {number} has this cursor"
        for part, payload in enumerate(frames, 1):
            pieces.append(encode(prefix, entry.cursor, [payload], part))
            ends.append(Position(entry.cursor, part))
            counts.append(len(pieces))
        ends.append(Position(entry.cursor))
        counts.append(len(pieces))
    whole = b"".join(pieces)
    sizes = [0, *accumulate(len(piece) for piece in pieces)]
    for index in _sample(range(len(ends)), len(entries)):
        rest = b"".join(replay(entries, spec, ends[index]))
        if rest != whole[sizes[counts[index]] :]:
            yield str(ends[index]), "what was seen and the rest are not the whole"


def prefix_stable(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[Finding]:
    """Yield frames that change after they were given, or that a log which breaks off has not."""
    projection = spec.make()
    kept = [projection.feed(entry) for entry in entries]
    whole = [[payload.data for payload in frames] for frames in _read(entries, spec)]
    for entry, early, frames in zip(entries, whole, kept, strict=True):
        yield from _differences(entry, early, _encoded(spec, frames))
    for length in _sample(range(1, len(entries)), len(entries)):
        again = spec.make()
        for entry, early in zip(entries[:length], whole[:length], strict=True):
            yield from _differences(entry, early, _encoded(spec, again.feed(entry)))


def balanced(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[Finding]:
    """Yield what the protocol's own grammar does not allow."""
    grammar: Grammar = GRAMMARS[spec.name].balanced
    return grammar(entries, list(_read(entries, spec)))


def terminated(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[Finding]:
    """Yield an end that is missing, early, repeated, or not the last thing said."""
    grammar: Grammar = GRAMMARS[spec.name].terminated
    return grammar(entries, list(_read(entries, spec)))


GRAMMARS = {"adk": adk_grammar, "ai-sdk": ai_sdk_grammar, "studio": studio_grammar}

LAWS: dict[Law, Check] = {
    "deterministic": deterministic,
    "resumable": resumable,
    "prefix-stable": prefix_stable,
    "balanced": balanced,
    "terminated": terminated,
}


# --------------------------------------------------------------------------- pieces


def _read(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Iterator[list[Payload]]:
    """Yield the frames of each entry."""
    projection = spec.make()
    for entry in entries:
        yield [spec.payload(frame) for frame in projection.feed(entry)]


def _crash(entries: Sequence[Entry], spec: ProtocolSpec[Any]) -> Finding | None:
    reading = _read(entries, spec)
    for entry in entries:
        try:
            next(reading)
        except Exception as error:  # Whatever it is, it is told: a checker outlives what it checks.
            return str(entry.cursor), f"the projection raised {type(error).__name__}: {error}"
    return None


def _encoded(spec: ProtocolSpec[Any], frames: Sequence[Any]) -> list[bytes]:
    return [spec.payload(frame).data for frame in frames]


def _differences(entry: Entry, one: list[bytes], other: list[bytes]) -> Iterator[Finding]:
    if one == other:
        return
    for part, (a, b) in enumerate(zip_longest(one, other), 1):
        if a != b:
            yield f"{entry.cursor}.{part}", f"first {_shown(a)}, then {_shown(b)}"


def _shown(frame: bytes | None) -> str:
    return "nothing" if frame is None else frame[:80].decode(errors="replace")


_T = TypeVar("_T")


def _sample(items: Sequence[_T], cost: int) -> Sequence[_T]:
    """Return as many items, evenly spread and the last among them, as `EFFORT` pays for."""
    wanted = max(2, EFFORT // max(1, cost))
    if len(items) <= wanted:
        return items
    last = len(items) - 1
    return [items[round(index * last / (wanted - 1))] for index in range(wanted)]
