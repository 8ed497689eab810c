"""How a turn is cut into the chunks that a Gemini stream would carry.

Words are chunks of text; a streamed call is a named opening, one chunk per piece of an argument and
an empty closing chunk, as Vertex AI sends it (`partialArgs`, google-genai 2.34); everything else is
one chunk. The finish reason, the usage and the sources ride on the last chunk. A filter's finish
reason comes in a chunk without content, as Gemini sends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from google.genai import types

from adk_prism.models.scripted_turn import Call, Fail, Pause, Say, Show, Step, Think, Turn

Usage = types.GenerateContentResponseUsageMetadata
Chunk = types.GenerateContentResponse

# The reasons that end an answer rather than withhold it: they come with the last content.
_FINISHES_WITH_CONTENT = {types.FinishReason.STOP, types.FinishReason.MAX_TOKENS}
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# What happens in a stream, in order: a chunk comes, nothing comes for a while, or it breaks.
Beat = Chunk | Pause | Fail


def words_of(text: str) -> list[str]:
    """Cut a text into words, each with the space after it; joined they are the text again."""
    return re.findall(r"\S+\s*|\s+", text)


def beats_of(turn: Turn, usage: Usage, model: str) -> Iterator[Beat]:
    """Yield what a stream of this turn consists of, in order."""
    if turn.blocked is not None:
        yield _refusal(turn.blocked, usage, model)
        return
    parts = [part for step in turn.steps for part in _parts_of(step)]
    broken = any(isinstance(part, Fail) for part in parts)
    last = max((i for i, p in enumerate(parts) if isinstance(p, types.Part)), default=-1)
    closes_with_content = last >= 0 and turn.finish_reason in _FINISHES_WITH_CONTENT
    for i, part in enumerate(parts):
        if not isinstance(part, types.Part):
            yield part
        elif closes_with_content and i == last and not broken:
            yield _last_chunk([part], turn, usage, model)
        else:
            yield _open_chunk(part, model)
    if not broken and not closes_with_content:
        yield _last_chunk([], turn, usage, model)


def whole_of(turn: Turn, usage: Usage, model: str) -> Chunk:
    """Return the turn as one response, as Gemini answers when no stream was asked for."""
    if turn.blocked is not None:
        return _refusal(turn.blocked, usage, model)
    withheld = turn.finish_reason not in _FINISHES_WITH_CONTENT
    parts = [] if withheld else [part for step in turn.steps for part in _whole_parts_of(step)]
    return _last_chunk(_merge_texts(parts), turn, usage, model)


def _open_chunk(part: types.Part, model: str) -> Chunk:
    candidate = types.Candidate(content=types.Content(role="model", parts=[part]), index=0)
    return Chunk(candidates=[candidate], model_version=model)


def _last_chunk(parts: list[types.Part], turn: Turn, usage: Usage, model: str) -> Chunk:
    candidate = types.Candidate(
        content=types.Content(role="model", parts=parts) if parts else None,
        index=0,
        finish_reason=turn.finish_reason,
        finish_message=turn.finish_message,
        grounding_metadata=turn.grounding,
        citation_metadata=turn.citations,
    )
    return Chunk(candidates=[candidate], usage_metadata=usage, model_version=model)


def _refusal(reason: types.BlockedReason, usage: Usage, model: str) -> Chunk:
    feedback = types.GenerateContentResponsePromptFeedback(
        block_reason=reason, block_reason_message="The prompt was refused (scripted)."
    )
    return Chunk(prompt_feedback=feedback, usage_metadata=usage, model_version=model)


def _parts_of(step: Step) -> Iterator[Pause | Fail | types.Part]:
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
        case Pause() | Fail():
            yield step
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


def _merge_texts(parts: list[types.Part]) -> list[types.Part]:
    """Join neighbouring texts of one kind, as ADK does when it puts a stream together."""
    merged: list[types.Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if last and last.text and part.text and last.thought == part.thought:
            last.text += part.text
            last.thought_signature = last.thought_signature or part.thought_signature
        else:
            merged.append(part)
    return merged


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
