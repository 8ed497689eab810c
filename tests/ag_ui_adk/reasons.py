"""Why our AG-UI differs from that of ag-ui-adk 0.11.

A reason belongs to an aspect, and holds only under its condition: that ours tells more, or tells it once.
A difference under which no condition holds has no reason, and is a fault on one side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.ag_ui_adk.summary import Summary

REQUESTS = ("adk_request_confirmation", "adk_request_input", "adk_request_credential")
WAITING = "requires confirmation"


class Reason(NamedTuple):
    """Why an aspect differs."""

    text: str
    holds: Callable[[Any, Any], bool]
    """Takes our value and theirs; None for one that is not there."""


def _only_ours(mine: Any, other: Any) -> bool:
    return bool(mine) and not other


def _all_of_theirs(mine: Any, other: Any) -> bool:
    return not Counter(map(str, other or ())) - Counter(map(str, mine or ()))


def _words(texts: Sequence[str] | None) -> Counter[str]:
    return Counter(" ".join(texts or ()).split())


def _same_words(mine: Any, other: Any) -> bool:
    return _words(mine) == _words(other)


def _repeats(mine: Any, other: Any) -> bool:
    ours, theirs = (Counter("".join(texts or ()).replace(" ", "")) for texts in (mine, other))
    return bool(mine) and ours < theirs


def _more_said(mine: Any, other: Any) -> bool:
    return _words(mine) >= _words(other)


def _twice(mine: Any, other: Any) -> bool:
    return bool(mine) and str(other) == str(mine) * 2


def _without_requests(calls: Any) -> list[str]:
    return [str(call) for call in calls or () if call[0] not in REQUESTS]


def _hides_requests(mine: Any, other: Any) -> bool:
    return len(_without_requests(other)) < len(other or ()) and _all_of_theirs(
        mine, _without_requests(other)
    )


def _broken_json(mine: Any, other: Any) -> bool:
    return [call[0] for call in mine] == [call[0] for call in other or ()] and any(
        '{"' in call[1][1:] for call in other
    )


def _without_waiting(results: Any) -> list[str]:
    return [str(result[1]) for result in results or () if WAITING not in result[1]]


def _not_answered_yet(mine: Any, other: Any) -> bool:
    return _without_waiting(mine) == _without_waiting(other) and len(other or ()) > len(mine or ())


def _held_by_the_question(mine: Any, other: Any) -> bool:
    return not mine and bool(other)


def _other_word(mine: Any, other: Any) -> bool:
    return other is not None and "confirmation" in other and "tool_call" in mine


def _newer_state(mine: Any, other: Any) -> bool:
    return not any(
        key in (mine or {}) and mine[key] != value for key, value in (other or {}).items()
    )


REASONS: dict[str, tuple[Reason, ...]] = {
    "authors": (Reason("a message says which agent wrote it; theirs does not", _only_ours),),
    "usage": (Reason("token counts are told; theirs drops them", _only_ours),),
    "outcome": (
        Reason("a run says how it ended; theirs leaves it out, also where it waits", _only_ours),
        Reason(
            "an approval is about a tool call, and has its id; theirs is about a call of ADK's own",
            _other_word,
        ),
    ),
    "more": (
        Reason("files, sources, sub-agents, steps, errors and models are told too", _all_of_theirs),
    ),
    "reasoning": (Reason("thoughts are told once; theirs repeats them at the end", _twice),),
    "text": (
        Reason(
            "the same words, each message with those of one agent; theirs mixes agents that speak at once",
            _same_words,
        ),
        Reason("what an agent inside a tool says is told, as its own", _more_said),
        Reason("each word once; theirs repeats some that it has streamed", _repeats),
    ),
    "calls": (
        Reason("ADK's own request is an interrupt; theirs shows it as a call", _hides_requests),
        Reason(
            "streamed arguments are JSON; theirs sends the start of an object again", _broken_json
        ),
        Reason("calls that the provider ran are told", _all_of_theirs),
    ),
    "results": (
        Reason("a call that waits for a person has no result yet", _not_answered_yet),
        Reason("a call that waits for a sign-in has no result yet", _held_by_the_question),
        Reason(
            "first answers of long-running tools, provider's results and ends are told",
            _all_of_theirs,
        ),
    ),
    "state": (Reason("user state of the earlier prompts", _newer_state),),
}


def reason_of(aspect: str, mine: Any, other: Any) -> str:
    """Return why an aspect differs; empty if no reason holds."""
    found = (reason.text for reason in REASONS.get(aspect, ()) if reason.holds(mine, other))
    return next(found, "")


def differences(mine: Summary, other: Summary) -> list[tuple[str, str]]:
    """Return the aspects in which two summaries differ, each with its reason."""
    return [
        (aspect, reason_of(aspect, mine.get(aspect), other.get(aspect)))
        for aspect in sorted({*mine, *other})
        if mine.get(aspect) != other.get(aspect)
    ]
