"""An append-only file of lines with rotation, which several processes may share.

`FILE` is written, `FILE.1` is the previous one, and so on; the oldest is deleted. A line is on the disk when
`append` returns. A line that a dying process has not finished stays, and the next one starts on a new line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

if sys.platform == "win32":

    def _wait_for(descriptor: int) -> None:
        del descriptor  # There is no fork: one process serves.

else:
    import fcntl

    def _wait_for(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


class RotatingFile:
    """One file and its rotated predecessors."""

    def __init__(self, path: Path, *, largest: int, kept: int) -> None:
        """`largest`: bytes of one file; `kept`: how many rotated files."""
        self._path = path.absolute()  # agent code may change the working directory
        self._largest = largest
        self._kept = kept
        self._turn = Lock()

    def make(self) -> None:
        """Check that it can be written. Raise `OSError`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(_opened(self._path))

    def append(self, line: bytes) -> None:
        """Write a line. Raise `OSError`."""
        with self._alone():
            if self._size() + len(line) > self._largest:
                self._rotate()
            descriptor = _opened(self._path)
            try:
                os.write(descriptor, (b"" if self._ends_a_line() else b"\n") + line + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def newest_first(self) -> Iterator[bytes]:
        """Yield the lines, including those of rotated files. Raise `OSError`."""
        for number in range(self._kept + 1):
            place = self._aside(number)
            if not place.exists():
                return
            yield from reversed(place.read_bytes().split(b"\n"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out every other writer, in this process and in others."""
        with self._turn:
            descriptor = _opened(self._path.with_name(f"{self._path.name}.lock"))
            try:
                _wait_for(descriptor)
                yield
            finally:
                os.close(descriptor)

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _ends_a_line(self) -> bool:
        if not self._size():
            return True
        with self._path.open("rb") as opened:
            opened.seek(-1, os.SEEK_END)
            return opened.read(1) == b"\n"

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _rotate(self) -> None:
        for number in range(self._kept, 0, -1):
            newer = self._aside(number - 1)
            if newer.exists():
                newer.replace(self._aside(number))


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
