"""A specialist's offline model: calls the tools that the request is for, then says what they found.

It has no numbers of its own: its text is the lowest of the tools' confidences, if there are several,
and then the tools' text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest

from adk_prism.models import Answer, Script, Think, Turn, read_conversation, say

from .request import read_request
from .tool_calls import calls_for


def specialist_script(specialist: str) -> Script:
    """Return the script of one specialist."""

    def script(request: LlmRequest) -> Turn:
        conversation = read_conversation(request)
        request_read = read_request(conversation.prompt)
        if conversation.answers:
            is_alone = bool(request_read.value("alone"))
            return say(_note(conversation.answers) if is_alone else _report(conversation.answers))
        calls = calls_for(specialist, request_read)
        tools = " and ".join(call.name for call in calls)
        return Turn((Think(f"The request is for {tools}."), *calls))

    return script


def _note(answers: Sequence[Answer]) -> str:
    """Say what was done, where the coordinator gives one specialist's findings as the whole answer."""
    failed = [_part(answer) for answer in answers if answer.response.get("error")]
    tools = " and ".join(dict.fromkeys(answer.name.replace("_", " ") for answer in answers))
    return "\n\n".join([f"I did: {tools}. The answer follows.\n\n", *failed])


def _report(answers: Sequence[Answer]) -> str:
    parts = [_part(answer) for answer in answers]
    stated = [value for answer in answers if (value := _confidence(answer)) is not None]
    if len(answers) > 1 and stated:
        parts.insert(
            0, f"**Confidence:** {min(stated):.0%}\nIt is the lowest of the findings below."
        )
    closing = _closing(answers)
    if closing and not parts[-1].endswith(closing):
        parts.append(closing)
    return "\n\n".join(parts)


def _part(answer: Answer) -> str:
    error = answer.response.get("error")
    return f"No answer from {answer.name}: {error}" if error else str(answer.response.get("result"))


def _confidence(answer: Answer) -> float | None:
    layer: Any = answer.response.get("proof_layer")
    value = layer.get("confidence") if isinstance(layer, dict) else None
    return value if isinstance(value, float | int) else None


def _closing(answers: Sequence[Answer]) -> str:
    data: list[Any] = [answer.response.get("data") for answer in answers]
    found = [item["closing"] for item in data if isinstance(item, dict) and item.get("closing")]
    return str(found[-1]) if found else ""
