"""B: what an event costs on its way, without a Runner and without a network.

*Log to bytes* begins with a stored row and ends with the bytes of an SSE frame: entry, facts, AI SDK
frames, encoding. *Object to bytes* begins with ADK's event object: our serialiser, then the same; what an
append to a log in memory adds is a row of its own. Both are measured against the hand-written minimum
(`minimum.py`), which does the log's half and gives the same bytes; that is asserted. Peers begin with the
object as well: ag-ui-adk translates and encodes an ADK event, pydantic-ai one of its own.

The floor of *object to bytes* is not ours: ADK's events are pydantic models, and what pydantic's compiled
serializer takes to write one is a row of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from ag_ui.encoder import EventEncoder
from ag_ui_adk.event_translator import EventTranslator
from google.adk.events.event import Event
from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from adk_prism.diagnostics import ignore
from adk_prism.pipeline.protocols import protocol
from adk_prism.projection.contract import Format
from adk_prism.runlog.entry import AgentEvent, Entry, NodeStarted, Origin, RunId, RunStarted, unpack
from adk_prism.runlog.memory import MemoryLog
from adk_prism.source.redaction import Serialiser
from adk_prism.transport.sse_encoder import encode
from benchmarks import events, minimum
from benchmarks.rounds import Measured, cpu_per_item, take_turns
from benchmarks.table import Row, micros

ROW_KIND = "AgentEvent"

FIRST = 3
"""Cursor of a run's first event."""

AG_UI_TARGET = 0.125
"""Of what ag-ui-adk's translator and encoder take for the same events."""

Least = Callable[[int, bytes], bytes]
"""A minimum: cursor and event to bytes."""

_AI_SDK, _AG_UI = protocol("ai-sdk").format(), protocol("ag-ui").format()


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


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    cases = (
        Case("text delta", events.words(2000), minimum.text, 4, 8, peer_target=0.2),
        Case("tool", events.tools(500), minimum.tool, 3, 5, minimum.copied_tool),
        Case("tool, 16 KiB", events.tools(200, hits=40), minimum.tool, 3, 5, minimum.copied_tool),
        Case("state", events.states(1000), minimum.state, 2, 4.5, minimum.copied_state),
    )
    found: list[Row] = []
    for case in cases:
        found += _compare(case, _measure(case, rounds=5 if quick else 21))
    return found


def _measure(case: Case, rounds: int) -> Measured:
    stored, size = case.stored(), len(case.events)
    with asyncio.Runner() as loop:
        variants = {
            "least": cpu_per_item(lambda: least_bytes(case.least, stored), size),
            "log": cpu_per_item(lambda: log_to_bytes(stored), size),
            "object": cpu_per_item(lambda: object_to_bytes(case.events), size),
            "append": cpu_per_item(lambda: loop.run(_append(stored)), size),
            "pydantic": cpu_per_item(lambda: _pydantic(case.events), size),
            "ag-ui": cpu_per_item(lambda: loop.run(_ag_ui(case.events)), size),
            "our ag-ui": cpu_per_item(lambda: log_to_bytes(stored, _AG_UI), size),
        }
        if (copied := case.copied) is not None:
            check(case.name, copied, stored)
            variants["copied"] = cpu_per_item(lambda: least_bytes(copied, stored), size)
        else:
            deltas = [PartDeltaEvent(index=0, delta=TextPartDelta(events.WORD))] * size
            variants["pydantic-ai"] = cpu_per_item(lambda: loop.run(_pydantic_ai(deltas)), size)
        check(case.name, case.least, stored)
        return take_turns(variants, rounds)


def _compare(case: Case, measured: Measured) -> list[Row]:
    def row(what: str, ours: str, reference: str, target: float | None = None) -> Row:
        costs = micros(measured.cost(ours)), micros(measured.cost(reference))
        return Row(f"{case.name}: {what}", *costs, measured.ratio(ours, reference), target)

    found = [
        row("log to bytes, minimum", "log", "least", case.log_target),
        row("object to bytes, minimum", "object", "least", case.object_target),
        row("(pydantic writing the object, minimum)", "pydantic", "least"),
        row("(append to a log in memory, minimum)", "append", "least"),
        row("log to bytes, ag-ui-adk", "log", "ag-ui", case.peer_target),
        row("object to bytes, ag-ui-adk", "object", "ag-ui"),
        row("log to bytes as AG-UI, ag-ui-adk", "our ag-ui", "ag-ui", AG_UI_TARGET),
    ]
    if "copied" in measured.costs:
        found.insert(1, row("log to bytes, minimum that copies values", "log", "copied"))
    if "pydantic-ai" in measured.costs:
        found.append(row("log to bytes, pydantic-ai", "log", "pydantic-ai", 1))
    return found


# --------------------------------------------------------------------------- ours


def _beginning() -> list[RunStarted | NodeStarted]:
    """Return how a recorded run begins: with its start, and that of its outermost node."""
    origin = Origin(app="speaker", user="user", session="session")
    node = NodeStarted(node="1", name="speaker", kind="agent", path=events.PATH)
    return [RunStarted(run="run", origin=origin), node]


def log_to_bytes(stored: Sequence[bytes], format: Format = _AI_SDK) -> list[bytes]:
    """Return the bytes of each row of a run."""
    feed = format.reader().feed
    sent = []
    for cursor, record in enumerate(_beginning(), 1):
        feed(Entry(cursor, 0.0, record))
    for cursor, row in enumerate(stored, FIRST):
        entry = Entry(cursor, 0.0, unpack(ROW_KIND, row))
        sent.append(encode("", cursor, feed(entry)))
    return sent


def object_to_bytes(given: Sequence[Event]) -> list[bytes]:
    """Return the bytes of each event of a run, written as the log keeps it and read again."""
    serialise = Serialiser(ignore).event
    return log_to_bytes([serialise(event) for event in given])


async def _append(stored: Sequence[bytes]) -> None:
    """Append one by one, as a run does."""
    log, run = MemoryLog(), RunId("run")
    await log.open()
    await log.append(run, _beginning())
    for row in stored:
        await log.append(run, [AgentEvent(row)])


# --------------------------------------------------------------------------- the others


def least_bytes(least: Least, stored: Sequence[bytes]) -> list[bytes]:
    """Return what the minimum gives."""
    return [least(cursor, event) for cursor, event in enumerate(stored, FIRST)]


def _pydantic(given: Sequence[Event]) -> list[bytes]:
    """Write the objects, and no more: the part of serialising that is not ours."""
    return [
        event.__pydantic_serializer__.to_json(
            event, by_alias=True, exclude_none=True, warnings=False
        )
        for event in given
    ]


async def _ag_ui(given: Sequence[Event]) -> list[str]:
    translator, encoder = EventTranslator(), EventEncoder()
    return [
        encoder.encode(translated)
        for event in given
        async for translated in translator.translate(event, "thread", "run")
    ]


async def _pydantic_ai(deltas: Sequence[PartDeltaEvent]) -> list[str]:
    stream = VercelAIEventStream()

    async def given() -> AsyncIterator[PartDeltaEvent]:
        for delta in deltas:
            yield delta

    return [text async for text in stream.encode_stream(stream.transform_stream(given()))]


def check(name: str, least: Least, stored: Sequence[bytes]) -> None:
    """Hold a minimum to its word: the same bytes, but for how a run's first event begins."""
    pairs = zip(log_to_bytes(stored), least_bytes(least, stored), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        if number and ours != theirs:
            raise AssertionError(f"{name}: {ours!r} is not {theirs!r}")
