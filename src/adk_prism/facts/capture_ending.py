"""Computes how a capture ended, which has no record of its end."""

from __future__ import annotations

from adk_prism.facts.run_reader import Reader
from adk_prism.runlog.entry import Entry, RunEnded


class CaptureEnding:
    """Reads the entries of a capture, and returns its end after the last one."""

    def __init__(self) -> None:
        self._reader = Reader()

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        self._reader.feed(entry)

    def ended(self) -> RunEnded:
        """Return the run's end."""
        outcome, code = self._reader.outcome()
        return RunEnded(outcome=outcome, code=code)
