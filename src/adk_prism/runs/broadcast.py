"""A run as bytes for any number of viewers: encoded once, cut and gone on with anywhere.

While a run is live, one task reads its log, projects it and keeps the encoded bytes of the last entries;
all viewers of the same stream take them from there. What lies before that window a viewer projects for
itself from the log, at its own pace: late comers, slow readers, and readers of runs that are over. So
nothing here grows with a slow viewer, and nothing ever delays a run.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from adk_prism.errors import BadPosition
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import BEGINNING, Position, RunId
from adk_prism.log.private_files import Notifier
from adk_prism.protocols.contract import Format, Payload
from adk_prism.protocols.sse import KEEP_ALIVE, encode
from adk_prism.runs.chats import Shown, scope_of, without_held_runs
from adk_prism.runs.off_loop import Turns, feed_one, read_in_turns

WINDOW = 1024 * 1024
"""Bytes kept of one live stream. A viewer further behind reads the log, so this is a question of speed
only: a second of a very fast run."""
BATCH = 64 * 1024
"""Bytes a viewer is given at once while it catches up: few writes, and a bound on what a stopped
reader holds."""

HEAD_START = 0.02
"""Seconds that entries wait at most, so that many viewers get several at once. Nobody sees that."""


class Stream(NamedTuple):
    """One run in one format."""

    run: RunId
    format: Format

    @property
    def key(self) -> StreamKey:
        """Streams with equal keys are encoded once."""
        return (self.run, *self.format.key)

    @property
    def prefix(self) -> str:
        """What positions begin with."""
        return self.format.prefix(self.run)


StreamKey = tuple[str, ...]


class _Chunk(Struct, frozen=True, gc=False):
    cursor: int
    data: bytes


class _Broadcast:
    """The encoded end of one live run, shared by its viewers."""

    def __init__(self, log: RunLog, stream: Stream) -> None:
        self._log = log
        self._stream = stream
        self._prefix = stream.prefix
        self._chunks: deque[_Chunk] = deque()
        self._size = 0
        self._given = 0, 0, b""
        """The cursors that were last joined, and their bytes."""
        self._waiters: list[asyncio.Future[None]] = []
        self.viewers = 0
        self.last = 0
        """Cursor of the newest encoded entry."""
        self.over = False
        self.error: BaseException | None = None
        self._task = asyncio.create_task(self._pump(), name=f"broadcast {stream.run}")

    @property
    def first(self) -> int:
        """Cursor of the oldest entry that is still kept."""
        return self._chunks[0].cursor if self._chunks else self.last + 1

    async def _pump(self) -> None:
        try:
            reader, turns = self._stream.format.reader(), Turns()
            async with aclosing(self._log.read(self._stream.run, follow=True)) as batches:
                async for batch in batches:
                    for entry in batch:
                        data = encode(self._prefix, entry.cursor, reader.feed(entry))
                        self._chunks.append(_Chunk(entry.cursor, data))
                        self._size += len(data)
                        self.last = entry.cursor
                        if self._size > WINDOW:
                            self._shorten()
                        if turns.is_over:  # A long run that is joined late.
                            await turns.next()
                    self._wake()
                    await self._let_the_run_get_ahead()
        except Exception as error:  # every viewer gets it, and ends its stream with it
            self.error = error
        finally:
            self.over = True
            self._wake()

    async def _let_the_run_get_ahead(self) -> None:
        """Serve many viewers, which takes long, several entries at once.

        Loop turns, not a timer: an idle loop waits for nothing. Where turns are long, not many of them.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + HEAD_START
        for _ in range(self.viewers // 2):
            await asyncio.sleep(0)
            if clock() > until:
                break

    def _shorten(self) -> None:
        while self._size > WINDOW and len(self._chunks) > 1:
            self._size -= len(self._chunks.popleft().data)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def wait(self) -> asyncio.Future[None]:
        """Return a future for the next frames; each viewer has its own, so leaving disturbs nobody."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def since(self, cursor: int) -> bytes:
        """Return everything after `cursor`, which is not before the window."""
        count = self.last - cursor
        if count == 1:
            return self._chunks[-1].data
        # Viewers are mostly equally far: what one is given, the next one gets as well.
        if self._given[:2] != (cursor, self.last):
            new = [self._chunks[i].data for i in range(-count, 0)]
            self._given = cursor, self.last, b"".join(new)
        return self._given[2]

    def close(self) -> None:
        """Stop encoding: nobody watches."""
        self._task.cancel()


class _OwnReader:
    """A viewer's own reading of the log. Each entry is projected once, however often it is needed."""

    def __init__(self, log: RunLog, stream: Stream) -> None:
        self._log = log
        self._stream = stream
        self._reader = stream.format.reader()
        self._fed = 0
        self.rest = b""
        """Frames that were read and not given yet, as the rest of an entry that was seen in part."""

    async def skip_to(self, after: Position) -> None:
        """Read up to a position inside an entry. Raise `BadPosition` where that entry has no such frame."""
        async with aclosing(self._frames()) as frames:
            async for cursor, payloads in frames:
                if cursor == after.cursor:
                    seen = seen_part(len(payloads), after)
                    self.rest = encode(self._stream.prefix, cursor, payloads[seen:], seen + 1)
                    return

    async def read_ahead(self, cursor: int) -> bool:
        """Read on to the first entry after `cursor` that has frames; return whether there is one."""
        if self.rest:
            return True
        async with aclosing(self._frames()) as frames:
            async for reached, payloads in frames:
                if reached > cursor and payloads:
                    self.rest = encode(self._stream.prefix, reached, payloads)
                    return True
        return False

    async def advance(self, cursor: int) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield the bytes of all committed entries after `cursor`, with the cursor they reach."""
        pieces, size = [self.rest], len(self.rest)
        self.rest = b""
        async with aclosing(self._frames()) as frames:
            async for reached, payloads in frames:
                if reached <= cursor:
                    continue
                cursor = reached
                pieces.append(encode(self._stream.prefix, cursor, payloads))
                size += len(pieces[-1])
                if size >= BATCH:
                    yield cursor, b"".join(pieces)
                    pieces, size = [], 0
        yield cursor, b"".join(pieces)

    async def _frames(self) -> AsyncGenerator[tuple[int, list[Payload]], None]:
        """Yield the frames of the committed entries that were not read yet, with their cursors."""
        reading = read_in_turns(self._log, self._stream.run, self._fed)
        async with aclosing(reading) as entries:
            async for entry in entries:
                payloads = await feed_one(entry, self._reader.feed)
                self._fed = entry.cursor
                yield entry.cursor, payloads


class Broadcaster:
    """Serves runs to viewers."""

    def __init__(self, log: RunLog, keep_alive: float = 15.0, live: RunLog | None = None) -> None:
        """`live` is the log that runs are written to, where `log` completes it with what is over."""
        self.log = log
        self._live = live or log
        self.keep_alive = keep_alive
        """Seconds of silence after which a viewer is sent a comment."""
        self._broadcasts: dict[StreamKey, _Broadcast] = {}
        self._views: set[Viewer] = set()
        """Those that watch a run that goes on."""
        self._open: set[Viewer] = set()
        """Those that are being sent something, of runs that are over too."""
        self._closed = Notifier()

    async def open(self, run: RunId, format: Format, after: Position = BEGINNING) -> Viewer:
        """Return a view of a run from a position on.

        Raise `NotFound` or `Gone` for the run, `BadPosition` for a position its stream does not have: all
        before the first byte is sent.
        """
        summary = await check_position(self.log, run, after)
        stream = Stream(run, format)
        own = _OwnReader(self.log, stream)
        if after.part is not None and after.cursor:
            await own.skip_to(after)
        live = summary.outcome is None
        nothing_left = not live and after.cursor > 0 and not await own.read_ahead(after.cursor)
        return Viewer(self, stream, after, own, live=live, nothing_left=nothing_left)

    def join(self, view: Viewer) -> _Broadcast:
        """Attach a viewer to the shared stream; it is made for the first one."""
        self._views.add(view)
        stream = view.stream
        broadcast = self._broadcasts.get(stream.key)
        if broadcast is None or broadcast.over:
            broadcast = self._broadcasts[stream.key] = _Broadcast(self._live, stream)
        broadcast.viewers += 1
        return broadcast

    def part(self, view: Viewer, broadcast: _Broadcast) -> None:
        """Detach a viewer; after the last one nothing is encoded any more."""
        self._views.discard(view)
        broadcast.viewers -= 1
        if not broadcast.viewers:
            if self._broadcasts.get(view.stream.key) is broadcast:
                del self._broadcasts[view.stream.key]
            broadcast.close()

    def viewers(self) -> Counter[str]:
        """Return how many look at runs that go on, by protocol."""
        return Counter(view.protocol for view, _ in self._watched())

    def lag(self) -> dict[str, int]:
        """Return how many entries the viewer who is furthest behind has not been given, by protocol."""
        found: dict[str, int] = {}
        for view, broadcast in self._watched():
            behind = broadcast.last - view.cursor
            found[view.protocol] = max(found.get(view.protocol, 0), behind)
        return found

    def _watched(self) -> Iterator[tuple[Viewer, _Broadcast]]:
        shared = ((view, self._broadcasts.get(view.stream.key)) for view in self._views)
        return ((view, broadcast) for view, broadcast in shared if broadcast is not None)

    @contextmanager
    def sending(self, view: Viewer) -> Iterator[None]:
        """Note a view while it is being sent."""
        self._open.add(view)
        try:
            yield
        finally:
            self._open.discard(view)
            self._closed.notify()

    def leave_all(self) -> None:
        """End every view where it is: the server goes down, the clients come back."""
        for view in list(self._open):
            view.leave()

    async def finished(self, seconds: float) -> None:
        """Wait until every view has been sent to its end, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._open:
                    await self._closed.wait()


@dataclass(eq=False)
class Viewer:
    """One viewer's reading of one run."""

    broadcaster: Broadcaster
    stream: Stream
    after: Position
    own: _OwnReader
    live: bool
    nothing_left: bool
    """The run is over, and the viewer has seen its end."""

    def __post_init__(self) -> None:
        self.cursor = self.after.cursor
        """Of the last entry that the viewer was given, while the run goes on."""
        self._waiter: asyncio.Future[None] | None = None
        self._quiet = True
        """Nothing has been sent since the last tick."""
        self._was_stirred = False
        self.left = False
        """Somebody ended the view before the run was over."""

    @property
    def protocol(self) -> str:
        """The name of the view's protocol."""
        return self.stream.format.spec.name

    def leave(self) -> None:
        """End the view from outside."""
        self.left = True
        self._stir()

    def _stir(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield bytes until the run is over or the viewer leaves. Raise `LogError` when the log fails."""
        return self._follow() if self.live else self._past()

    async def _past(self) -> AsyncGenerator[bytes, None]:
        """Yield a run that is over."""
        with self.broadcaster.sending(self):
            async with aclosing(self.own.advance(self.after.cursor)) as pieces:
                async for _, data in pieces:
                    if data:
                        yield data
                    if self.left:
                        return

    async def _follow(self) -> AsyncGenerator[bytes, None]:
        """Yield a run that goes on."""
        in_part = self.after.part is not None
        with self.broadcaster.sending(self), self._joined() as broadcast:
            while not self.left:
                if in_part or self.cursor + 1 < broadcast.first:
                    in_part = False
                    async for reached, data in self.own.advance(self.cursor):
                        self.cursor = reached
                        if data:
                            self._quiet = False
                            yield data
                    continue
                data = b""
                if broadcast.last > self.cursor:
                    data, self.cursor = broadcast.since(self.cursor), broadcast.last
                elif not broadcast.over:
                    self._waiter = broadcast.wait()
                    await self._waiter
                    if self._was_stirred and broadcast.last == self.cursor:
                        self._was_stirred, data = False, KEEP_ALIVE
                elif broadcast.error is not None:
                    raise broadcast.error
                else:
                    return
                if data:
                    self._quiet = False
                    yield data

    @contextmanager
    def _joined(self) -> Iterator[_Broadcast]:
        """Watch a run that goes on, with a clock that breaks silences."""
        broadcast = self.broadcaster.join(self)
        self._start_clock()
        try:
            yield broadcast
        finally:
            self._clock.cancel()
            self.broadcaster.part(self, broadcast)

    def _start_clock(self) -> None:
        # One timer per viewer, which costs nothing per event.
        loop = asyncio.get_running_loop()
        self._clock = loop.call_later(self.broadcaster.keep_alive, self._tick)

    def _tick(self) -> None:
        """Break a silence: the viewer wakes, finds nothing, and sends a comment."""
        self._start_clock()
        if self._quiet:
            self._was_stirred = True
            self._stir()
        self._quiet = True


# ---------------------------------------------------------------------------
# A whole message as one stream: all its runs, joined, for a client that returns to a chat.
#
# It has one `start`, the last run's `finish` and one terminator. Questions of earlier runs that later
# ones answered are shown as the dialect allows.


async def open_message(broadcaster: Broadcaster, place: Shown, format: Format) -> MessageStream:
    """Return a view of a turn from its beginning."""
    place = without_held_runs(place)
    views = []
    for index, run in enumerate(place.turn.runs):
        part = format.of_part(scope_of(place, index))
        views.append(await broadcaster.open(run.summary.run, part))
    return MessageStream(views)


class MessageStream:
    """The views of a message's runs, one after the other."""

    def __init__(self, views: list[Viewer]) -> None:
        self._views = views

    @property
    def left(self) -> bool:
        """Somebody ended the view before the message was over."""
        return any(view.left for view in self._views)

    def leave(self) -> None:
        """End the view from outside."""
        for view in self._views:
            view.leave()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the message's bytes."""
        for view in self._views:
            async with aclosing(view.chunks()) as chunks:
                async for data in chunks:
                    yield data
            if view.left:
                return


# ---------------------------------------------------------------------------
# A run as frames with their places, for a connection that carries each by itself.
#
# Server-sent events are encoded once for all viewers (`broadcast`). A socket belongs to one client,
# so it reads the log for itself, at its own pace: nothing grows with a slow one.


class PositionedFrame(NamedTuple):
    """A frame at its place."""

    position: Position
    payload: Payload


async def check_position(log: RunLog, run: RunId, after: Position) -> RunSummary:
    """Return a run. Raise `BadPosition` for a position past its end, `NotFound` or `Gone` for the run."""
    summary = await log.summary(run)
    if after.cursor > summary.cursor:
        raise BadPosition(
            f"Position {after} is past the end of the run, which has {summary.cursor} entries."
        )
    return summary


async def positioned_frames(
    log: RunLog, run: RunId, format: Format, after: Position = BEGINNING
) -> AsyncGenerator[PositionedFrame, None]:
    """Yield the frames of a run after a position, and what comes, until the run is over."""
    reader = format.reader()
    async with aclosing(read_in_turns(log, run, follow=True)) as entries:
        async for entry in entries:
            for part, payload in enumerate(await feed_one(entry, reader.feed), 1):
                if not _is_seen(entry.cursor, part, after):
                    yield PositionedFrame(Position(entry.cursor, part), payload)


def _is_seen(cursor: int, part: int, after: Position) -> bool:
    if cursor != after.cursor:
        return cursor < after.cursor
    return after.part is None or part <= after.part


def seen_part(frames: int, after: Position) -> int:
    """Return how many frames of the position's own entry were seen. Raise `BadPosition` if it has fewer."""
    if after.part is None:
        return frames
    if after.part > frames:
        raise BadPosition(
            f"Position {after} is not in this stream: entry {after.cursor} has {frames} frames."
        )
    return after.part
