"""The least WebSocket client: it writes frames and reads them, so its own cost slows nobody down."""

from __future__ import annotations

import base64
import os
import socket
import struct
from collections.abc import Iterator

from benchmarks.client import CHUNK, SILENCE

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
_MASK = b"\0\0\0\0"
"""A mask of zeros changes nothing, and is a mask."""


class Socket:
    """One connection."""

    def __init__(self, port: int, path: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=SILENCE)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\n"
            f"connection: upgrade\r\nsec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n"
        )
        self._connection.sendall(head.encode())
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._connection.recv(CHUNK)
        answer, _, self._rest = self._rest.partition(b"\r\n\r\n")
        if b" 101 " not in answer:
            raise RuntimeError(answer[:300].decode(errors="replace"))

    def fileno(self) -> int:
        """Return the connection's file, to be selected."""
        return self._connection.fileno()

    def send(self, data: bytes, kind: int = BINARY) -> None:
        """Send one message."""
        self._connection.sendall(frame(data, kind))

    def receive(self) -> tuple[int, bytes]:
        """Return the next message and its kind."""
        while True:
            for found in self._frames():
                return found
            self._read()

    def ready(self) -> Iterator[tuple[int, bytes]]:
        """Read what has come, and yield its messages."""
        self._read()
        yield from self._frames()

    def _read(self) -> None:
        piece = self._connection.recv(CHUNK)
        if not piece:
            raise RuntimeError("the server hung up")
        self._rest += piece

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        while len(self._rest) >= 2:
            kind, size, at = self._rest[0] & 15, self._rest[1] & 127, 2
            if size == 126:
                size, at = struct.unpack_from(">H", self._rest.ljust(4, b"\0"), 2)[0], 4
            elif size == 127:
                size, at = struct.unpack_from(">Q", self._rest.ljust(10, b"\0"), 2)[0], 10
            if len(self._rest) < at + size:
                return
            data, self._rest = self._rest[at : at + size], self._rest[at + size :]
            if kind == PING:
                self.send(data, 10)
            elif kind == CLOSE:
                raise RuntimeError(f"the server closed: {data[2:].decode()}")
            else:
                yield kind, data

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def frame(data: bytes, kind: int) -> bytes:
    """Return a client's frame."""
    size = len(data)
    if size < 126:
        head = struct.pack(">BB", 128 | kind, 128 | size)
    elif size < 65536:
        head = struct.pack(">BBH", 128 | kind, 128 | 126, size)
    else:
        head = struct.pack(">BBQ", 128 | kind, 128 | 127, size)
    return head + _MASK + data
