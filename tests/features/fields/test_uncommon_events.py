"""Values that were lost where an event is not the usual one, found by following every field."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from google.adk.events.event import Event
from google.genai import types
from tests.features.fields.carriers import grounded, said, text
from tests.features.fields.cases import SIGNATURE, SIGNED
from tests.features.fields.stream import ai_sdk, records, values_at

METADATA = "messageMetadata"


class Case(NamedTuple):
    id: str
    events: list[Event]
    frame: str
    key: str
    found: list[Any]


def _spoken(words: str) -> types.Part:
    sound = types.Blob(mime_type="audio/wav", data=b"sound")
    return types.Part(inline_data=sound, audio_transcription=types.Transcription(text=words))


CASES = [
    Case(
        "a provider's call has a signature as well",
        [said(types.Part(tool_call=types.ToolCall(id="a"), thought_signature=SIGNATURE))],
        "tool-input-available",
        "providerMetadata.google.thoughtSignature",
        [SIGNED],
    ),
    Case(
        "an error message may come without a code",
        [Event(author="agent", error_message="hush"), text("so")],
        "data-error",
        "data.code",
        [""],
    ),
    Case(
        "several model calls' lists are joined, not only the last one's kept",
        [*grounded(retrieval_queries=["one"]), *grounded(retrieval_queries=["two"])],
        "finish",
        f"{METADATA}.grounding.retrievalQueries",
        [["one", "two"]],
    ),
    Case(
        "supports point at the joined chunks",
        2
        * grounded(
            grounding_chunks=[types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://a"))],
            grounding_supports=[types.GroundingSupport(grounding_chunk_indices=[0])],
        ),
        "finish",
        f"{METADATA}.grounding.groundingSupports[].groundingChunkIndices",
        [[0], [1]],
    ),
    Case(
        "why an earlier model call stopped is not told of a later one",
        [
            Event(author="agent", error_code="MAX_TOKENS", error_message="too long"),
            text("so", finish_reason=types.FinishReason.STOP),
        ],
        "finish",
        f"{METADATA}.finishMessage",
        [],
    ),
    Case(
        "a model that says only its name is named",
        [text("so", model_version="model-1")],
        "finish",
        f"{METADATA}.modelVersion",
        ["model-1"],
    ),
    Case(
        "a spoken part is written once, though it comes twice",
        [said(_spoken("spoken"), partial=True), said(_spoken("spoken"))],
        "text-delta",
        "delta",
        ["spoken"],
    ),
    Case(
        "a transcript may be all that a part holds",
        [said(types.Part(audio_transcription=types.Transcription(text="spoken")))],
        "text-delta",
        "delta",
        ["spoken"],
    ),
    Case(
        "an image is cited by the page that shows it",
        [
            *grounded(
                grounding_chunks=[
                    types.GroundingChunk(
                        image=types.GroundingChunkImage(
                            source_uri="https://a/page", image_uri="https://a/i.png", title="A"
                        )
                    )
                ]
            )
        ],
        "source-url",
        "url",
        ["https://a/page"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_nothing_is_lost_in_an_uncommon_event(case: Case) -> None:
    """All values at the place, in order."""
    assert values_at(ai_sdk(records(case.events)), case.frame, case.key) == case.found
