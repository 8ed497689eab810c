"""The least HTTP client: it writes a request and reads bytes, so its own cost hides nothing.

It runs in the benchmark's process, the server in another one: the client's CPU time is in no figure,
and where there are two cores it does not slow the server either.
"""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Mapping
from typing import Any

CHUNK = 256 * 1024
SILENCE = 60.0
"""Seconds without a byte after which a stream is taken for dead."""


def request(port: int, path: str, body: Any = None, *headers: str) -> socket.socket:
    """Send a request and return the connection; the server closes it after its answer."""
    payload = b"" if body is None else json.dumps(body).encode()
    head = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        "accept: text/event-stream",
        "connection: close",
        *headers,
    ]
    if body is not None:
        head += ["content-type: application/json", f"content-length: {len(payload)}"]
    connection = socket.create_connection(("127.0.0.1", port), timeout=SILENCE)
    connection.sendall("\r\n".join([*head, "", ""]).encode() + payload)
    return connection


def read_head(connection: socket.socket) -> tuple[dict[str, str], bytes]:
    """Return the headers of a good answer, and what came of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(CHUNK)
        if not piece:
            raise RuntimeError("the server hung up before it answered")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    if " 200 " not in f"{status} ":
        raise RuntimeError(f"{status}: {rest[:300].decode(errors='replace')}")
    pairs = (line.partition(":") for line in lines)
    return {name.lower(): value.strip() for name, _, value in pairs}, rest


def read_all(connection: socket.socket) -> bytes:
    """Return a good answer's body, transfer coding and all."""
    with connection:
        _, data = read_head(connection)
        pieces = [data]
        while piece := connection.recv(CHUNK):
            pieces.append(piece)
        return b"".join(pieces)


def drain(streams: Mapping[socket.socket, bytes]) -> list[bytes]:
    """Read many answers to their ends, at once, each after what came of it; return the bodies."""
    pieces = {connection: [begun] for connection, begun in streams.items()}
    with selectors.DefaultSelector() as selector:
        for connection in streams:
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(SILENCE)
            if not ready:
                raise RuntimeError(f"{len(selector.get_map())} streams have gone silent")
            for key, _ in ready:
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                piece = connection.recv(CHUNK)
                pieces[connection].append(piece)
                if not piece:
                    selector.unregister(connection)
                    connection.close()
    return [_without_chunks(b"".join(found)) for found in pieces.values()]


def _without_chunks(body: bytes) -> bytes:
    """Take the transfer coding off a body: it says how the server cut, not what it said."""
    plain: list[bytes] = []
    rest = body
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return b"".join(plain)
        plain.append(rest[:length])
        rest = rest[length + 2 :]
