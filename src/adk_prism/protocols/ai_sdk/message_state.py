"""Steps: where one model call's output ends and the next begins, as stock clients need it.

A stock client posts again by itself when the last step of a message holds only answered calls. So text
that follows an answer goes into a new step, and a finished run whose last step holds only answered calls
gets an empty step at its end. With parallel agents a step may hold several model calls: it is closed
only when no block of any lane is open and each of its calls is answered or runs an agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Raw, Struct, field

from adk_prism.facts import model as facts
from adk_prism.facts.event_actions import Source, sources_in
from adk_prism.facts.state import is_given, read_object, repair
from adk_prism.log.entry import NOTHING
from adk_prism.protocols.ai_sdk import frames as ai
from adk_prism.protocols.contract import token_count


class _Step(Struct, eq=False):
    """The step that is open."""

    model_call: str
    calls: int = 0
    unsettled: set[str] = field(default_factory=set)
    """Calls that are neither answered nor run an agent."""

    @property
    def is_answered(self) -> bool:
        """Whether it holds calls, and all of them are settled."""
        return bool(self.calls) and not self.unsettled


class Steps:
    """The steps of one run's message."""

    def __init__(self) -> None:
        self._step: _Step | None = None
        self._blocks = 0
        self._any = False

    def output(self, model_call: str, out: list[ai.Frame]) -> None:
        """Make sure that a model call's output lands in the right step."""
        step = self._step
        if step is None:
            out.append(ai.StartStep())
        elif model_call != step.model_call and step.is_answered and not self._blocks:
            out.append(ai.FinishStep())
            out.append(ai.StartStep())
        else:
            return
        self._step = _Step(model_call)
        self._any = True

    def beside(self, out: list[ai.Frame]) -> None:
        """Make sure that there is a step for what belongs to no model call in particular."""
        if self._step is None:
            self.output("", out)

    def block_began(self) -> None:
        self._blocks += 1

    def block_ended(self) -> None:
        self._blocks -= 1

    def call_began(self, call: str) -> None:
        """Note a call, also one whose input still streams: a call is in one step."""
        if self._step is not None and call not in self._step.unsettled:
            self._step.calls += 1
            self._step.unsettled.add(call)

    def call_settled(self, call: str) -> None:
        if self._step is not None:
            self._step.unsettled.discard(call)

    def close(self, out: list[ai.Frame], *, seal: bool, first: bool) -> None:
        """Close the open step; with `seal`, keep a client from posting again over answered calls.

        A run that said nothing gets an empty step, if it is the message's `first` (ai 6.0.0 refuses a
        message without parts) or seals it (the last step may be of an earlier run, and answered).
        """
        step, self._step = self._step, None
        if step is not None:
            out.append(ai.FinishStep())
        if (seal and step is not None and step.is_answered) or (not self._any and (first or seal)):
            out.append(ai.StartStep())
            out.append(ai.FinishStep())


# ---------------------------------------------------------------------------
# What the open step of a message holds, so that some of its blocks can be rewound.
#
# Dialect 7 only: `reset-step` removes every part of the step, and what is to stay is sent again after
# it. A call that was made is not: a client would run its own tool a second time. A step that holds
# one, or more than `LARGEST`, is not reset.

LARGEST = 1024 * 1024
"""Characters that are kept to be sent again, and sent in one go: more than any model says in one call."""

_Delta = ai.TextDelta | ai.ReasoningDelta | ai.ToolInputDelta
_SENT_AGAIN = (
    ai.TextStart,
    ai.TextEnd,
    ai.ReasoningStart,
    ai.ReasoningEnd,
    ai.ToolInputStart,
    ai.File,
    ai.SourceDocument,
    ai.SourceUrl,
)


