"""Which branch of a chat's turns its session has: changed for a run, and put right if that was cut off.

A change takes several steps, and the run that it is made for is in the log only after the last one. So it is
noted beside the log before the first. If that run is not in the log, the process died in between, or a step
failed: then whoever uses the session next undoes the change, and finds what the log says. Results that were
stored without their run are settled at the same time (`answers.StoredResults`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from adk_prism.adk.apps import Apps
from adk_prism.adk.request import EventSource, RunRequest
from adk_prism.adk.session_store import first_live
from adk_prism.adk.sessions import Rewind, RewindSource, bring_back, find_version, version_at
from adk_prism.commands import Before, Submit
from adk_prism.errors import Conflict, Gone, LogError, NotFound, Report, StaleConversation
from adk_prism.log.contract import RunLog, SideValue
from adk_prism.log.entry import EXTRAS, Origin, RunId
from adk_prism.runs import chats as chat_turns
from adk_prism.runs.answers import KIND as RESULTS
from adk_prism.runs.answers import StoredResults
from adk_prism.runs.chats import ChatHistory, ChatRun, Chats, Turn, runs_of
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Policy, SessionLocks

# ---------------------------------------------------------------------------
# What has to happen to a session so that its conversation is another branch of the chat's turns. Pure.

_STORED = ("finished", "waiting")
"""Outcomes of runs that ADK's session has events of; another one may have ended before its message was
stored."""


class BranchChange(Struct, frozen=True):
    """From the live branch to another one."""

    kept: Sequence[Turn]
    """What both begin with."""
    void: Sequence[Turn]
    """Turns of the live branch that are rewound."""
    back: Sequence[Turn]
    """Turns of the other one, which were rewound before."""
    returning: Sequence[ChatRun]
    """Runs of the other one that the session lacks."""

    @property
    def first(self) -> RunId:
        """The run before which the session has the right state."""
        return (*self.void, *self.back)[0].first.summary.run

    @property
    def rewound(self) -> list[str]:
        """Invocations of which the session may have something to rewind.

        Also those that come back: a process may have died while it brought them back.
        """
        kept = set(_invocations(_runs(self.kept)))
        again = [name for name in _invocations(_runs(self.back)) if name not in kept]
        return [*_invocations(_runs(self.void)), *again]

    @property
    def known(self) -> frozenset[str]:
        """The invocations of the other branch."""
        return frozenset(_invocations([*_runs(self.kept), *_runs(self.back)]))

    def wanted(self, stored: frozenset[str]) -> frozenset[str]:
        """Return the invocations that come back, where a session has stored some."""
        names = _invocations(self.returning)
        sure = [run for run in self.returning if run.summary.outcome in _STORED]
        return frozenset(_invocations(sure)) | stored.intersection(names)


def branch_change(history: ChatHistory, branch: Sequence[Turn]) -> BranchChange:
    """Return how the live branch becomes another one. Raise `Conflict` if ADK cannot rewind to it."""
    turns, places = history.turns, history.places
    shared = chat_turns.shared_turns(turns, branch, places)
    kept = chat_turns.before(turns, shared, places)
    there = set(runs_of(kept))
    returning = [run for run in _runs(branch) if run.summary.run not in there]
    change = BranchChange(kept, turns[shared:], branch[shared:], returning)
    if change.void and change.void[0].first.summary.invocation in _invocations(_runs(kept)):
        raise Conflict(
            "This message belongs to an earlier task; remove the task's first message instead."
        )
    return change


def _runs(turns: Sequence[Turn]) -> list[ChatRun]:
    return [run for turn in turns for run in turn.runs]


def _invocations(runs: Sequence[ChatRun]) -> list[str]:
    return [run.summary.invocation for run in runs]


# ---------------------------------------------------------------------------

KIND = "branch change"


class _Noted(Struct, frozen=True):
    """A change of a session. The key of its note is the run that it is made for."""

    last: str
    """The last event before it."""
    invocation: str
    """The first one that it rewinds or brings back."""
    first: str
    """The run before which the session has the right state, if it is rewound to that."""


class SessionBranches:
    """Changes sessions for runs that are about to begin."""

    def __init__(self, log: RunLog, apps: Apps, chats: Chats, locks: SessionLocks) -> None:
        self._log = log
        self._apps = apps
        self._chats = chats
        self._locks = locks
        self.results = StoredResults(log, apps)

    async def change(self, origin: Origin, run: RunId, change: BranchChange) -> None:
        """Rewind a locked session to what is kept of it, and bring back what was rewound before.

        Raise `Conflict`, before anything has changed, if the session does not have that any more.
        """
        await self.settle_locked(origin)
        sessions = self._apps.sessions(origin.app)
        runner = self._apps.runner(origin.app, "rewind")
        events = (await sessions.get(origin)).events
        # A run can fail before ADK has stored its message: then there is nothing of it to rewind.
        first = rewound = first_live(events, change.rewound)
        version = None
        if change.returning:
            wanted = change.wanted(frozenset(event.invocation_id for event in events))
            version = find_version(events, wanted, change.known, rewound)
            first = rewound or next((event.invocation_id for event in version.events), "")
        if first:
            await self._begin(origin, run, events[-1].id, first, change.first)
        if rewound:
            state = await self._chats.state_before(change.first)
            await sessions.rewind(runner, origin, rewound, state)
        if version is not None:
            await bring_back(runner, origin, version)

    async def _begin(
        self, origin: Origin, run: RunId, last: str, invocation: str, first: str
    ) -> None:
        """Note a change of a locked session for a run; `_Noted` explains the rest."""
        noted = msgspec.json.encode(_Noted(last, invocation, first))
        await self._log.side.put(origin, KIND, run, noted)

    async def settle(self, origin: Origin, policy: Policy = "wait") -> None:
        """Undo a change that was cut off, if there is one: only then the session is locked.

        Raise `Conflict` where policy refuses to wait for one that is being made.
        """
        if not any(await self._unfinished(origin)):
            return
        await self._locks.acquire(origin, policy, _stop_nothing)
        try:
            await self.settle_locked(origin)
        finally:
            await self._locks.release(origin)

    async def settle_locked(self, origin: Origin) -> None:
        """Undo a change that was cut off, if there is one, of a session that the caller has locked."""
        notes, results = await self._unfinished(origin)
        if notes:
            # What was begun after the first began with a session that was wrong already.
            await self._undo(origin, msgspec.json.decode(notes[0].value, type=_Noted))
            for note in notes:
                await self._log.side.delete(origin, KIND, note.key)
        if results:
            await self.results.settle(origin, results)

    async def _unfinished(self, origin: Origin) -> tuple[Sequence[SideValue], Sequence[SideValue]]:
        """Return the notes of changes, and of stored results, whose run is not in the log, oldest first.

        Remove the others.
        """
        found = (await self._log.side.list([origin])).get(origin, ())
        unfinished: dict[str, list[SideValue]] = {KIND: [], RESULTS: []}
        ours = (note for note in found if note.space in unfinished)
        for note in sorted(ours, key=lambda note: note.time):
            if await self._is_recorded(origin, RunId(note.key)):
                await self._log.side.delete(origin, note.space, note.key)
            else:
                unfinished[note.space].append(note)
        return unfinished[KIND], unfinished[RESULTS]

    async def _is_recorded(self, origin: Origin, run: RunId) -> bool:
        try:
            await self._log.summary(run)
        except NotFound:
            return False
        except Gone:  # It was, until retention removed it.
            return True
        except LogError:
            # Its start could not be stored. Or nothing can be read: then this raises the same.
            runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
            return any(each.run == run for each in runs)
        return True

    async def _undo(self, origin: Origin, noted: _Noted) -> None:
        sessions = self._apps.sessions(origin.app)
        try:
            events = (await sessions.get(origin)).events
        except NotFound:  # Deleted since.
            return
        version = version_at(events, noted.last, noted.invocation)
        if version is None:
            return
        # A change of state needs no app, so this may be the first that does.
        runner = (await self._apps.open(origin.app)).runner("rewind")
        if events[-1].id != noted.last:
            state = await self._state_before(noted.first)
            await sessions.rewind(runner, origin, noted.invocation, state, again=True)
        await bring_back(runner, origin, version)

    async def _state_before(self, run: str) -> dict[str, msgspec.Raw] | None:
        try:
            return await self._chats.state_before(RunId(run)) if run else None
        except (NotFound, Gone):  # Removed since.
            return None

    # -------------------------------------------------------------- a rewind without a new message

    async def rewind(self, origin: Origin, invocation: str, runs: Runs, report: Report) -> RunId:
        """Take back an invocation and all after it, when no run is active on the session.

        It is recorded as a run. Which messages it voids is read from the session, since ADK rewinds
        invocations and not messages. Raise `NotFound` for no session, `Conflict` for an invocation that is
        not there (any more) or that ADK cannot rewind separately.
        """
        # Not found: said now, not after a wait.
        await self._apps.sessions(origin.app).state(origin)
        await self._apps.open(origin.app)

        def make(run: RunId) -> EventSource:
            return RewindSource(
                runner=self._apps.runner(origin.app, "rewind"),
                request=RunRequest(run=run, origin=origin),
                plan=partial(self._plan_rewind, run, origin, invocation),
                agents=self._apps.agents(origin.app),
                report=report,
            )

        run = await runs.start(origin, "wait", make, runs_agent=False)
        await runs.wait(run)
        return run

    async def _plan_rewind(self, run: RunId, origin: Origin, invocation: str) -> Rewind:
        await self.settle_locked(origin)
        turns = await self._chats.turns(origin)
        first = next(
            (r.summary.run for r in _runs(turns) if r.summary.invocation == invocation), None
        )
        state = await self._chats.state_before(first) if first is not None else None
        sessions = self._apps.sessions(origin.app)
        void = await sessions.invocations_from(origin, invocation)
        if void:
            last = (await sessions.get(origin)).events[-1].id
            await self._begin(origin, run, last, invocation, first or "")
        return Rewind(invocation, state, _first_void(turns, void))


def _first_void(turns: Sequence[Turn], invocations: Sequence[str]) -> str:
    void = frozenset(invocations)
    return chat_turns.first_recorded(
        [t for t in turns if any(r.summary.invocation in void for r in t.runs)]
    )


def _stop_nothing() -> None:
    """Do nothing: an undone change cannot be stopped halfway."""


# ---------------------------------------------------------------------------
# Where in a conversation a message belongs, according to the messages that its client shows before it.
#
# The message before the new one decides. If the chat has others after that one, or if that one was
# rewound, the client either branches off on purpose, or it does not know the latest messages: a tab
# that was open while another one sent. Both lists look alike, so the client has to name the branch;
# else it is refused (`StaleConversation`), and nothing is rewound. A message whose own id the chat
# knows takes that one's place.
#
# A message before the new one that the log does not know decides nothing, since apps begin chats with
# messages of their own; nor does a list that was not sent. Where the client's last message came with
# the whole history, a list of one message is a new beginning.
#
# A live conversation is one run and one ADK invocation: it stays or goes as a whole.

WHOLE_HISTORY = "whole_history"
"""Key of a run's `extras`: its message came with all messages before it."""

