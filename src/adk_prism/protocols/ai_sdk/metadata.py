"""What a message carries beside its parts: usage, model, sources, sound, the app's own metadata.

Collected while the message runs and sent with its `finish`. Token counts are sums over the run's model
calls under the AI SDK's names; upstream's own counts are kept beside them, call by call. So are a plain list
of sources and the hits of the context cache, beside upstream's own forms.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.facts.event_actions import Source, sources_in
from adk_prism.facts.model import (
    AudioHeard,
    CitationsGiven,
    MetadataGiven,
    ModelCallEnded,
    SourcesLinked,
)
from adk_prism.facts.state import is_given, read_object, repair
from adk_prism.log.entry import NOTHING

USAGE = {
    "inputTokens": "promptTokenCount",
    "outputTokens": "candidatesTokenCount",
    "totalTokens": "totalTokenCount",
    "reasoningTokens": "thoughtsTokenCount",
    "cachedInputTokens": "cachedContentTokenCount",
}
"""The AI SDK's names for token counts, and upstream's."""


class Metadata:
    """The metadata of one run's message."""

    def __init__(self) -> None:
        self._used: list[tuple[Raw, Raw]] = []
        """Usage and cache of each model call: copies, which are read at the end."""
        self._last: dict[str, Any] = {}
        self._groundings: list[dict[str, Any]] = []
        self._sources: dict[str, Source] = {}
        self._citations: list[Any] = []
        self._custom: dict[str, Any] = {}
        self._audio: _Sound | None = None
        self._is_interrupted = False
        self._failure = ""

    def model_call(self, fact: ModelCallEnded) -> None:
        """Take a model call's end."""
        last = self._last
        if fact.usage is not NOTHING or fact.cache is not NOTHING:
            self._used.append((fact.usage.copy(), fact.cache.copy()))
        if fact.model:
            last["modelVersion"] = fact.model
        if fact.finish:
            last.pop("finishMessage", None)  # it explained another call's finish
            last["adkFinishReason"] = fact.finish
        if fact.message:
            last["finishMessage"] = fact.message
        if fact.avg_logprobs is not None:
            last["avgLogprobs"] = fact.avg_logprobs
        if is_given(fact.logprobs):
            self._last["logprobs"] = Raw(repair(bytes(fact.logprobs)))

    def grounding(self, fact: SourcesLinked) -> None:
        self._groundings.append(read_object(fact.grounding))
        for source in sources_in(fact.grounding):
            self._sources.setdefault(source.key, source)

    def citations(self, fact: CitationsGiven) -> None:
        self._citations.extend(_items(read_object(fact.citations).get("citations")))

    def custom(self, fact: MetadataGiven) -> None:
        self._custom.update(read_object(fact.custom))

    def audio(self, fact: AudioHeard) -> None:
        if self._audio is None:
            self._audio = _Sound()
        self._audio.add(fact)

    def interrupted(self) -> None:
        self._is_interrupted = True

    def failed(self, why: str) -> None:
        self._failure = why

    def collected(self) -> dict[str, Any]:
        """Return all of it. `usage` is always there: clients need some metadata on `finish`."""
        calls, cache = self._read_usage()
        found: dict[str, Any] = {"usage": _usage(calls), **self._last}
        if self._groundings:
            found["grounding"] = _merge_grounding(self._groundings)
        if self._sources:
            links = [{"uri": each.uri, "title": each.title} for each in self._sources.values()]
            found["grounding"] |= {"sources": links}
        if totals := cache.totals():
            found["cache"] = totals
        if self._citations:
            found["citations"] = self._citations
        if self._custom:
            found["custom"] = self._custom
        if self._audio is not None:
            found["audio"] = self._audio.totals()
        if self._is_interrupted:
            found["interrupted"] = True
        if self._failure:
            found["failure"] = self._failure
        return found

    def _read_usage(self) -> tuple[list[dict[str, Any]], _Cache]:
        calls, cache = [], _Cache()
        for used, cached in self._used:
            usage = read_object(used)
            if usage:
                calls.append(usage)
            cache.add(cached, usage)
        return calls, cache


class _Cache:
    """The context cache: what was said of it last, and how many model calls found something in it."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}
        self._hits = 0
        self._misses = 0

    def add(self, raw: Raw, usage: dict[str, Any]) -> None:
        said = read_object(raw)
        if not said:  # most calls say nothing of a cache
            self._hits += bool(_count(usage.get(USAGE["cachedInputTokens"])))
            return
        self._last = said
        counted = [_count(_either(said, name)) for name in ("cache_hits", "cache_misses")]
        tokens = _count(usage.get(USAGE["cachedInputTokens"]))
        if any(
            count is not None for count in counted
        ):  # an adapter of another provider counts itself
            self._hits += counted[0] or 0
            self._misses += counted[1] or 0
        elif tokens or (not usage and _either(said, "cache_name")):
            self._hits += 1
        else:
            self._misses += 1

    def totals(self) -> dict[str, Any]:
        """Return it; nothing where no call said anything of a cache."""
        if not self._last and not self._hits:
            return {}
        return {**self._last, "hits": self._hits, "misses": self._misses}


class _Sound:
    """How much sound a message held."""

    def __init__(self) -> None:
        self._chunks = 0
        self._bytes = 0
        self._seconds = 0.0
        self._rate = 0

    def add(self, fact: AudioHeard) -> None:
        size = fact.size or len(fact.data.rstrip("=")) * 3 // 4
        self._chunks += fact.chunks
        self._bytes += size
        self._rate = fact.sample_rate
        frame = fact.channels * fact.bit_depth // 8
        self._seconds += size / max(1, fact.sample_rate * frame)

    def totals(self) -> dict[str, Any]:
        return {
            "chunks": self._chunks,
            "bytes": self._bytes,
            "sampleRate": self._rate,
            "duration": round(self._seconds, 6),
        }


def _usage(calls: list[dict[str, Any]]) -> dict[str, Any]:
    usage: dict[str, Any] = {}
    for name, theirs in USAGE.items():
        counts = [count for call in calls if (count := _count(call.get(theirs))) is not None]
        if counts:
            usage[name] = sum(counts)
    if calls:
        usage["modelCalls"] = calls
    return usage


def _count(value: Any) -> int | None:
    """Return a token count; some adapters write it as text, or as a float."""
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _either(said: dict[str, Any], name: str) -> Any:
    """Return the value of a name, written with underscores or without."""
    first, *more = name.split("_")
    return said.get(name, said.get(first + "".join(map(str.capitalize, more))))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _merge_grounding(groundings: list[dict[str, Any]]) -> dict[str, Any]:
    """Join several model calls' grounding: lists in a row, supports pointing at the joined chunks."""
    merged: dict[str, Any] = {}
    for grounding in groundings:
        base = len(_items(merged.get("groundingChunks")))
        for key, value in grounding.items():
            news = [_shift(s, base) for s in _items(value)] if key == "groundingSupports" else value
            merged[key] = _joined(merged.get(key), news)
    return merged


def _joined(before: Any, news: Any) -> Any:
    if news is None:
        return before
    return before + news if isinstance(before, list) and isinstance(news, list) else news


def _shift(support: Any, base: int) -> Any:
    indices = _items(support.get("groundingChunkIndices")) if isinstance(support, dict) else []
    if not base or not indices or not all(isinstance(index, int) for index in indices):
        return support
    return {**support, "groundingChunkIndices": [index + base for index in indices]}
