"""Which fire a question is about, found by the names of the fires that there is data for.

A name counts when it occurs in the text, in any case, with or without "Fire", also a little
misspelt; a year beside it must be the fire's own. A fire that is named and not known is told from
no fire named at all: the first gets an honest "not here", the second may mean the only fire.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .records import Incident

# Two letters wrong in "cedar creek" still match, and "cedar" alone or "bear creek" does not.
_ALIKE = 0.85
_SHORTEST_FUZZY = 6
# A question is compared with every name, window by window; longer text is not compared.
_MOST_CHARACTERS = 4_000
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_TITLED = re.compile(r"\b((?:[A-Z][\w’'-]*\s+){1,4})(?:[Ff]ire|FIRE|[Cc]omplex)\b")
_PLAIN = re.compile(
    r"\b(?:the|of|for|at|in|on|about|from)\s+((?:\w+\s+){1,3}?)(?:fire|complex)\b", re.IGNORECASE
)
_NOT_NAMES = frozenset(
    "a an the this that our my your its their any each every last latest next same whole entire"
    " post after before during since forest wild big large recent new old give tell show what which"
    " how is are was were do does did can could should will would prepare write assess recovery"
    " burn burned briefing status main current prescribed camp and or for of in on at to about with"
    " no all be by from lightning crown surface active contained severe i we you it he she they".split()
)


@dataclass(frozen=True, slots=True)
class Named:
    """The fire that a text means: `incident`, or `unknown` for a name without data, or neither."""

    incident: Incident | None = None
    unknown: str = ""
    misspelt: bool = False
    besides: tuple[str, ...] = ()
    """Other fires that the text names, whether or not there is data about them."""


def named_fire(text: str, incidents: Sequence[Incident]) -> Named:
    """Return the fire that the text names; an exact name wins, then the longest."""
    text = text[:_MOST_CHARACTERS]
    words = _WORD.findall(text.lower())
    found = [match for incident in incidents for match in _matches(words, incident)]
    if found:
        best = max(found, key=lambda match: (not match.misspelt, match.length))
        year = _year_beside(words, best)
        if year and year != str(best.incident.started_on.year):
            return Named(unknown=f"{best.incident.name} of {year}")
        known = {match.incident.name for match in found if match.incident != best.incident}
        own = {_core(name) for name in (best.incident.name, *best.incident.aliases)}
        unknown = [name for name in _unknown_names(text) if not _is_same(_core(name), own)]
        return Named(
            best.incident,
            misspelt=best.misspelt,
            besides=tuple(dict.fromkeys([*sorted(known), *unknown])),
        )
    return Named(unknown=next(_unknown_names(text), ""))


def _core(name: str) -> str:
    words = [word for word in _WORD.findall(name.lower()) if word not in ("fire", "complex")]
    return "".join(words)


def _is_same(name: str, names: set[str]) -> bool:
    """Return whether a name is one of some names, also a little misspelt or with more words beside it."""
    return any(name == own or own in name or name in own or _alike(name, own) for own in names)


@dataclass(frozen=True, slots=True)
class _Match:
    incident: Incident
    start: int
    length: int
    misspelt: bool


def _matches(words: list[str], incident: Incident) -> Iterator[_Match]:
    for name in {incident.name, incident.fire_id, *incident.aliases}:
        core = [word for word in _WORD.findall(name.lower()) if word not in ("fire", "complex")]
        core = [word for word in core if not _YEAR.fullmatch(word)] or core
        wanted = "".join(core)
        for size in range(max(1, len(core) - 1), len(core) + 2):
            for start in range(len(words) - size + 1):
                window = words[start : start + size]
                if window == core:
                    yield _Match(incident, start, size, misspelt=False)
                elif _alike("".join(window), wanted):
                    yield _Match(incident, start, size, misspelt=True)


def _alike(written: str, wanted: str) -> bool:
    if min(len(written), len(wanted)) < _SHORTEST_FUZZY or abs(len(written) - len(wanted)) > 2:
        return False
    return SequenceMatcher(None, written, wanted).ratio() >= _ALIKE


def _year_beside(words: list[str], match: _Match) -> str:
    """Return the year directly before the name, or after it with or without "fire" between."""
    end = match.start + match.length
    after = [word for word in words[end : end + 3] if word not in ("fire", "complex", "of", "in")]
    beside = words[max(0, match.start - 1) : match.start] + after[:1]
    return next((word for word in beside if _YEAR.fullmatch(word)), "")


def _unknown_names(text: str) -> Iterator[str]:
    """Yield what reads like the name of a fire."""
    for pattern in (_TITLED, _PLAIN):
        for found in pattern.finditer(text):
            words = found.group(1).split()
            while words and _is_filler(words[0]):
                words = words[1:]
            if words and not any(_is_filler(word) for word in words):
                yield " ".join((*words, found.group().split()[-1]))


def _is_filler(word: str) -> bool:
    return word.lower().strip("’'") in _NOT_NAMES or bool(_YEAR.fullmatch(word))
