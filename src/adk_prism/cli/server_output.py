"""What a command prints where nothing may be able to take it: a pipe whose reader is gone, a full disk.

A line that cannot be written must neither end a run nor keep a server from starting. So stderr, and a
server's stdout, to which agent code prints, drop what cannot be written, and say how much that was once they
can be written again. A stream that was closed before the process began takes everything and keeps nothing.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from adk_prism.cli import words


class _Lossy(io.RawIOBase):
    """A file descriptor. Writing to it never fails."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lost = 0
        self._why = ""

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        """Write bytes, or drop them. Return how many there were."""
        given = bytes(data)
        try:
            if self._lost:
                note = words.OUTPUT_LOST.format(count=self._lost, why=self._why)
                os.write(self._descriptor, note.encode())
                self._lost = 0
            written = os.write(self._descriptor, given)
        except OSError as error:
            self._lost += len(given)
            self._why = error.strerror or type(error).__name__
            return len(given)
        return written


def keep_printing(*names: str) -> None:
    """Make `stdout`, `stderr` or both streams that never fail, in this process."""
    for name in names:
        setattr(sys, name, _lossy(getattr(sys, name)))


def _lossy(stream: TextIO | None) -> TextIO:
    if stream is None:  # it was closed before the process began
        return open(os.devnull, "w", encoding="utf-8")  # for as long as the process runs
    if type(stream) is not io.TextIOWrapper:
        return stream  # somebody has replaced it
    if isinstance(getattr(stream.buffer, "raw", None), _Lossy):
        return stream
    with suppress(OSError):
        stream.flush()
    descriptor = stream.fileno()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lossy(descriptor)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )
