"""A researcher's answer to a plan, read from words: ok, short run, modify, cancel, or unclear.

The whole message has to be an answer: every word of it belongs to one of the phrases below or says
nothing ("please", "then"). So "ok" inside "book" is not an approval, nor is "not ok", and a
sentence about something else is not an answer. What is unclear is asked again; it never counts as
a cancellation, and never as an approval.
"""

from __future__ import annotations

import re
from typing import Literal

from adk_prism.grounding import Approval

Answer = Approval | Literal["unclear"]

_PHRASES: dict[Answer, tuple[str, ...]] = {
    "short_run": (
        "short run",
        "short-run",
        "shortrun",
        "short_run",
        "preview",
        "preview run",
        "quick look",
        "probe",
        "try it small",
        "small run",
        "s",
    ),
    "unclear": ("wait", "hold on", "hang on", "not yet", "one moment", "just a moment", "hold it"),
    "modify": ("modify", "adjust", "change", "change it", "edit", "m"),
    "cancel": (
        "cancel",
        "abort",
        "skip",
        "stop",
        "no",
        "nope",
        "never mind",
        "nevermind",
        "forget it",
        "start over",
        "start again",
        "reset",
        "no thanks",
        "no thank you",
        "do not search",
        "don't search",
        "dont search",
        "c",
    ),
    "ok": (
        "ok",
        "okay",
        "okey",
        "k",
        "o",
        "y",
        "yes",
        "yep",
        "yeah",
        "sure",
        "agreed",
        "i agree",
        "approve",
        "approved",
        "i approve",
        "proceed",
        "go",
        "go ahead",
        "go on",
        "go for it",
        "do it",
        "run it",
        "search it",
        "full search",
        "sounds good",
        "looks good",
        "looks fine",
        "fine",
        "good",
        "great",
        "perfect",
        "of course",
        "confirmed",
        "confirm",
    ),
}
_EMPTY = frozenset(
    "a all alright and first for full go i it just let's lets me now or please run search that the then "
    "thanks thank this to try uh um we well with you would like plan that's is whatever hm hmm hmmm oh "
    "sec second minute".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’_-][^\W_]+)*")


def read_answer(text: str) -> Answer | None:
    """Return what a message answers to a plan; None if it is about something else."""
    words = _words(text)
    kinds, rest = _match(words)
    if not kinds or any(word not in _EMPTY for word in rest):
        return None
    # A question is not a decision, nor are two decisions at once.
    if "?" in text or "unclear" in kinds or ("cancel" in kinds and len(kinds) > 1):
        return "unclear"
    return next(kind for kind in _PHRASES if kind in kinds)


def split_decision(text: str) -> tuple[Answer | None, str]:
    """Return the decision that a message begins with, and what follows it.

    "ok, but since 2021" is an approval of something else, "no, only reviews" a refusal that says what is
    wanted instead. A word that only looks like a decision ("no free lunch", "stop words") is none.
    """
    modify = re.match(
        r"\s*(?:please\s+)?(?:modify|adjust|change|edit)\b\s*[:,-]\s*(.*)", text, re.I | re.S
    )
    if modify:
        return "modify", modify.group(1).strip()
    words = list(_WORD.finditer(text))
    for size in range(min(_LONGEST_LEAD, len(words)), 0, -1):
        end = words[size - 1].end()
        decision = read_answer(text[:end])
        if decision is None or decision == "unclear":
            continue
        rest = text[end:]
        if decision == "cancel" and not _REFUSAL_GOES_ON.match(rest):
            continue
        return decision, rest.lstrip(" ,.;:!-–—").strip()
    return None, text


_LONGEST_LEAD = 4
_REFUSAL_GOES_ON = re.compile(
    r"\s*(?:[,.;:!–—]|-\s|$|(?:i|i'd|i’d|i'm|it|that|this|these|please|rather|only|just|not|don't|but|and|"
    r"make|let's|use|try|search|we|we'd|the)\b)",
    re.I,
)
"""What follows a refusal that is one: a pause, or a sentence about what is wanted."""


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def _match(words: list[str]) -> tuple[set[Answer], list[str]]:
    """Return the kinds of phrases found, longest first, and the words that are in none."""
    kinds: set[Answer] = set()
    rest: list[str] = []
    at = 0
    while at < len(words):
        size = next((n for n in range(_LONGEST, 0, -1) if _kind(words, at, n)), 0)
        if size:
            kinds.add(_TABLE[" ".join(words[at : at + size])])
        else:
            rest.append(words[at])
        at += size or 1
    return kinds, rest


def _kind(words: list[str], at: int, size: int) -> bool:
    return at + size <= len(words) and " ".join(words[at : at + size]) in _TABLE


_TABLE: dict[str, Answer] = {phrase: kind for kind, each in _PHRASES.items() for phrase in each}
_LONGEST = max(len(phrase.split()) for phrase in _TABLE)
