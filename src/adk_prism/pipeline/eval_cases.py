"""Eval cases of recorded conversations: which runs count, and what they say."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import structs

from adk_prism.errors import Conflict, TooLarge
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.turns import ChatRun, fold_recorded, fold_turns
from adk_prism.runlog.contract import LogReader, RunSummary
from adk_prism.runlog.entry import Entry, RunId, RunStarted
from adk_prism.view.eval_case import eval_case

MOST_BYTES = 64 * 1024**2
"""Of all runs of a conversation that becomes a case: as many as one recording may have."""

LONGEST_ID = 80
"""Characters of an eval case's id. Run ids are shorter, except for those that name a session."""


def eval_id_of(run: str) -> str:
    """Return the id of a run's eval case: the run's own, or its hash if that is long."""
    return run if len(run) <= LONGEST_ID else f"run-{sha256(run.encode()).hexdigest()[:16]}"


class EvalCases:
    """Makes eval cases of the runs of a log."""

    def __init__(self, log: LogReader, chats: Chats) -> None:
        self._log = log
        self._chats = chats

    async def of(self, run: RunId) -> dict[str, Any]:
        """Return the conversation up to a run, that one included, as an eval case of ADK.

        Messages that were regenerated, edited or rewound until then do not count. Raise `NotFound`, `Gone`,
        `Conflict` for a run that cannot be asked again, `TooLarge`.
        """
        runs = await self._counting(run)
        if sum(each.summary.bytes for each in runs) > MOST_BYTES:
            raise TooLarge(f"The conversation has more than {MOST_BYTES} bytes.")
        read = [[e async for e in self._chats.entries(each.summary.run)] for each in runs]
        return await asyncio.to_thread(eval_case, read, eval_id_of(run))

    async def _counting(self, run: RunId) -> list[ChatRun]:
        summary = await self._log.summary(run)
        head = await self._chats.beginning(run)
        if head.kind != "turn":
            raise Conflict("The run changed the session and sent no message: take another one.")
        origin = summary.origin
        listed = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        until = [each.run for each in listed].index(run) + 1
        heads = [ChatRun(each, await self._chats.beginning(each.run)) for each in listed[:until]]
        turns = fold_recorded(heads) if head.uploaded else fold_turns(heads)
        return [each for turn in turns for each in turn.runs]


def cases_of_recordings(recordings: Sequence[Sequence[Entry]]) -> list[dict[str, Any]]:
    """Return the eval cases of recordings: those of one session are one conversation, in the order of time.

    A capture, which does not say whose it is, is one of its own; so is a recording under the id of another
    one. Raise `Conflict` as `EvalCases.of` does.
    """
    sessions: dict[Hashable, dict[str, _Recording]] = {}
    for place, entries in enumerate(recordings):
        head = entries[0].record
        assert isinstance(head, RunStarted), "every log begins with its RunStarted"
        of_session = sessions.get(head.origin, {})
        key = place if head.derived or head.run in of_session else head.origin
        own = structs.replace(head, uploaded=False)
        sessions.setdefault(key, {})[head.run] = _Recording(entries[0].time, own, entries)
    cases = [_case_of(sorted(each.values(), key=lambda it: it.time)) for each in sessions.values()]
    return _with_own_ids(cases)


def _with_own_ids(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case["evalId"]] += 1
        if seen[case["evalId"]] > 1:
            case["evalId"] += f"-{seen[case['evalId']]}"
    return cases


class _Recording(NamedTuple):
    time: float
    head: RunStarted
    entries: Sequence[Entry]


def _case_of(recordings: Sequence[_Recording]) -> dict[str, Any]:
    runs = [ChatRun(_summary(each), each.head) for each in recordings]
    counting = {run.head.run for turn in fold_turns(runs) for run in turn.runs}
    # Without any, the conversion says why.
    kept = [each for each in recordings if each.head.run in counting] or recordings
    run = kept[-1].head.run
    try:
        return eval_case([each.entries for each in kept], eval_id_of(run))
    except Conflict as refusal:
        raise Conflict(f"{run[:60]}: {refusal.detail}") from None


def _summary(recording: _Recording) -> RunSummary:
    head = recording.head
    return RunSummary(
        run=RunId(head.run),
        origin=head.origin,
        invocation=head.invocation,
        started=recording.time,
        ended=None,
        outcome=None,
        cursor=len(recording.entries),
        bytes=0,
        message=head.continues.message if head.continues else head.run,
    )


def last_of_each(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases without those with which another one begins: earlier runs of one conversation."""
    return [
        case
        for place, case in enumerate(cases)
        if not any(
            _begins(case, other, place < at) for at, other in enumerate(cases) if at != place
        )
    ]


def _begins(case: dict[str, Any], other: dict[str, Any], is_before: bool) -> bool:
    mine, theirs = _invocations(case), _invocations(other)
    return theirs[: len(mine)] == mine and (len(mine) < len(theirs) or not is_before)


def _invocations(case: dict[str, Any]) -> list[Any]:
    return [(each["invocationId"], each["userContent"]) for each in case["conversation"]]
