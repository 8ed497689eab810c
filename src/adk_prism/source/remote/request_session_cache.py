"""Sessions that were read while a request prepares its run: each is read once, however many parts look at it.

What was read is forgotten when the request has its run, when this server changes the session or ends another
run of it, and after a second, in which another server may have done so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FRESH = 1.0
"""Seconds."""

Key = tuple[str, str]
"""A user and a session."""
_Reads = dict[Key, tuple[bytes | None, float]]


class ReadOnce:
    """The sessions of one app that requests have read."""

    def __init__(self) -> None:
        self._current: ContextVar[_Reads | None] = ContextVar("remote sessions", default=None)
        self._all: list[_Reads] = []

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Remember what is read in the block, and in tasks that it starts, until it ends."""
        reads: _Reads = {}
        self._all.append(reads)
        token = self._current.set(reads)
        try:
            yield
        finally:
            self._current.reset(token)
            self._all = [each for each in self._all if each is not reads]

    def _open(self) -> _Reads | None:
        reads = self._current.get()
        return reads if any(each is reads for each in self._all) else None

    def note(self, key: Key, data: bytes | None) -> None:
        """Remember a session; None: there is none."""
        reads = self._open()
        if reads is not None:
            reads[key] = data, time.monotonic()

    def known(self, key: Key) -> tuple[bytes | None] | None:
        """Return what is remembered of a session; None if nothing is."""
        data, at = (self._open() or {}).get(key, (None, -FRESH))
        return (data,) if time.monotonic() - at < FRESH else None

    def forget(self, key: Key) -> None:
        """Forget a session that has changed, in all requests."""
        for reads in self._all:
            reads.pop(key, None)
