"""A body over the limit is refused: at once where its length is known, else at the byte too many."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send
from tests.patience import PATIENCE

from adk_prism.errors import Busy, PrismError, TooLarge, UsageError
from adk_prism.server import request_bodies as body_limit
from adk_prism.server.request_bodies import BodyLimit

LIMIT = 10


async def feed(headers: dict[str, str], chunks: Sequence[bytes]) -> tuple[bytes, int]:
    """Send a body through the limit; return what the application read and how many chunks it took."""
    taken = 0
    body = b""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal body
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": chunks[taken - 1], "more_body": taken < len(chunks)}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    try:
        await BodyLimit(app, LIMIT)({"type": "http", "headers": raw}, receive, send)
    except (PrismError, HTTPException) as error:
        error.add_note(str(taken))
        raise
    return body, taken


@pytest.mark.parametrize("headers", [{"content-length": "10"}, {}], ids=["declared", "chunked"])
async def test_the_limit_itself_passes(headers: dict[str, str]) -> None:
    """Ten bytes of ten, in any number of pieces."""
    assert await feed(headers, [b"01234", b"", b"56789"]) == (b"0123456789", 3)


@pytest.mark.parametrize("length", ["11", "9" * 19, "9" * 5000])
async def test_a_declared_length_is_refused_unread(length: str) -> None:
    """Not one byte is taken."""
    with pytest.raises(TooLarge) as caught:
        await feed({"content-length": length}, [b"x"])
    assert caught.value.__notes__ == ["0"]


async def test_an_undeclared_length_is_refused_at_the_byte_too_many() -> None:
    """The third piece is over; the fourth is never asked for. A lying length is the same case."""
    for headers in ({}, {"content-length": "3"}):
        with pytest.raises(TooLarge) as caught:
            await feed(headers, [b"01234", b"56789", b"a", b"b"])
        assert caught.value.__notes__ == ["3"]


async def test_a_length_that_is_no_number_is_a_usage_error() -> None:
    """A server would refuse it too; the application is not to depend on that."""
    for length in ("-1", "ten", "1.0", ""):
        with pytest.raises(UsageError):
            await feed({"content-length": length}, [b"x"])


async def test_a_compressed_body_is_refused() -> None:
    """A small body that becomes a large one is never unpacked."""
    with pytest.raises(HTTPException) as caught:
        await feed({"content-encoding": "gzip"}, [b"x"])
    assert caught.value.status_code == 415
    assert await feed({"content-encoding": "identity"}, [b"x"]) == (b"x", 1)


async def trickle(pieces: int, patience: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Send a byte every so often to somebody with that patience; return how many were taken."""
    monkeypatch.setattr(body_limit, "PATIENCE", patience)
    taken = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": taken < pieces}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await BodyLimit(app, 10**6)({"type": "http", "headers": []}, receive, send)
    return taken


async def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a byte comes; one that comes in time passes."""
    assert await trickle(3, PATIENCE, monkeypatch) == 3
    with pytest.raises(HTTPException) as caught:
        await trickle(100_000, 0.2, monkeypatch)
    assert caught.value.status_code == 408


async def test_who_has_sent_all_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream listens for its client to leave, for hours."""
    monkeypatch.setattr(body_limit, "PATIENCE", 0.01)
    left = asyncio.Event()
    messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        asyncio.get_running_loop().call_later(0.1, left.set)
        assert (await receive())["type"] == "http.disconnect"

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await BodyLimit(app, 10)({"type": "http", "headers": []}, receive, send)


async def test_all_bodies_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that would be too much is refused; what ended, or was refused, does not count any more."""
    monkeypatch.setattr(body_limit, "MOST_ARRIVING", 15)
    goes_on = asyncio.Event()

    async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass

    async def send(message: Message) -> None:
        raise AssertionError(message)

    def sending(*pieces: bytes, waits: bool = False) -> Receive:
        left = list(pieces)

        async def receive() -> Message:
            if waits and len(left) == 1:
                await goes_on.wait()
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        return receive

    limit, scope = BodyLimit(read_all, 100), {"type": "http", "headers": []}
    first = asyncio.create_task(limit(scope, sending(b"0123456789", b"", waits=True), send))
    await asyncio.sleep(0)
    for _ in range(2):
        with pytest.raises(Busy):
            await limit(scope, sending(b"0123456789"), send)
    await limit(scope, sending(b"01234"), send)
    goes_on.set()
    await first
    await limit(scope, sending(b"0123456789"), send)
