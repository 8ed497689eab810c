"""Chats read from the log: which turns are live, which runs a message spans, what it waits for.

A chat is an ADK session. Its turns are the runs in the order they began; a continuation belongs to the
message it continues; a run that `replaces` a message voids it and all that came after. Nothing is kept
beside the log, so a restarted server knows the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.reader import Reader
from adk_prism.runlog.contract import LogReader, RunSummary
from adk_prism.runlog.entry import Decision, Entry, Origin, Response, RunId, RunStarted, is_absent

CACHED_BYTES = 4 * 1024 * 1024
"""Beginnings of runs that are cached: those of some hundred busy chats. One with an attachment of more than
`LARGEST` would displace many."""
LARGEST = 64 * 1024
OVERHEAD = 1024
"""Bytes that a beginning takes in memory beside its JSON, estimated."""


class ChatRun(Struct, frozen=True):
    """A run of a chat, and how it began (without state and agents)."""

    summary: RunSummary
    head: RunStarted


class Turn(Struct, frozen=True):
    """A user's message and the assistant's, which may span several runs."""

    message: str
    runs: list[ChatRun]

    @property
    def first(self) -> ChatRun:
        return self.runs[0]

    @property
    def last(self) -> ChatRun:
        return self.runs[-1]

    @property
    def user_message(self) -> str:
        """Id of the user's message: the client's, or one derived from the run."""
        return self.first.head.message_id or f"{self.first.summary.run}-user"

    @property
    def live(self) -> bool:
        """Whether a run of it is active."""
        return self.last.summary.outcome is None

    @property
    def resumable(self) -> bool:
        """Whether a chat client can continue it: it runs, and is one message."""
        return self.live and not self.last.head.live


class ChatHistory(Struct, frozen=True):
    """A chat: what is in it, and what was rewound."""

    turns: list[Turn]
    """Oldest first."""
    taken_back: list[Turn]
    """Each with its first run only."""


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

    async def shown_turns(self, origin: Origin) -> list[Turn]:
        """Return the live turns of a chat; of a recorded session, which is only read, its runs."""
        runs = await self._runs(origin)
        return fold_turns(runs) or fold_recorded(runs)

    async def history(self, origin: Origin) -> ChatHistory:
        """Return the live turns of a chat, and those that were rewound."""
        runs = await self._runs(origin)
        turns = fold_turns(runs)
        live = {turn.message for turn in turns}
        began = [Turn(run.head.run, [run]) for run in runs if _is_turn(run.head)]
        gone = [turn for turn in began if turn.message not in live]
        return ChatHistory(turns, [turn for turn in gone if turn.first.head.continues is None])

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

    async def entries(self, run: RunId) -> AsyncGenerator[Entry, None]:
        """Yield a run's committed entries."""
        async with aclosing(self._log.read(run)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry


def fold_turns(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group runs into turns; leave out what was rewound, and what is not a turn."""
    turns: list[Turn] = []
    for index, run in enumerate(runs):
        head = run.head
        if head.replaces:
            turns = _taken_back(turns, head.replaces, runs[:index])
        if not _is_turn(head):
            continue
        if head.continues is None:
            turns.append(Turn(head.run, [run]))
            continue
        turn = next((t for t in turns if t.message == head.continues.message), None)
        if turn is not None:
            turn.runs.append(run)
    return turns


def fold_recorded(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group the runs of a session that was recorded elsewhere; one without a message goes on."""
    turns: list[Turn] = []
    for run in runs:
        if not run.head.uploaded or run.head.kind != "turn":
            continue
        if turns and is_absent(run.head.message) and not run.head.live:
            turns[-1].runs.append(run)
        else:
            turns.append(Turn(run.head.run, [run]))
    return turns


def _is_turn(head: RunStarted) -> bool:
    return head.kind == "turn" and not head.uploaded


def _taken_back(turns: list[Turn], message: str, before: Sequence[ChatRun]) -> list[Turn]:
    """Return turns without a message and all that came after it.

    So a late answer to an earlier message is rewound too: ADK rewinds in the order of time.
    """
    kept = next((i for i, t in enumerate(turns) if t.message == message), len(turns))
    if kept == len(turns):
        return turns
    order = {run.summary.run: place for place, run in enumerate(before)}
    first = order[turns[kept].first.summary.run]
    return [
        Turn(turn.message, [run for run in turn.runs if order[run.summary.run] < first])
        for turn in turns[:kept]
    ]


def first_recorded(turns: Sequence[Turn]) -> str:
    """Return the first message of these turns that is in the log; empty if none is.

    Those that only the session has are gone when the session is rewound, and no record can name them then.
    """
    return next((turn.message for turn in turns if not turn.first.head.derived), "")


def decided_later(turn: Turn, index: int) -> dict[str, Decision]:
    """Return the decisions of the runs after the given one, by call."""
    later: dict[str, Decision] = {}
    for run in turn.runs[index + 1 :]:
        if run.head.continues is not None:
            later |= run.head.continues.decisions
    return later


def answered_later(turn: Turn, index: int) -> frozenset[str]:
    """Return the calls with results in the runs after the given one."""
    going_on = (run.head.continues for run in turn.runs[index + 1 :])
    return frozenset(call for given in going_on if given is not None for call in given.answers)


def answered_by(turns: Sequence[Turn]) -> dict[str, Response]:
    """Return what the messages of turns answered, by the id of the request or approval."""
    return {name: given for t in turns for r in t.runs for name, given in r.head.responses.items()}
