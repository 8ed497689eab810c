"""What a speaker has said in one go: the whole text of one event, without its thoughts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.facts.adk_event import Part
from adk_prism.facts.model import Speaker


class Utterance(Struct, frozen=True, gc=False):
    """A text and its speaker."""

    speaker: Speaker
    text: str
    is_last_word: bool
    """No call goes with it: the speaker does not go on to work."""


def utterance_of(parts: Sequence[Part], speaker: Speaker) -> Utterance | None:
    """Return what the parts of a whole event say; None where they hold no text."""
    texts = [part.text for part in parts if part.text and not part.thought]
    if not texts:
        return None
    calls = any(part.function_call is not None for part in parts)
    return Utterance(speaker, "".join(texts), not calls)
