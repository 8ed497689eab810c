"""B: what an event costs on its way, without a Runner and without a network.

*Log to bytes* begins with a stored row and ends with the bytes of an SSE frame: entry, facts, AI SDK
frames, encoding. *Object to bytes* begins with ADK's event object: our serialiser, the append to a log in
memory, then the same. Both are measured against the hand-written minimum (`minimum.py`), which does the
log's half and gives the same bytes; that is asserted. Peers begin with the object as well: ag-ui-adk
translates and encodes an ADK event, pydantic-ai one of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import count

from ag_ui.encoder import EventEncoder
from ag_ui_adk.event_translator import EventTranslator
from google.adk.events.event import Event
from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from adk_prism.diagnostics import ignore
from adk_prism.projection.registry import protocol
from adk_prism.runlog.entry import AgentEvent, Entry, Origin, RunId, RunStarted, unpack
from adk_prism.runlog.memory import MemoryLog
from adk_prism.source.redaction import Serialiser
from adk_prism.transport.sse_encoder import encode
from benchmarks import events, minimum
from benchmarks.rounds import Measured, cpu_per_item, take_turns
from benchmarks.table import Row, micros

ROW_KIND = "AgentEvent"
_SPEC = protocol("ai-sdk")
_runs = count(1)


@dataclass(frozen=True)
class Case:
    """One kind of event."""

    name: str
    events: Sequence[Event]
    least: Callable[[int, bytes], bytes]
    log_target: float
    object_target: float

    def stored(self) -> list[bytes]:
        """Return the events as the log keeps them."""
        serialiser = Serialiser(ignore)
        return [serialiser.event(event) for event in self.events]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    cases = (
        Case("text delta", events.words(2000), minimum.text, 4, 8),
        Case("tool", events.tools(200), minimum.tool, 2, 4.5),
        Case("state", events.states(200), minimum.state, 2, 4.5),
        Case("tool, one hit", events.tools(200, hits=1), minimum.tool, 0, 0),
        Case("state, one step", events.states(200, steps=1), minimum.state, 0, 0),
    )
    found: list[Row] = []
    for case in cases:
        found += _rows_of(case, rounds=7 if quick else 31)
    return found


def _rows_of(case: Case, rounds: int) -> list[Row]:
    stored = case.stored()
    check(case, stored)
    size = len(stored)
    with asyncio.Runner() as loop:
        variants = {
            "least": cpu_per_item(lambda: _least(case, stored), size),
            "log": cpu_per_item(lambda: log_to_bytes(stored), size),
            "object": cpu_per_item(lambda: loop.run(object_to_bytes(case.events)), size),
            "serialise": cpu_per_item(case.stored, size),
            "ag-ui": cpu_per_item(lambda: loop.run(_ag_ui(case.events)), size),
        }
        if case.name == "text delta":
            deltas = [PartDeltaEvent(index=0, delta=TextPartDelta(events.WORD))] * size
            variants["pydantic-ai"] = cpu_per_item(lambda: loop.run(_pydantic_ai(deltas)), size)
        measured = take_turns(variants, rounds)
    return _compare(case, measured)


def _compare(case: Case, measured: Measured) -> list[Row]:
    def row(what: str, ours: str, reference: str, target: float | None) -> Row:
        costs = micros(measured.cost(ours)), micros(measured.cost(reference))
        name = f"{case.name}: {what}"
        return Row(name, *costs, measured.ratio(ours, reference), target)

    found = [
        row("log to bytes, minimum", "log", "least", case.log_target or None),
        row("object to bytes, minimum", "object", "least", case.object_target or None),
    ]
    if case.log_target:
        found.append(row("(our serialising alone, minimum)", "serialise", "least", None))
        found.append(row("log to bytes, ag-ui-adk", "log", "ag-ui", 0.2))
        found.append(row("object to bytes, ag-ui-adk", "object", "ag-ui", None))
    if "pydantic-ai" in measured.costs:
        found.append(row("log to bytes, pydantic-ai", "log", "pydantic-ai", 1))
    return found


# --------------------------------------------------------------------------- ours


def _start() -> RunStarted:
    origin = Origin(app="speaker", user="user", session="session")
    return RunStarted(run=f"run-{next(_runs)}", origin=origin)


def log_to_bytes(stored: Sequence[bytes]) -> list[bytes]:
    """Return the bytes of each row of a run."""
    projection = _SPEC.make()
    feed, payload = projection.feed, _SPEC.payload
    feed(Entry(1, 0.0, _start()))
    return [
        encode("", cursor, [payload(frame) for frame in feed(entry)])
        for cursor, row in enumerate(stored, 2)
        if (entry := Entry(cursor, 0.0, unpack(ROW_KIND, row)))
    ]


async def object_to_bytes(given: Sequence[Event]) -> list[bytes]:
    """Return the bytes of each event of a run, by way of a log."""
    serialise, log, start = Serialiser(ignore).event, MemoryLog(), _start()
    await log.open()
    run = RunId(start.run)
    await log.append(run, [start])
    for event in given:
        await log.append(run, [AgentEvent(serialise(event))])
    projection, sent = _SPEC.make(), []
    async for batch in log.read(run):
        for entry in batch:
            frames = projection.feed(entry)
            sent.append(encode("", entry.cursor, [_SPEC.payload(frame) for frame in frames]))
    return sent


# --------------------------------------------------------------------------- the others


def _least(case: Case, stored: Sequence[bytes]) -> list[bytes]:
    least = case.least
    return [least(cursor, event) for cursor, event in enumerate(stored, 2)]


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


def check(case: Case, stored: Sequence[bytes]) -> None:
    """Hold the minimum to its word: the same bytes, but for how a run's first event begins."""
    ours, least = log_to_bytes(stored), _least(case, stored)
    if ours[1:] != least[1:]:
        first = next(n for n, pair in enumerate(zip(ours, least, strict=True)) if n and pair[0] != pair[1])
        raise AssertionError(f"{case.name}: {ours[first]!r} is not {least[first]!r}")
