"""Files of runs: read in every form in which ADK events are kept, written as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import BinaryIO, Protocol

from adk_prism.runlog.entry import Entry, Origin, RunEnded


class Ending(Protocol):
    """Folds how a capture ended."""

    def feed(self, entry: Entry) -> None:
        """Take the next entry."""

    def ended(self) -> RunEnded:
        """Return the run's end, after its last entry."""


def read_run(
    source: Iterable[bytes] | str | PathLike[str] | BinaryIO,
    *,
    end: Ending | None = None,
    origin: Origin | None = None,
) -> Iterator[Entry]:
    """Yield the entries of a recording or capture, with memory bounded by the largest item."""
    raise NotImplementedError


def write_run(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield a recording, one JSON line per entry."""
    raise NotImplementedError
