"""Stores what was sent to models: each distinct piece once, and a record that refers to them.

A conversation repeats its contents with every request. So only those that are new since the last request of
the same agent are put into the log, and the list of contents refers to the list of that request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from google.adk.agents.base_agent import BaseAgent
from google.adk.runners import Runner
from msgspec import json, structs

from adk_prism.adk.request import CallRecorder, CallWatcher, Detail, LiveCallWatcher, SeenCall
from adk_prism.errors import Diagnostic, Fenced, LogError, Report, cause_of
from adk_prism.features.model_calls import watching
from adk_prism.features.model_calls.calls import LONGEST_CHAIN
from adk_prism.features.model_calls.live_calls import LiveCalls, has_model_callbacks
from adk_prism.log.contract import Receipt, RunLog
from adk_prism.log.entry import CallPieces, Entry, ModelCalled, Origin, Record, RunId
from adk_prism.runs.off_loop import LARGE, Turns, size_of

MOST_AGENTS = 128
"""Agents of sessions whose last request is remembered. For any other the next list is stored whole."""

_OTHERS = ("instruction", "config", "tools", "answer", "response")


class _Last:
    """The last request of an agent."""

    def __init__(self) -> None:
        self.run = RunId("")
        self.list = 0
        """Number of the list of its contents."""
        self.length = 1
        """How many lists have to be read for it."""
        self.numbers: list[int] = []
        self.known: dict[bytes, int] = {}
        """Number of each of its contents, by digest."""


class ModelCallWriter(CallRecorder):
    """Stores the model calls of all runs of a process."""

    def __init__(self, log: RunLog, detail: Detail, report: Report) -> None:
        self._log = log
        self.detail: Detail = detail
        self._report = report
        self._last: OrderedDict[tuple[Origin, str], _Last] = OrderedDict()

    def watch(self, put: Callable[[SeenCall], None]) -> CallWatcher:
        return (
            CallWatcher() if self.detail == "off" else watching.ModelCallWatcher(self.detail, put)
        )

    def watch_live(
        self,
        runner: Runner,
        agent: Callable[[], BaseAgent | None],
        model_name: Callable[[], str],
        report: Report,
    ) -> LiveCallWatcher:
        if self.detail == "off":
            return LiveCallWatcher()
        return LiveCalls(model_name, lambda: has_model_callbacks(runner, agent()), report)

    async def store(self, run: RunId, origin: Origin, call: SeenCall) -> ModelCalled:
        """Store the texts of a call; return its record. Raise `Gone` or `Fenced`.

        If they cannot be stored, the record says nothing of them, and the operator gets a diagnostic.
        """
        if call.texts is None:
            return call.record
        try:
            pieces = await self._put(run, (origin, call.record.agent), call.texts)
        except Fenced:
            raise
        except LogError as error:
            self._report(Diagnostic(kind="model call not kept", run=run, cause=cause_of(error)))
            return call.record
        return structs.replace(call.record, pieces=pieces)

    async def _put(
        self, run: RunId, key: tuple[Origin, str], texts: watching.CallTexts
    ) -> CallPieces:
        last = await self._previous(run, key)
        added = {each.digest: each for each in texts.contents if each.digest not in last.known}
        named = {name: text for name in _OTHERS if (text := getattr(texts, name))}
        stored = await self._log.side.add(
            run, [*named.values(), *(each.text for each in added.values())]
        )
        known = last.known | dict(zip(added, stored[len(named) :], strict=True))
        contents = await self._put_list(run, last, texts.contents, known)
        self._last[key] = contents
        if len(self._last) > MOST_AGENTS:
            self._last.popitem(last=False)
        return CallPieces(contents=contents.list, **dict(zip(named, stored, strict=False)))

    async def _previous(self, run: RunId, key: tuple[Origin, str]) -> _Last:
        """Return the agent's last request, if the log still has it: retention may have removed it."""
        last = self._last.pop(key, None)
        if last is None or (last.run != run and not await self._log.side.get(run, [last.list])):
            return _Last()
        return last

    async def _put_list(
        self,
        run: RunId,
        last: _Last,
        contents: Sequence[watching.ContentText],
        known: dict[bytes, int],
    ) -> _Last:
        now = _Last()
        now.run = run
        now.numbers = [known[each.digest] for each in contents]
        now.known = {each.digest: known[each.digest] for each in contents}
        keep = 0
        if last.list and last.length < LONGEST_CHAIN:
            keep = _common(last.numbers, now.numbers)
            now.length = last.length + 1 if keep else 1
        base = last.list if keep else 0
        (now.list,) = await self._log.side.add(
            run, [json.encode([base, keep, *now.numbers[keep:]])]
        )
        return now


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many numbers two lists have in common at their beginning."""
    shorter = min(len(one), len(other))
    return next((n for n in range(shorter) if one[n] != other[n]), shorter)


async def append_foreign(
    log: RunLog, calls: CallRecorder | None, run: RunId, origin: Origin, entries: Sequence[Entry]
) -> Receipt:
    """Append entries that were recorded elsewhere, and store the texts of their model calls.

    Raise what `RunLog.append` raises, and `SourceError` for a model call that is not valid.
    """
    receipt, turns = Receipt(0), Turns()
    for some in watching.between_calls(entries):
        for part in small_batches(some):  # The log redacts what it is given, without a pause.
            records = [await _foreign(calls, run, origin, entry.record) for entry in part]
            receipt = await log.append(run, records, times=[entry.time for entry in part])
            if turns.is_over:
                await turns.next()
    return receipt


async def _foreign(
    calls: CallRecorder | None, run: RunId, origin: Origin, record: Record
) -> Record:
    if not isinstance(record, ModelCalled):
        return record
    call = watching.from_file(record)
    if calls is None or calls.detail != "full":
        return call.record
    return await calls.store(run, origin, call)


def small_batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield entries in batches of some milliseconds of work; one that is larger comes alone."""
    batch: list[Entry] = []
    left = LARGE
    for entry in entries:
        size = size_of(entry)
        if batch and size > left:
            yield batch
            batch, left = [], LARGE
        batch.append(entry)
        left -= size
    if batch:
        yield batch
