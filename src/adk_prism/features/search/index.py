"""Makes runs findable: folds each ended run into a digest and stores that beside the log.

A run is read while it goes on, as its entries are committed; what is stored in large pieces (an upload) or
began elsewhere is read when it has ended. One task does that, a run after the other and in small steps, so
that nothing waits for it. Runs that have no digest yet (an older version recorded them, or a process died)
are looked for at the start and now and then, with a pause after each that is as long as the work. A search
waits a moment for the runs that have just ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.adk.apps import is_hidden
from adk_prism.errors import Diagnostic, Gone, LogError, NotFound, Report, cause_of
from adk_prism.facts import model as fact
from adk_prism.facts.model import Fact
from adk_prism.facts.run_reader import MakeAnnotator, Reader
from adk_prism.facts.state import read_object
from adk_prism.features.captures.stored_runs import SqliteLogReader
from adk_prism.features.search import digest as digests
from adk_prism.features.search import stores
from adk_prism.features.usage.usage import ModelUse, UseFold
from adk_prism.log.contract import LogReader, RunLog, SideValue
from adk_prism.log.entry import Agent, AgentEvent, Entry, RunId
from adk_prism.log.private_files import Notifier, cancel_task
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.off_loop import feed_run, is_large
from adk_prism.runs.session_log import Deletions

# ---------------------------------------------------------------------------
# The digest of a run, folded from its facts: what a search finds it by.
#
# Everything is bounded, so a digest is small whatever the run was. Of a text the beginning counts.

MOST_USER, MOST_AGENT, MOST_CALLS = 2000, 6000, 4000
"""Characters: a question and its answer, and what the first tools did."""

MOST_OF_A_VALUE = 500
"""Characters of one argument list or result."""

MOST_NAMES, LONGEST_NAME = 100, 200
"""Names of a kind, and characters of one."""


class _Text:
    """The beginning of a text that comes in pieces, some of which may be withdrawn."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[tuple[str, str]] = []

    def add(self, text: str, of: str = "") -> None:
        """Add a piece; `of` names what it may be withdrawn with."""
        if self._left > 0 and text:
            self._pieces.append((of, text[: self._left]))
            self._left -= len(text)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is taken."""
        return self._left <= 0

    def withdraw(self, blocks: Iterable[str]) -> None:
        """Forget all pieces of some blocks."""
        gone = frozenset(blocks)
        self._left += sum(len(text) for of, text in self._pieces if of in gone)
        self._pieces = [piece for piece in self._pieces if piece[0] not in gone]

    def __str__(self) -> str:
        """Return the text: the pieces of a block together, where parallel agents send theirs in turns."""
        blocks: dict[str | int, list[str]] = {}
        for at, (of, text) in enumerate(self._pieces):
            blocks.setdefault(of or at, []).append(text)
        return "".join(text for texts in blocks.values() for text in texts).strip()


class _Sure(Struct):
    """What an annotation may say of a whole answer."""

    confidence: float | None = None


class DigestFold:
    """Folds one run."""

    def __init__(self, annotators: Sequence[MakeAnnotator] = ()) -> None:
        self._reader = Reader([make() for make in annotators])
        self._confidence: float | None = None
        self._user, self._agent, self._calls = map(_Text, (MOST_USER, MOST_AGENT, MOST_CALLS))
        self._names: dict[digests.NameKind, dict[str, None]] = {}
        self._agents: list[Agent] = []
        self._tokens = 0
        self._uses = UseFold()
        self._began = self._last = 0.0

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        if entry.time:  # The start of a capture has none.
            self._began = self._began or entry.time
            self._last = entry.time
        record = entry.record
        if type(record) is AgentEvent and record.more and self._agent.is_full:
            return  # More of a text of which there is enough: the stored event ends it.
        for item in self._reader.feed(entry):
            self._take(item)

    def digest(self) -> digests.RunDigest:
        """Return what is known by now."""
        acted = self._names.get("agent", {})
        for agent in self._agents:
            if agent.name in acted and agent.model:
                self._name("model", agent.model)
        return digests.RunDigest(
            user=str(self._user),
            agent=str(self._agent),
            calls=str(self._calls),
            names={kind: list(names) for kind, names in self._names.items()},
            tokens=self._tokens,
            used=_used(self._uses.calls),
            duration=max(0.0, round(self._last - self._began, 6)),
            confidence=self._confidence,
            version=digests.DIGEST_VERSION,
        )

    def _take(self, item: Fact) -> None:
        match item:
            case fact.BlockGrew():
                if item.kind != "reasoning":
                    self._agent.add(item.text, item.block)
            case fact.BlockEnded():
                self._agent.add("\n", item.block)
            case fact.BlocksReplaced():
                self._agent.withdraw(item.blocks)
            case fact.RunBegan():
                self._agents = item.agents
                self._uses.feed(item)
                self._user.add(f"{item.query}\n")
            case fact.UserSpoke() | fact.InputTranscribed(final=True):
                self._user.add(f"{item.text}\n")
            case fact.ModelCalled():
                self._uses.feed(item)
            case fact.Annotated(id="proof"):
                with suppress(msgspec.ValidationError):  # Annotators of others say what they like.
                    sure = msgspec.convert(item.value, _Sure, from_attributes=True)
                    self._confidence = sure.confidence
            case fact.Nested():
                self._take(item.fact)
            case _:
                self._take_deed(item)

    def _take_deed(self, item: Fact) -> None:
        """Read what was done, and by whom."""
        match item:
            case fact.CallRequested():
                self._name("tool", item.name)
                self._value(item.name, item.input)
            case fact.CallAnswered():
                self._value(item.name, item.output)
            case fact.CallFailed():
                self._calls.add(f"{item.name} {item.error[:MOST_OF_A_VALUE]}\n")
            case fact.NodeBegan():
                self._name("tool" if item.kind == "tool" else "agent", item.name)
            case fact.NodeFinished():
                self._name("error", item.error)
            case fact.StateChanged():
                for key in item.delta:
                    self._name("state", key)
            case fact.ModelCallEnded():
                self._uses.feed(item)
                self._name("model", item.model)
                self._tokens += _total(item.usage)
            case fact.ErrorRaised() | fact.RunOver(outcome="failed"):
                self._name("error", item.code)
                self._calls.add(f"{item.message[:MOST_OF_A_VALUE]}\n")
            case _:
                pass  # nothing to find a run by

    def _name(self, kind: digests.NameKind, name: str) -> None:
        names = self._names.setdefault(kind, {})
        if name and len(names) < MOST_NAMES:
            names[name[:LONGEST_NAME]] = None

    def _value(self, name: str, value: Raw) -> None:
        text = bytes(value)[: MOST_OF_A_VALUE * 4].decode(errors="replace")
        self._calls.add(f"{name} {text[:MOST_OF_A_VALUE]}\n")


def _used(calls: Iterable[ModelUse]) -> dict[str, dict[str, int]]:
    """Return what was used of each model."""
    used: dict[str, dict[str, int]] = {}
    for call in calls:
        name = call.model[:LONGEST_NAME] if call.tokens or not call.is_failed else ""
        sums = used.setdefault(name if name in used or len(used) < MOST_NAMES else "", {})
        for kind, count in {**call.tokens, "calls": 1, "ms": call.duration}.items():
            sums[kind] = sums.get(kind, 0) + count
    return used


def uses_of(digest: digests.RunDigest) -> list[ModelUse]:
    """Return what a run used of each model."""
    uses = []
    for model, sums in digest.used.items():
        tokens = {kind: count for kind, count in sums.items() if kind not in ("calls", "ms")}
        use = ModelUse(
            agent="",
            model=model,
            tokens=tokens,
            calls=sums.get("calls", 0),
            duration=sums.get("ms", 0),
            is_failed=not model,
        )
        uses.append(use)
    return uses


def _total(usage: Raw) -> int:
    total = read_object(usage).get("totalTokenCount")
    return total if isinstance(total, int) and total > 0 else 0


# ---------------------------------------------------------------------------
# What finds runs: an index of digests beside a run log.
#
# SQLite has a full-text index in tables of its own, in the log's file. Otherwise every digest is looked at:
# those that the log keeps (`DigestStore`), or those that this process keeps in memory.


SearchIndex: TypeAlias = digests.MemorySearch | stores.SharedSearch | stores.SqliteSearch


def index_of(log: RunLog) -> SearchIndex:
    """Return the index of a log, which need not be open yet.

    Its `index` stores the digest of an ended run in place of an older one, and does nothing for any other
    run. `unindexed` returns ended runs without a digest of this version, newest first. `search` returns the
    first runs that fit, in the order of the query, after the run at which an earlier page ended; it raises
    `UsageError`, `LogError`. `digests_of` returns those of some runs, which may be missing.
    """
    if isinstance(log, SqliteLog):
        return stores.SqliteSearch(log.store)
    store = getattr(log, "digests", None)
    return (
        stores.SharedSearch(store)
        if isinstance(store, stores.DigestStore)
        else digests.MemorySearch(log)
    )


def search_of(log: LogReader) -> SearchIndex | stores.SqliteSearchReader:
    """Return what searches a log that another process may be writing."""
    if isinstance(log, SqliteLogReader):
        return stores.SqliteSearchReader(log)
    return index_of(log)  # type: ignore[arg-type] # every other reader is a log


# ---------------------------------------------------------------------------

BATCH = 20
"""Older runs that are looked up at a time."""

INTERVAL = 300.0
"""Seconds between two looks for runs that were missed."""

MOST_WAITING = 10_000
"""Ended runs that wait for their digests; what does not fit is found by the next look."""

MOST_AT_ONCE, MOST_FOLDS = 512, 1000
"""Entries of a run that are read together while it goes on, a few milliseconds, and runs that are."""

PATIENCE = 2.0
"""Seconds for which a search waits for runs that have just ended."""


FEEDBACK = "feedback"
"""The space of what people say about runs."""


class RunIndex:
    """Indexes the runs of a log, and finds them."""

    def __init__(
        self,
        log: RunLog,
        search: SearchIndex,
        deletions: Deletions,
        report: Report,
        annotators: Sequence[MakeAnnotator] = (),
    ) -> None:
        self._log = log
        self._annotators = annotators
        self._search = search
        self._deletions = deletions
        self._report = report
        self._waiting: dict[RunId, int] = {}
        """How often each run has changed since it began to wait."""
        self._folds: dict[RunId, DigestFold] = {}
        """Of runs that go on here, the one that was quiet longest first."""
        self._changed = Notifier()

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Read what was committed of a run, if all before it was read."""
        is_first = entries[0].cursor == 1
        fold = DigestFold(self._annotators) if is_first else self._folds.get(run)
        if fold is None:
            return
        self._folds.pop(run, None)
        if len(entries) > MOST_AT_ONCE or is_large(entries):
            return  # `_digest` reads it off the loop.
        try:
            for entry in entries:
                fold.feed(entry)
        except Exception:  # `_digest` meets it again, and reports it.
            return
        self._folds[run] = fold
        if len(self._folds) > MOST_FOLDS:
            del self._folds[next(iter(self._folds))]

    def ended(self, run: RunId) -> None:
        """Note that a run has ended."""
        if run in self._waiting or len(self._waiting) < MOST_WAITING:
            self._waiting[run] = self._waiting.get(run, 0) + 1
            self._changed.notify()

    def changed(self, run: RunId) -> None:
        """Note that what is said about a run has changed."""
        self.ended(run)  # One that has not ended is indexed later, with what is said then.

    async def search(
        self, query: digests.RunQuery, *, limit: int, before: int | None = None
    ) -> digests.SearchPage:
        """Return the first runs that fit, without those of deleted sessions. Raise `UsageError`, `LogError`.

        Waits a moment for the runs that have just ended.
        """
        await self.settled()
        page = await self._search.search(query, limit=limit, before=before)
        hidden = await self._deletions.current()
        found = [
            each
            for each in page.found
            if each.summary.origin not in hidden and not is_hidden(each.summary.origin.app)
        ]
        return structs.replace(page, found=found)

    async def digests_of(self, runs: Sequence[RunId]) -> dict[RunId, digests.RunDigest]:
        """Return the digests of some runs, of those that have one. Raise `LogError`."""
        return await self._search.digests_of(runs)

    async def settled(self, patience: float = PATIENCE) -> None:
        """Wait until the runs that have ended by now are indexed, or patience has run out."""
        ended = set(self._waiting)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while ended & self._waiting.keys():
                    await self._changed.wait()

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[None]:
        """Index runs while the block runs."""
        task = asyncio.create_task(self._work())
        try:
            yield
        finally:
            await cancel_task(task)

    async def _work(self) -> None:
        next_look = 0.0
        while True:
            await self._index_waiting()
            if time.monotonic() >= next_look and not await self._index_older():
                next_look = time.monotonic() + INTERVAL
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, next_look - time.monotonic())):
                    while not self._waiting:
                        await self._changed.wait()

    async def _index_waiting(self) -> None:
        while self._waiting:
            run, changes = next(iter(self._waiting.items()))
            await self._index(run)
            if self._waiting.get(run) == changes:  # Otherwise once more: it changed meanwhile.
                self._waiting.pop(run, None)
            self._changed.notify()

    async def _index_older(self) -> bool:
        """Index some runs that were missed; return whether there may be more."""
        try:
            runs = await self._search.unindexed(BATCH)
        except LogError as error:
            self._report_failure(error)
            return False
        done = 0
        for run in runs:
            began = time.monotonic()
            done += await self._index(run)
            await self._index_waiting()
            await asyncio.sleep(time.monotonic() - began)
        return done > 0

    async def _index(self, run: RunId) -> bool:
        """Index a run; return whether that was done."""
        try:
            await self._search.index(run, await self._digest(run))
        except (NotFound, Gone):  # Removed since.
            return False
        except LogError as error:  # The next look finds it again.
            self._report_failure(error, run)
            return False
        return True

    async def _digest(self, run: RunId) -> digests.RunDigest:
        fold = self._folds.pop(run, None)
        try:
            if fold is None:
                fold = await self._read(run)
            return await self._with_feedback(run, fold.digest())
        except (NotFound, Gone, LogError):
            raise
        except Exception as error:
            # One run that cannot be read must not keep others from being found.
            self._report_failure(error, run)
            return digests.RunDigest(version=digests.DIGEST_VERSION)

    async def _read(self, run: RunId) -> DigestFold:
        fold = DigestFold(self._annotators)
        await feed_run(self._log, run, fold.feed)
        return fold

    async def _with_feedback(self, run: RunId, digest: digests.RunDigest) -> digests.RunDigest:
        labels = feedback_labels((await self._log.side.list([run])).get(run, ()))
        if not labels:
            return digest
        return structs.replace(digest, names=digest.names | {FEEDBACK: labels})

    def _report_failure(self, error: Exception, run: RunId | None = None) -> None:
        self._report(Diagnostic(kind="run not indexed", run=run or "", cause=cause_of(error)))


class _Scored(Struct):
    score: float


def feedback_labels(values: Iterable[SideValue]) -> list[str]:
    """Return what people said about a run in one word, as it is found by it: *up*, *down* or *neutral*."""
    scores = (
        msgspec.json.decode(each.value, type=_Scored).score
        for each in values
        if each.space == FEEDBACK
    )
    return sorted({"up" if score > 0 else "down" if score < 0 else "neutral" for score in scores})
