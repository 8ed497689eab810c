"""Each projected field also arrives where AG-UI's clients look for it, from a real ADK event to the frames.

The same cases as for the AI SDK. Where AG-UI shows a value in another form, `FOUND` says what it looks like.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.features.fields.cases import Case
from tests.features.fields.stream import Json, ag_ui, records, values_at
from tests.features.fields.test_projected_fields import ROWS, Row

from adk_prism.features.fields.dispositions import PLACES, ag_ui_place, begins
from adk_prism.protocols.ag_ui.calls import call_of, ending

FOUND: dict[str, Any] = {
    "Event.actions in data-state.data": "good",
    "EventActions.state_delta in data-state.data": {"EventActions.state_delta": 485266},
    "Event.finish_reason in finish.finishReason": "MAX_TOKENS",
    "Event.error_code in finish.finishReason": "MAX_TOKENS",
    "Event.grounding_metadata in finish.messageMetadata.grounding": {
        "groundingChunks": [{"web": {"title": "A", "uri": "https://example.org/a.pdf"}}]
    },
    "Event.cache_metadata in finish.messageMetadata.cache": {
        "fingerprint": "f",
        "contents_count": 2,
    },
    "Transcription.finished in data-input-transcription.data.final": "run-1-input-2",
    "GroundingChunkRetrievedContext.uri in source-document.filename": "gs://bucket/a.pdf",
    "FunctionCall.args in tool-input-available.input": {"at": "it"},
}
"""What stands at places where AG-UI shows a value otherwise. Of reasons it is upstream's own word. The
arguments of the last one are contradicted by what was streamed before: the call's end has them."""


def found_at(events: list[Json], row: Row) -> list[Any]:
    """Return what stands at a row's place; where that is JSON text, what stands in it."""
    place = ag_ui_place(row.place)
    frame, key = place.frame, place.key
    whole, _, inner = key.partition(".")
    values = values_at(events, frame, key)
    if place.frame.endswith(("_CONTENT", "_ARGS")):
        pieces: dict[str, list[str]] = {}
        for event in events:
            if event["type"] == frame:
                name = event.get("toolCallId") or event["messageId"]
                pieces.setdefault(name, []).append(event["delta"])
        values = ["".join(each) for each in pieces.values()]
    if frame in ("TOOL_CALL_ARGS", "TOOL_CALL_RESULT") and whole in ("delta", "content"):
        texts = values or values_at(events, frame, whole)
        decoded = [{"type": frame, "it": json.loads(text)} for text in texts if text[:1] in '{["']
        values = [*texts, *values_at(decoded, frame, f"it.{inner}" if inner else "it")]
    return values


def is_there(wanted: Any, values: list[Any]) -> bool:
    if isinstance(wanted, re.Pattern):
        return any(isinstance(value, str) and wanted.fullmatch(value) for value in values)
    return wanted in values


def check(row: Row, without: type[Any] | None = None) -> None:
    case: Case = row.case()
    events = ag_ui(records(case.events), without=without)
    values = found_at(events, row)
    wanted = FOUND.get(row.id, case.found)
    if row.field.startswith(("FinishReason.", "BlockedReason.")):
        wanted = row.field.partition(".")[2]
    if ag_ui_place(row.place).how == "made unique where it is short":
        values = [call_of(value) for value in values]
    if row.place.frame == "tool-input-delta":
        # What was written before the run broke off, and how it is completed.
        wanted = wanted + ending(wanted)
    assert is_there(wanted, values), (wanted, values)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_projected_value_is_at_its_place(row: Row) -> None:
    """The value of the field is found in the events, at the key that the table names."""
    check(row)


def test_every_place_is_one_of_the_tables() -> None:
    """A row for a place that no field has would say nothing."""
    paths = [str(row.place) for row in ROWS]
    assert [each for each in PLACES if not any(begins(path, each) for path in paths)] == []


TWO_WAYS = (
    "finish.finishReason",
    "finish.messageMetadata.grounding.sources",
    "source-",
    "tool-input-start",
    "tool-input-available.toolCallId",
    "tool-input-available.toolName",
    "tool-input-available.input",
    "tool-output-available.providerExecuted",
    "data-long-running",
    "data-input-transcription.data.text",
)
"""Places that AG-UI fills from another fact than the AI SDK does, or from two."""
BOTH_HEARD = ("Event.output_transcription", "Transcription.text")
"""The same words are heard on both sides."""
ONE_WAY = [
    row for row in ROWS if not str(row.place).startswith(TWO_WAYS) and row.field not in BOTH_HEARD
]


@pytest.mark.parametrize("row", ONE_WAY, ids=lambda row: row.id)
def test_a_projection_without_the_fact_is_caught(row: Row) -> None:
    """Take the fact away by which the value travels, and the case above fails: it does prove it."""
    with pytest.raises(AssertionError):
        check(row, without=row.place.fact)
