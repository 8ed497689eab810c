"""JSON of tools and models, as every client can read it."""

from __future__ import annotations

from msgspec import Raw

from adk_prism.facts.strict_json import repair
from adk_prism.projection.ag_ui.frame_size import fits, too_large

_NULL = Raw(b"null")


def safe(raw: Raw) -> Raw:
    """Return a value as JSON that strict readers take; null where there is none."""
    before = bytes(raw)
    if not before:
        return _NULL
    after = repair(before, parsed=True)
    return raw if after is before else Raw(after)


def bounded(raw: Raw) -> Raw | str:
    """Return a value that fits an event; where it does not, what stands in its place."""
    told = safe(raw)
    size = len(bytes(told))
    return told if fits(size) else too_large(size)


def text_of(raw: Raw) -> str:
    """Return a value as JSON text, for a field that is a string; empty where there is none."""
    before = bytes(raw)
    return repair(before, parsed=True).decode() if before else ""
