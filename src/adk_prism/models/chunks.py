"""How a turn is cut into the chunks that a Gemini stream would carry.

Words are chunks of text; a streamed call is a named opening, one chunk per piece of an argument and
an empty closing chunk, as Vertex AI sends it (`partialArgs`, google-genai 2.34); everything else is one
chunk. The finish reason, the usage and the sources ride on the last chunk. A filter's finish reason
comes in a chunk without content, as Gemini sends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from google.genai import types

from adk_prism.models.turn import Call, Fail, Pause, Say, Show, Step, Think, Turn

Usage = types.GenerateContentResponseUsageMetadata
Chunk = types.GenerateContentResponse

# The reasons that end an answer rather than withhold it: they come with the last content.
_FINISHES_WITH_CONTENT = {types.FinishReason.STOP, types.FinishReason.MAX_TOKENS}
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Silence:
    """A stretch in which no chunk comes."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a stream that failed."""

    error: Exception


Beat = Chunk | Silence | Break


def words_of(text: str) -> list[str]:
    """Cut a text into words, each with the space after it; joined they are the text again."""
    return re.findall(r"\S+\s*|\s+", text)


def beats_of(turn: Turn, usage: Usage, model: str) -> Iterator[Beat]:
    """Yield what a stream of this turn consists of, in order."""
    if turn.blocked is not None:
        yield _refusal(turn.blocked, usage, model)
        return
    parts: list[Silence | Break | types.Part] = [p for s in turn.steps for p in _parts_of(s)]
    broken = any(isinstance(part, Break) for part in parts)
    last = max((i for i, p in enumerate(parts) if isinstance(p, types.Part)), default=-1)
    closing = _closing(turn, usage)
    closes_with_content = last >= 0 and turn.finish_reason in _FINISHES_WITH_CONTENT
    for i, part in enumerate(parts):
        if not isinstance(part, types.Part):
            yield part
            continue
        ends = closes_with_content and i == last and not broken
        yield _chunk([part], model, closing if ends else None)
    if not broken and not closes_with_content:
        yield _chunk(None, model, closing)


def whole_of(turn: Turn, usage: Usage, model: str) -> Chunk:
    """Return the turn as one response, as Gemini answers when no stream was asked for."""
    if turn.blocked is not None:
        return _refusal(turn.blocked, usage, model)
    withheld = turn.finish_reason not in _FINISHES_WITH_CONTENT
    parts = [] if withheld else [p for s in turn.steps for p in _whole_parts_of(s)]
    return _chunk(parts or None, model, _closing(turn, usage))


@dataclass(frozen=True, slots=True)
class _Closing:
    turn: Turn
    usage: Usage


def _closing(turn: Turn, usage: Usage) -> _Closing:
    return _Closing(turn, usage)


def _chunk(parts: list[types.Part] | None, model: str, closing: _Closing | None) -> Chunk:
    content = types.Content(role="model", parts=parts) if parts else None
    candidate = types.Candidate(content=content, index=0)
    if closing is None:
        return Chunk(candidates=[candidate], model_version=model)
    candidate.finish_reason = closing.turn.finish_reason
    candidate.finish_message = closing.turn.finish_message
    candidate.grounding_metadata = closing.turn.grounding
    candidate.citation_metadata = closing.turn.citations
    return Chunk(candidates=[candidate], usage_metadata=closing.usage, model_version=model)


def _refusal(reason: types.BlockedReason, usage: Usage, model: str) -> Chunk:
    feedback = types.GenerateContentResponsePromptFeedback(
        block_reason=reason, block_reason_message="The prompt was refused (scripted)."
    )
    return Chunk(prompt_feedback=feedback, usage_metadata=usage, model_version=model)


def _parts_of(step: Step) -> Iterator[Silence | Break | types.Part]:
    match step:
        case Say(text):
            yield from (types.Part(text=word) for word in words_of(text))
        case Think(text, signature):
            pieces = [types.Part(text=word, thought=True) for word in words_of(text)]
            if pieces:
                pieces[-1].thought_signature = signature
            yield from pieces
        case Call(streamed=True):
            yield from _streamed_call(step)
        case Call():
            yield _whole_call(step)
        case Show(part):
            # A copy: ADK hands chunks on as they are, and a script may show one part many times.
            yield part.model_copy(deep=True)
        case Pause(seconds):
            yield Silence(seconds)
        case Fail(error):
            yield Break(error)
        case _:
            assert_never(step)


def _whole_parts_of(step: Step) -> Iterator[types.Part]:
    match step:
        case Say(text):
            yield types.Part(text=text)
        case Think(text, signature):
            yield types.Part(text=text, thought=True, thought_signature=signature)
        case Call():
            yield _whole_call(step)
        case Show(part):
            yield part.model_copy(deep=True)
        case Pause() | Fail():
            return
        case _:
            assert_never(step)


def _whole_call(call: Call) -> types.Part:
    return types.Part(
        function_call=types.FunctionCall(id=call.id, name=call.name, args=dict(call.args))
    )


def _streamed_call(call: Call) -> Iterator[types.Part]:
    yield _call_piece(types.FunctionCall(id=call.id, name=call.name, will_continue=True))
    for key, value in call.args.items():
        for piece in _argument_pieces(_path_to(key, "$"), value):
            yield _call_piece(types.FunctionCall(partial_args=[piece], will_continue=True))
    yield _call_piece(types.FunctionCall())


def _call_piece(call: types.FunctionCall) -> types.Part:
    return types.Part(function_call=call)


def _path_to(key: str | int, parent: str) -> str:
    if isinstance(key, int):
        return f"{parent}[{key}]"
    return f"{parent}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{parent}['{key}']"


def _argument_pieces(path: str, value: Any) -> Iterator[types.PartialArg]:
    """Yield one argument piece by piece; empty containers have no form and are left out."""
    if value is None:
        yield types.PartialArg(json_path=path, null_value="NULL_VALUE")
    elif isinstance(value, bool):
        yield types.PartialArg(json_path=path, bool_value=value)
    elif isinstance(value, int | float):
        yield types.PartialArg(json_path=path, number_value=value)
    elif isinstance(value, str):
        pieces = words_of(value) or [""]
        for i, piece in enumerate(pieces):
            more = True if i < len(pieces) - 1 else None
            yield types.PartialArg(json_path=path, string_value=piece, will_continue=more)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _argument_pieces(_path_to(key, path), inner)
    elif isinstance(value, Sequence):
        for i, inner in enumerate(value):
            yield from _argument_pieces(_path_to(i, path), inner)
    else:
        raise TypeError(f"a scripted argument must be JSON, {path} is {type(value).__name__}")
