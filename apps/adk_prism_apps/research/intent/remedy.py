"""Which of the remedies on offer a researcher means: by number, by name, or by its words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adk_prism.grounding import RemedyAction

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "primary": 1, "fallback": 2}
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    "a the please try use take do pick choose select option number remedy action one it with go for "
    "let s lets run i want would like".split()
)


def find_remedy(text: str, offered: Sequence[RemedyAction]) -> RemedyAction | None:
    """Return the one that is meant; None if the text means none of them, or more than one."""
    words = [word for word in _WORD.findall(text.casefold()) if word not in _EMPTY]
    if not words:
        return None
    if len(words) == 1 and (number := _number(words[0])):
        return offered[number - 1] if number <= len(offered) else None
    found = [each for each in offered if _is_named(words, each)]
    return found[0] if len(found) == 1 else None


def means_remedy(text: str) -> bool:
    """Return whether a text is a choice of a remedy at all, offered or not: a number or an ordinal."""
    words = [word for word in _WORD.findall(text.casefold()) if word not in _EMPTY]
    return len(words) == 1 and _number(words[0]) is not None


def _number(word: str) -> int | None:
    if word in _ORDINALS:
        return _ORDINALS[word]
    return int(word) if word.isdecimal() and 0 < int(word) < 100 else None


def _is_named(words: list[str], action: RemedyAction) -> bool:
    """Return whether every word said is one of the remedy's name or label."""
    own = set(_WORD.findall(f"{action.name} {action.label}".casefold().replace("_", " ")))
    return all(word in own for word in words)
