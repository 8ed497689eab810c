"""The runs that a conversation was at a cursor of one of them, and their copies in another session.

A fork is a conversation of its own: its history is in the log under its own name, so that a page shows
it, an approval in it can be answered, and it can be forked again, whatever becomes of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Raw, Struct, structs

from adk_prism.adk.sessions import SHARED
from adk_prism.errors import UsageError
from adk_prism.facts.adk_event import read_event
from adk_prism.features.forks.past import Chapter, Past
from adk_prism.features.forks.truncated_run import (
    RefusedKeys,
    TruncatedRun,
    clean_head,
    close_truncated,
    truncate_run,
)
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.runs.chats import ChatRun, Chats, fold_turns
from adk_prism.runs.recorder import FORKED_FROM, REQUEST_DIGEST, ForkPoint
from adk_prism.runs.runs import new_run

StateRule = Callable[[str, Iterable[str]], Collection[str]]
"""App and state keys → those of them that a client may not write."""

BATCH = 512
"""Entries that are copied at once."""


class ForkHistory(Struct, frozen=True):
    """A conversation up to a cursor."""

    origin: records.Origin
    before: Sequence[ChatRun]
    """The live runs before the one that is cut, oldest first."""
    cut: TruncatedRun
    next: float
    """When the run after it began; infinity if there is none."""
    continued: frozenset[str] = frozenset()
    """Those of the runs before it that a later run of the same message continues."""
    untrusted: bool = False
    """Whether this server did not record all of it: it continues with a new message only."""
    withheld: Sequence[str] = ()
    """Keys of the session's state that no client may write, and that an untrusted history does not set."""
    recorded: Mapping[str, Raw] = {}
    """The state at the cut, all scopes, according to the log."""

    def new_ids(self, cut: records.RunId | None) -> dict[str, str]:
        """Return an id for the copy of each run; the one that is cut may have one already."""
        ids: dict[str, str] = {run.summary.run: new_run() for run in self.before}
        return ids | {self.cut.head.run: cut or new_run()}

    @property
    def is_upload(self) -> bool:
        """Whether it is a recording, and no conversation of this server."""
        return records.UPLOADED.read(self.cut.head)


class ForkTarget(Struct, frozen=True):
    """Where a history is copied to."""

    origin: records.Origin
    ids: Mapping[str, str]
    """Of the copies, by the runs' own."""
    forked_from: ForkPoint


