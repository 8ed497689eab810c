"""The whole text of one event: everything its author wrote in it, without thoughts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.facts.adk_event import Part
from adk_prism.facts.model import Speaker


class AgentText(Struct, frozen=True, gc=False):
    """A complete text and its author."""

    speaker: Speaker
    text: str
    is_final: bool
    """The event holds no call, so the author does not continue with tools."""


def agent_text(parts: Sequence[Part], speaker: Speaker) -> AgentText | None:
    """Return the text of a non-partial event's parts; None if they hold no text."""
    texts = [part.text for part in parts if part.text and not part.thought]
    if not texts:
        return None
    calls = any(part.function_call is not None for part in parts)
    return AgentText(speaker, "".join(texts), not calls)
