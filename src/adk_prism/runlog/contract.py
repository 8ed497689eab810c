"""The contract of a run log: what every backend promises, and nothing about how.

Promises
- **Order.** Entries of a run have dense cursors from 1, given by the log.
- **Committed before seen.** A reader gets only committed entries; what a client has seen survives a
  crash of the process.
- **One reading.** `read` yields past entries and then, with `follow`, new ones, without a gap.
- **No empty answers.** An unknown run is `NotFound`, a trimmed one `Gone`, a cursor past the end
  `BadPosition`.
- **The end is a record.** After `RunEnded` nothing can be appended, and every iteration ends.
- **Pieces.** Texts that many records of a session refer to are kept beside the log, once per session, and
  removed with the session's last run.
- **Notes.** Small texts about a run or a session are kept beside the log. They may change, the last one put
  counts, and they are removed with the run, or with the session's last run.
- **Digests go with their runs.** A run that is removed is not found any more.
- **Fencing.** An append names the owner's epoch; a log that has seen a higher one refuses it.

`adk_prism.testing.runlog_contract` is the suite that each backend passes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from adk_prism.runlog.entry import Entry, Origin, Outcome, Record, RunId
from adk_prism.runlog.notes import Note, NoteOwner
from adk_prism.runlog.run_digest import RunDigest
from adk_prism.runlog.run_query import RunQuery


class Receipt(Struct, frozen=True, gc=False):
    """What `append` returns: the cursor of the last record it took."""

    cursor: int


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run in a list."""

    run: RunId
    origin: Origin
    invocation: str
    started: float
    """When the log took its first record; `ended`: its last."""
    ended: float | None
    outcome: Outcome | None
    cursor: int
    """Cursor of the last committed entry."""
    bytes: int
    """Stored size of its payloads."""
    message: str
    """Id of the message the run belongs to: the message it continues, or its own id."""
    epoch: int = 0


class Retention(Struct, frozen=True, kw_only=True):
    """How long ended runs are kept; a run is removed completely or not at all."""

    max_age: float = 30 * 24 * 3600
    """Seconds since its end: a month."""
    max_bytes: int = 2 * 1024**3
    """Of all payloads together, oldest ended runs first. Two GiB fits an ordinary disk."""
    most_aged: int | None = None
    """How many may be removed at once for their age alone; None: all."""


class Census(Struct, frozen=True, gc=False):
    """How many runs there are."""

    ended: int
    old: int
    """Of those, how many ended before the time that was asked for."""


class FoundRun(Struct, frozen=True):
    """A run that a search found."""

    summary: RunSummary
    digest: RunDigest
    number: int
    """Its place in the order of starts."""


class SearchPage(Struct, frozen=True):
    """Some of the runs that a search found, newest first."""

    found: Sequence[FoundRun]
    before: int | None
    """Where the next page begins; None: there are no more."""
    complete: bool
    """Every ended run was looked at: none waits for its digest, and none is beyond what the store keeps."""


Redact = Callable[[str, bytes], bytes]
"""Takes a record's kind and payload; returns the payload without secrets: the same object if it has none."""


class StreamRedact(Protocol):
    """Redacts the records of one run, in order: a secret can be in two deltas."""

    def passes(self, data: bytes) -> bool:
        """Return whether the next event can be stored as it is. True is certain."""

    def feed(self, kind: str, data: bytes) -> Sequence[tuple[str, bytes]]:
        """Take the kind and the payload of the next record; return those to store, itself last."""


class TrimmedRun(Struct, frozen=True):
    """A run that was removed for its age, or because there were too many bytes."""

    run: RunId
    origin: Origin
    bytes: int
    cause: Literal["age", "size"]


class LogObserver(Struct, frozen=True, kw_only=True):
    """Callbacks for metrics and limits. They run on the event loop and must not block or raise."""

    written: Callable[[float], None] = lambda _: None
    """Takes the seconds that it took to write what was appended, for each group that is written together."""
    committed: Callable[[float], None] = lambda _: None
    """Takes the seconds for which a caller waited for a commit."""
    following: Callable[[RunId], None] = lambda _: None
    """A reader begins to follow a run."""
    left: Callable[[RunId], None] = lambda _: None
    """A reader stops following it."""
    stored: Callable[[RunId, Sequence[Entry]], None] = lambda *_: None
    """Entries that this process wrote are committed: takes each entry of a run once, in order."""
    stalled: Callable[[bool], None] = lambda _: None
    """The log is unavailable, or is available again."""
    ended: Callable[[RunId], None] = lambda _: None
    """A run's end, written by this process, is committed."""
    trimmed: Callable[[TrimmedRun], None] = lambda _: None
    """This process removed a run."""


