"""The contract of a run log: what every backend promises, and nothing about how.

Promises
- **Order.** Entries of a run have dense cursors from 1, given by the log.
- **Committed before seen.** A reader gets only committed entries; what a client has seen survives a
  crash of the process.
- **One reading.** `read` yields past entries and then, with `follow`, new ones, without a gap.
- **No empty answers.** An unknown run is `NotFound`, a trimmed one `Gone`, a cursor past the end
  `BadPosition`.
- **The end is a record.** After `RunEnded` nothing can be appended, and every iteration ends.
- **Removed completely.** What the side store has of a run goes with the run, and what it has of a session
  with the session's last run (`side_store.py`).
- **Fencing.** An append names the owner's epoch; a log that has seen a higher one refuses it.

`adk_prism.testing.runlog_contract` is the suite that each backend passes.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, TooLarge, UsageError
from adk_prism.log.entry import Entry, Origin, Outcome, Record, RunId

# ---------------------------------------------------------------------------
# The side store: small values beside a run log, and texts that many records of a session refer to.
#
# What belongs to runs and is not part of what happened is no record: it may come later, change, and
# be taken back. A value is named by its owner (a run, a session), a space, which one feature uses,
# and a key. Texts are stored once per session and named by numbers. All of it is redacted on its way
# in, committed when the call returns, and removed with its run, or with the last run of its session.
# Knows no meaning.
#
# `adk_prism.testing.side_store_contract` is the suite that each backend passes.

VALUE_BYTES = 16 * 1024
"""Of one value: some pages of text."""

OWNER_VALUES = 64
"""Values of one owner, so at most a MiB: several people may say something about several messages."""

LONGEST_KEY = 1000
"""Characters of a key: an id of a message and the name of a user fit."""

SESSION_BYTES = 64 * 1024**2
"""Stored bytes of the texts of one session: a hundred times what a model's context holds."""

VALUE, TEXT = "Note", "Piece"
"""The kinds that the redaction gets for values and texts."""

Owner = RunId | Origin
"""A run, or a session."""


class SideValue(Struct, frozen=True):
    """A value as it is stored."""

    space: str
    key: str
    time: float
    """When the store took it."""
    value: bytes
    """JSON, redacted."""


