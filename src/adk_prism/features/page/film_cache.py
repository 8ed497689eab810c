"""Cached films of runs: computed once, fed only what is new, evicted when unused.

Scrubbing asks for the same run at one cursor after the other, and a live run grows between two looks.
So the film stays, and each look feeds it the entries that were committed since.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response
from msgspec import Raw

from adk_prism.errors import BadPosition
from adk_prism.extension import installed
from adk_prism.facts.model import Fact, Nested
from adk_prism.facts.run_reader import Reader
from adk_prism.features.captures.routes import compressed
from adk_prism.features.page.film import VERSION, Film, encode
from adk_prism.features.usage import UsageSettings
from adk_prism.features.usage.usage import Prices
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, RunId, pack, parse_position
from adk_prism.protocols.contract import Payload
from adk_prism.protocols.registry import formats
from adk_prism.runs.off_loop import feed_batch, feed_run
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import caller_of
from adk_prism.server.identity.identity import Cursor, Run

# ---------------------------------------------------------------------- entry detail
#
# One entry seen closely: what was recorded, what it means, and what every protocol says of it.
#
# Facts and frames depend on all that came before, so a run is read from its start, once; what was read is
# kept in its written form, within bounds.


LONGEST_TEXT = 4_000
"""Characters of one string. A person reads the beginning; the files route and the recording have it all."""
KEPT_RUNS = 4
KEPT_ROW_BYTES = 16 * 1024**2
"""Of one run: some ten thousand entries. An evicted one is read again when it is needed."""

_encode = msgspec.json.Encoder().encode


class EntryDetailReader:
    """Reads a run entry by entry."""

    def __init__(self) -> None:
        self._reader = Reader([make() for make in installed().annotators()])
        self._protocols = {format.title: format.reader() for format in formats()}

    def feed(self, entry: Entry) -> bytes:
        """Return an entry with its facts and frames, as JSON."""
        kind, payload = pack(entry.record)
        return _encode(
            {
                "cursor": entry.cursor,
                "time": entry.time,
                "type": kind,
                "record": _readable(payload),
                "facts": [_shown(fact) for fact in self._reader.feed(entry)],
                "frames": {name: self._frames(name, entry) for name in self._protocols},
            }
        )

    def _frames(self, name: str, entry: Entry) -> list[dict[str, Any]]:
        return [
            {"position": f"{entry.cursor}.{part}"} | _framed(payload)
            for part, payload in enumerate(self._protocols[name].feed(entry), 1)
        ]


def emptied(row: bytes, why: str) -> bytes:
    """Return a row that says of its entry only when it was, and why there is no more."""
    known = msgspec.json.decode(row)
    frames: dict[str, list[Any]] = {name: [] for name in known["frames"]}
    return _encode(known | {"record": {"left out": why}, "facts": [], "frames": frames})


class EntryDetails:
    """The entries of a server's runs, seen closely."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._kept: OrderedDict[RunId, _Rows] = OrderedDict()
        """The least recently used first."""

    @property
    def runs(self) -> list[RunId]:
        """The runs that are kept."""
        return list(self._kept)

    async def of(self, run: RunId, cursor: int) -> bytes:
        """Return an entry as JSON. Raise `NotFound` or `Gone` for the run, `BadPosition` for the cursor."""
        summary = await self._log.summary(run)
        if not 1 <= cursor <= summary.cursor:
            raise BadPosition(
                f"Cursor {cursor} is not in this run, which has entries 1 to {summary.cursor}."
            )
        rows = self._kept.get(run)
        if rows is None or cursor <= rows.dropped:
            rows = self._kept[run] = _Rows()
        self._kept.move_to_end(run)
        while len(self._kept) > KEPT_RUNS:
            self._kept.popitem(last=False)
        async with rows.lock:
            if cursor > rows.last:
                await rows.read(self._log, run, cursor)
        return rows.known[cursor]


