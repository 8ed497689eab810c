"""What a message carries beside its parts: sums, merges, and what upstream said, untouched."""

from __future__ import annotations

from typing import Any

import pytest
from tests.laws.events import Json, event, text
from tests.protocols.chunks import metadata

PCM = "audio/pcm;rate=24000"


def used(**counts: Any) -> Json:
    return event(text("a"), usageMetadata=counts)


def test_usage_is_summed_and_kept_call_by_call() -> None:
    """Under the AI SDK's names; partial events say the same again and are not counted."""
    first = {"promptTokenCount": 2, "candidatesTokenCount": 3, "totalTokenCount": 5}
    second = {"promptTokenCount": 10, "thoughtsTokenCount": 4, "cachedContentTokenCount": 1}
    partial = event(text("a"), partial=True, usageMetadata=first)
    assert metadata(partial, used(**first), used(**second))["usage"] == {
        "inputTokens": 12,
        "outputTokens": 3,
        "totalTokens": 5,
        "reasoningTokens": 4,
        "cachedInputTokens": 1,
        "modelCalls": [first, second],
    }


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        ({"totalTokenCount": "12"}, 12),
        ({"totalTokenCount": 12.0}, 12),
        ({"totalTokenCount": "many"}, None),
        ({"totalTokenCount": None}, None),
        ({"totalTokenCount": True}, None),
        ({"totalTokenCount": {"a": 1}}, None),
        ([1, 2], None),
        ("12", None),
    ],
)
def test_counts_of_other_writers(usage: Any, total: int | None) -> None:
    """A number in quotes is that number; what is none counts for nothing, and breaks nothing."""
    assert metadata(event(text("a"), usageMetadata=usage))["usage"].get("totalTokens") == total


def test_the_last_model_call_speaks_for_the_message() -> None:
    """Version, cache and log probabilities are the last one's that had them."""
    found = metadata(
        event(text("a"), modelVersion="m1", avgLogprobs=-0.5, cacheMetadata={"cacheName": "c"}),
        event(text("b"), modelVersion="m2", logprobsResult={"chosenCandidates": []}),
    )
    assert found["modelVersion"] == "m2"
    assert found["avgLogprobs"] == -0.5
    assert found["cache"] == {"cacheName": "c", "hits": 1, "misses": 0}
    assert found["logprobs"] == {"chosenCandidates": []}


def test_groundings_are_joined() -> None:
    """Chunks in a row; the supports of the second point at where its chunks are now."""
    one = {
        "webSearchQueries": ["a"],
        "groundingChunks": [{"web": {"uri": "https://a"}}],
        "groundingSupports": [{"segment": {"text": "A"}, "groundingChunkIndices": [0]}],
    }
    two = {
        "webSearchQueries": ["b"],
        "groundingChunks": [{"web": {"uri": "https://b"}}],
        "groundingSupports": [{"groundingChunkIndices": [0]}],
        "searchEntryPoint": {"renderedContent": "<p>"},
    }
    assert metadata(event(groundingMetadata=one), event(groundingMetadata=two))["grounding"] == {
        "webSearchQueries": ["a", "b"],
        "groundingChunks": [{"web": {"uri": "https://a"}}, {"web": {"uri": "https://b"}}],
        "groundingSupports": [
            {"segment": {"text": "A"}, "groundingChunkIndices": [0]},
            {"groundingChunkIndices": [1]},
        ],
        "searchEntryPoint": {"renderedContent": "<p>"},
        "sources": [
            {"uri": "https://a", "title": "https://a"},
            {"uri": "https://b", "title": "https://b"},
        ],
    }


