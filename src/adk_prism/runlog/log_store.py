"""What a `BufferedLog` needs from the place where it keeps runs: one interface for SQLite and Redis.

A store knows no reader, no cache and no rule of `append`; it stores batches that were admitted before. Its
methods raise `LogError` if it cannot be used, and are called on the event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from adk_prism.runlog.contract import Census, RunSummary, SearchPage
from adk_prism.runlog.entry import EVENT, AgentEvent, Entry, Origin, RunEnded, RunId
from adk_prism.runlog.notes import Note, NoteOwner
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.retention import EndedRun
from adk_prism.runlog.run_digest import RunDigest
from adk_prism.runlog.run_query import RunQuery
from adk_prism.runlog.run_state import Packed


class StoredRun(Struct, frozen=True):
    """A run as the store has it."""

    number: int
    """Its place among all runs, in the order in which they started."""
    summary: RunSummary


SMALL_BYTES, JOINED_BYTES = 16 * 1024, 64 * 1024
"""What a batch takes in at once, and when it takes no more: a few milliseconds of deltas."""


class AppendBatch(Struct, gc=False, eq=False):
    """Entries to be added to a run. There is at least one."""

    run: BufferedRun
    entries: list[Entry]
    packed: list[Packed]
    bytes: int
    """Size of the run, these entries included."""
    weight: int
    """Size of these entries."""
    epoch: int
    new_owner: bool
    """The epoch is higher than before."""
    now: float
    """When the log took the first of them."""

    @property
    def is_open(self) -> bool:
        """Whether small entries that follow may be stored with these."""
        return self.weight <= JOINED_BYTES and type(self.entries[-1].record) is not RunEnded

    def add(self, event: AgentEvent, now: float) -> None:
        """Take the next event of the run."""
        run, data = self.run, event.event
        size = len(data)
        run.taken += 1
        run.taken_at = now
        run.taken_bytes += size
        self.entries.append(Entry(run.taken, now, event))
        self.packed.append((EVENT, data))
        self.bytes = run.taken_bytes
        self.weight += size

    def take(self, following: AppendBatch) -> bool:
        """Take small entries that follow in the same run: a delta is stored with the one before it.

        Return whether they were taken. A large entry stays apart, since one that the store refuses must not
        take others with it; the end stays apart for the time when it was taken.
        """
        if (
            following.epoch != self.epoch
            or following.new_owner
            or following.weight > SMALL_BYTES
            or not self.is_open
            or type(following.entries[-1].record) is RunEnded
        ):
            return False
        self.entries += following.entries
        self.packed += following.packed
        self.bytes = following.bytes
        self.weight += following.weight
        return True


class AppendResult(Struct, frozen=True):
    """What became of a batch."""

    answer: str
    """*ok*; *failed*, with a reason; or why the run takes nothing more from this process: *gone*, *fenced*,
    *moved*, *ended*, *unknown*."""
    detail: str = ""


OK = AppendResult("ok")

Group = Sequence[AppendBatch]
"""Batches of any runs that are written together, in order."""


class FollowedRun(Protocol):
    """A run that another process writes, kept up to date while it is followed here."""

    @property
    def live(self) -> BufferedRun:
        """The run's state."""

    def check(self) -> None:
        """Raise what keeps the run from continuing."""


class LogStore(Protocol):
    """Keeps runs."""

    is_shared: bool
    """Whether other processes can write to it."""

    async def open(self) -> Sequence[StoredRun]:
        """Connect. Return the unended runs, if no other process can write them: the log holds them."""

    def closing(self) -> None:
        """Give up sooner from now on: the log is closing."""

    async def close(self) -> None:
        """Disconnect."""

    async def register(self, summary: RunSummary) -> int:
        """Return the number of a run that is about to start."""

    def write_now(self, group: Group) -> Sequence[AppendResult] | None:
        """Store a group without waiting for anything; None if that cannot be done: then `write` it."""

    async def write(self, group: Group) -> Sequence[AppendResult]:
        """Store a group; return what became of each batch. One group at a time.

        While the store cannot be written, try again, until the log closes. A batch of a run that was left
        meanwhile (`BufferedRun.is_left`) need not be stored.
        """

    async def remove(self, run: RunId, origin: Origin | None, *, only_ended: bool = False) -> bool:
        """Remove a run with its notes and remember its name.

        If it was its session's last, the session's pieces and notes go too. Return whether it was removed.
        Runs even if cancelled.
        """

    async def find_pieces(self, live: BufferedRun, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Return the numbers of those pieces that the run's session has."""

    async def put_pieces(self, live: BufferedRun, new: Mapping[bytes, bytes]) -> dict[bytes, int]:
        """Store pieces by digest; return their numbers, without those beyond the limit of a session.

        Raise `Gone` if the run was removed.
        """

    async def get_pieces(self, live: BufferedRun, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return pieces of the run's session as they are stored."""

    async def put_note(self, owner: NoteOwner, note: Note) -> None:
        """Store a note. Raise `Gone` if its run was removed, `Conflict` if there are too many."""

    async def delete_notes(self, owner: NoteOwner, note: tuple[str, str] | None = None) -> None:
        """Remove a note, by kind and key, or all of an owner."""

    async def notes(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        """Return the notes of those owners that have any."""

    async def noted(self, kind: str) -> Sequence[Origin]:
        """Return the sessions that may have a note of a kind."""

    async def find(self, run: RunId, *, patient: bool = False) -> StoredRun:
        """Return a run. Raise `NotFound` or `Gone`. With `patient`, wait for a store that is away."""

    async def entries(
        self, live: BufferedRun, after: int, last: int, *, patient: bool = False
    ) -> Sequence[Entry]:
        """Return some committed entries past `after`. Raise `Gone` if there are none."""

    async def select(self, wanted: Origin, *, unended: bool) -> Sequence[StoredRun]:
        """Return stored runs of an origin, in which an empty string matches any; at least those that
        `open` did not return."""

    async def sizes(self) -> tuple[Sequence[EndedRun], int]:
        """Return the ended runs, and the bytes of all others that `open` did not return."""

    async def census(self, before: float) -> Census:
        """Count the ended runs, and those that ended before a time."""

    async def probe(self) -> None:
        """Try a write."""

    def follow(self, live: BufferedRun) -> AbstractAsyncContextManager[FollowedRun]:
        """Keep a run that another process writes up to date."""

    async def index(self, run: RunId, digest: RunDigest) -> None:
        """Store the digest of an ended run."""

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        """Return ended runs without a digest of this version, the newest first."""

    async def search(self, query: RunQuery, limit: int, before: int | None) -> SearchPage:
        """Return the newest runs with a digest that fit."""
