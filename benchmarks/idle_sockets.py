"""Sockets that ask for nothing, beside a known caller: how much later does his answer begin?

1,000 connections that send nothing and 300 that send half of their request headers, opened by another
process (`python -m benchmarks.idle_sockets PORT ADDRESSES`), which reopens some of those that the server
closes. Once all come from the caller's own address, where the server keeps 64 of them; once from 32
addresses, so that it keeps them all until the deadline for request headers.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median

from benchmarks.child import Child, allow_open_files, child
from benchmarks.client import CHUNK, read_head, request
from benchmarks.rounds import Measure, take_turns
from benchmarks.served import TOKEN
from benchmarks.stream_over_http import chat_body
from benchmarks.table import Row, millis

TARGET = 2.0
IDLE, HALF_OPEN = 1000, 300
UNFINISHED = b"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
ADDRESSES = 32
DELTAS = 10
CHATS = 5
"""In one measurement: their median counts."""
REOPENED = 130
"""Closed connections that are opened again each second: all within the server's deadline of ten seconds."""

_numbers = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    allow_open_files(8192)
    with child("known") as server:
        first_byte = _first_byte(server)
        variants = {
            "quiet": first_byte,
            "own": _beside(server, 1, first_byte),
            "many": _beside(server, ADDRESSES, first_byte),
        }
        measured = take_turns(variants, 3 if quick else 7)
    name = f"first byte of a chat beside {IDLE:,} idle sockets and {HALF_OPEN} half-open ones"
    return [
        Row(
            f"{name}, {place}",
            millis(measured.cost(kind)),
            millis(measured.cost("quiet")),
            measured.ratio(kind, "quiet"),
            TARGET,
        )
        for kind, place in (("own", "same address"), ("many", f"{ADDRESSES} addresses"))
    ]


def _first_byte(server: Child) -> Measure:
    def one() -> float:
        body = chat_body(f"chat-{next(_numbers)}", str(DELTAS))
        began = time.perf_counter()
        connection = request(
            server.port, "/api/chat/speaker", body, f"authorization: Bearer {TOKEN}"
        )
        with connection:
            _, begun = read_head(connection)
            if not begun:
                connection.recv(CHUNK)
            took = time.perf_counter() - began
            while connection.recv(CHUNK):
                pass
        return took

    return lambda: median(one() for _ in range(CHATS))


def _beside(server: Child, addresses: int, measure: Measure) -> Measure:
    def beside() -> float:
        with _attacked(server.port, addresses):
            measure()  # until the server has accepted them all
            return measure()

    return beside


@contextmanager
def _attacked(port: int, addresses: int) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.idle_sockets", str(port), str(addresses)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "open\n":
            raise RuntimeError("the idle connections could not be opened")
        yield
    finally:
        process.kill()
        process.wait()


# --------------------------------------------------------------------------- the attacker's own process


class _Attacker:
    """Holds connections open, and opens those again that the server closes."""

    def __init__(self, port: int, addresses: int) -> None:
        self._port = port
        self._addresses = addresses
        self._selector = selectors.DefaultSelector()

    def open_all(self) -> None:
        """Open every connection once."""
        for number in range(IDLE + HALF_OPEN):
            self._open(number)

    def hold_forever(self) -> None:
        """Replace connections that the server closed, at a steady pace."""
        while True:
            for key, _ in self._selector.select()[: REOPENED // 10]:
                self._selector.unregister(key.fileobj)
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()
                self._open(key.data)
            time.sleep(0.1)

    def _open(self, number: int) -> None:
        source = (f"127.0.0.{1 + number % self._addresses}", 0)
        connection = socket.create_connection(("127.0.0.1", self._port), 60, source)
        if number >= IDLE:
            connection.sendall(UNFINISHED)
        self._selector.register(connection, selectors.EVENT_READ, number)


def attack(port: int, addresses: int) -> None:
    """Hold the connections until stdin ends."""
    attacker = _Attacker(port, addresses)
    attacker.open_all()
    print("open", flush=True)
    threading.Thread(target=attacker.hold_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    allow_open_files(8192)
    attack(int(sys.argv[1]), int(sys.argv[2]))
