"""What every record passes on its way into a run log: the bounds of JSON, redaction, and an observer.

Bounds and redaction are here because `append` is the only way into a log: no writer can forget them. They
work on a record's stored form, so a record is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import structs

from adk_prism.runlog.contract import LogObserver, Redact, StreamRedact
from adk_prism.runlog.entry import EVENT, AgentEvent, Record, RunId, RunStarted, unpack
from adk_prism.runlog.json_bounds import bound_json, bound_structure
from adk_prism.runlog.notes import Note, check_note
from adk_prism.runlog.recorder_run_id import is_recorded
from adk_prism.runlog.run_state import Packed, RunState, pack_all

PIECE, NOTE = "Piece", "Note"
"""The kinds that the redaction gets for pieces and notes."""
_START = RunStarted.__name__


def _bounded(kind: str, payload: bytes) -> bytes:
    """Return a record's stored form within the bounds. The message that starts a run was limited already."""
    return bound_structure(payload) if kind == _START else bound_json(payload)


class HookedLog:
    """Base class of run logs: holds the hooks, and applies the redaction."""

    _redact: Redact | None = None
    _streams: Callable[[], StreamRedact] | None = None
    _observer: LogObserver = LogObserver()

    def attach(
        self,
        *,
        redact: Redact | None = None,
        streams: Callable[[], StreamRedact] | None = None,
        observer: LogObserver | None = None,
    ) -> None:
        """Redact everything that is appended from now on, and call an observer."""
        self._redact = redact or self._redact
        self._streams = streams or self._streams
        self._observer = observer or self._observer

    def _packed(
        self, live: RunState, records: Sequence[Record], times: Sequence[float] | None
    ) -> tuple[Sequence[Record], list[Packed], Sequence[float] | None]:
        """Return records as they may be stored, with their stored forms and times. Raise `UsageError`.

        They can be more than were given: what was held back of a stream comes before its end.
        """
        packed, stream = pack_all(records), self._stream_of(live)
        stored: list[Packed] = []
        of: list[int] = []
        for index, (kind, payload) in enumerate(packed):
            bounded = _bounded(kind, payload)
            found = (
                stream.feed(kind, bounded)
                if stream is not None
                else [(kind, self._redacted(kind, bounded))]
            )
            stored += found
            of += [index] * len(found)
        if len(stored) == len(packed) and all(
            a[1] is b[1] for a, b in zip(stored, packed, strict=True)
        ):
            return records, packed, times
        new_times = None if times is None else [times[index] for index in of]
        return [unpack(*each) for each in stored], stored, new_times

    def _redacted(self, kind: str, payload: bytes) -> bytes:
        return payload if self._redact is None else self._redact(kind, payload)

    def _stream_of(self, live: RunState) -> StreamRedact | None:
        """Return what redacts the records of a run; None: each record is redacted by itself."""
        if live.redaction is None and self._streams is not None and not is_recorded(live.run):
            live.redaction = self._streams()
        return live.redaction

    def _is_clean(self, live: RunState, event: AgentEvent) -> bool:
        """Return whether an event may be stored as it is. True is certain."""
        if _bounded(EVENT, event.event) is not event.event:
            return False
        stream = self._stream_of(live)
        if stream is not None:
            return stream.passes(event.event)
        return self._redacted(EVENT, event.event) is event.event

    def _clean_pieces(self, pieces: Sequence[bytes]) -> list[bytes]:
        """Return pieces as they may be stored."""
        return [self._redacted(PIECE, bound_json(piece)) for piece in pieces]

    def _clean_note(self, note: Note) -> Note:
        """Return a note as it may be stored. Raise `UsageError`."""
        return check_note(structs.replace(note, value=self._redacted(NOTE, note.value)))

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
