"""Chats read from the log: which turns are live, which runs a message spans, what it waits for.

A chat is an ADK session; `turns` folds its runs. Nothing is kept beside the log, so a restarted server
knows the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.errors import Gone, NotFound
from adk_prism.facts.adk_event import read_event
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.transcripts import SpokenMessage, SpokenMessages
from adk_prism.log import entry as records
from adk_prism.log.contract import LogReader, RunLog, RunSummary
from adk_prism.log.entry import Origin, RunId
from adk_prism.protocols.contract import History, Scope
from adk_prism.runs.off_loop import call_sized, feed_run, read_head, read_in_turns

# ---------------------------------------------------------------------------
# The turns of a chat, folded from how its runs began. Pure.
#
# Turns are the runs in the order they began; a continuation belongs to the message it continues. A
# run that `replaces` a message voids it and all that came after; one that `restores` a voided message
# makes the conversation valid again that ended with it. So the turns of a chat are a tree: those that
# follow the same turn are versions of each other, and one branch of it is live.

EVALUATION_SESSIONS = ("adk-eval-session-", "___eval___session___")
"""How ADK's names of the sessions of evaluations begin, now and in older versions. Lists of chats leave them
out."""


class ChatRun(Struct, frozen=True):
    """A run of a chat, and how it began (without state and agents)."""

    summary: RunSummary
    head: records.RunStarted


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
    versions: list[list[Turn]]
    """Turns that follow the same turn, where there are several: oldest first, with their first run only."""
    branches: Mapping[str, list[Turn]]
    """Of each turn that was rewound, the conversation in which it was valid last."""
    places: Mapping[RunId, int]
    """Runs, in the order they began."""

    def branch(self, message: str) -> list[Turn] | None:
        """Return the conversation in which a message was valid last; None for an unknown one."""
        if any(turn.message == message for turn in self.turns):
            return self.turns
        return self.branches.get(message)

    def until(self, message: str) -> list[Turn] | None:
        """Return that conversation as it was when the message's turn was its last one."""
        branch = self.branch(message)
        return None if branch is None else before(branch, _index(branch, message) + 1, self.places)

    def preceding(self, message: str) -> list[Turn]:
        """Return that conversation as it was before the message's turn."""
        branch = self.branch(message) or []
        return before(branch, _index(branch, message), self.places)


class _Fold:
    """The runs of a chat, one after the other."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.branches: dict[str, list[Turn]] = {}
        self.places: dict[RunId, int] = {}
        self._followers: dict[str, list[Turn]] = {}

    def feed(self, run: ChatRun) -> None:
        head = run.head
        if head.restores or head.replaces:
            self._go_back(head)
        self.places[run.summary.run] = len(self.places)
        if not _is_turn(head):
            return
        if head.continues is None:
            last = self.turns[-1].message if self.turns else ""
            self._followers.setdefault(last, []).append(Turn(head.run, [run]))
            self.turns.append(Turn(head.run, [run]))
            return
        turn = next((t for t in self.turns if t.message == head.continues.message), None)
        if turn is not None:
            turn.runs.append(run)

    def _go_back(self, head: records.RunStarted) -> None:
        kept = self.history().until(head.restores) if head.restores else None
        if kept is None:  # It is not in the log any more, or the run only rewinds.
            kept = before(self.turns, _index(self.turns, head.replaces), self.places)
        valid = {turn.message for turn in kept}
        branch, self.turns = self.turns, _copies(kept)
        self.branches |= {turn.message: branch for turn in branch if turn.message not in valid}
        for message in valid:
            self.branches.pop(message, None)

    def history(self) -> ChatHistory:
        began = sorted(
            (turn for turns in self._followers.values() for turn in turns),
            key=lambda turn: self.places[turn.first.summary.run],
        )
        return ChatHistory(
            self.turns,
            [turn for turn in began if turn.message in self.branches],
            [turns for turns in self._followers.values() if len(turns) > 1],
            self.branches,
            self.places,
        )


def fold_history(runs: Sequence[ChatRun]) -> ChatHistory:
    """Fold all runs of a chat, oldest first."""
    fold = _Fold()
    for run in runs:
        fold.feed(run)
    return fold.history()


def fold_turns(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group runs into turns; leave out what was rewound, and what is not a turn."""
    return fold_history(runs).turns