class StepParts:
    """Follows the frames of a message."""

    def __init__(self) -> None:
        self._frames: list[ai.Frame] | None = None
        """Of the open step; None where there is none, or where it cannot be reset."""
        self._size = 0
        self._open: dict[str, ai.TextEnd | ai.ReasoningEnd] = {}
        """Blocks that are open, and their ends."""
        self._blocks: set[str] = set()

    def feed(self, frames: Sequence[ai.Frame]) -> None:
        """Take frames in the order in which they are sent."""
        for frame in frames:
            if isinstance(frame, ai.TextDelta | ai.ReasoningDelta | ai.ToolInputDelta):
                self._keep(frame, len(_piece(frame)))
            elif isinstance(frame, ai.StartStep | ai.ResetStep | ai.FinishStep):
                self._frames = None if isinstance(frame, ai.FinishStep) else []
                self._size = 0
                self._open.clear()
                self._blocks.clear()
            else:
                self._take(frame)

    def _take(self, frame: ai.Frame) -> None:
        if isinstance(frame, ai.TextStart | ai.ReasoningStart):
            self._blocks.add(frame.id)
            is_text = isinstance(frame, ai.TextStart)
            self._open[frame.id] = ai.TextEnd(frame.id) if is_text else ai.ReasoningEnd(frame.id)
        elif isinstance(frame, ai.TextEnd | ai.ReasoningEnd):
            self._open.pop(frame.id, None)
        if isinstance(frame, ai.Data):
            if frame.transient is not True:
                self._keep(frame, 0)
        elif isinstance(frame, _SENT_AGAIN):
            self._keep(frame, len(frame.url) if isinstance(frame, ai.File) else 0)
        else:
            self._frames = None

    def _keep(self, frame: ai.Frame, size: int) -> None:
        self._size += size + 1
        if self._size > LARGEST:
            self._frames = None
        if self._frames is not None:
            self._frames.append(frame)

    def taken_back(self, gone: Collection[str]) -> list[ai.Frame]:
        """Return the frames that take blocks back; none where the step cannot be reset."""
        if self._frames is None or not self._blocks.issuperset(gone):
            return []
        return [*self._open.values(), ai.ResetStep(), *_without(self._frames, gone)]


def _without(frames: Sequence[ai.Frame], gone: Collection[str]) -> Iterator[ai.Frame]:
    """Yield the frames of what stays; what came in pieces, in one."""
    said: dict[str, list[str]] = {}
    for frame in frames:
        if isinstance(frame, ai.TextDelta | ai.ReasoningDelta | ai.ToolInputDelta):
            said.setdefault(_owner(frame), []).append(_piece(frame))
    for frame in frames:
        match frame:
            case ai.TextStart(id=block) | ai.ReasoningStart(id=block) if block not in gone:
                yield frame
                delta = ai.TextDelta if isinstance(frame, ai.TextStart) else ai.ReasoningDelta
                yield delta(block, "".join(said.get(block, ())))
            case ai.ToolInputStart(tool_call_id=call):
                yield frame
                if call in said:
                    yield ai.ToolInputDelta(call, "".join(said[call]))
            case ai.TextEnd(id=block) | ai.ReasoningEnd(id=block) if block not in gone:
                yield frame
            case ai.Data() | ai.File() | ai.SourceUrl() | ai.SourceDocument():
                yield frame
            case _:
                pass  # a piece, or of a block that is gone


def _owner(frame: _Delta) -> str:
    return frame.tool_call_id if isinstance(frame, ai.ToolInputDelta) else frame.id


def _piece(frame: _Delta) -> str:
    return frame.input_text_delta if isinstance(frame, ai.ToolInputDelta) else frame.delta


