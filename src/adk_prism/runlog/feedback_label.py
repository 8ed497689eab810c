"""Feedback in one word, as runs are found by it: *up*, *down* or *neutral*."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from adk_prism.runlog.notes import Note

FEEDBACK = "feedback"
"""The kind of its notes."""


class _Scored(Struct):
    score: float


def feedback_labels(notes: Iterable[Note]) -> list[str]:
    """Return what people said about a run, each word once."""
    scores = (
        msgspec.json.decode(note.value, type=_Scored).score
        for note in notes
        if note.kind == FEEDBACK
    )
    return sorted({"up" if score > 0 else "down" if score < 0 else "neutral" for score in scores})
