"""Chats read from the log: which turns are live, which runs a message spans, what it waits for.

A chat is an ADK session; `turns` folds its runs. Nothing is kept beside the log, so a restarted server
knows the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec
from msgspec import Raw, structs

from adk_prism.errors import NotFound
from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.pipeline.off_loop import feed_run, read_in_turns
from adk_prism.pipeline.turns import (
    ChatHistory,
    ChatRun,
    Turn,
    fold_history,
    fold_recorded,
    fold_turns,
)
from adk_prism.runlog.contract import LogReader
from adk_prism.runlog.entry import Entry, Origin, RunId, RunStarted

CACHED_BYTES = 4 * 1024 * 1024
"""Beginnings of runs that are cached: those of some hundred busy chats. One with an attachment of more than
`LARGEST` would displace many."""
LARGEST = 64 * 1024
OVERHEAD = 1024
"""Bytes that a beginning takes in memory beside its JSON, estimated."""


class HeadCache:
    """How runs began, without state and agents: what never changes need not be read again."""

    def __init__(self, capacity: int = CACHED_BYTES) -> None:
        self._capacity = capacity
        self._heads: dict[RunId, tuple[RunStarted, int]] = {}
        self.size = 0
        """Bytes that the cached ones take."""

    def get(self, run: RunId) -> RunStarted | None:
        """Return how a run began, if that is cached."""
        found = self._heads.get(run)
        return found[0] if found is not None else None

    def add(self, run: RunId, head: RunStarted) -> RunStarted:
        """Cache a beginning if it is not too large; return it without state and agents."""
        # A copy: its raw values would keep the whole record that they were decoded from in memory.
        encoded = msgspec.json.encode(structs.replace(head, state={}, agents=[]))
        small = msgspec.json.decode(encoded, type=RunStarted)
        size = len(encoded) + OVERHEAD
        if size <= LARGEST:
            self._heads[run] = (small, size)
            self.size += size
            while self.size > self._capacity:
                self.size -= self._heads.pop(next(iter(self._heads)))[1]
        return small


class Chats:
    """Reads chats from a log."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._heads = HeadCache()

    async def turns(self, origin: Origin) -> list[Turn]:
        """Return the live turns of a chat, oldest first."""
        return fold_turns(await self._runs(origin))

    async def shown_turns(self, origin: Origin, version: str = "") -> tuple[list[Turn], bool]:
        """Return the live turns of a chat; of a recorded session, which is only read, its runs.

        `version` is an answer that may be rewound: then the turns are those of its conversation. Return also
        whether that is valid. Raise `NotFound` for an unknown answer.
        """
        runs = await self._runs(origin)
        history = fold_history(runs)
        if not version:
            return history.turns or fold_recorded(runs), True
        branch = history.branch(version)
        if branch is None:
            raise NotFound("There is no such message in this chat.")
        return branch, branch is history.turns

    async def history(self, origin: Origin) -> ChatHistory:
        """Return the live turns of a chat, and those that were rewound."""
        return fold_history(await self._runs(origin))

    async def _runs(self, origin: Origin) -> list[ChatRun]:
        summaries = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        return [ChatRun(summary, await self.beginning(summary.run)) for summary in summaries]

    async def beginning(self, run: RunId) -> RunStarted:
        """Return how a run began, without state and agents. Raise `NotFound` or `Gone`."""
        head = self._heads.get(run)
        if head is None:
            head = self._heads.add(run, await self.head(run))
        return head

    async def head(self, run: RunId) -> RunStarted:
        """Read how a run began. Raise `NotFound` or `Gone`."""
        async with aclosing(self._log.read(run)) as batches:
            async for batch in batches:
                head = batch[0].record
                assert isinstance(head, RunStarted), "every log begins with its RunStarted"
                return head
        raise AssertionError("a run that is listed has entries")

    async def state_before(self, run: RunId) -> dict[str, Raw] | None:
        """Return the session's state before a run; None for one that was not recorded as it ran."""
        head = await self.head(run)
        return None if head.derived else head.state

    async def pending(self, turn: Turn) -> Pending:
        """Return what a turn's message waits for: nothing, if it is untrusted."""
        pending = Pending()
        if turn.first.head.untrusted:
            return pending
        for run in turn.runs:
            reader = Reader()
            async for entry in self.entries(run.summary.run):
                pending.feed(reader.feed(entry))
            continues = run.head.continues
            if continues is not None:
                decisions = list(continues.decisions.values())
                if continues.held:
                    pending.hold(decisions, continues.answers)
                else:
                    pending.pass_on(decisions, continues.answers)
        return pending

    async def feed(self, run: RunId, feed: Callable[[Entry], object]) -> None:
        """Feed a run's committed entries, in a thread where they are large."""
        await feed_run(self._log, run, feed)

    def entries(self, run: RunId) -> AsyncGenerator[Entry, None]:
        """Yield a run's committed entries."""
        return read_in_turns(self._log, run)
