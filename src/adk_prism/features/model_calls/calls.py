"""The model calls of a run, put together again from its records and the pieces beside the log."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Raw, Struct, json, structs

from adk_prism.facts.run_reader import Reader
from adk_prism.features.usage import usage as model_usage
from adk_prism.log.contract import LogReader, RunSummary
from adk_prism.log.entry import CallPieces, Entry, ModelCalled, RunId, is_absent
from adk_prism.runs.off_loop import feed_run, read_in_turns

ANSWER_BYTES = 32 * 1024**2
"""Requests and responses in one answer. Calls beyond it come without them, and say so."""

COMPACTION = "compaction"
"""Stands for the agent in the call that ADK makes to summarise a long session."""

LONGEST_CHAIN = 64
"""Lists that refer to one another; whoever reads the last one reads them all."""

MOST_SUMS = 512
"""Runs whose sums are remembered: a page asks for those of a list again and again."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """What a model was asked with, each part as JSON: all but the conversation, which the steps are."""

    model: str = ""
    is_kept: bool = False
    """Whether the parts are known; an empty one was not in the request."""
    instruction: bytes = b""
    tools: bytes = b""
    config: bytes = b""


class _Text(Struct, frozen=True):
    """A request or response as JSON, and its parts that were not kept."""

    value: dict[str, Any]
    missing: list[str]
    size: int


class ModelCalls:
    """Reads the model calls of runs."""

    def __init__(self, log: LogReader, prices: model_usage.Prices | None = None) -> None:
        self._log = log
        self.prices = prices or model_usage.Prices()
        self._sums: OrderedDict[RunId, dict[str, Any]] = OrderedDict()
        """Of runs that are over, the last ones asked for."""

    async def usage(self, summary: RunSummary) -> dict[str, Any]:
        """Return what the model calls of a run took: tokens by kind, time and cost, also by agent."""
        known = self._sums.get(summary.run)
        if known is not None:
            return known
        sums = _Sums()
        await feed_run(self._log, summary.run, sums.feed)
        shown = model_usage.run_usage(sums.calls or sums.told.calls, self.prices)
        if summary.outcome is not None:
            self._sums[summary.run] = shown
            if len(self._sums) > MOST_SUMS:
                self._sums.popitem(last=False)
        return shown

    async def of_run(self, run: RunId, cursor: int = 0) -> list[dict[str, Any]]:
        """Return the calls of a run, or the one at a cursor. Raise `NotFound` or `Gone`."""
        calls = await self._calls(run)
        return await self._show(run, [call for call in calls if cursor in (0, call[0])])

    async def previous(
        self, run: RunId, cursor: int, earlier: Iterable[RunId]
    ) -> list[dict[str, Any]]:
        """Return the call of the same agent before the one at a cursor, with its run; none if there is none.

        `earlier` are the runs before it in the conversation, newest first.
        """
        own = await self._calls(run)
        agent = next((record.agent for at, record in own if at == cursor), None)
        if agent is None:
            return []
        for each in (run, *earlier):
            calls = await self._calls(each) if each != run else own
            before = [c for c in calls if c[1].agent == agent and (each != run or c[0] < cursor)]
            if before:
                return [shown | {"run": each} for shown in await self._show(each, before[-1:])]
        return []

    async def compacted(
        self, run: RunId, cursor: int, earlier: Iterable[RunId]
    ) -> list[dict[str, Any]]:
        """Return the last compaction before the call at a cursor, and the last call of its agent before that.

        Each has its run. Empty if ADK has compacted nothing; without the second where there is none.
        """
        agent, found = "", list[dict[str, Any]]()
        for each in (run, *earlier):
            for at, record in reversed(await self._calls(each)):
                if each == run and at >= cursor:
                    agent = record.agent if at == cursor else agent
                elif record.agent == (agent if found else COMPACTION):
                    found += [one | {"run": each} for one in await self._show(each, [(at, record)])]
                    if len(found) == 2 or not agent:
                        return found if agent else []
        return found if agent else []

    async def _calls(self, run: RunId) -> list[tuple[int, ModelCalled]]:
        return [
            (entry.cursor, entry.record)
            async for entry in read_in_turns(self._log, run)
            if isinstance(entry.record, ModelCalled)
        ]

    async def _show(
        self, run: RunId, calls: Iterable[tuple[int, ModelCalled]]
    ) -> list[dict[str, Any]]:
        reading = _Pieces(self._log, run)
        shown, left = [], ANSWER_BYTES
        for at, record in calls:
            texts = None
            if record.pieces is not None and left > 0:
                texts = await reading.texts(record.pieces, record.usage)
                left -= texts[0].size + texts[1].size
            shown.append(_shown(at, record, texts) | self._cost(record))
        return shown

    async def asked(self, run: RunId, entries: Iterable[Entry]) -> dict[int, ModelRequest]:
        """Return with what the models of a run were asked, by cursor; the long contents apart."""
        calls = {
            entry.cursor: entry.record
            for entry in entries
            if isinstance(entry.record, ModelCalled) and entry.record.pieces is not None
        }
        pieces = {cursor: record.pieces or CallPieces() for cursor, record in calls.items()}
        numbers = {
            n for each in pieces.values() for n in (each.instruction, each.tools, each.config)
        }
        texts = await self._log.side.get(run, numbers - {0}) if calls else {}
        return {
            cursor: ModelRequest(
                model=calls[cursor].model,
                is_kept=True,
                instruction=texts.get(each.instruction, b""),
                tools=texts.get(each.tools, b""),
                config=texts.get(each.config, b""),
            )
            for cursor, each in pieces.items()
        }

    def _cost(self, record: ModelCalled) -> dict[str, Any]:
        """Return what a call cost, by prices of which day, and how much its model's window holds."""
        known = {"window": self.prices.window(record.model)}
        cost = self.prices.shown(model_usage.measured(record))
        if cost:
            about = self.prices.about
            known |= {"pricesAsOf": about.get("asOf"), "currency": about.get("currency")}
        return cost | {key: value for key, value in known.items() if value is not None}

    async def in_file(self, run: RunId, entry: Entry) -> Entry:
        """Return the entry of a model call as files have it: with its request and response."""
        filled, _ = await _in_file(_Pieces(self._log, run), entry)
        return filled

    async def filled(
        self, run: RunId, entries: Iterable[Entry], left: int = ANSWER_BYTES
    ) -> list[Entry]:
        """Return entries with model calls as files have them; without texts beyond `left` bytes of them."""
        reading = _Pieces(self._log, run)
        shown = []
        for entry in entries:
            if left > 0 and isinstance(entry.record, ModelCalled):
                entry, size = await _in_file(reading, entry)
                left -= size
            shown.append(entry)
        return shown


