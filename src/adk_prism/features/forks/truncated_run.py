"""A run cut at a cursor: what of it is kept, and how it can continue from there. Pure.

ADK keeps whole events only, so the cut is after the last whole one at or before the cursor: a sentence
that was streaming is not in the history, and is generated again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Raw, Struct, structs

from adk_prism.adk.session_runs import RefusedKeys, clean_record
from adk_prism.errors import BadPosition
from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.nodes import node_ends
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import StateFold
from adk_prism.log.entry import (
    AgentEvent,
    ChildEvent,
    Entry,
    ModelCalled,
    NodeEnded,
    NodeStarted,
    Record,
    RunEnded,
    RunStarted,
    RunTakenOver,
)

_OVER = frozenset(("finished", "failed", "incomplete"))
"""Outcomes after which nothing is pending."""

HowToContinue = Literal["again", "resume", "nothing"]
"""How a run continues from a cut without a new message: it is started again, since nothing of it had
happened; its invocation is resumed; or there was nothing left to do."""


class TruncatedRun(Struct, frozen=True):
    """A run up to a cursor."""

    head: RunStarted
    entries: Sequence[Entry]
    """What counts, the run's end not included."""
    until: float
    """The time at the cursor."""
    further: HowToContinue
    ended: RunEnded | None
    """The run's end, if nothing was left to do at the cursor."""
    later: frozenset[str]
    """Ids of whole events after the cut."""
    invocation: str
    """Of the last event that counts."""

    @property
    def whole(self) -> list[bytes]:
        """The whole events that count."""
        return [data for data, event in _events(self.entries) if not event.partial]

    def state(self) -> dict[str, Raw]:
        """Return the state at the cut, all scopes."""
        reader, fold = Reader(), StateFold()
        for entry in self.entries:
            for fact in reader.feed(entry):
                fold.feed(fact)
        return dict(fold)

    def closed(self) -> list[Record]:
        """Return the records that end what was running at the cut, and the run itself."""
        return [*node_ends(self.entries), self.ended or RunEnded(outcome="cancelled")]

    def continued(self, now: float) -> list[Entry]:
        """Return what counts as the beginning of a run that continues now: its nodes are of the past.

        The times are moved, so that the past ends now and its durations stay. The last entry is the
        seam. Calls without an answer are in doubt there: resumed, ADK runs them or does not.
        """
        moved = now - self.until
        past = [Entry(e.cursor, e.time + moved, _of_the_past(e.record)) for e in self.entries]
        seam = [*node_ends(past), RunTakenOver(epoch=0, in_doubt=_open_calls(past))]
        return [*past, *(Entry(0, now, record) for record in seam)]


def close_truncated(cut: TruncatedRun, refused: RefusedKeys) -> TruncatedRun:
    """Return a cut in which nothing is pending, and which continues with a new message only.

    For a run that this server did not see happen, or whose history has one: `adk/session_runs.py` says
    what of it counts. A call without a response was never answered.
    """
    cleaned = [(entry, clean_record(entry.record, refused)) for entry in cut.entries]
    kept = [
        Entry(entry.cursor, entry.time, record) for entry, record in cleaned if record is not None
    ]
    head = kept[0].record
    assert isinstance(head, RunStarted), "every log begins with its RunStarted"
    is_over = cut.ended is not None and cut.ended.outcome in _OVER and not _open_calls(kept)
    ended = cut.ended if is_over else RunEnded(outcome="cancelled")
    return structs.replace(cut, head=head, entries=kept, further="nothing", ended=ended)


def truncate_run(entries: Sequence[Entry], at: int, *, new_turn: bool = True) -> TruncatedRun:
    """Cut a run, given whole, at a cursor. Raise `BadPosition` for one that it does not have.

    Without a new turn the run is to continue where it was. Then the error that ended it does not count:
    ADK would take it for the last word, and be done.
    """
    if not 1 <= at <= len(entries):
        raise BadPosition(f"Cursor {at} is not in this run, which has entries 1 to {len(entries)}.")
    ended = entries[-1].record if at == len(entries) else None
    if isinstance(ended, RunEnded):
        cut = _cut(entries, entries[:-1], at, ended)
    else:
        cut = _cut(entries, _without_unfinished(entries[: _last_whole(entries[:at])]), at)
    if new_turn or cut.further == "nothing":
        return cut
    last = _last_whole(entries[:at], errors=False)
    return _cut(entries, _without_unfinished(entries[:last]), at)


