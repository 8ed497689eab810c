"""What every record passes on its way into a run log: the bounds of JSON, redaction, and an observer.

Bounds and redaction are here because `append` is the only way into a log: no writer can forget them. They
work on a record's stored form, so a record is encoded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import structs

from adk_prism.runlog.contract import LogObserver, Redact
from adk_prism.runlog.entry import EVENT, AgentEvent, Record, RunId, RunStarted, unpack
from adk_prism.runlog.json_bounds import bound_json, bound_structure
from adk_prism.runlog.notes import Note, check_note
from adk_prism.runlog.run_state import Packed, pack_all

PIECE, NOTE = "Piece", "Note"
"""The kinds that the redaction gets for pieces and notes."""
_START = RunStarted.__name__


def _bounded(kind: str, payload: bytes) -> bytes:
    """Return a record's stored form within the bounds. The message that starts a run was limited already."""
    return bound_structure(payload) if kind == _START else bound_json(payload)


class HookedLog:
    """Base class of run logs: holds the hooks, and applies the redaction."""

    _redact: Redact | None = None
    _observer: LogObserver = LogObserver()

    def attach(self, *, redact: Redact | None = None, observer: LogObserver | None = None) -> None:
        """Redact everything that is appended from now on, and call an observer."""
        self._redact = redact or self._redact
        self._observer = observer or self._observer

    def _packed(self, records: Sequence[Record]) -> tuple[Sequence[Record], list[Packed]]:
        """Return records as they may be stored, with their stored forms. Raise `UsageError`."""
        packed, redact = pack_all(records), self._redact
        is_clean, clean = True, []
        for kind, payload in packed:
            without = _bounded(kind, payload)
            if redact is not None:
                without = redact(kind, without)
            is_clean = is_clean and without is payload
            clean.append((kind, without))
        return (records, packed) if is_clean else ([unpack(*each) for each in clean], clean)

    def _is_clean(self, event: AgentEvent) -> bool:
        """Return whether an event may be stored as it is."""
        redact, data = self._redact, event.event
        return _bounded(EVENT, data) is data and (redact is None or redact(EVENT, data) is data)

    def _clean_pieces(self, pieces: Sequence[bytes]) -> list[bytes]:
        """Return pieces as they may be stored."""
        redact = self._redact
        bounded = [bound_json(piece) for piece in pieces]
        return bounded if redact is None else [redact(PIECE, piece) for piece in bounded]

    def _clean_note(self, note: Note) -> Note:
        """Return a note as it may be stored. Raise `UsageError`."""
        redact = self._redact
        value = note.value if redact is None else redact(NOTE, note.value)
        return check_note(structs.replace(note, value=value))

    @contextmanager
    def _observed(self, run: RunId, *, follow: bool) -> Iterator[None]:
        """Notify the observer of a reader that follows a run."""
        if not follow:
            yield
            return
        self._observer.following(run)
        try:
            yield
        finally:
            self._observer.left(run)
