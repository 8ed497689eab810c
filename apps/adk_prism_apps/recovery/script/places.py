"""Which trail, sector, unit or proposal a question names, by its name or its id."""

from __future__ import annotations

from collections.abc import Mapping

from ..agent_names import (
    BURN_ANALYST,
    CRUISING_ASSISTANT,
    NEPA_ADVISOR,
    TRAIL_ASSESSOR,
)
from .words import Words, read_words

OWNERS = {
    "sector": BURN_ANALYST,
    "trail": TRAIL_ASSESSOR,
    "unit": CRUISING_ASSISTANT,
    "proposal": NEPA_ADVISOR,
}
"""The specialist who knows each kind of place."""


def places_in(question: str, places: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the id for each kind of which the question names exactly one."""
    words = read_words(question)
    found: dict[str, str] = {}
    for kind in OWNERS:
        ids = [key for key, name in places.get(kind, {}).items() if _names(words, key, name)]
        if len(ids) == 1:
            found[kind] = ids[0]
    return found


def _names(words: Words, key: str, name: str) -> bool:
    return any(_occurs(words, read_words(text)) for text in (key, name))


def _occurs(words: Words, name: Words) -> bool:
    return bool(name.tokens) and words.has(" ".join(name.tokens))
