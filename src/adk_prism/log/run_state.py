"""The state of a run that is written: what may be appended to it next.

The rules of `append` are the same in every backend, so they are here once: what comes first, what comes
last, which owner may write. Knows no storage. `taken` counts what the log has accepted, `committed` what is
stored and may be shown; they differ while a write is under way.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from adk_prism import errors
from adk_prism.log.contract import RunSummary, StreamRedact
from adk_prism.log.entry import AgentEvent, Entry, Origin, Record, RunEnded, RunId, RunStarted, pack
from adk_prism.log.private_files import Notifier

LOG_UNAVAILABLE = "log_unavailable"
"""Code of a run that failed because the log could not be written for too long."""

READ_BATCH = 512
"""Entries a reader is given at a time: some hundred KiB of ordinary events, a few ms of work."""

Packed = tuple[str, bytes]
"""A record's stored form: kind and payload."""


class RunState:
    """One run in memory."""

    # Slots: `append` touches most of these for every event of a run.
    __slots__ = (
        "_base", "bytes", "changed", "committed", "ended", "epoch", "failure", "number", "outcome",
        "redaction", "removed", "run", "started", "taken", "taken_at", "taken_bytes", "taken_end",
    )  # fmt: skip

    def __init__(self, summary: RunSummary, number: int = 0) -> None:
        """Continue from a run's summary: of a start (`summary_of`), or of a stored run."""
        self._base = summary
        self.run = summary.run
        self.number = number
        """Place among all runs, for backends that keep runs in a table."""
        self.epoch = summary.epoch
        self.committed = self.taken = summary.cursor
        self.bytes = self.taken_bytes = summary.bytes
        self.started = summary.started
        self.ended = summary.ended
        self.outcome = summary.outcome
        self.taken_end = summary.outcome is not None
        """`RunEnded` was taken, and is perhaps not committed yet."""
        self.taken_at = summary.started
        """When the last records were taken."""
        self.removed = False
        """Trimmed, or deleted with its session."""
        self.failure = ""
        """Why entries could not be stored (those taken and not committed are lost), or empty."""
        self.changed = Notifier()
        self.redaction: StreamRedact | None = None
        """What redacts the records of the run, once there were some."""

    def admit(self, records: Sequence[Record], epoch: int) -> None:
        """Raise what the contract of `append` says for records that may not come now.

        Leaves the state as it was, except for a higher epoch: from then on a lower one is refused.
        """
        if epoch < self.epoch:
            raise fenced(self.run, self.epoch, epoch)
        if self.removed:
            raise trimmed(self.run)
        if self.failure:
            if not self._only_ends(records):
                raise failed(self.run, self.failure)
            self.failure = ""
        if self.taken_end:
            raise ended(self.run)
        if len(records) != 1 or type(records[0]) is not AgentEvent:
            self._check_order(records)
        if records:
            self.epoch = epoch

    def takes(self, epoch: int) -> bool:
        """Return whether an event may come next, from this owner."""
        return epoch == self.epoch and not (self.taken_end or self.failure or self.removed)

    def _only_ends(self, records: Sequence[Record]) -> bool:
        # After a failure the log has a hole where the lost entries were, so nothing may follow but
        # the end that says so.
        return self.committed > 0 and len(records) == 1 and isinstance(records[0], RunEnded)

    def _check_order(self, records: Sequence[Record]) -> None:
        first = 0 if self.taken else 1
        if any(isinstance(record, RunStarted) for record in records[first:]):
            raise started_twice(self.run)
        if any(isinstance(record, RunEnded) for record in records[:-1]):
            raise ended(self.run)

    def take(
        self,
        records: Sequence[Record],
        packed: Sequence[Packed],
        now: float,
        times: Sequence[float] | None = None,
    ) -> list[Entry]:
        """Give admitted records their cursors, and their times where those are given."""
        cursor = self.taken
        if not cursor:
            self.started = now
        self.taken_at = now
        entries = []
        for index, record in enumerate(records):
            cursor += 1
            entries.append(Entry(cursor, now if times is None else times[index], record))
        self.taken = cursor
        for _, payload in packed:
            self.taken_bytes += len(payload)
        self.taken_end = bool(records) and isinstance(records[-1], RunEnded)
        return entries

    def commit(self, last: Entry, size: int) -> None:
        """Note that everything up to `last` is stored, `size` bytes in all. Notifies nobody."""
        self.committed = last.cursor
        self.bytes = size
        if isinstance(last.record, RunEnded):
            self.ended = self.taken_at  # Nothing was taken after the end.
            self.outcome = last.record.outcome

    def fail(self, reason: str) -> None:
        """Note that what was taken and is not committed is lost."""
        self.failure = reason
        self.taken = self.committed
        self.taken_bytes = self.bytes
        self.taken_end = self.outcome is not None

    def check_position(self, after: int) -> None:
        """Raise `BadPosition` for a cursor that is not committed."""
        if not 0 <= after <= self.committed:
            raise bad_position(self.run, after, self.committed)

    @property
    def origin(self) -> Origin:
        return self._base.origin

    def summary(self) -> RunSummary:
        """Return the run as it is committed."""
        return replace(
            self._base,
            started=self.started,
            ended=self.ended,
            outcome=self.outcome,
            cursor=self.committed,
            bytes=self.bytes,
            epoch=self.epoch,
        )