class _Sums:
    """The model calls of a run: those that were recorded, or else of which its events tell."""

    def __init__(self) -> None:
        self.calls: list[model_usage.ModelUse] = []
        self.told = model_usage.UseFold()
        self._reader = Reader()

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        if isinstance(entry.record, ModelCalled):
            self.calls.append(model_usage.measured(entry.record))
        elif not self.calls:
            for item in self._reader.feed(entry):
                self.told.feed(item)


class _Pieces:
    """Reads pieces of one run's session, each once."""

    def __init__(self, log: LogReader, run: RunId) -> None:
        self._log = log
        self._run = run
        self._texts: dict[int, bytes] = {}
        self._lists: dict[int, list[int]] = {0: []}

    async def texts(self, pieces: CallPieces, usage: Raw) -> tuple[_Text, _Text]:
        """Return the request and the response of a call."""
        contents = await self._list(pieces.contents)
        parts = (pieces.instruction, pieces.config, pieces.tools, pieces.answer, pieces.response)
        await self._fetch((*parts, *contents))
        return self._request(pieces, contents), self._response(pieces, usage)

    def _request(self, pieces: CallPieces, contents: Sequence[int]) -> _Text:
        missing = [f"contents/{n}" for n, each in enumerate(contents) if each not in self._texts]
        config = json.decode(self._texts.get(pieces.config, b"{}"), type=dict[str, Raw])
        if pieces.instruction in self._texts:
            config["systemInstruction"] = Raw(self._texts[pieces.instruction])
        value = {
            "config": config,
            "contents": [Raw(self._texts.get(each, b"null")) for each in contents],
            "tools": Raw(self._texts.get(pieces.tools, b"[]")),
        }
        numbers = (pieces.config, pieces.instruction, pieces.tools, *contents)
        return _Text(value, missing, self._size(numbers))

    def _response(self, pieces: CallPieces, usage: Raw) -> _Text:
        value: dict[str, Any] = json.decode(
            self._texts.get(pieces.response, b"{}"), type=dict[str, Raw]
        )
        if pieces.answer in self._texts:
            value["content"] = Raw(self._texts[pieces.answer])
        if bytes(usage):
            value["usageMetadata"] = usage
        return _Text(value, [], self._size((pieces.response, pieces.answer)))

    def _size(self, numbers: Iterable[int]) -> int:
        return sum(len(self._texts.get(number, b"")) for number in numbers)

    async def _list(self, number: int) -> list[int]:
        """Return a list of contents: what it keeps of the lists before it, and what it adds."""
        chain: list[tuple[int, int, list[int]]] = []
        at = number
        while at not in self._lists and len(chain) <= LONGEST_CHAIN:
            await self._fetch([at])
            base, keep, *more = json.decode(self._texts.get(at, b"[0,0]"), type=list[int])
            chain.append((at, keep, more))
            at = base
        known = self._lists.get(at, [])
        for name, keep, more in reversed(chain):
            known = self._lists[name] = [*known[:keep], *more]
        return known

    async def _fetch(self, numbers: Iterable[int]) -> None:
        unknown = {number for number in numbers if number and number not in self._texts}
        if unknown:
            self._texts |= await self._log.side.get(self._run, unknown)


