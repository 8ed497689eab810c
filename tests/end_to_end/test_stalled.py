"""A reader that stops reading: it is cut, nobody else notices, and it can come back for the rest."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import Server, serving
from tests.end_to_end.streams import frames
from tests.patience import PATIENCE

SAID = " ".join(["x" * 100_000] * 60)
"""Six megabytes, which a stream of events has twice: more than the buffers of a connection hold."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that soon loses its patience."""
    with serving(tmp_path_factory.mktemp("stalled"), "--stalled", "0.5s") as found:
        yield found


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    """A run with a long answer."""
    body = chat_body(new_id(), SAID)
    answer = server.http.post(server.chat("diary"), json=body)
    assert answer.status_code == 200
    found: str = answer.headers["x-prism-run"]
    return found


def test_a_stalled_reader_is_cut_and_comes_back(server: Server, run: str) -> None:
    """The operator is told, the connection ends without the end of the body, and what the reader has
    and what it gets from there on is the whole stream."""
    path = f"/api/runs/{run}/stream?as=adk"
    whole = server.http.get(path)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as stalled:
        stalled.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        until_cut(server)
        seen = unchunked(read_all(stalled))
    assert len(seen) < len(whole.content)
    last = frames(seen)[-1]
    rest = server.http.get(path, params={"after": last.id})
    assert seen[: last.end] + rest.content == whole.content


def until_cut(server: Server) -> None:
    """Wait until the operator is told of a reader; the server answers others meanwhile."""
    given_up = time.monotonic() + PATIENCE
    while not any("viewer cut" in line for line in server.lines):
        assert time.monotonic() < given_up, "the reader was never cut"
        server.http.get("/health").raise_for_status()


def read_all(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def unchunked(answer: bytes) -> bytes:
    """Return the body of a response as far as it came; fail if it came to its end."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        assert size != b"0", "the body has its end"
        found += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return found
