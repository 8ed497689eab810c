"""The runs that a conversation was at a cursor of one of them, and their copies in another session.

A fork is a conversation of its own: its history is in the log under its own name, so that a page shows
it, an approval in it can be answered, and it can be forked again, whatever becomes of the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from adk_prism.facts.adk_event import read_event
from adk_prism.pipeline.chats import ChatRun, Chats, fold_turns
from adk_prism.pipeline.cut import Cut, cut_run
from adk_prism.pipeline.runs import new_run
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import AgentEvent, Entry, Origin, RunId, RunStarted
from adk_prism.source.fork import Past
from adk_prism.source.rebuilding import Chapter

BATCH = 512
"""Entries that are copied at once."""


class History(Struct, frozen=True):
    """A conversation up to a cursor."""

    origin: Origin
    before: Sequence[ChatRun]
    """The live runs before the one that is cut, oldest first."""
    cut: Cut
    next: float
    """When the run after it began; infinity if there is none."""

    def new_ids(self, cut: RunId | None) -> dict[str, str]:
        """Return an id for the copy of each run; the one that is cut may have one already."""
        ids: dict[str, str] = {run.summary.run: new_run() for run in self.before}
        return ids | {self.cut.head.run: cut or new_run()}

    @property
    def is_upload(self) -> bool:
        """Whether it is a recording, and no conversation of this server."""
        return self.cut.head.uploaded


class Histories:
    """Reads histories from the log, and writes their copies to it."""

    def __init__(self, log: RunLog, chats: Chats) -> None:
        self._log = log
        self._chats = chats

    async def of(self, run: RunId, at: int, *, new_turn: bool) -> History:
        """Read the conversation at a cursor. Raise `NotFound`, `Gone` or `BadPosition`."""
        summary = await self._log.summary(run)
        entries = [entry async for entry in self._chats.entries(run)]
        cut = cut_run(entries, at, new_turn=new_turn)
        if cut.head.uploaded:
            return History(summary.origin, [], cut, float("inf"))
        origin = summary.origin
        runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        index = [known.run for known in runs].index(run)
        return History(
            origin,
            await self._live(runs[: index + 1], run),
            cut,
            await self._started(runs[index + 1 :]),
        )

    async def _live(self, runs: Sequence[RunSummary], cut: RunId) -> list[ChatRun]:
        heads = [ChatRun(known, await self._chats.head(known.run)) for known in runs]
        turns = fold_turns(heads)
        return [run for turn in turns for run in turn.runs if run.summary.run != cut]

    async def _started(self, later: Sequence[RunSummary]) -> float:
        """Return when the next run of this server's own began."""
        for summary in later:
            async for entry in self._chats.entries(summary.run):
                if isinstance(entry.record, RunStarted) and not entry.record.uploaded:
                    return entry.time
                break
        return float("inf")

    async def past(self, history: History, *, said: bool) -> Past:
        """Return where the session is cut, as far as the log tells.

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

    async def chapters(self, history: History, *, said: bool) -> list[Chapter]:
        """Return all that was said, for a session that is not there (any more)."""
        chapters = []
        for run in history.before:
            entries = [entry async for entry in self._chats.entries(run.summary.run)]
            whole = cut_run(entries, len(entries))
            chapters.append(Chapter(whole.head, entries[0].time, whole.whole))
        cut = history.cut
        return [*chapters, Chapter(cut.head, cut.entries[0].time, cut.whole, said)]

    async def copy(
        self, history: History, origin: Origin, ids: Mapping[str, str], *, with_cut: bool
    ) -> None:
        """Copy the runs to another session, under new ids; `with_cut`, also what is left of the last."""
        for run in history.before:
            await self._copy_run(run.summary.run, origin, ids)
        if with_cut:
            await self._copy_cut(history.cut, origin, ids)

    async def _copy_run(self, run: RunId, origin: Origin, ids: Mapping[str, str]) -> None:
        copy = RunId(ids[run])
        batch: list[Entry] = []
        async for entry in self._chats.entries(run):
            if isinstance(entry.record, RunStarted):
                entry = Entry(1, entry.time, as_copy(entry.record, origin, ids))
            batch.append(entry)
            if len(batch) == BATCH:
                await self._append(copy, batch)
                batch = []
        await self._append(copy, batch)
        await self._log.commit(copy)

    async def _copy_cut(self, cut: Cut, origin: Origin, ids: Mapping[str, str]) -> None:
        copy = RunId(ids[cut.head.run])
        first, *rest = cut.entries
        ends = [Entry(0, cut.until, record) for record in cut.closed()]
        await self._append(
            copy, [Entry(1, first.time, as_copy(cut.head, origin, ids)), *rest, *ends]
        )
        await self._log.commit(copy)

    async def _append(self, run: RunId, entries: Sequence[Entry]) -> None:
        records = [entry.record for entry in entries]
        await self._log.append(run, records, times=[entry.time for entry in entries])


def as_copy(head: RunStarted, origin: Origin, ids: Mapping[str, str]) -> RunStarted:
    """Return a run's first record as it is in another session, where runs have these ids."""
    continues = head.continues
    if continues is not None:
        message = ids.get(continues.message)
        continues = structs.replace(continues, message=message) if message else None
    is_foreign = head.uploaded or head.foreign
    return structs.replace(
        head,
        run=ids[head.run],
        origin=origin,
        continues=continues,
        replaces="",
        rewound=[],
        extras={} if is_foreign else head.extras,
        client_tools=[] if is_foreign else head.client_tools,
        digest="",
        uploaded=False,
        foreign=is_foreign,
    )


def _place(entry: Entry, places: dict[str, int]) -> None:
    """Note an event's place in the log, if it is one that ADK keeps."""
    if isinstance(entry.record, AgentEvent):
        event = read_event(entry.record.event)
        if not event.partial:
            places[event.id] = len(places)