def fold_recorded(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group the runs of a session that was recorded elsewhere; one without a message goes on."""
    turns: list[Turn] = []
    for run in runs:
        if not records.UPLOADED.read(run.head) or run.head.kind != "turn":
            continue
        if turns and records.is_absent(run.head.message) and not run.head.live:
            turns[-1].runs.append(run)
        else:
            turns.append(Turn(run.head.run, [run]))
    return turns


def _index(turns: Sequence[Turn], message: str) -> int:
    return next((i for i, turn in enumerate(turns) if turn.message == message), len(turns))


def _is_turn(head: records.RunStarted) -> bool:
    return head.kind == "turn" and not records.UPLOADED.read(head)


def before(turns: Sequence[Turn], at: int, places: Mapping[RunId, int]) -> list[Turn]:
    """Return turns as they were before one of them.

    A late answer to an earlier message that came after it is not there: ADK rewinds in the order of time.
    """
    if at >= len(turns):
        return _copies(turns)
    first = places[turns[at].first.summary.run]
    return [
        Turn(turn.message, [run for run in turn.runs if places[run.summary.run] < first])
        for turn in turns[:at]
    ]


def shared_turns(turns: Sequence[Turn], others: Sequence[Turn], places: Mapping[RunId, int]) -> int:
    """Return how many equal turns two conversations have if both are rewound to after those."""
    most = min(len(turns), len(others))
    pairs = (
        (at, before(turns, at, places), before(others, at, places)) for at in range(most, 0, -1)
    )
    return next((at for at, one, other in pairs if runs_of(one) == runs_of(other)), 0)


def runs_of(turns: Sequence[Turn]) -> list[RunId]:
    """Return the runs of some turns."""
    return [run.summary.run for turn in turns for run in turn.runs]


def stored_bytes(turns: Sequence[Turn]) -> int:
    """Return how much is stored of the runs of some turns."""
    return sum(run.summary.bytes for turn in turns for run in turn.runs)


def _copies(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns of their own: a run that continues one of them does not continue it elsewhere."""
    return [Turn(turn.message, list(turn.runs)) for turn in turns]


def first_recorded(turns: Sequence[Turn]) -> str:
    """Return the first message of these turns that is in the log; empty if none is.

    Those that only the session has are gone when the session is rewound, and no record can name them then.
    """
    return next((turn.message for turn in turns if not records.DERIVED.read(turn.first.head)), "")


def decided_later(turn: Turn, index: int) -> dict[str, records.Decision]:
    """Return the decisions of the runs after the given one, by call."""
    later: dict[str, records.Decision] = {}
    for run in turn.runs[index + 1 :]:
        if run.head.continues is not None:
            later |= run.head.continues.decisions
    return later


def answered_later(turn: Turn, index: int) -> frozenset[str]:
    """Return the calls with results in the runs after the given one."""
    going_on = (run.head.continues for run in turn.runs[index + 1 :])
    return frozenset(call for given in going_on if given is not None for call in given.answers)


def answered_by(turns: Sequence[Turn]) -> dict[str, records.Response]:
    """Return what the messages of turns answered, by the id of the request or approval."""
    return {
        name: given
        for t in turns
        for r in t.runs
        for name, given in records.RESPONSES.read(r.head).items()
    }


# ---------------------------------------------------------------------------

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
        self._heads: dict[RunId, tuple[records.RunStarted, int]] = {}
        self.size = 0
        """Bytes that the cached ones take."""

    def get(self, run: RunId) -> records.RunStarted | None:
        """Return how a run began, if that is cached."""
        found = self._heads.get(run)
        return found[0] if found is not None else None

    def add(self, run: RunId, head: records.RunStarted) -> records.RunStarted:
        """Cache a beginning if it is not too large; return it without state and agents."""
        # A copy: its raw values would keep the whole record that they were decoded from in memory.
        encoded = records.pack(structs.replace(head, state={}, agents=[]))[1]
        small = records.unpack("RunStarted", encoded)
        assert isinstance(small, records.RunStarted)
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

    async def beginning(self, run: RunId) -> records.RunStarted:
        """Return how a run began, without state and agents. Raise `NotFound` or `Gone`."""
        head = self._heads.get(run)
        if head is None:
            head = self._heads.add(run, await self.head(run))
        return head

    async def head(self, run: RunId) -> records.RunStarted:
        """Read how a run began. Raise `NotFound` or `Gone`."""
        return await read_head(self._log, run)

    async def state_before(self, run: RunId) -> dict[str, Raw] | None:
        """Return the session's state before a run; None for one that was not recorded as it ran."""
        head = await self.head(run)
        return None if records.DERIVED.read(head) else head.state

    async def pending(self, turn: Turn) -> Pending:
        """Return what a turn's message waits for: nothing, if it is untrusted."""
        pending = Pending()
        if records.is_untrusted(turn.first.head):
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

    async def feed(self, run: RunId, feed: Callable[[records.Entry], object]) -> None:
        """Feed a run's committed entries, in a thread where they are large."""
        await feed_run(self._log, run, feed)

    def entries(self, run: RunId) -> AsyncGenerator[records.Entry, None]:
        """Yield a run's committed entries."""
        return read_in_turns(self._log, run)


# ---------------------------------------------------------------------------
# Invocations that a run's first record does not know: read from the run's events.
#
# The server of a remote app chooses the invocation, and says so with the first event.

MOST = 4096
"""Invocations that are remembered; the others are read again."""


class LearnedInvocations:
    """Completes the summaries of runs."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._known: dict[RunId, str] = {}

    async def complete(self, summary: RunSummary) -> RunSummary:
        """Return a summary with its run's invocation, as far as it is known."""
        if summary.invocation:
            return summary
        found = self._known.get(summary.run) or await self._read(summary.run)
        if not found:
            return summary
        self._known[summary.run] = found
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        return structs.replace(summary, invocation=found)

    async def _read(self, run: RunId) -> str:
        try:
            async with aclosing(self._log.read(run)) as batches:
                async for batch in batches:
                    if any(isinstance(entry.record, records.AgentEvent) for entry in batch):
                        return first_invocation(batch)
        except (NotFound, Gone):  # Removed since it was listed.
            pass
        return ""


def first_invocation(entries: Sequence[records.Entry]) -> str:
    """Return the invocation that a run's first event names; empty if there is none."""
    for entry in entries:
        if isinstance(entry.record, records.AgentEvent):
            with suppress(msgspec.MsgspecError):
                return read_event(entry.record.event).invocation_id
    return ""


# ---------------------------------------------------------------------------
# What was said in a live run.


async def spoken_messages(chats: Chats, run: RunId) -> list[SpokenMessage]:
    """Return the messages of a live run, without one that is still being said."""
    reader, found = Reader(), SpokenMessages(run)
    async for entry in chats.entries(run):
        for item in reader.feed(entry):
            found.feed(item)
    return found.messages()


# ---------------------------------------------------------------------------
# The turns of a chat as clients are shown them, and which part of a message's replay each run is.


class Shown(Struct, frozen=True):
    """A turn of a chat, and whether later ones follow."""

    turn: Turn
    is_left: bool = False
    """Later messages follow: open questions of the message have expired."""
    is_resumed: bool = False
    """A later message continued its invocation, as the answer to a question does."""
    elsewhere: Mapping[str, records.Response] = {}
    """What later messages answered, by the id of the request or approval."""


def shown(turns: Sequence[Turn], *, is_left: bool = False) -> list[Shown]:
    """Return the turns of a chat, each with what later ones mean for it.

    `is_left`: it was rewound, so nobody answers what its last message asks.
    """
    found: list[Shown] = []
    later: set[str] = set()
    elsewhere: dict[str, records.Response] = {}
    for turn in reversed(turns):
        resumed = any(run.summary.invocation in later for run in turn.runs)
        found.append(Shown(turn, is_left or bool(found), resumed, elsewhere))
        later.add(turn.first.summary.invocation)
        if answered := answered_by([turn]):
            elsewhere = {**answered, **elsewhere}
    return found[::-1]


def running(turns: Sequence[Turn]) -> Shown | None:
    """Find the active turn; an earlier one, if it is getting a late answer."""
    return next((place for place in shown(turns) if place.turn.resumable), None)


def without_held_runs(place: Shown) -> Shown:
    """Return a turn without the runs that only held answers for a later one.

    Answers that were held then were not passed on.
    """
    turn = place.turn
    held = [run.head.continues is not None and run.head.continues.held for run in turn.runs]
    passed = max(index for index, is_held in enumerate(held) if not is_held)
    kept = [
        run for i, run in enumerate(turn.runs) if not held[i] or (i >= passed and not place.is_left)
    ]
    return structs.replace(place, turn=structs.replace(turn, runs=kept))


def scope_of(place: Shown, index: int) -> Scope:
    """Return which part of a turn's replay its run at `index` is."""
    turn = place.turn
    last = len(turn.runs) - 1
    return Scope(
        part=f"{index + 1} of {last + 1}",
        opens=index == 0,
        closes=index == last,
        replayed=last > 0,
        decided=decided_later(turn, index),
        answered=answered_later(turn, index),
        left=place.is_left,
        resumed=place.is_resumed,
        elsewhere=place.elsewhere,
    )


async def build_history(
    chats: Chats, turns: Sequence[Turn], history: History, *, is_left: bool = False
) -> None:
    """Give a conversation to a builder of messages, without the message that is still streaming."""
    size = 0
    for place in shown(turns, is_left=is_left):
        first = place.turn.first
        # What comes next ends the message before it, which takes long if that is large.
        if first.head.live:
            await call_sized(size, history.begin_live_run, first.summary.run)
            await chats.feed(first.summary.run, history.feed)
        else:
            sent = place.turn.user_message, first.head, first.summary.started
            await call_sized(size, history.user_message, *sent)
            if not place.turn.live:
                await _build_answer(chats, without_held_runs(place), history)
        size = stored_bytes([place.turn])


async def _build_answer(chats: Chats, place: Shown, history: History) -> None:
    for index, run in enumerate(place.turn.runs):
        history.begin_run(scope_of(place, index))
        await chats.feed(run.summary.run, history.feed)
