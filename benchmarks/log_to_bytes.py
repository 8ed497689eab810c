"""B: what an event costs on its way, without a Runner and without a network.

The work is in `conversions.py`: *log to bytes* and *object to bytes*, both against the hand-written minimum.
They are counted in instructions (`instructions.py`), which is what the targets are for, and measured in CPU
time; without valgrind, CPU time has the targets. What an append to a log in memory adds is a row of its own.
Peers begin with the object as well: ag-ui-adk translates and encodes an ADK event, pydantic-ai one of its
own.

The floor of *object to bytes* is not ours: ADK's events are pydantic models, and what pydantic's compiled
serializer takes to write one is a row of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from ag_ui.encoder import EventEncoder
from ag_ui_adk.event_translator import EventTranslator
from google.adk.events.event import Event
from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from adk_prism.log.entry import AgentEvent, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.registry import protocol
from benchmarks import events
from benchmarks.conversions import Case, beginning, cases, log_to_bytes
from benchmarks.instructions import Counts, can_count, count_conversions
from benchmarks.rounds import Measured, cpu_per_item, take_turns
from benchmarks.table import Row, micros, thousands

AG_UI_TARGET = 0.125
"""Of what ag-ui-adk's translator and encoder take for the same events."""

_AG_UI = protocol("ag-ui").format()


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    kinds = cases()
    counts: Mapping[str, Counts] = {}
    if can_count():
        counts = count_conversions({case.name: list(case.conversions()) for case in kinds})
    found: list[Row] = []
    for case in kinds:
        counted, measured = counts.get(case.name), _measure(case, rounds=5 if quick else 21)
        if counted is not None:
            found += _compare_counts(case, counted)
        found += _compare_times(case, measured, has_target=counted is None)
        found += _compare_peers(case, measured)
    return found


def _measure(case: Case, rounds: int) -> Measured:
    stored, size = case.stored(), len(case.events)
    with asyncio.Runner() as loop:
        variants = {
            name: cpu_per_item(partial(convert, size), size)
            for name, convert in case.conversions().items()
        }
        variants |= {
            "append": cpu_per_item(lambda: loop.run(_append(stored)), size),
            "ag-ui": cpu_per_item(lambda: loop.run(_ag_ui(case.events)), size),
            "our ag-ui": cpu_per_item(lambda: log_to_bytes(stored, _AG_UI), size),
        }
        if case.copied is None:
            deltas = [PartDeltaEvent(index=0, delta=TextPartDelta(events.WORD))] * size
            variants["pydantic-ai"] = cpu_per_item(lambda: loop.run(_pydantic_ai(deltas)), size)
        return take_turns(variants, rounds)


# --------------------------------------------------------------------------- rows


def _compare_counts(case: Case, counted: Counts) -> list[Row]:
    def row(what: str, ours: str, reference: str, target: float | None = None) -> Row:
        mine, theirs = counted[ours], counted[reference]
        name = f"{case.name}: {what}, instructions"
        return Row(name, thousands(mine), thousands(theirs), mine / theirs, target)

    found = [
        row("log to bytes, minimum", "log", "least", case.log_target),
        row("object to bytes, minimum", "object", "least", case.object_target),
        row("(pydantic writing the object, minimum)", "pydantic", "least"),
    ]
    if "copied" in counted:
        found.insert(1, row("log to bytes, minimum that copies values", "log", "copied"))
    return found


def _compare_times(case: Case, measured: Measured, *, has_target: bool) -> list[Row]:
    def row(what: str, ours: str, reference: str, target: float | None = None) -> Row:
        name = f"{what}, CPU time"
        return _timed(case, measured, name, ours, reference, target if has_target else None)

    found = [
        row("log to bytes, minimum", "log", "least", case.log_target),
        row("object to bytes, minimum", "object", "least", case.object_target),
        row("(pydantic writing the object, minimum)", "pydantic", "least"),
        row("(append to a log in memory, minimum)", "append", "least"),
    ]
    if "copied" in measured.costs:
        found.insert(1, row("log to bytes, minimum that copies values", "log", "copied"))
    return found


def _compare_peers(case: Case, measured: Measured) -> list[Row]:
    def row(what: str, ours: str, reference: str, target: float | None = None) -> Row:
        return _timed(case, measured, what, ours, reference, target)

    found = [
        row("log to bytes, ag-ui-adk", "log", "ag-ui", case.peer_target),
        row("object to bytes, ag-ui-adk", "object", "ag-ui"),
        row("log to bytes as AG-UI, ag-ui-adk", "our ag-ui", "ag-ui", AG_UI_TARGET),
    ]
    if "pydantic-ai" in measured.costs:
        found.append(row("log to bytes, pydantic-ai", "log", "pydantic-ai", 1))
    return found


def _timed(
    case: Case, measured: Measured, what: str, ours: str, reference: str, target: float | None
) -> Row:
    costs = micros(measured.cost(ours)), micros(measured.cost(reference))
    return Row(f"{case.name}: {what}", *costs, measured.ratio(ours, reference), target)


# --------------------------------------------------------------------------- the others


async def _append(stored: Sequence[bytes]) -> None:
    """Append one by one, as a run does."""
    log, run = MemoryLog(), RunId("run")
    await log.open()
    await log.append(run, beginning())
    for row in stored:
        await log.append(run, [AgentEvent(row)])


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
