"""Connections that ask for nothing: over real sockets, many more than a server has descriptors for."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from websockets.sync.client import connect

from adk_prism.server.proxies import TrustedProxies
from adk_prism.server.uvicorn_server import MOST_AT_ONCE, MOST_WAITING, Connections, Peer

TOKEN = "a-token-for-the-test-of-connections"
KNOWN = {"authorization": f"Bearer {TOKEN}"}
DESCRIPTORS = 640
"""Of the server, which has some dozen files open itself: fewer than the attacker has sockets."""
HALF = b"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@contextmanager
def keeping(folder: Path, *words: str, known: bool = True) -> Iterator[Server]:
    """Serve with few descriptors; the caller is known by a token, or nobody has to be."""
    (folder / "tokens.json").write_text(json.dumps({TOKEN: "ann"}))
    tokens = ["--tokens", "tokens.json"] if known else []
    with serving(folder, *tokens, "--log", "memory:", *words, agents=None) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        yield server


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Let this process open more sockets than it usually may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def knock(stack: ExitStack, port: int, count: int, said: bytes = b"") -> list[socket.socket]:
    """Open connections, say something on each, and leave it at that."""
    opened = []
    for _ in range(count):
        one = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        one.sendall(said)
        opened.append(one)
    return opened


def ends(one: socket.socket) -> bytes:
    """Wait until the server closes a connection; return what it said before."""
    heard = b""
    try:
        while chunk := one.recv(4096):
            heard += chunk
    except ConnectionResetError:
        pass
    return heard


# ------------------------------------------------------------------ many


@pytest.mark.parametrize("known", [True, False], ids=["identity", "open"])
@pytest.mark.usefixtures("descriptors")
def test_a_caller_is_answered_whoever_waits_beside_it(tmp_path: Path, known: bool) -> None:
    """1,000 idle sockets and 300 with half a request, of the caller's own address."""
    with keeping(tmp_path, known=known) as server, ExitStack() as stack:
        idle = knock(stack, server.port, 1000)
        half = knock(stack, server.port, 300, HALF)
        for _ in range(3):
            with httpx.Client(base_url=server.url, headers=KNOWN, timeout=PATIENCE) as client:
                assert client.get("/api/apps").status_code == 200
        for one in [*idle, *half][: 1300 - MOST_WAITING]:
            assert ends(one) == b""
        assert server.process.poll() is None