def _cut(
    entries: Sequence[Entry], kept: Sequence[Entry], at: int, ended: RunEnded | None = None
) -> TruncatedRun:
    head = entries[0].record
    assert isinstance(head, RunStarted), "every log begins with its RunStarted"
    whole = [event for _, event in _events(kept) if not event.partial]
    after = entries[kept[-1].cursor :]
    rest = [event for _, event in _events(after) if not event.partial]
    over = _over(kept, after, any(map(_says_something, rest)))
    return TruncatedRun(
        head=head,
        # What was sent to models stays with the run that sent it.
        entries=[entry for entry in kept if not isinstance(entry.record, ModelCalled)],
        until=entries[at - 1].time,
        further=_further(head, begun=bool(whole) or ended is not None, over=over is not None),
        ended=ended or over,
        later=frozenset(event.id for event in rest),
        invocation=whole[-1].invocation_id if whole else head.invocation,
    )


def _over(kept: Sequence[Entry], rest: Sequence[Entry], goes_on: bool) -> RunEnded | None:
    """Return the end of a run at a cut after which nothing was left to do, or a person was waited for."""
    if _waits(kept, rest):
        return RunEnded(outcome="waiting")
    ended = rest[-1].record if rest else None
    is_good = isinstance(ended, RunEnded) and ended.outcome in ("finished", "waiting")
    return ended if isinstance(ended, RunEnded) and is_good and not goes_on else None


def _waits(kept: Sequence[Entry], rest: Sequence[Entry]) -> bool:
    """Return whether a question was open and nothing else was in progress."""
    reader, pending = Reader(), Pending()
    for entry in kept:
        pending.feed(reader.feed(entry))
    if not (pending.approvals or pending.requests or pending.client_calls):
        return False
    asked = pending.open_calls.keys()
    for entry in rest:
        pending.feed(reader.feed(entry))
    return asked <= pending.open_calls.keys()


def _says_something(event: AdkEvent) -> bool:
    """Tell a step of the run from ADK's own marks, such as the end of an agent."""
    return event.content is not None or bool(event.error_code) or bool(bytes(event.output))


def _further(head: RunStarted, *, begun: bool, over: bool) -> HowToContinue:
    if head.kind != "turn":
        return "nothing"
    if not begun:
        return "again"
    return "nothing" if over else "resume"


def _events(entries: Iterable[Entry]) -> Iterable[tuple[bytes, AdkEvent]]:
    for entry in entries:
        if isinstance(entry.record, AgentEvent):
            yield entry.record.event, read_event(entry.record.event)


def _last_whole(entries: Sequence[Entry], *, errors: bool = True) -> int:
    """Return the cursor of the last whole event, of the start if there is none."""
    for entry in reversed(entries):
        if isinstance(entry.record, AgentEvent):
            event = read_event(entry.record.event)
            is_error = bool(event.error_code) and event.content is None
            if not event.partial and (errors or not is_error):
                return entry.cursor
    return 1


def _without_unfinished(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries without pieces of what was never said to its end."""
    whole = {event.id for _, event in _events(entries) if not event.partial}
    return [entry for entry in entries if not _is_piece_of_other(entry.record, whole)]


def _is_piece_of_other(record: Record, whole: set[str]) -> bool:
    if not isinstance(record, AgentEvent):
        return False
    event = read_event(record.event)
    return bool(event.partial) and event.id not in whole


def _of_the_past(record: Record) -> Record:
    """Return a record whose nodes have other ids than those that a run gives."""
    match record:
        case NodeStarted():
            return structs.replace(record, node=_past(record.node), parent=_past(record.parent))
        case NodeEnded() | ChildEvent():
            return structs.replace(record, node=_past(record.node))
        case _:
            return record  # names no node


def _past(node: str) -> str:
    return f"past-{node}" if node else ""


def _open_calls(entries: Iterable[Entry]) -> list[str]:
    """Return the calls that the server owes an answer; a long-running one ADK waits for, resumed too."""
    reader, pending = Reader(), Pending()
    for entry in entries:
        pending.feed(reader.feed(entry))
    return [name for name, call in pending.open_calls.items() if not call.long_running]