class ForkHistories:
    """Reads histories from the log, and writes their copies to it."""

    def __init__(self, log: RunLog, chats: Chats, refused: StateRule) -> None:
        """`refused` returns the state keys that clients of an app may not write; the app is loaded."""
        self._log = log
        self._chats = chats
        self._refused = refused

    async def of(
        self, run: records.RunId, at: int, app: str = "", *, new_turn: bool, as_text: bool = False
    ) -> ForkHistory:
        """Read the conversation at a cursor. Raise `NotFound`, `Gone` or `BadPosition`.

        `app` continues an uploaded run, whatever app that names; raise `UsageError` for another app of any
        other run. `as_text`: the new session takes it as history from outside, of which nothing can be
        continued.
        """
        origin = (await self._log.summary(run)).origin
        entries = [entry async for entry in self._chats.entries(run)]
        first = entries[0].record
        if isinstance(first, records.RunStarted) and records.UPLOADED.read(first):
            cut = truncate_run(entries, at)
            origin = structs.replace(origin, app=app or origin.app)
            return self._distrusted(ForkHistory(origin, [], cut, float("inf")))
        if app not in ("", origin.app):
            raise UsageError(f"The run is one of {origin.app!r}: no other app can continue it.")
        runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        index = [known.run for known in runs].index(run)
        heads = [ChatRun(each, await self._chats.head(each.run)) for each in runs[: index + 1]]
        untrusted = as_text or any(records.is_untrusted(each.head) for each in heads)
        turns = fold_turns(heads)
        history = ForkHistory(
            origin,
            [each for turn in turns for each in turn.runs if each.summary.run != run],
            truncate_run(entries, at, new_turn=new_turn or untrusted),
            await self._started(runs[index + 1 :]),
            frozenset(each.summary.run for turn in turns for each in turn.runs[:-1]),
        )
        return self._distrusted(history) if untrusted else history

    def _distrusted(self, history: ForkHistory) -> ForkHistory:
        """Return an untrusted history as it may continue."""
        recorded = history.cut.state()
        withheld = [k for k in self._rule(history)(recorded) if not k.startswith(SHARED)]
        return structs.replace(
            history,
            cut=close_truncated(history.cut, self._rule(history)),
            untrusted=True,
            withheld=sorted(withheld),
            recorded=recorded,
        )

    def _rule(self, history: ForkHistory) -> RefusedKeys:
        return partial(self._refused, history.origin.app)

    async def _started(self, later: Sequence[RunSummary]) -> float:
        """Return when the next run of this server's own began."""
        for summary in later:
            async for entry in self._chats.entries(summary.run):
                if isinstance(entry.record, records.RunStarted) and not records.UPLOADED.read(
                    entry.record
                ):
                    return entry.time
                break
        return float("inf")

    async def past(self, history: ForkHistory, *, said: bool) -> Past:
        """Return where the session is cut, as far as the log shows.

        `said`: what the user said at the beginning of the cut run is part of it.
        """
        cut = history.cut
        places: dict[str, int] = {}
        for run in history.before:
            async for entry in self._chats.entries(run.summary.run):
                _place(entry, places)
        for entry in cut.entries:
            _place(entry, places)
        started = cut.entries[0].time
        return Past(
            invocation=cut.head.invocation,
            places=places,
            later=cut.later,
            started=started,
            until=cut.until if said else started,
            said_before=history.next if said else started,
            state=cut.head.state,
        )

    async def chapters(self, history: ForkHistory, *, said: bool) -> list[Chapter]:
        """Return all that was said, for a session that is not there (any more)."""
        chapters = []
        for run in history.before:
            entries = [entry async for entry in self._chats.entries(run.summary.run)]
            whole = truncate_run(entries, len(entries))
            if history.untrusted:
                whole = close_truncated(whole, self._rule(history))
            chapters.append(Chapter(whole.head, entries[0].time, whole.whole))
        cut = history.cut
        return [*chapters, Chapter(cut.head, cut.entries[0].time, cut.whole, said)]

    async def copy(self, history: ForkHistory, target: ForkTarget, *, with_cut: bool) -> None:
        """Copy the runs to another session; `with_cut`, also what is left of the last."""
        for run in history.before:
            name = run.summary.run
            if history.untrusted and name not in history.continued:
                await self._copy_closed(history, name, target)
            else:
                await self._copy_run(history, name, target)
        if with_cut:
            await self._copy_cut(history.cut, target)

    async def _copy_closed(
        self, history: ForkHistory, run: records.RunId, target: ForkTarget
    ) -> None:
        entries = [entry async for entry in self._chats.entries(run)]
        cut = close_truncated(truncate_run(entries, len(entries)), self._rule(history))
        await self._copy_cut(cut, target)

    async def _copy_run(self, history: ForkHistory, run: records.RunId, target: ForkTarget) -> None:
        copy = records.RunId(target.ids[run])
        summary = await self._log.summary(run)
        took = (summary.ended or summary.started) - summary.started
        batch: list[records.Entry] = []
        async for entry in self._chats.entries(run):
            head = entry.record
            if isinstance(head, records.RunStarted):
                if history.untrusted:
                    head = clean_head(head, self._rule(history))
                entry = records.Entry(1, entry.time, as_copy(head, target, took))
            batch.append(entry)
            if len(batch) == BATCH:
                await self._append(copy, batch)
                batch = []
        await self._append(copy, batch)
        await self._log.commit(copy)

    async def _copy_cut(self, cut: TruncatedRun, target: ForkTarget) -> None:
        copy = records.RunId(target.ids[cut.head.run])
        first, *rest = cut.entries
        ends = [records.Entry(0, cut.until, record) for record in cut.closed()]
        head = as_copy(cut.head, target, cut.until - first.time)
        await self._append(copy, [records.Entry(1, first.time, head), *rest, *ends])
        await self._log.commit(copy)

    async def _append(self, run: records.RunId, entries: Sequence[records.Entry]) -> None:
        copied = [entry.record for entry in entries]
        await self._log.append(run, copied, times=[entry.time for entry in entries])


class CopiedRun(Struct, frozen=True):
    """The run that a run of a fork is a copy of; of a copy's copy, the first one."""

    run: str
    seconds: float
    """What it took, up to the cut: a copy is written in one go."""


COPIED_FROM: records.Label[CopiedRun | None] = records.Label("copied_from", CopiedRun, None)


async def describe_copy(chats: Chats, summary: RunSummary) -> dict[str, Any]:
    """Return what the description of a run says of the one that it is a copy of."""
    copied = COPIED_FROM.read(await chats.head(summary.run))
    return {"copiedFrom": structs.asdict(copied)} if copied is not None else {}


def as_copy(head: records.RunStarted, target: ForkTarget, took: float = 0.0) -> records.RunStarted:
    """Return a run's first record as it is in a fork; `took` is in seconds."""
    continues = head.continues
    if continues is not None:
        message = target.ids.get(continues.message)
        continues = structs.replace(continues, message=message) if message else None
    untrusted = records.is_untrusted(head)
    copy = structs.replace(
        head,
        run=target.ids[head.run],
        origin=target.origin,
        continues=continues,
        replaces="",
        restores="",
        rewound=[],
        client_tools=[] if untrusted else head.client_tools,
    )
    return records.relabelled(
        copy,
        FORKED_FROM(target.forked_from),
        COPIED_FROM(COPIED_FROM.read(head) or CopiedRun(head.run, took)),
        records.EXTRAS({} if untrusted else records.EXTRAS.read(head)),
        REQUEST_DIGEST(""),
        records.UPLOADED(False),
        records.FOREIGN(untrusted),
    )


def _place(entry: records.Entry, places: dict[str, int]) -> None:
    """Note an event's place in the log, if it is one that ADK keeps."""
    if isinstance(entry.record, records.AgentEvent):
        event = read_event(entry.record.event)
        if not event.partial:
            places[event.id] = len(places)