async def _in_file(reading: _Pieces, entry: Entry) -> tuple[Entry, int]:
    """Return the entry of a model call with its request and response, and their size."""
    record = entry.record
    if not isinstance(record, ModelCalled) or record.pieces is None:
        return entry, 0
    request, response = await reading.texts(record.pieces, record.usage)
    whole = structs.replace(
        record,
        pieces=None,
        cut=list(dict.fromkeys([*record.cut, *request.missing])),
        request=Raw(json.encode(request.value)),
        response=Raw(json.encode(response.value)),
    )
    return Entry(entry.cursor, entry.time, whole), request.size + response.size


def _shown(cursor: int, record: ModelCalled, texts: tuple[_Text, _Text] | None) -> dict[str, Any]:
    cut = list(record.cut)
    request: dict[str, Any] | None = None
    response: dict[str, Any] | None = None
    if texts is not None:
        request, response = texts[0].value, texts[1].value
        cut = list(dict.fromkeys([*cut, *texts[0].missing]))
    elif record.pieces is not None:
        cut = ["request", "response"]
    shown: dict[str, Any] = {
        "cursor": cursor,
        "agent": record.agent,
        "node": record.node,
        "model": record.model,
        "request": request,
        "response": response,
        "started": record.started,
        "firstTokenMs": record.first_token,
        "durationMs": record.duration,
        "usage": model_usage.token_usage(record.usage),
        "finishReason": record.finish or None,
        "errorCode": record.error or None,
    }
    return shown | ({"cut": cut} if cut else {})


class CallsLeftOut:
    """Leaves model calls out of a run; what is left is numbered without gaps."""

    def __init__(self) -> None:
        self._gone = 0

    def feed(self, entry: Entry) -> Iterator[Entry]:
        """Yield an entry with its number, unless it is of a model call."""
        if isinstance(entry.record, ModelCalled):
            self._gone += 1
        elif self._gone:
            yield Entry(entry.cursor - self._gone, entry.time, entry.record)
        else:
            yield entry


def without_calls(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield a run without its model calls."""
    left_out = CallsLeftOut()
    for entry in entries:
        yield from left_out.feed(entry)


def calls_in_file(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the model calls of a recording that has them, as `of_run` does."""
    calls = []
    for entry in entries:
        if isinstance(record := entry.record, ModelCalled):
            request, response = record.request, record.response
            shown = _shown(entry.cursor, record, None)
            shown["request"] = None if is_absent(request) else request
            shown["response"] = None if is_absent(response) else response
            calls.append(shown)
    return calls
