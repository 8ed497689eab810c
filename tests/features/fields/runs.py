"""Every run that we have at hand, as AI SDK chunks: recordings, the cases of fields, and a few scenes.

Together they make every frame that we can write; what they never make is not emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from google.adk.events.event import Event
from google.genai import types
from tests.features.fields.carriers import CARRIERS, answered, events_with, said, streamed, text
from tests.features.fields.cases import CASES
from tests.features.fields.stream import STARTED, Json, ai_sdk, ended, records

from adk_prism.log.entry import (
    DERIVED,
    WARNINGS,
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    Continues,
    Decision,
    Record,
    RunEnded,
    RunTakenOver,
    SpeakerInterrupted,
    Warned,
    relabelled,
)
from adk_prism.protocols.contract import WHOLE, Scope

RECORDINGS = Path(__file__).parent.parent.parent / "recordings" / "raw"


class Run(NamedTuple):
    """A run and how it is shown."""

    id: str
    records: list[Record]
    scope: Scope = WHOLE


def recorded() -> Iterator[Run]:
    """Yield the recordings, as far as they hold events."""
    for path in sorted(RECORDINGS.glob("*.jsonl")):
        lines = [line for line in path.read_bytes().splitlines() if b'"invocationId"' in line]
        yield Run(path.stem, ended([STARTED, *map(AgentEvent, lines)]))


def tried() -> Iterator[Run]:
    """Yield the events by which fields are followed."""
    for name, case in CASES.items():
        yield Run(name, records(case.events))
    for model in CARRIERS:
        for field in model.model_fields:
            yield Run(f"{model.__name__}.{field}", records(events_with(model, field)))


def scenes() -> Iterator[Run]:
    """Yield what no single event makes: ends, and answers to an earlier run."""
    begun = records([text("so", partial=True)])[:-1]
    yield Run("cancelled", [*begun, RunEnded(outcome="cancelled")])
    half = records(streamed(types.FunctionCall(id="call-a", name="look"))[:2])[:-1]
    yield Run(
        "failed in the middle of a call", [*half, RunEnded(outcome="failed", code="Overload")]
    )
    call = types.Part(function_call=types.FunctionCall(id="call-a", name="look"))
    report = {"adk_prism_progress": {"call": "call-a", "done": 1, "total": 2}}
    far = Event(author="agent", partial=True, custom_metadata=report)
    yield Run("a tool at work", records([said(call), far]))
    mine = said(call, long_running_tool_ids={"call-a"})
    yield Run("a client's tool at work", records([mine, far]))
    captured = relabelled(STARTED, DERIVED(True))
    yield Run("captured", [captured, *records([text("so")])[1:]])
    other = records([text("no", partial=True)])[1:]
    yield Run("taken over", [*begun, RunTakenOver(epoch=1), *other])
    warned = Warned(code="tools-ignored", text="They were ignored.")
    again = relabelled(
        msgspec.structs.replace(STARTED, rewound=["m-1", "run-0"]), WARNINGS([warned])
    )
    yield Run("in the place of others", [again, *records([text("so")])[1:]])
    stranger = b'{"author":"agent","content":{"parts":[{"hologram":{"a":1}}]}}'
    yield Run("a part that nobody knows", ended([STARTED, AgentEvent(stranger)]))
    for approved in (True, False):
        decision = Decision(approval="ask-a", approved=approved, reason="because")
        continues = Continues(
            message="run-0", open_calls={"call-a": "look"}, decisions={"call-a": decision}
        )
        first = msgspec.structs.replace(STARTED, continues=continues)
        answer = answered(types.FunctionResponse(id="call-a", name="look", response={"seen": 1}))
        run = [first, *records([*answer, text("so")])[1:]]
        yield Run(f"answered {approved}", run)
        yield Run(f"replayed {approved}", run, Scope(opens=False, closes=False, replayed=True))


def live() -> Iterator[Run]:
    """Yield a live run: a question inside a message, an interruption, usage that comes late."""
    call = types.Part(function_call=types.FunctionCall(id="call-a", name="look", args={}))
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=3)
    asked = records([said(call)])[:-1]
    spoken = records([text("so", partial=True)])[1:-1]
    late = records([Event(author="agent", usage_metadata=usage)])[1:]
    yield Run(
        "live",
        [
            msgspec.structs.replace(STARTED, live=True),
            *asked[1:],
            ApprovalAsked(approval="ask-a", call="call-a", name="look", hint="May I?"),
            ApprovalGiven(approval="ask-a", approved=True, reason="because"),
            *records(answered(types.FunctionResponse(id="call-a", name="look", response={})))[1:-1],
            *spoken,
            SpeakerInterrupted(),
            *late,
        ],
    )


def all_runs() -> Iterator[Run]:
    """Yield every run."""
    yield from (*recorded(), *tried(), *scenes(), *live())


@cache
def chunks(dialect: str) -> dict[str, list[Json]]:
    """Return the chunks of every run, by its id."""
    return {run.id: ai_sdk(run.records, dialect=dialect, scope=run.scope) for run in all_runs()}


def all_chunks(*dialects: str) -> Iterator[Json]:
    """Yield every chunk of every run."""
    for dialect in dialects:
        for found in chunks(dialect).values():
            yield from found


def metadata(*dialects: str) -> Iterator[dict[str, Any]]:
    """Yield the metadata of every message."""
    for chunk in all_chunks(*dialects):
        if "messageMetadata" in chunk:
            yield chunk["messageMetadata"]
