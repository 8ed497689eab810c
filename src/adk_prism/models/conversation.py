"""What a script needs to know of a request: the latest prompt, and how its calls were answered.

ADK hands a model the whole history, and other agents' messages as quoted user text. A script is a
pure function of that; this module reads it once, so that scripts do not walk contents themselves.
Follows google-adk 2.13 (`flows/llm_flows/context`): relayed messages begin with "For context:".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

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