class LogReader(Protocol):
    """What a command needs of a run log to look at it: a part of `RunLog`."""

    async def open(self) -> None:
        """Get ready. Raise `LogError`."""

    async def close(self) -> None:
        """Disconnect."""

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Yield committed entries."""

    async def summary(self, run: RunId) -> RunSummary:
        """Return one run's summary."""

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        """Return the notes of runs and sessions."""

    async def get_pieces(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        """Return pieces of a run's session by number."""

    async def list(
        self, *, app: str = "", user: str = "", session: str = ""
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; an empty string matches any."""

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        """Return the newest runs that fit."""


class RunLog(Protocol):
    """Append-only logs of runs, one writer a run, any number of readers."""

    def attach(
        self,
        *,
        redact: Redact | None = None,
        streams: Callable[[], StreamRedact] | None = None,
        observer: LogObserver | None = None,
    ) -> None:
        """Redact everything that is appended from now on, and call an observer.

        With `streams`, one of them takes the records of each run; `redact` takes pieces, notes, and runs of
        recorders, whose cursors are those of the sender.
        """

    async def open(self) -> None:
        """Get ready; raise `LogError` for a store that cannot be used or is of a newer schema."""

    async def close(self) -> None:
        """Commit what was appended and disconnect; followers' iterations end."""

    async def append(
        self,
        run: RunId,
        records: Sequence[Record],
        *,
        epoch: int = 0,
        times: Sequence[float] | None = None,
    ) -> Receipt:
        """Take records, in order. The first record of a run is its `RunStarted`.

        `times` are the times of records that were recorded elsewhere; default: the current time. The
        age of the run follows from the log's own clock, so that an old recording is not trimmed at once.

        All are taken or none. Suspends only while the writer is too far behind, and to look for a
        run that it does not know. Raise `NotFound` for a run that was never started, `Gone` for one
        that was removed, `Conflict` for a second start (also of a removed run) or an ended run,
        `Fenced` for an old epoch, `LogError` when the store failed, also for an earlier append:
        nothing is lost silently. A run that lost entries accepts nothing but its `RunEnded`. Raise
        `LogUnavailable` while the store cannot be written for too long: then only `RunEnded` is taken, and
        stored with all that was taken before as soon as the store is back.
        """

    async def commit(self, run: RunId) -> None:
        """Wait until all that was appended to the run is committed; raise `LogError` if it cannot.

        Raise `LogUnavailable` after a long wait: it is not committed yet, and will be. Except for a run's
        start, which is given up: the run never was.
        """

    async def leave(self, run: RunId) -> None:
        """Stop writing a run: another process may. Never raises.

        What was appended and is not committed is dropped. Followers continue with what other processes
        write; where no other process can, nothing changes, except that a run whose start could not be
        stored is forgotten.
        """

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Yield committed entries past `after`, in batches that are never empty.

        With `follow`, wait for more until `RunEnded` has been given or the log closes. The first
        step raises `NotFound`, `Gone` or `BadPosition`; a later one `Gone` if the run is removed
        meanwhile, `LogError` if the store fails. A run can be followed as soon as it was appended to.
        """

    async def put_pieces(self, run: RunId, pieces: Sequence[bytes]) -> Sequence[int]:
        """Keep JSON texts beside the log, redacted; return a number for each, 0 if it was not kept.

        Equal texts of a session are kept once and have one number; numbers are never used again. A text is
        not kept if its session has too many (`pieces.SESSION_BYTES`). New ones count as bytes of the run.
        They are committed when this returns. Raise `NotFound`, `Gone` or `LogError`.
        """

    async def get_pieces(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        """Return pieces of a run's session by number, without those that it does not have.

        Raise `NotFound`, `Gone` or `LogError`.
        """

    async def put_note(self, owner: NoteOwner, kind: str, key: str, value: bytes) -> Note:
        """Keep a JSON text beside the log, redacted, in place of an earlier one of this kind and key.

        It is committed when this returns. A session need not have a run. Raise `TooLarge` for more than
        `notes.NOTE_BYTES`, `Conflict` for more than `notes.OWNER_NOTES`, `NotFound` or `Gone` for a run that
        is not there, `LogError`.
        """

    async def delete_note(self, owner: NoteOwner, kind: str, key: str) -> None:
        """Remove a note; nothing happens if there is none."""

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        """Return the notes of runs and sessions by kind and key, without owners that have none."""

    async def noted(self, kind: str) -> Sequence[Origin]:
        """Return the sessions that have a note of a kind.

        One whose note was removed may be among them, until the session is removed.
        """

    async def summary(self, run: RunId) -> RunSummary:
        """Return one run's summary; raise `NotFound` or `Gone`."""

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; an empty string matches any."""

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        """Remove whole ended runs that are too old or too much; return which."""

    async def census(self, before: float) -> Census:
        """Count the ended runs, and those that ended before a time."""

    async def probe(self) -> None:
        """Try a write. Raise `LogError` if the store accepts no entries now."""

    async def delete_session(self, origin: Origin) -> Sequence[RunId]:
        """Remove every run of a session, ended or not, and its notes; return which runs."""

    async def index(self, run: RunId, digest: RunDigest) -> None:
        """Store the digest of an ended run, in place of an older one. Nothing happens for any other run."""

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        """Return ended runs without a digest, or with one of an older fold, the newest first."""

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        """Return the newest runs with a digest that fit; `before` is where an earlier page ended.

        Raise `UsageError` for a text in which there is nothing to search for.
        """