def test_a_burst_of_callers_is_served(tmp_path: Path) -> None:
    """As many at once as are more than may wait: each sends its request, and none is closed."""

    async def burst(url: str) -> list[int]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=url, headers=KNOWN, timeout=PATIENCE, limits=limits
        ) as client:
            asking = (client.get("/api/me") for _ in range(3 * MOST_WAITING // 2))
            return [answer.status_code for answer in await asyncio.gather(*asking)]

    with keeping(tmp_path) as server:
        assert set(asyncio.run(burst(server.url))) == {200}


@pytest.mark.usefixtures("descriptors")
def test_streams_and_sockets_of_known_callers_stay(tmp_path: Path) -> None:
    """They do not count, however long they ask for nothing."""
    with keeping(tmp_path) as server, ExitStack() as stack:
        address = server.url.replace("http", "ws") + "/api/live/tour?session=s1"
        talk = stack.enter_context(connect(address, additional_headers=KNOWN))
        client = stack.enter_context(
            httpx.Client(base_url=server.url, headers=KNOWN, timeout=PATIENCE)
        )
        assert client.get("/api/me").status_code == 200
        idle = knock(stack, server.port, 400)
        for one in idle[: 400 - MOST_WAITING]:
            assert ends(one) == b""
        talk.send(json.dumps({"type": "ping", "version": "1.0"}))
        assert json.loads(talk.recv(PATIENCE))["type"]
        assert client.get("/api/me").status_code == 200


REFUSED = (
    b"POST /api/chat/tour HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n%b\r\n{"
)


@pytest.mark.parametrize("known", [True, False], ids=["by a limit", "by identity"])
@pytest.mark.usefixtures("descriptors")
def test_the_body_of_a_refused_request_is_not_waited_for(tmp_path: Path, known: bool) -> None:
    """700 requests of one caller that are refused, and whose bodies trickle, hold no descriptors."""
    header = f"Authorization: Bearer {TOKEN}\r\n".encode() if known else b""
    with keeping(tmp_path, "--limit-rate", "5") as server, ExitStack() as stack:
        folder = Path(f"/proc/{server.process.pid}/fd")
        opened = knock(stack, server.port, 400, REFUSED % header)
        opened += knock(stack, server.port, 300, REFUSED % header)
        ends_by = time.monotonic() + PATIENCE
        while len(list(folder.iterdir())) > 2 * MOST_WAITING:
            assert time.monotonic() < ends_by
            for one in opened:
                with suppress(OSError):
                    one.send(b" ")
        with httpx.Client(base_url=server.url, headers=KNOWN, timeout=PATIENCE) as client:
            assert client.get("/api/me").status_code in (200, 429)


def test_a_refused_body_that_comes_to_its_end_leaves_the_connection(tmp_path: Path) -> None:
    """A client that has sent all of it reads the answer, and goes on."""
    body = b"{" + b" " * 99999
    with keeping(tmp_path) as server, ExitStack() as stack:
        (one,) = knock(stack, server.port, 1, REFUSED % b"")
        answer = read_until(one, b"Bearer TOKEN.")
        assert b" 401 " in answer
        one.sendall(body[1:])
        one.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in read_until(one, b"\r\n\r\n")


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Return what comes until an end; less, if the connection ends before."""
    found = b""
    while end not in found and (piece := connection.recv(4096)):
        found += piece
    return found


# ------------------------------------------------------------------ slow and large


@dataclass(frozen=True)
class Slow:
    """What is sent, at once or after a first request, and how it ends."""

    id: str
    sent: bytes
    answer: bytes


WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SLOW = (
    Slow("nothing", b"", b""),
    Slow("a letter", b"G", b"408"),
    Slow("half a header", HALF, b"408"),
    Slow("empty lines", b"\r\n\r\n", b"408"),
    Slow("a second request that does not end", WHOLE + HALF, b"200"),
    Slow("empty lines after a request", WHOLE + b"\r\n", b"200"),
)


def test_headers_have_a_deadline(tmp_path: Path) -> None:
    """From the beginning of a connection, and of each request: then it is closed."""
    with keeping(tmp_path) as server, ExitStack() as stack:
        opened = [knock(stack, server.port, 1, slow.sent)[0] for slow in SLOW]
        for slow, one in zip(SLOW, opened, strict=True):
            status = ends(one).partition(b"\r\n")[0]
            assert status[9:12] == slow.answer, slow.id


def test_a_letter_now_and_then_is_not_enough(tmp_path: Path) -> None:
    """The deadline is for all headers, not for the next one."""
    with keeping(tmp_path) as server, ExitStack() as stack:
        [one] = knock(stack, server.port, 1, HALF)
        one.settimeout(0.2)  # between two letters; what ends it is the server
        heard = b""
        while not heard:
            try:
                one.sendall(b"x")
                heard = one.recv(4096)
            except TimeoutError:
                continue
            except ConnectionError:
                return
        assert heard.startswith(b"HTTP/1.1 408")


def test_headers_have_an_end(tmp_path: Path) -> None:
    """Any number of them would be any amount of memory."""
    with keeping(tmp_path) as server, ExitStack() as stack:
        [one] = knock(stack, server.port, 1, HALF)
        with pytest.raises(ConnectionError):
            one.sendall(b"x" * 64 * 1024 * 1024)
        answer = httpx.get(
            f"{server.url}/health", headers={"x-long": "x" * 30_000}, timeout=PATIENCE
        )
        assert answer.status_code == 200


# ------------------------------------------------------------------ who counts


class Door:
    """A connection as its count sees it."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    @property
    def dropped(self) -> bool:
        return self.gone.is_set()

    def drop(self) -> None:
        self.gone.set()


def arrive(doors: Connections, host: str, count: int, first: int = 1) -> list[Door]:
    made = [Door() for _ in range(count)]
    for port, door in enumerate(made, first):
        doors.opened((host, port), door)
    return made


def doors(*trusted: str, until_known: bool = True) -> tuple[Connections, list[str]]:
    refused: list[str] = []
    return Connections(
        TrustedProxies(trusted), until_known=until_known, refused=refused.append
    ), refused


@pytest.mark.parametrize("host", ["10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1"])
async def test_a_trusted_proxy_is_not_counted(host: str) -> None:
    """All of its clients have its address."""
    counted, refused = doors("10.0.0.0/8", "127.0.0.1")
    made = arrive(counted, host, 2 * MOST_AT_ONCE)
    assert not any(door.dropped for door in made)
    assert counted.count(host) == 0
    assert refused == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.1.2.3", "10.1.2.4", False),
        ("10.1.2.3", "::ffff:10.1.2.3", True),
        ("2001:db8::1", "2001:db8::2:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("a socket file", "another", False),
    ],
)
async def test_who_counts_together(one: str, other: str, same: bool) -> None:
    """An address; of IPv6 the network that one caller has."""
    counted, _ = doors()
    arrive(counted, one, 3)
    arrive(counted, other, 3, first=10)
    assert counted.count(one) == (6 if same else 3)


async def test_the_oldest_go_and_the_newest_stay() -> None:
    """In the first second up to the larger bound; afterwards up to the smaller one."""
    counted, refused = doors()
    made = arrive(counted, "10.1.2.3", MOST_AT_ONCE + 10)
    assert [door.dropped for door in made] == [True] * 10 + [False] * MOST_AT_ONCE
    async with asyncio.timeout(PATIENCE):
        await made[-MOST_WAITING - 1].gone.wait()
    assert [door.dropped for door in made[-MOST_WAITING:]] == [False] * MOST_WAITING
    assert len(refused) == len(made) - MOST_WAITING


async def test_what_is_being_answered_is_never_closed() -> None:
    """Whoever waits goes first; a connection that is known, or closed, is forgotten."""
    counted, _ = doors()
    host = "10.1.2.3"
    busy = arrive(counted, host, 10)
    peers: list[Peer] = [(host, port) for port in range(1, 11)]
    for peer in peers:
        counted.asked(peer)
    arrive(counted, host, MOST_AT_ONCE + 50, first=100)
    assert not any(door.dropped for door in busy)
    for peer in peers[:5]:
        counted.forget(peer)
        counted.forget(peer)
    before = counted.count(host)
    counted.answered(peers[0])
    counted.forget(None)
    counted.opened(None, Door())
    assert counted.count(host) == before


async def test_where_nobody_has_to_be_known_the_first_request_is_enough() -> None:
    """Then a connection that is kept for the next one does not count."""
    counted, _ = doors(until_known=False)
    arrive(counted, "10.1.2.3", 3)
    counted.asked(("10.1.2.3", 1))
    counted.answered(("10.1.2.3", 1))
    assert counted.count("10.1.2.3") == 2