MOST_NAMED = 2000
"""Ids of messages that a run says it took back: a long chat's. Whatever follows the first one is gone too."""


async def kept_turns(chats: Chats, history: ChatHistory, message: Submit) -> list[Turn]:
    """Return the turns that a message follows: of the chat, or of an earlier version.

    Raise `StaleConversation` for one that would rewind others without naming a branch, and `Conflict`.
    """
    shown = message.before
    is_new = not _is_known(history, message.message_id)
    if is_new and not shown.ids and shows_whole(history, shown):
        return []
    turns = await _kept_before(chats, history, shown)
    if is_new and not shown.named and not shown.whole:
        _check_latest(history, turns)
    again = (i for i, turn in enumerate(turns) if turn.user_message == message.message_id)
    return chat_turns.before(turns, next(again, len(turns)), history.places)


def shows_whole(history: ChatHistory, shown: Before) -> bool:
    """Return whether a client sends all messages that it shows, from the first one on.

    One that sends none does if the last message of the chat came with all others before it.
    """
    if shown.whole or not history.turns:
        return shown.whole
    if shown.ids:
        return history.turns[0].user_message in shown.ids
    return WHOLE_HISTORY in EXTRAS.read(history.turns[-1].first.head)


def _is_known(history: ChatHistory, message: str) -> bool:
    turns = (*history.turns, *history.taken_back)
    return any(turn.user_message == message for turn in turns)


