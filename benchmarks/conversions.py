"""From an event to the bytes of a frame, without a Runner and without a network: the work that is measured.

*Log to bytes* begins with a stored row: entry, facts, AI SDK frames, encoding. *Object to bytes* begins with
ADK's event object: our serialiser, then the same. The minimum (`minimum.py`) does the log's half by hand and
gives the same bytes; that is asserted.

As a program, does the conversion that a line of its input names, and says when it is done: `instructions.py`
counts meanwhile. So no peer is imported here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from google.adk.events.event import Event

from adk_prism.adk.redaction import Serialiser
from adk_prism.errors import ignore
from adk_prism.log.entry import Entry, NodeStarted, Origin, Record, RunStarted, unpack
from adk_prism.protocols.contract import Format
from adk_prism.protocols.registry import protocol
from adk_prism.protocols.sse import encode
from benchmarks import events, minimum

ROW_KIND = "AgentEvent"

FIRST = 3
"""Cursor of a run's first event."""

Least = Callable[[int, bytes], bytes]
"""A minimum: cursor and event to bytes."""

_AI_SDK = protocol("ai-sdk").format()


@dataclass(frozen=True)
class Case:
    """One kind of event."""

    name: str
    events: Sequence[Event]
    least: Least
    log_target: float
    object_target: float
    copied: Least | None = None
    """The minimum that does not read values, where there are any."""
    peer_target: float | None = None
    """Against ag-ui-adk: a fifth, for what nearly every event of a run is."""

    def stored(self) -> list[bytes]:
        """Return the events as the log keeps them."""
        serialiser = Serialiser(ignore)
        return [serialiser.event(event) for event in self.events]

    def conversions(self) -> dict[str, Callable[[int], object]]:
        """Return each conversion by name: does the work for the first so many events."""
        given, stored = self.events, self.stored()
        found: dict[str, Callable[[int], object]] = {
            "least": lambda count: least_bytes(self.least, stored[:count]),
            "log": lambda count: log_to_bytes(stored[:count]),
            "object": lambda count: object_to_bytes(given[:count]),
            "pydantic": lambda count: pydantic_bytes(given[:count]),
        }
        check(self.name, self.least, stored)
        if (copied := self.copied) is not None:
            check(self.name, copied, stored)
            found["copied"] = lambda count: least_bytes(copied, stored[:count])
        return found


def cases() -> tuple[Case, ...]:
    """Return all kinds."""
    return (
        Case("text delta", events.words(2000), minimum.text, 4, 8, peer_target=0.2),
        Case("tool", events.tools(500), minimum.tool, 3, 5, minimum.copied_tool),
        Case("tool, 16 KiB", events.tools(200, hits=40), minimum.tool, 3, 5, minimum.copied_tool),
        Case("state", events.states(1000), minimum.state, 2, 4.5, minimum.copied_state),
    )


# --------------------------------------------------------------------------- ours


def beginning() -> list[RunStarted | NodeStarted]:
    """Return how a recorded run begins: with its start, and that of its outermost node."""
    origin = Origin(app="speaker", user="user", session="session")
    node = NodeStarted(node="1", name="speaker", kind="agent", path=events.PATH)
    return [RunStarted(run="run", origin=origin), node]


def log_to_bytes(stored: Sequence[bytes], format: Format = _AI_SDK) -> list[bytes]:
    """Return the bytes of each row of a run."""
    return _sent((unpack(ROW_KIND, row) for row in stored), format)


def object_to_bytes(given: Sequence[Event]) -> list[bytes]:
    """Return the bytes of each event of a run: written as the log keeps it, then read, one by one."""
    return _sent(map(Serialiser(ignore).record, given), _AI_SDK)


def _sent(records: Iterable[Record], format: Format) -> list[bytes]:
    feed = format.reader().feed
    sent = []
    for cursor, record in enumerate(beginning(), 1):
        feed(Entry(cursor, 0.0, record))
    for cursor, event in enumerate(records, FIRST):
        sent.append(encode("", cursor, feed(Entry(cursor, 0.0, event))))
    return sent


# --------------------------------------------------------------------------- the others


def least_bytes(least: Least, stored: Sequence[bytes]) -> list[bytes]:
    """Return what the minimum gives."""
    return [least(cursor, event) for cursor, event in enumerate(stored, FIRST)]


def pydantic_bytes(given: Sequence[Event]) -> list[bytes]:
    """Write the objects, and no more: the part of serialising that is not ours."""
    return [
        event.__pydantic_serializer__.to_json(
            event, by_alias=True, exclude_none=True, warnings=False
        )
        for event in given
    ]


def check(name: str, least: Least, stored: Sequence[bytes]) -> None:
    """Hold a minimum to its word: the same bytes, but for how a run's first event begins."""
    pairs = zip(log_to_bytes(stored), least_bytes(least, stored), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        if number and ours != theirs:
            raise AssertionError(f"{name}: {ours!r} is not {theirs!r}")


# --------------------------------------------------------------------------- as a program

WARM = 60
"""Events of each conversion before the first that is counted: Python adapts its code to what it meets."""


def main() -> None:
    """Do the conversions that are asked for, each in a line `kind<TAB>conversion<TAB>events`."""
    known = {case.name: case.conversions() for case in cases()}
    for conversions in known.values():
        for convert in conversions.values():
            convert(WARM)
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        kind, conversion, count = line.rstrip("\n").split("\t")
        known[kind][conversion](int(count))
        print("done", flush=True)


if __name__ == "__main__":
    main()
