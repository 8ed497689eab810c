"""The five laws of every projection, as checks over the entries of one run.

- **deterministic**: the same entries give the same bytes;
- **resumable**: at every position, what was seen and the rest are the whole;
- **prefix-stable**: later entries never change earlier frames;
- **balanced**: each start has one end, and nothing is outside;
- **terminated**: a message ends once; the end of the run ends the stream, last.

    for broken in check_laws(entries):
        print(broken)

What *balanced* and *terminated* mean is each protocol's own: the `grammar` of its spec, or for our own
protocols a module of `testing.grammars`. Time and memory are
in proportion to the run. Where a law speaks of every position, every frame is compared, and some positions,
spread evenly, are really read again: all of a short run, as many as `EFFORT` allows of a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Literal, TypeVar

from msgspec import Struct

from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Entry, Position
from adk_prism.protocols.contract import Fault, Format, Grammar, Payload
from adk_prism.protocols.registry import formats
from adk_prism.protocols.sse import encode
from adk_prism.testing.grammars import adk, ag_ui, ai_sdk, studio

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


Check = Callable[[Sequence[Entry], Format], Iterator[Fault]]


def check_laws(entries: Sequence[Entry], protocols: Iterable[Format] | None = None) -> list[Broken]:
    """Return the laws that a run breaks in `protocols`, or in every protocol and dialect.

    A projection that raises breaks the first law: no bytes are not the same bytes.
    """
    found: list[Broken] = []
    for format in formats() if protocols is None else protocols:
        crash = _crash(entries, format)
        if crash is not None:
            found.append(Broken("deterministic", format.title, *crash))
            continue
        for law, check in LAWS.items():
            broken = next(check(entries, format), None)
            if broken is not None:
                found.append(Broken(law, format.title, *broken))
    return found


def deterministic(entries: Sequence[Entry], format: Format) -> Iterator[Fault]:
    """Yield where two concurrent readings differ, one of them an entry ahead."""
    ahead, behind = format.reader(), format.reader()
    held: tuple[Entry, list[bytes]] | None = None
    for entry in entries:
        added = _data(ahead.feed(entry))
        if held is not None:
            yield from _differences(*held, _data(behind.feed(held[0])))
        held = (entry, added)
    if held is not None:
        yield from _differences(*held, _data(behind.feed(held[0])))


def resumable(entries: Sequence[Entry], format: Format) -> Iterator[Fault]:
    """Yield positions after which a client would miss something, or get something twice."""
    prefix = _prefix(entries, format)
    pieces: list[bytes] = []
    ends: list[Position] = []
    """Positions, and after each entry its cursor: where a client may have stopped."""
    counts: list[int] = []
    """How many frames it has then seen."""
    for number, (entry, frames) in enumerate(zip(entries, _read(entries, format), strict=True), 1):
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
        rest = b"".join(replay(entries, format, ends[index]))
        if rest != whole[sizes[counts[index]] :]:
            yield str(ends[index]), "what was seen and the rest are not the whole"


def prefix_stable(entries: Sequence[Entry], format: Format) -> Iterator[Fault]:
    """Yield frames that change after they were given, or that a log which breaks off has not."""
    projection = format.spec.make(format.options, entries[0]) if entries else None
    kept = [projection.feed(entry) for entry in entries] if projection is not None else []
    whole = [_data(frames) for frames in _read(entries, format)]
    for entry, early, frames in zip(entries, whole, kept, strict=True):
        # Written only now, when all entries were fed: a frame that was changed since shows it.
        yield from _differences(entry, early, _data(map(format.spec.payload, frames)))
    for length in _sample(range(1, len(entries)), len(entries)):
        again = format.reader()
        for entry, early in zip(entries[:length], whole[:length], strict=True):
            yield from _differences(entry, early, _data(again.feed(entry)))


def balanced(entries: Sequence[Entry], format: Format) -> Iterator[Fault]:
    """Yield what the protocol's own grammar does not allow."""
    grammar = _grammar(format)
    return grammar.balanced(entries, list(_read(entries, format))) if grammar else iter(())


def terminated(entries: Sequence[Entry], format: Format) -> Iterator[Fault]:
    """Yield an end that is missing, early, repeated, or not the last thing said."""
    grammar = _grammar(format)
    return grammar.terminated(entries, list(_read(entries, format))) if grammar else iter(())


LAWS: dict[Law, Check] = {
    "deterministic": deterministic,
    "resumable": resumable,
    "prefix-stable": prefix_stable,
    "balanced": balanced,
    "terminated": terminated,
}


# --------------------------------------------------------------------------- pieces

_GRAMMARS: dict[str, Grammar] = {
    "adk": adk,
    "ag-ui": ag_ui,
    "ai-sdk": ai_sdk,
    "studio": studio,
}


def _grammar(format: Format) -> Grammar | None:
    return format.spec.grammar or _GRAMMARS.get(format.spec.name)


def _read(entries: Sequence[Entry], format: Format) -> Iterator[list[Payload]]:
    """Yield the frames of each entry."""
    reader = format.reader()
    for entry in entries:
        yield reader.feed(entry)


def _prefix(entries: Sequence[Entry], format: Format) -> str:
    reader = format.reader()
    if entries:
        reader.feed(entries[0])
    return reader.prefix


def _crash(entries: Sequence[Entry], format: Format) -> Fault | None:
    reading = _read(entries, format)
    for entry in entries:
        try:
            next(reading)
        except Exception as error:  # Any error is a broken law: the checker must not fail.
            return str(entry.cursor), f"the projection raised {type(error).__name__}: {error}"
    return None


def _data(payloads: Iterable[Payload]) -> list[bytes]:
    return [payload.data for payload in payloads]


def _differences(entry: Entry, one: list[bytes], other: list[bytes]) -> Iterator[Fault]:
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