def _check_latest(history: ChatHistory, kept: Sequence[Turn]) -> None:
    if runs_of(kept) != runs_of(history.turns):
        raise StaleConversation(
            "This conversation has continued elsewhere, perhaps in another tab: its latest messages are not"
            " shown here, and this one would have replaced them. Nothing was sent or changed. Reload the"
            " conversation, and send the message again."
        )


async def taken_ids(chats: Chats, turns: Sequence[Turn], kept: Collection[str]) -> list[str]:
    """Return the ids of the messages of some turns, without those that are there again."""
    ids: list[str] = []
    for turn in turns:
        if len(ids) >= MOST_NAMED:
            break
        ids += await _ids(chats, turn)
    return [each for each in ids if each not in kept][:MOST_NAMED]


async def _kept_before(chats: Chats, history: ChatHistory, shown: Before) -> list[Turn]:
    for message in reversed(shown.ids if shown.whole else shown.ids[-1:]):
        kept = await _kept_until(chats, history, message)
        if kept is not None:
            return kept
    return [] if shown.whole else history.turns


async def _kept_until(chats: Chats, history: ChatHistory, message: str) -> list[Turn] | None:
    """Return the turns up to a message; None if the log does not know it.

    Versions of an answer follow the same user's message: then the newest of them counts.
    """
    if not message:
        return None
    for index, turn in reversed(list(enumerate(history.turns))):
        if turn.first.head.live:
            if await _is_in_live(chats, turn, message):
                return chat_turns.before(history.turns, index + 1, history.places)
        elif message in (turn.message, turn.user_message):
            return chat_turns.before(history.turns, index + 1, history.places)
    for turn in reversed(history.taken_back):
        if message in (turn.message, turn.user_message):
            return history.until(turn.message)
    return None


async def _is_in_live(chats: Chats, turn: Turn, message: str) -> bool:
    said = await chat_turns.spoken_messages(chats, turn.first.summary.run)
    places = [index for index, each in enumerate(said) if each.id == message]
    if not places:
        return False
    if any(later.role == "user" for later in said[places[-1] + 1 :]):
        raise Conflict(
            "The message before this one is part of a voice chat, which can only be removed "
            "as a whole. Send the message after its last one."
        )
    return True


async def _ids(chats: Chats, turn: Turn) -> list[str]:
    if not turn.first.head.live:
        return [turn.user_message, turn.message]
    said = await chat_turns.spoken_messages(chats, turn.first.summary.run)
    return [each.id for each in said]
