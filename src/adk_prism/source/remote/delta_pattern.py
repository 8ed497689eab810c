"""Deltas that differ from the one before in text, id and time only: nothing else of them has to be checked.

Nearly every event of a streamed run is one. The pattern is taken from an event that was read in full and may
enter the log as it came. A value without quotes holds no key, so nothing in it could need to be respelled or
removed.
"""

from __future__ import annotations

import re

_HOLES = (
    (b'"text":"', re.compile(rb'[^"\\\x00-\x1f]*(?:\\["\\/bfnrt][^"\\\x00-\x1f]*)*')),
    (b'"id":"', re.compile(rb"[\w-]*")),
    (b'"timestamp":', re.compile(rb"\d{1,11}(?:\.\d{1,9})?")),
)
"""What may differ. A key is always a key: inside a string its quotes would be escaped."""


class DeltaPattern:
    """What the deltas of a stream have in common."""

    def __init__(self) -> None:
        self._steps: list[tuple[bytes, re.Pattern[bytes]]] = []
        self._rest = b""

    def forget(self) -> None:
        """Match nothing, until another event is learned."""
        self._steps.clear()

    def learn(self, data: bytes) -> None:
        """Take the pattern of an event."""
        self.forget()
        found = sorted((data.find(key), key, hole) for key, hole in _HOLES if key in data)
        at = 0
        for place, key, hole in found:
            end = place + len(key)
            value = hole.match(data, end)
            if place < at or value is None:
                continue
            self._steps.append((data[at:end], hole))
            at = value.end()
        self._rest = data[at:]

    def matches(self, data: bytes) -> bool:
        """Return whether an event differs from the one that was learned in the holes only."""
        at = 0
        for literal, hole in self._steps:
            if not data.startswith(literal, at):
                return False
            value = hole.match(data, at + len(literal))
            if value is None:
                return False
            at = value.end()
        return bool(self._steps) and data[at:] == self._rest