def test_sources_are_a_plain_list() -> None:
    """Each once, of whatever kind; what names nothing is none."""
    chunks = [
        {"web": {"uri": "https://a", "title": "A"}},
        {"web": {"uri": "https://a", "title": "A again"}},
        {"web": None},
        {"web": {}},
        {"maps": {"uri": "https://m", "title": "M"}},
        {"image": {"sourceUri": "https://i", "imageUri": "https://i/i.png"}},
        {"retrievedContext": {"documentName": "D"}},
        {},
    ]
    found = metadata(event(text("a"), groundingMetadata={"groundingChunks": chunks}))["grounding"]
    assert found["sources"] == [
        {"uri": "https://a", "title": "A"},
        {"uri": "https://m", "title": "M"},
        {"uri": "https://i", "title": "https://i"},
        {"uri": "", "title": "D"},
    ]
    assert found["groundingChunks"] == chunks


def test_a_grounding_without_sources_lists_none() -> None:
    """No empty list, as upstream has none."""
    found = metadata(event(text("a"), groundingMetadata={"webSearchQueries": ["a"]}))
    assert found["grounding"] == {"webSearchQueries": ["a"]}


CACHE = {"fingerprint": "f", "contents_count": 3}
ACTIVE = CACHE | {"cache_name": "c", "invocations_used": 2}


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([], None),
        ([({}, {"totalTokenCount": 5})], None),
        ([(CACHE, {})], CACHE | {"hits": 0, "misses": 1}),
        ([(ACTIVE, {})], ACTIVE | {"hits": 1, "misses": 0}),
        ([(ACTIVE, {"totalTokenCount": 5})], ACTIVE | {"hits": 0, "misses": 1}),
        ([(ACTIVE, {"cachedContentTokenCount": 0})], ACTIVE | {"hits": 0, "misses": 1}),
        ([(ACTIVE, {"cachedContentTokenCount": 4})], ACTIVE | {"hits": 1, "misses": 0}),
        ([({}, {"cachedContentTokenCount": 4})], {"hits": 1, "misses": 0}),
        (
            [(CACHE, {}), (ACTIVE, {"cachedContentTokenCount": 4}), ({}, {})],
            ACTIVE | {"hits": 1, "misses": 1},
        ),
        (
            [({"cacheHits": 3, "cacheMisses": 1}, {})],
            {"cacheHits": 3, "cacheMisses": 1, "hits": 3, "misses": 1},
        ),
        ([([1], {})], None),
    ],
    ids=str,
)
def test_hits_of_the_cache_are_counted(calls: list[Any], told: Any) -> None:
    """By the tokens that a call read from it; beside what ADK said of the cache last."""
    events = [
        event(text("a"), cacheMetadata=cache or None, usageMetadata=usage or None)
        for cache, usage in calls
    ]
    assert metadata(*events).get("cache") == told


@pytest.mark.parametrize(
    "odd",
    [
        {"groundingChunks": 5, "groundingSupports": "x"},
        {
            "groundingChunks": [None, 1],
            "groundingSupports": [None, {"groundingChunkIndices": ["a"]}],
        },
        [1],
    ],
)
def test_odd_groundings_break_nothing(odd: Any) -> None:
    """They come through as they are, or not at all."""
    metadata(event(groundingMetadata=odd), event(groundingMetadata=odd), event(text("a")))


def test_citations_and_the_apps_own_metadata_are_collected() -> None:
    """Citations in a row; of the app's keys the last value."""
    found = metadata(
        event(citationMetadata={"citations": [{"uri": "a"}]}, customMetadata={"k": 1, "l": 1}),
        event(citationMetadata={"citations": [{"uri": "b"}]}, customMetadata={"k": 2}),
        event(citationMetadata={"citations": "odd"}),
    )
    assert found["citations"] == [{"uri": "a"}, {"uri": "b"}]
    assert found["custom"] == {"k": 2, "l": 1}


def test_sound_is_counted() -> None:
    """Bytes of sound, not of base64; seconds by rate, channels and depth."""
    pieces = [event({"inlineData": {"mimeType": PCM, "data": data}}) for data in ("AAAA", "AAA=")]
    assert metadata(*pieces)["audio"] == {
        "chunks": 2,
        "bytes": 5,
        "sampleRate": 24000,
        "duration": round(5 / 48000, 6),
    }


def test_there_is_always_some() -> None:
    """A stock client takes notice of a sealing step only with metadata on `finish`."""
    assert metadata() == {"usage": {}}
