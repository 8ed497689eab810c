"""What a scripted model says in one turn, as data; how that becomes chunks; what a script knows of a request.

A turn is a sequence of steps (say, think, call, show, pause, fail) and the way it finishes. It knows nothing
of ADK's events: how chunks become responses is decided in `scripted_model`. Steps are a closed union.

A turn is cut into the chunks that a Gemini stream would carry: words are chunks of text; a streamed call is a
named opening, one chunk per piece of an argument and an empty closing chunk, as Vertex AI sends it
(`partialArgs`, google-genai 2.34); everything else is one chunk. The finish reason, the usage and the sources
ride on the last chunk. A filter's finish reason comes in a chunk without content, as Gemini sends it.

A script is a pure function of a request. ADK hands a model the whole history, and other agents' messages as
quoted user text; `read_conversation` reads it once. Follows google-adk 2.13 (`flows/llm_flows/context`):
relayed messages begin with "For context:".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from google.adk.models.llm_request import LlmRequest
from google.genai import types


@dataclass(frozen=True, slots=True)
class Say:
    """Text for the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, separate from the answer; the signature is on its last chunk."""

    text: str
    signature: bytes | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the agent's tools.

    Without an `id` ADK gives one, the same for the streamed preview and the final call, unless the
    model is set to drop ids. With `streamed` the arguments arrive piece by piece before the call.
    """

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """Any other part: a file, code, the result of code, a tool that the provider ran."""

    part: types.Part


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """The model call fails here; what came before has been streamed already."""

    error: Exception


Step = Say | Think | Call | Show | Pause | Fail


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model.

    `usage` is counted from the words when it is not given. `blocked` is the refusal of a prompt:
    there is no candidate, so steps and finish reason are ignored. A turn that does not stream comes
    as one response even when a stream was asked for.
    """

    steps: tuple[Step, ...] = ()
    finish_reason: types.FinishReason = types.FinishReason.STOP
    finish_message: str | None = None
    usage: types.GenerateContentResponseUsageMetadata | None = None
    grounding: types.GroundingMetadata | None = None
    citations: types.CitationMetadata | None = None
    blocked: types.BlockedReason | None = None
    streams: bool = True


def say(text: str) -> Turn:
    """Return the turn that says `text` and nothing else."""
    return Turn((Say(text),))


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


_RELAYED = "For context:"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call: of a tool, a sub-agent or the person who was asked."""

    name: str
    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The latest prompt and what has been answered since, in order."""

    prompt: str
    answers: tuple[Answer, ...] = ()
    earlier: tuple[str, ...] = ()
    """The prompts before it, the newest first."""

    def answer(self, name: str) -> Mapping[str, Any] | None:
        """Return the newest answer of a tool since the prompt, or None while it has none."""
        found = [answer.response for answer in self.answers if answer.name == name]
        return found[-1] if found else None


def read_conversation(request: LlmRequest) -> Conversation:
    """Read the request's latest prompt and the answers that followed it."""
    prompts: list[str] = []
    answers: list[Answer] = []
    for content in request.contents:
        text = _prompt_in(content)
        if text is not None:
            prompts.insert(0, text)
            answers = []
        answers.extend(_answers_in(content))
    return Conversation("".join(prompts[:1]), tuple(answers), tuple(prompts[1:]))


def words_in(request: LlmRequest) -> int:
    """Count the words of a request, as an estimate of its tokens."""
    texts = (part.text for content in request.contents for part in content.parts or [])
    return sum(len(text.split()) for text in texts if text)


def _prompt_in(content: types.Content) -> str | None:
    """Return the text a person (or a delegating agent) wrote; None for anything else."""
    parts = content.parts or []
    texts = [part.text for part in parts if part.text]
    if content.role != "user" or not texts or texts[0].startswith(_RELAYED):
        return None
    # Only the first text: ADK appends its own remarks to what a delegating agent asked.
    return texts[0]


def _answers_in(content: types.Content) -> Iterator[Answer]:
    for part in content.parts or []:
        answer = part.function_response
        if answer is not None and answer.name is not None:
            yield Answer(answer.name, answer.response or {})
