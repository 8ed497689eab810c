"""Why a run broke off, in a sentence that anybody may read: the same in every protocol and screen."""

from __future__ import annotations

from adk_prism.facts.model import RunOver
from adk_prism.runlog.entry import Outcome

BROKEN: tuple[Outcome, ...] = ("failed", "incomplete")
"""Outcomes of runs that broke off."""

INCOMPLETE = "The recording ends before the run did."

UNANSWERED = "The run ended before this call was answered."
"""The result of a call that was open when its run ended."""


def ending_text(over: RunOver) -> str:
    """Say why a run broke off: with the provider's own words, where they may be told."""
    if over.outcome == "incomplete":
        return INCOMPLETE
    if over.message:
        return f"{over.code}: {over.message}"
    return f"The run failed ({over.code or 'error'})."


def with_reference(over: RunOver) -> str:
    """Say it with the reference by which an operator finds the cause."""
    text = ending_text(over)
    if not over.correlation:
        return text
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'} Reference: {over.correlation}."
