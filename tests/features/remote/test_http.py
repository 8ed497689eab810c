"""The HTTP client of remote apps: every way in which an answer can be framed, cut, kept or broken."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.voice.loopback import certificate

from adk_prism.errors import Diagnostic, RemoteFailed, ignore
from adk_prism.features.remote.connection import Method, RemoteClient
from adk_prism.features.remote.settings import Remote

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LENGTH = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\na: b\r\n\r\n"
)
UNTIL_CLOSE = b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\nhello"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + LENGTH


@asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve connections; give the address."""
    tasks: set[asyncio.Task[object]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _client(url: str, reports: list[Diagnostic] | None = None) -> RemoteClient:
    report = ignore if reports is None else reports.append
    return RemoteClient(Remote(name="far", url=url, app="far"), report)


async def _body(client: RemoteClient, method: Method = "GET") -> bytes:
    return await client.ask(method, "/")


def _saying(answer: bytes, *, by: int = 0, keeps: bool = True) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            for start in range(0, len(answer), by or len(answer)):
                writer.write(answer[start : start + (by or len(answer))])
                await writer.drain()
                await asyncio.sleep(0)
            if not keeps:
                return

    return serve


@pytest.mark.parametrize("by", [0, 1, 7])
@pytest.mark.parametrize(
    ("answer", "keeps"),
    [(LENGTH, True), (CHUNKED, True), (UNTIL_CLOSE, False), (INTERIM, True)],
    ids=["length", "chunked", "until close", "interim"],
)
async def test_framing(answer: bytes, keeps: bool, by: int) -> None:
    """A body is the same however it is framed and cut."""
    async with serving(_saying(answer, by=by, keeps=keeps)) as url:
        client = _client(url)
        assert [await _body(client) for _ in range(3)] == [b"hello"] * 3
        await client.close()


async def test_connections_are_kept() -> None:
    """One connection serves one request after the other; one that the server closed is not used."""
    seen: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer)
        await _saying(LENGTH)(reader, writer)

    async with serving(serve) as url:
        client = _client(url)
        for _ in range(3):
            await _body(client, "POST")
        assert len(seen) == 1
        seen[0].close()
        await seen[0].wait_closed()
        assert await _body(client) == b"hello"
        assert len(seen) == 2
        await client.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "lost"),
        (LENGTH[:-1], "lost"),
        (CHUNKED[:-20], "lost"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "lost"),
        (b"220 mail.example ESMTP\r\n\r\n", "HTTP"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, "headers"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "HTTP"),
    ],
    ids=["nothing", "short", "cut chunk", "ssh", "smtp", "upgrade", "large head", "bad chunk"],
)
async def test_broken_answers(answer: bytes, says: str) -> None:
    """What is not a whole answer is an error, never a short one."""
    async with serving(_saying(answer, keeps=False)) as url:
        client = _client(url)
        with pytest.raises(RemoteFailed, match=says):
            await _body(client)
        await client.close()


async def test_nobody_reads() -> None:
    """A flood waits in the server, not here."""
    sent = 0
    stalled = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.set_write_buffer_limits(0)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            sent += 65536
            try:
                async with asyncio.timeout(0.5):
                    await writer.drain()
            except TimeoutError:
                stalled.set()
                return

    async with serving(flood) as url:
        client = _client(url)
        async with client.stream("/", {}) as pieces:
            await asyncio.wait_for(stalled.wait(), 60)
            assert len(await anext(pieces)) <= 65536
        await client.close()


async def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy is asked for the whole address, or to connect; hosts that are excepted are called directly."""
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        refused = b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"
        writer.write(refused if asked[-1].startswith(b"CONNECT") else LENGTH)
        await writer.drain()

    async with serving(proxy) as url, serving(_saying(LENGTH)) as direct:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, url.replace("//", "//ada:secret@"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        plain, secured, near = map(
            _client, ("http://far.example/base", "https://far.example", direct)
        )
        assert await _body(plain) == b"hello"
        with pytest.raises(RemoteFailed, match=r"proxy does not connect to it \(407\)"):
            await _body(secured)
        assert await _body(near) == b"hello"
        for client in (plain, secured, near):
            await client.close()
    assert asked[0].startswith(b"GET http://far.example/base/ HTTP/1.1\r\nHost: far.example\r\n")
    assert asked[1].startswith(b"CONNECT far.example:443 HTTP/1.1\r\n")
    assert all(b"Proxy-Authorization: Basic YWRhOnNlY3JldA==" in each for each in asked)


async def test_tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A certificate that is trusted is needed, directly and through a proxy, which reads nothing."""
    held, secret = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(held, secret)
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().partition(":")
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        there, back = await asyncio.open_connection(host, int(port))

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while piece := await source.read(65536):
                seen.append(piece)
                target.write(piece)

        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(copy(reader, back))
                both.create_task(copy(there, writer))
        finally:
            back.close()

    async with serving(_saying(CHUNKED), context) as url, serving(proxy) as between:
        untrusting = _client(url)
        with pytest.raises(RemoteFailed, match=r"TLS failed \(certificate verify failed\)"):
            await _body(untrusting)
        await untrusting.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(held))
        direct = _client(url)
        assert [await _body(direct) for _ in range(2)] == [b"hello"] * 2
        monkeypatch.setenv("https_proxy", between)
        tunnelled = _client(url)
        assert [await _body(tunnelled) for _ in range(2)] == [b"hello"] * 2
        assert seen
        assert not any(b"hello" in each for each in seen)
        await direct.close()
        await tunnelled.close()


async def test_a_failure_is_not_followed_on_its_connection() -> None:
    """uvicorn closes a connection after a failure of the app without saying so; a request would be lost."""
    failed = b"HTTP/1.1 500 Error\r\ncontent-length: 5\r\n\r\nsorry"
    async with serving(_saying(failed, keeps=False)) as url:
        client = _client(url)
        for _ in range(5):
            with pytest.raises(RemoteFailed, match="status 500"):
                await _body(client, "POST")
        await client.close()


async def test_no_cookie_is_kept_and_nothing_unpacked() -> None:
    """Neither is asked for; a server that packs its answer all the same is not read as JSON."""
    asked: list[bytes] = []
    packed = LENGTH.replace(
        b"200 OK\r\n", b"200 OK\r\nset-cookie: a=b\r\ncontent-encoding: gzip\r\n"
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            asked.append(head.lower())
            writer.write(packed)

    async with serving(serve) as url:
        client = _client(url)
        assert [await _body(client) for _ in range(2)] == [b"hello"] * 2
        await client.close()
    assert all(b"accept-encoding: identity" in each and b"cookie" not in each for each in asked)