class _Rows:
    """What was read of one run, the newest of it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.known: OrderedDict[int, bytes] = OrderedDict()
        self.last = self.dropped = self._size = 0
        self._lens = EntryDetailReader()

    async def read(self, log: RunLog, run: RunId, until: int) -> None:
        async with aclosing(log.read(run, self.last)) as batches:
            async for batch in batches:
                await feed_batch([entry for entry in batch if entry.cursor <= until], self._add)
                if self.last >= until:
                    return

    def _add(self, entry: Entry) -> None:
        row = self.known[entry.cursor] = self._lens.feed(entry)
        self.last = entry.cursor
        self._size += len(row)
        while self._size > KEPT_ROW_BYTES and len(self.known) > 1:
            self.dropped, oldest = self.known.popitem(last=False)
            self._size -= len(oldest)


# ------------------------------------------------------------------------------ in written form


def _framed(payload: Payload) -> dict[str, Any]:
    named = {"event": payload.event} if payload.event else {}
    return named | {"data": _readable(payload.data)}


def _shown(fact: Fact) -> dict[str, Any]:
    return {"fact": type(fact).__name__, "is": dict(_fields(fact))}


def _fields(fact: Fact) -> Iterator[tuple[str, Any]]:
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        if isinstance(fact, Nested) and name == "fact":
            yield name, _shown(fact.fact)
        elif isinstance(value, Raw):
            if bytes(value):
                yield name, _readable(bytes(value))
        elif isinstance(value, str):
            yield name, _cut(value)
        else:
            yield name, value


def _readable(payload: bytes) -> Any:
    """Return JSON with its long texts cut; anything else as text."""
    try:
        value = msgspec.json.decode(payload)
    except msgspec.MsgspecError:
        return _cut(payload.decode(errors="replace"))
    return value if len(payload) <= LONGEST_TEXT else _cut(value)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]}… ({len(value)} characters)"
        case dict():
            return {key: _cut(each) for key, each in value.items()}
        case list():
            return [_cut(each) for each in value]
        case _:
            return value


# ---------------------------------------------------------------------- film cache


KEPT_FILMS = 16
"""Films cached at the same time: a few people with a few windows each."""
KEPT_BYTES = 128 * 1024**2
"""Stored size of their runs, together; a film is about as large as what it was folded from. The last
one looked at stays, whatever its size, until nobody has looked at it for `KEPT_SECONDS`."""
KEPT_SECONDS = 120.0
"""For which a film is kept that nobody looks at: a person who reads what is shown comes back sooner."""


class _Kept:
    """A film, and the lock that lets one look at a time feed it."""

    __slots__ = ("bytes", "expiry", "film", "lock")

    def __init__(self, prices: Prices) -> None:
        self.film = Film(prices)
        self.lock = asyncio.Lock()
        self.bytes = 0
        self.expiry: asyncio.TimerHandle | None = None


class Films:
    """The films of one server."""

    def __init__(
        self,
        log: RunLog,
        films: int = KEPT_FILMS,
        size: int = KEPT_BYTES,
        prices: Prices | None = None,
    ) -> None:
        self._log = log
        self._prices = prices or Prices()
        self._films = films
        self._size = size
        self._kept: OrderedDict[RunId, _Kept] = OrderedDict()
        """The least recently used first."""
        self.waiting: set[asyncio.Timeout] = set()
        """The limits of those who wait for new entries."""

    async def of(self, run: RunId) -> Film:
        """Return the film of a run, up to its last committed entry. Raise `NotFound` or `Gone`."""
        async with self.held(run) as film:
            return film

    @asynccontextmanager
    async def held(self, run: RunId) -> AsyncIterator[Film]:
        """Give the film of a run, which does not grow meanwhile: it can be read in a thread.

        Raise `NotFound` or `Gone`.
        """
        try:
            summary = await self._log.summary(run)
        except Exception:
            self._kept.pop(run, None)  # gone from the log
            raise
        kept = self._kept.setdefault(run, _Kept(self._prices))
        self._kept.move_to_end(run)
        async with kept.lock:
            try:
                await feed_run(self._log, run, kept.film.feed, kept.film.last)
            except BaseException:
                # Not readable, or left halfway: nothing half folded is kept.
                self._kept.pop(run, None)
                raise
            kept.bytes = summary.bytes
            self._forget()
            self._expire(run, kept)
            yield kept.film

    def _expire(self, run: RunId, kept: _Kept) -> None:
        """Forget a film some time from now, unless somebody looks at it before."""
        if kept.expiry is not None:
            kept.expiry.cancel()
        loop = asyncio.get_running_loop()
        kept.expiry = loop.call_later(KEPT_SECONDS, self._drop, run, kept)

    def _drop(self, run: RunId, kept: _Kept) -> None:
        if self._kept.get(run) is kept:
            del self._kept[run]

    async def past(self, run: RunId, cursor: int, patience: float) -> Film:
        """Return the film once it goes past a cursor, the run is over, or patience has run out."""
        film = await self.of(run)
        if film.last != cursor or film.ended is not None:
            return film
        with suppress(TimeoutError):
            async with asyncio.timeout(patience) as limit:
                self.waiting.add(limit)
                try:
                    async with aclosing(self._log.read(run, cursor, follow=True)) as batches:
                        await anext(batches, None)
                finally:
                    self.waiting.discard(limit)
        return await self.of(run)

    def leave_all(self) -> None:
        """Wake all waiting requests: the server stops."""
        for limit in self.waiting:
            if not limit.expired():
                limit.reschedule(0)

    def _forget(self) -> None:
        total = sum(kept.bytes for kept in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > self._films or total > self._size):
            _, oldest = self._kept.popitem(last=False)
            total -= oldest.bytes


# ---------------------------------------------------------------------------
# What a person sees of a run at a playhead: the panels of its film, as JSON.
#
# The same for a run that goes on, one that is over and an uploaded recording; nothing is run for it.

At = Annotated[str, Query(description="cursor of the playhead; without: the last entry")]
Panel = Annotated[
    str,
    Query(description="timeline, state, graph, conversation, proof, grounding, artifacts or nodes"),
]
Since = Annotated[str, Query(alias="from", description="cursor to which the state is compared")]
Key = Annotated[str, Query(description="state key whose every write is listed")]


def _written(film: Film, at: int | None, panel: str, since: int | None, key: str) -> bytes:
    """Return a view as JSON. A member at a time: while one is written, no other thread runs."""
    shown = film.at(at, panel, since=since, key=key)
    members = (
        b"%b:%b" % (msgspec.json.encode(name), msgspec.json.encode(value))
        for name, value in shown.items()
    )
    return b"{%b}" % b",".join(members)


def cursor_of(text: str, run: str) -> int | None:
    """Read a cursor; None where nothing was given. Raise `BadPosition` for anything else."""
    if not text:
        return None
    position = parse_position(text, run)
    if position.part is not None:
        raise BadPosition(f"{text[:60]!r} is a position; expected a cursor, such as 12.")
    return position.cursor


# ---------------------------------------------------------------------------
# Films of runs, whole and as they grow, and single entries seen closely: what the web page reads.
#
# `GET …/film` is the whole film; its ETag is its last cursor. `GET …/film?after=CURSOR` is what came
# after: where nothing has come yet and the run goes on, the answer waits for it, and is 204 if
# nothing came in time.

PATIENCE = 20.0
"""Seconds that a response waits for new entries: below what proxies allow a silent connection."""
_JSON = "application/json"
_REVALIDATE = {"cache-control": "no-cache"}

After = Annotated[str, Query(description="cursor of the last entry that is known")]
Known = Annotated[str, Header(alias="If-None-Match")]


class FilmRoutes:
    """The routes of films."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._films = Films(context.log, prices=context.settings.of(UsageSettings).read())
        self._details = EntryDetails(context.log)
        context.lifecycle.on_cut(self._films.leave_all)

    def router(self) -> APIRouter:
        """Return the router of films."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}/view")(self.view)
        router.get("/{run}/film", response_class=Response)(self.film)
        router.get("/{run}/entries/{cursor}", response_class=Response)(self.entry)
        return router

    async def view(
        self,
        request: Request,
        run: Run,
        at: At = "",
        panel: Panel = "",
        since: Since = "",
        key: Key = "",
    ) -> Response:
        """Return what the panels show at a cursor."""
        cursor, before = cursor_of(at, run), cursor_of(since, run)
        async with self._slot(request, run), self._films.held(run) as film:
            body = await asyncio.to_thread(_written, film, cursor, panel, before, key)
        return Response(body, media_type=_JSON)

    async def film(
        self, request: Request, run: Run, after: After = "", known: Known = ""
    ) -> Response:
        """Return a run's film, or what came after a cursor."""
        since = cursor_of(after, run)
        if since:
            return await self._growth(request, run, since)
        async with self._slot(request, run), self._films.held(run) as film:
            headers = _REVALIDATE | {"etag": f'W/"{VERSION}-{film.last}"'}
            if headers["etag"] in (each.strip() for each in known.split(",")):
                return Response(status_code=304, headers=headers)
            body = await asyncio.to_thread(encode, film)
        return await compressed(request, body, _JSON, headers)

    @asynccontextmanager
    async def _slot(self, request: Request, run: RunId) -> AsyncIterator[None]:
        """Wait for the turn of a large run. Raise `TooMany` or `Busy`, `NotFound` or `Gone`."""
        size = (await self._context.log.summary(run)).bytes
        async with self._context.limits.heavy.slot(caller_of(request), size):
            yield

    async def _growth(self, request: Request, run: Run, after: int) -> Response:
        patience = 0 if self._context.draining else PATIENCE
        await self._films.past(run, after, patience)
        async with self._slot(request, run), self._films.held(run) as film:
            # Also refuses a cursor that the run does not have.
            body = await asyncio.to_thread(encode, film, after)
            if film.last == after and film.ended is None:
                return Response(status_code=204, headers=_REVALIDATE)
        return await compressed(request, body, _JSON, _REVALIDATE)

    async def entry(self, request: Request, run: Run, cursor: Cursor) -> Response:
        """Return an entry, its facts, and its frames in every protocol."""
        async with self._slot(request, run):
            body = await self._details.of(run, cursor)
        # What was recorded never changes.
        forever = {"cache-control": "private, max-age=31536000, immutable"}
        return await compressed(request, body, _JSON, forever)
