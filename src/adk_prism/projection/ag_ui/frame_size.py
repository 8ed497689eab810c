"""How large a frame may be: a client's SSE reader gives up at 10 MB.

Text and arguments go in several deltas. Anything else that is too large is replaced by its size; the log has
it all.
"""

from __future__ import annotations

from collections.abc import Iterator

LIMIT = 4_000_000
"""Bytes of JSON in one frame. Written as a string inside JSON, as results are, they are at most doubled."""

PIECE = 1_000_000
"""Characters in one delta. Escaped or as UTF-8, one takes six bytes at most."""


def fits(size: int) -> bool:
    """Tell whether so many bytes fit a frame."""
    return size <= LIMIT


def too_large(size: int) -> str:
    """Return what stands in the place of a value that does not fit."""
    return f"[{size} bytes: too large for an event]"


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that fit a frame; nothing for an empty one."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