def summary_of(start: RunStarted) -> RunSummary:
    """Return the summary of a run that is about to start."""
    return RunSummary(
        run=RunId(start.run),
        origin=start.origin,
        invocation=start.invocation,
        started=0,
        ended=None,
        outcome=None,
        cursor=0,
        bytes=0,
        message=start.continues.message if start.continues else start.run,
    )


def is_from(origin: Origin, wanted: Origin) -> bool:
    """Return whether an origin is the wanted one, in which an empty string matches any."""
    return (
        wanted.app in ("", origin.app)
        and wanted.user in ("", origin.user)
        and wanted.session in ("", origin.session)
    )


def first_of(run: RunId, records: Sequence[Record]) -> RunStarted:
    """Return the start that the first append of a run must begin with.

    Raise `NotFound` for any other record, `UsageError` for a start that names another run.
    """
    if not records or not isinstance(records[0], RunStarted):
        raise unknown(run)
    if records[0].run != run:
        raise errors.UsageError(
            f"The first record is of run {records[0].run[:60]!r}, not of {run[:60]!r}."
        )
    return records[0]


def pack_all(records: Sequence[Record]) -> list[Packed]:
    """Return the records' stored forms. Raise `UsageError` for text that UTF-8 cannot hold."""
    try:
        return [pack(record) for record in records]
    except UnicodeEncodeError as error:
        raise errors.UsageError(
            "A record contains a lone surrogate; text must be valid Unicode."
        ) from error


# --------------------------------------------------------------------------- errors


def unknown(run: RunId) -> errors.NotFound:
    return errors.NotFound(f"There is no run {run[:60]!r}.")


def trimmed(run: RunId) -> errors.Gone:
    return errors.Gone(f"Run {run[:60]!r} has been deleted from the log.")


def fenced(run: RunId, owner: int, epoch: int) -> errors.Fenced:
    return errors.Fenced(
        f"Run {run[:60]!r} is owned by epoch {owner}; epoch {epoch} may not write to it."
    )


def already_trimmed(run: RunId, records: Sequence[Record]) -> errors.Gone | errors.Conflict:
    """Return why records cannot be appended to a run that has been deleted from the log."""
    if records and isinstance(records[0], RunStarted):
        return started_twice(run)
    return trimmed(run)


def ended(run: RunId) -> errors.Conflict:
    return errors.Conflict(f"Run {run[:60]!r} has ended; no more entries can be added.")


def started_twice(run: RunId) -> errors.Conflict:
    return errors.Conflict(f"Run {run[:60]!r} already exists; a new run needs a new id.")


def bad_position(run: RunId, after: int, last: int) -> errors.BadPosition:
    return errors.BadPosition(f"Cursor {after} is not in run {run[:60]!r}; expected 0 to {last}.")


def failed(run: RunId, reason: str) -> errors.LogError:
    return errors.LogError(f"Entries of run {run[:60]!r} could not be stored: {reason}.")


def unavailable() -> errors.LogUnavailable:
    return errors.LogUnavailable("The run log cannot be written at the moment. Try again later.")


def not_open() -> errors.LogError:
    return errors.LogError("The run log is not open.")


# --------------------------------------------------------------------------- recent entries

# A run that is active, with its latest committed entries: its followers read them from memory.
#
# Bounded in bytes: a follower that is further behind reads from the store until it has caught up. Cursors are
# dense, so an entry is found by counting.

TAIL_BYTES = 1024 * 1024
"""Per run that is going on: thousands of deltas, minutes of a fast model, and little to hold."""

_ENTRY_BYTES = 200
"""What an entry weighs besides its payload, so that a million empty ones are bounded too."""


class RecentEntries:
    """Holds entries in order, the oldest going first."""

    __slots__ = ("_entries", "_limit", "_sizes", "_total")

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._entries: list[Entry] = []
        self._sizes: list[int] = []
        self._total = 0

    def add(self, entries: Sequence[Entry], packed: Sequence[Packed]) -> None:
        """Take what was committed next."""
        self._entries += entries
        for _, payload in packed:
            size = len(payload) + _ENTRY_BYTES
            self._sizes.append(size)
            self._total += size
        if self._total > self._limit:
            self._shorten()

    def since(self, after: int) -> Sequence[Entry] | None:
        """Return the next batch past `after`, or None if it begins before the tail."""
        if not self._entries:
            return None
        start = after + 1 - self._entries[0].cursor
        return self._entries[start : start + READ_BATCH] if start >= 0 else None

    def _shorten(self) -> None:
        # By half, so that moving the rest is paid for by as many additions. The newest stays.
        drop = 0
        while self._total > self._limit // 2 and drop < len(self._sizes) - 1:
            self._total -= self._sizes[drop]
            drop += 1
        del self._entries[:drop], self._sizes[:drop]


class BufferedRun(RunState):
    """A run of a store, with its latest entries."""

    __slots__ = ("is_left", "is_withdrawn", "new_owner", "recent")

    def __init__(self, summary: RunSummary, number: int, tail_bytes: int) -> None:
        super().__init__(summary, number)
        self.recent = RecentEntries(tail_bytes)
        self.new_owner = 0
        """Epoch of the process that took the run from this one."""
        self.is_withdrawn = False
        """Its writer was told that its start could not be stored: there is to be no such run."""
        self.is_left = False
        """This process does not write it any more: what the store has is to be read again."""
