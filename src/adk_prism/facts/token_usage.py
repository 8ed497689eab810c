"""Tokens by kind, from the usage metadata that models report."""

from __future__ import annotations

from msgspec import Raw

from adk_prism.facts.json_value import read_object

_KINDS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "reasoning": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
"""`cached` tokens are part of `input`; the total is that of the model."""


def token_usage(usage: Raw) -> dict[str, int]:
    """Return the counts of a model call; a kind that was not reported is left out."""
    given = read_object(usage)
    return {
        kind: count
        for kind, name in _KINDS.items()
        if type(count := given.get(name)) is int and count >= 0
    }