class SideReader(Protocol):
    """What a command needs of a side store to look at it."""

    async def list(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        """Return the values of owners by space and key, without owners that have none."""

    async def get(self, run: RunId, numbers: Collection[int]) -> dict[int, bytes]:
        """Return texts of a run's session by number, without those that it does not have.

        Raise `NotFound`, `Gone` or `LogError`.
        """


class SideStore(SideReader, Protocol):
    """Values and texts beside a run log. It is opened and closed with the log."""

    async def put(self, owner: Owner, space: str, key: str, value: bytes) -> SideValue:
        """Store a JSON text in place of an earlier one of this space and key; return it as it is stored.

        A session need not have a run. Raise `TooLarge` for more than `VALUE_BYTES`, `Conflict` for more than
        `OWNER_VALUES`, `NotFound` or `Gone` for a run that is not there, `LogError`.
        """

    async def delete(self, owner: Owner, space: str, key: str) -> None:
        """Remove a value; nothing happens if there is none."""

    async def owners(self, space: str) -> Sequence[Origin]:
        """Return the sessions that have a value in a space.

        One whose value was removed may be among them, until the session is removed.
        """

    async def add(self, run: RunId, texts: Sequence[bytes]) -> Sequence[int]:
        """Store JSON texts of a run's session; return a number for each, 0 if it was not stored.

        Equal texts of a session are stored once and have one number; numbers are never used again. A text is
        not stored if its session has `SESSION_BYTES`. New ones count as bytes of the run. Raise `NotFound`,
        `Gone` or `LogError`.
        """


class SideStorage(Protocol):
    """What a store of a `BufferedLog` does for its side store. Raises `LogError`."""

    async def put_value(self, owner: Owner, value: SideValue) -> None:
        """Store a value. Raise `Gone` if its run was removed, `Conflict` if there are too many."""

    async def delete_values(self, owner: Owner, value: tuple[str, str] | None = None) -> None:
        """Remove a value, by space and key, or all of an owner."""

    async def list_values(self, owners: Collection[Owner]) -> dict[Owner, Sequence[SideValue]]:
        """Return the values of those owners that have any."""

    async def list_owners(self, space: str) -> Sequence[Origin]:
        """Return the sessions that may have a value in a space."""

    async def find_texts(self, origin: Origin, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Return the numbers of those texts that a session has."""

    async def add_texts(
        self, run: RunId, origin: Origin, new: Mapping[bytes, bytes]
    ) -> dict[bytes, int]:
        """Store texts by digest; return their numbers, without those beyond the limit of a session.

        Raise `Gone` if the run was removed.
        """

    async def get_texts(self, origin: Origin, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return texts of a session as they are stored."""


# --------------------------------------------------------------------------- values


def check_value(value: SideValue) -> SideValue:
    """Return a value that may be stored. Raise `TooLarge`, or `UsageError` for a bad key."""
    if len(value.value) > VALUE_BYTES:
        raise TooLarge(f"A note has {len(value.value)} bytes; at most {VALUE_BYTES}.")
    if len(value.key) > LONGEST_KEY:
        raise UsageError(
            f"The key of a note has {len(value.key)} characters; at most {LONGEST_KEY}."
        )
    try:
        value.key.encode()
    except UnicodeEncodeError as error:
        raise UsageError("The key of a note must be valid Unicode.") from error
    return value


def too_many() -> Conflict:
    """Return why an owner gets no further value."""
    return Conflict(f"There are {OWNER_VALUES} notes already; take one back first.")


def owner_name(owner: Owner) -> str:
    """Return one text for an owner."""
    names = (owner.app, owner.user, owner.session) if isinstance(owner, Origin) else (owner,)
    return msgspec.json.encode(names).decode()


def session_named(name: str) -> Origin:
    """Return the session that `owner_name` named."""
    app, user, session = msgspec.json.decode(name, type=tuple[str, str, str])
    return Origin(app=app, user=user, session=session)


def by_space_and_key(values: Collection[SideValue]) -> list[SideValue]:
    """Return values in their order."""
    return sorted(values, key=lambda value: (value.space, value.key))


# --------------------------------------------------------------------------- texts

_SHORTEST = 256
"""Bytes from which a text is compressed: shorter ones gain nothing."""

_COMPRESSED = b"z"
"""First byte of a compressed text; JSON cannot begin with it."""


def text_digest(text: bytes) -> bytes:
    """Return what identifies a redacted text in its session, and there only: so one session cannot find out
    what another contains."""
    return hashlib.blake2b(text, digest_size=15).digest()


def pack_text(text: bytes) -> bytes:
    """Return a JSON text as it is stored."""
    if len(text) < _SHORTEST:
        return text
    packed = _COMPRESSED + zlib.compress(text, 1)
    return packed if len(packed) < len(text) else text


def unpack_text(stored: bytes) -> bytes:
    """Return the JSON text of a stored one."""
    return zlib.decompress(stored[1:]) if stored.startswith(_COMPRESSED) else stored


# ---------------------------------------------------------------------------


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

    @property
    def side(self) -> SideReader:
        """What is stored beside the log."""

    async def open(self) -> None:
        """Get ready; raise `LogError` for a store that cannot be used or is of a newer schema."""

    async def close(self) -> None:
        """Commit what was appended and disconnect; followers' iterations end."""

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Yield committed entries past `after`, in batches that are never empty.

        With `follow`, wait for more until `RunEnded` has been given or the log closes. The first
        step raises `NotFound`, `Gone` or `BadPosition`; a later one `Gone` if the run is removed
        meanwhile, `LogError` if the store fails. A run can be followed as soon as it was appended to.
        """

    async def summary(self, run: RunId) -> RunSummary:
        """Return one run's summary; raise `NotFound` or `Gone`."""

    async def list(
        self, *, app: str = "", user: str = "", session: str = ""
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; an empty string matches any."""


class RunLog(LogReader, Protocol):
    """Append-only logs of runs, one writer a run, any number of readers."""

    @property
    def side(self) -> SideStore:
        """What is stored beside the log; it is opened and closed with it."""

    def attach(
        self,
        *,
        redact: Redact | None = None,
        streams: Callable[[], StreamRedact] | None = None,
        observer: LogObserver | None = None,
    ) -> None:
        """Redact everything that is appended from now on, and call an observer.

        With `streams`, one of them takes the records of each run; `redact` takes what the side store
        is given, and runs of recorders, whose cursors are those of the sender.
        """

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

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", unended: bool = False
    ) -> Sequence[RunSummary]:
        """Return runs, oldest first; an empty string matches any."""

    async def trim(self, retention: Retention, now: float) -> Sequence[RunId]:
        """Remove whole ended runs that are too old or too much; return which."""

    async def probe(self) -> None:
        """Try a write. Raise `LogError` if the store accepts no entries now."""

    async def delete(self, origin: Origin) -> Sequence[RunId]:
        """Remove every run of a session, ended or not, and its side values; return which runs."""


# ---------------------------------------------------------------------------
# Which ended runs are removed: the same decision for every backend.
#
# Knows no storage. A run is removed completely or not at all, and only after its end. A backend remembers the
# ids of the runs removed last, so that it can answer *gone* and not *not found*.

MAX_TOMBSTONES = 100_000
"""Ids of removed runs that are remembered, some MB in all. After that many later removals the answer is
*not found*, which is true as well."""


class EndedRun(Struct, frozen=True, gc=False):
    """What the decision needs to know of a run."""

    run: RunId
    ended: float
    """By this server's clock: what a client says about its runs does not count."""
    bytes: int
    origin: Origin

    @property
    def owner(self) -> str:
        return self.origin.user


def runs_to_trim(
    candidates: Iterable[EndedRun], total: int, retention: Retention, now: float
) -> list[TrimmedRun]:
    """Return the ended runs to remove: those that are too old, the longest ended first; then, for their size,
    always the longest ended of the user who has most.

    So one user's runs never push out those of another who has less. `total` is the size of all runs together,
    also of those that have not ended.
    """
    runs = sorted(candidates, key=lambda run: run.ended)
    left = math.inf if retention.most_aged is None else retention.most_aged
    chosen: list[TrimmedRun] = []
    kept: dict[str, deque[EndedRun]] = {}
    for run in runs:
        if now - run.ended > retention.max_age and left > 0:
            left -= 1
            total -= run.bytes
            chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "age"))
        else:
            kept.setdefault(run.owner, deque()).append(run)
    return chosen + _for_their_size(kept, total - retention.max_bytes)


def _for_their_size(kept: dict[str, deque[EndedRun]], excess: float) -> list[TrimmedRun]:
    """Return the runs whose removal frees so many bytes."""
    if excess <= 0:
        return []
    # Who has equally much goes by who ended a run first.
    sizes = [
        (-sum(run.bytes for run in runs), runs[0].ended, owner) for owner, runs in kept.items()
    ]
    heapq.heapify(sizes)
    chosen: list[TrimmedRun] = []
    while excess > 0 and sizes:
        size, _, owner = heapq.heappop(sizes)
        run = kept[owner].popleft()
        excess -= run.bytes
        chosen.append(TrimmedRun(run.run, run.origin, run.bytes, "size"))
        if kept[owner]:
            heapq.heappush(sizes, (size + run.bytes, kept[owner][0].ended, owner))
    return chosen
