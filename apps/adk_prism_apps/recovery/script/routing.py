"""Which specialists a question is for, decided by the words in it.

A specialist is asked when a strong word of its subject occurs; where no specialist has one, two
weak words decide (or one, if the fire is named). Beside a NEPA word, the things that are worked on
(salvage, a bridge) are what is reviewed and no further subject. A question about everything that
names no subject goes to all four, and so does a full one that names a subject among others. A
subject that is named to be left out is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..agent_names import (
    BURN_ANALYST,
    CRUISING_ASSISTANT,
    NEPA_ADVISOR,
    SPECIALISTS,
    TRAIL_ASSESSOR,
)
from .vocabulary import (
    ABOUT_INCIDENT,
    ADDING,
    ALL,
    FULL,
    INCIDENT,
    SMALL_TALK,
    UNLESS,
    VOCABULARIES,
    WHOLE,
)
from .words import Words, read_words

Specialists = tuple[str, ...]

_LONGEST_SMALL_TALK = 6
_TWO_WORDS = 2
_IDS = {
    BURN_ANALYST: re.compile(r"\bS\d{1,3}\b"),
    TRAIL_ASSESSOR: re.compile(r"\bT\d{1,3}\b"),
    CRUISING_ASSISTANT: re.compile(r"\bU\d{1,3}\b"),
    NEPA_ADVISOR: re.compile(r"\bP\d{1,3}\b"),
}
_LEFT_OUT = re.compile(
    r"\b(?:skip\w*|except(?:ing)?(?: for)?|ignor\w+|leav\w+ out|no need for|other than|apart from"
    r"|aside from|minus|don['’]?t need|do not need|don['’]?t care about|not interested in)\b"
    r"(.*?)(?=\b(?:and|but|just|only)\b|[,.;:!?]|$)",
    re.IGNORECASE,
)


def route(
    question: str, names: Iterable[str] = (), *, fire_named: bool = False
) -> Specialists | None:
    """Return the specialists to ask, in their order.

    An empty tuple for a question about the incident itself; None for one that is not about
    recovery. `names` are the fire's, which are no subject; `fire_named` tells whether the question
    has one.
    """
    left_out = {name for text in _LEFT_OUT.findall(question) for name in _strong(text, ())}
    asked = _LEFT_OUT.sub(" ", question)
    words = read_words(asked).without(names)
    chosen = _strong(asked, names)
    if _means_all(words, chosen):
        chosen = SPECIALISTS
    elif not chosen:
        return _without_subject(words, fire_named=fire_named)
    return tuple(name for name in chosen if name not in left_out)


def is_small_talk(question: str) -> bool:
    """Return whether a question is empty, a greeting, or about the assistant."""
    words = read_words(question)
    short = len(words.tokens) <= _LONGEST_SMALL_TALK
    return not words.tokens or (short and bool(words.hits(SMALL_TALK)))


def _strong(text: str, names: Iterable[str]) -> Specialists:
    words = read_words(text).without(names)
    hits = {name: _strong_hits(name, words, text) for name in SPECIALISTS}
    if not hits[NEPA_ADVISOR]:
        for name in SPECIALISTS:
            hits[name] += len(words.hits(VOCABULARIES[name].objects))
    return tuple(name for name in SPECIALISTS if hits[name])


def _strong_hits(name: str, words: Words, text: str) -> int:
    named = 1 if _IDS[name].search(text) else 0
    found = words.hits(VOCABULARIES[name].strong)
    return named + sum(not words.hits(UNLESS.get(term, ())) for term in found)


def _means_all(words: Words, chosen: Specialists) -> bool:
    if words.hits(ALL):
        return True
    if not words.hits(WHOLE) or (words.hits(INCIDENT) and not chosen):
        return False
    return not chosen or bool(words.hits(FULL) and words.hits(ADDING))


def _without_subject(words: Words, *, fire_named: bool) -> Specialists | None:
    """Decide where no strong word does: the incident, the best weak match, or all for a name."""
    weak = {name: len(words.hits(VOCABULARIES[name].weak)) for name in SPECIALISTS}
    best = max(weak.values())
    if words.hits(INCIDENT) or (words.hits(ABOUT_INCIDENT) and best < _TWO_WORDS):
        return ()
    if best >= _TWO_WORDS or (best and fire_named):
        return tuple(name for name in SPECIALISTS if weak[name] == best)
    return SPECIALISTS if fire_named else None
