"""Token counts of a run, summed per model, under AG-UI's names.

AG-UI counts reasoning among the output, and what was found in a cache among the input. Gemini counts what a
model thought beside what it said, so both are added.
"""

from __future__ import annotations

from typing import Any

from adk_prism.facts.json_value import read_object
from adk_prism.facts.model import ModelCallEnded
from adk_prism.projection.ag_ui.frames import Json

_COUNTS = (
    ("promptTokenCount", "inputTokens"),
    ("toolUsePromptTokenCount", "inputTokens"),
    ("candidatesTokenCount", "outputTokens"),
    ("thoughtsTokenCount", "outputTokens"),
    ("totalTokenCount", "totalTokens"),
    ("thoughtsTokenCount", "reasoningTokens"),
    ("cachedContentTokenCount", "cachedInputTokens"),
)
"""Upstream's counts, and AG-UI's that each is part of."""

LARGEST = 2**53 - 1
"""A larger count is none: JavaScript could not tell it from its neighbours."""


class Usage:
    """The token counts of one run."""

    def __init__(self) -> None:
        self._models: dict[str, dict[str, int]] = {}

    def add(self, item: ModelCallEnded) -> None:
        """Add a model call's counts."""
        given = read_object(item.usage)
        if not given:
            return
        sums = self._models.setdefault(item.model, {})
        for part, name in _COUNTS:
            if part in given and (count := _count(given[part])) is not None:
                sums[name] = sums.get(name, 0) + count

    def told(self) -> list[Json]:
        """Return an entry for each model that counted anything."""
        return [
            ({"model": model} if model else {}) | dict(sums)
            for model, sums in self._models.items()
            if sums
        ]


def _count(value: Any) -> int | None:
    """Return a token count; some adapters write it as text, or as a float."""
    try:
        count = None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if count is not None and 0 <= count <= LARGEST else None