# ---------------------------------------------------------------------------
# What a message carries beside its parts: usage, model, sources, sound, the app's own metadata.
#
# Collected while the message runs and sent with its `finish`. Token counts are sums over the run's model
# calls under the AI SDK's names; upstream's own counts are kept beside them, call by call. So are a plain
# list of sources and the hits of the context cache, beside upstream's own forms.

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
        self.usage: dict[str, Any] = {}
        """What annotations say of the usage."""
        self._audio: dict[str, Any] = {}
        """How much sound the message held."""
        self.is_interrupted = False
        self.failure = ""

    def model_call(self, fact: facts.ModelCallEnded) -> None:
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

    def grounding(self, fact: facts.SourcesLinked) -> None:
        self._groundings.append(read_object(fact.grounding))
        for source in sources_in(fact.grounding):
            self._sources.setdefault(source.key, source)

    def citations(self, fact: facts.CitationsGiven) -> None:
        self._citations.extend(_items(read_object(fact.citations).get("citations")))

    def custom(self, fact: facts.MetadataGiven) -> None:
        self._custom.update(read_object(fact.custom))

    def audio(self, fact: facts.AudioHeard) -> None:
        size = fact.size or len(fact.data.rstrip("=")) * 3 // 4
        rate, before = fact.sample_rate, self._audio
        seconds = size / max(1, rate * (fact.channels * fact.bit_depth // 8))
        self._audio = {
            "chunks": before.get("chunks", 0) + fact.chunks,
            "bytes": before.get("bytes", 0) + size,
            "sampleRate": rate,
            "duration": before.get("duration", 0.0) + seconds,
        }

    def collected(self) -> dict[str, Any]:
        """Return all of it. `usage` is always there: clients need some metadata on `finish`."""
        calls = [(read_object(used), read_object(cached)) for used, cached in self._used]
        usage = _usage([used for used, _ in calls if used]) | self.usage
        grounding = _merge_grounding(self._groundings) if self._groundings else {}
        if self._sources:
            links = [{"uri": each.uri, "title": each.title} for each in self._sources.values()]
            grounding |= {"sources": links}
        audio = self._audio and {**self._audio, "duration": round(self._audio["duration"], 6)}
        found: dict[str, Any] = {"grounding": grounding, "cache": _cache(calls)}
        found |= {"citations": self._citations, "custom": self._custom, "audio": audio}
        found |= {"interrupted": self.is_interrupted, "failure": self.failure}
        return {"usage": usage, **self._last} | {k: each for k, each in found.items() if each}


def _cache(calls: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """Return what was said of the context cache last, and how many model calls found something in it.

    Takes usage and cache of each call. Nothing, where no call said anything of a cache.
    """
    last: dict[str, Any] = {}
    hits = misses = 0
    for usage, said in calls:
        tokens = token_count(usage.get(USAGE["cachedInputTokens"]))
        found, missed = (
            token_count(_either(said, name)) for name in ("cache_hits", "cache_misses")
        )
        last = said or last
        if not said:  # as most calls
            hits += bool(tokens)
        elif (
            found is not None or missed is not None
        ):  # an adapter of another provider counts itself
            hits, misses = hits + (found or 0), misses + (missed or 0)
        elif tokens or (not usage and _either(said, "cache_name")):
            hits += 1
        else:
            misses += 1
    return {**last, "hits": hits, "misses": misses} if last or hits else {}


def _usage(calls: list[dict[str, Any]]) -> dict[str, Any]:
    usage: dict[str, Any] = {}
    for name, theirs in USAGE.items():
        counts = [count for call in calls if (count := token_count(call.get(theirs))) is not None]
        if counts:
            usage[name] = sum(counts)
    if calls:
        usage["modelCalls"] = calls
    return usage


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
            added = (
                [_shift(s, base) for s in _items(value)] if key == "groundingSupports" else value
            )
            merged[key] = _joined(merged.get(key), added)
    return merged


def _joined(before: Any, added: Any) -> Any:
    if added is None:
        return before
    return before + added if isinstance(before, list) and isinstance(added, list) else added


def _shift(support: Any, base: int) -> Any:
    indices = _items(support.get("groundingChunkIndices")) if isinstance(support, dict) else []
    if not base or not indices or not all(isinstance(index, int) for index in indices):
        return support
    return {**support, "groundingChunkIndices": [index + base for index in indices]}
