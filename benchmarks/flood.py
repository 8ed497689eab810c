"""What one caller's flood does to another: a streamed run, quiet and while somebody asks ten times too often.

The flood is a process of its own (`python -m benchmarks.flood PORT`), told when to begin and when to rest.
What is beyond its limit is refused, and each refusal costs the server something, too.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from statistics import median

from benchmarks.child import Child, child
from benchmarks.client import read_all, request
from benchmarks.rounds import Measure, take_turns
from benchmarks.served import LIMIT_RATE, OTHER_TOKEN, TOKEN
from benchmarks.stream_over_http import chat_body
from benchmarks.table import Row, millis

TARGET = 2.0
TIMES = 10
"""How many times the limit."""
DELTAS = 100
RUNS = 7
"""In one measurement: their median counts."""
CONNECTIONS = 8
WARM_UP = 0.5
"""Seconds after which what the flood may do at once is used up."""

_numbers = count(1)


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparison."""
    with child("limited") as server, _flooding(server) as flood:
        variants = {"quiet": _measure(server), "flooded": _during(flood, _measure(server))}
        measured = take_turns(variants, 3 if quick else 9)
        answered, refused = flood.told()
    share = refused / max(1, answered + refused)
    name = (
        f"{DELTAS} deltas while another caller floods at {TIMES} × its limit ({share:.0%} refused)"
    )
    ours, reference = millis(measured.cost("flooded")), millis(measured.cost("quiet"))
    return [Row(name, ours, reference, measured.ratio("flooded", "quiet"), TARGET)]


def _measure(server: Child) -> Measure:
    def one() -> float:
        body = chat_body(f"chat-{next(_numbers)}", str(DELTAS))
        began = time.perf_counter()
        given = f"authorization: Bearer {OTHER_TOKEN}"
        answer = read_all(request(server.port, "/api/chat/speaker", body, given))
        if answer.count(b'"type":"text-delta"') != DELTAS:
            raise RuntimeError(f"the other caller did not get {DELTAS} deltas")
        return time.perf_counter() - began

    return lambda: median(one() for _ in range(RUNS))


class Flood:
    """The parent's side."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, word: str) -> None:
        """Say `begin`, `rest` or `count`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def told(self) -> tuple[int, int]:
        """Return how many requests were answered, and how many refused."""
        self.tell("count")
        assert self._process.stdout is not None
        answered, refused = self._process.stdout.readline().split()
        return int(answered), int(refused)


@contextmanager
def _flooding(server: Child) -> Iterator[Flood]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.flood", str(server.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Flood(process)
    finally:
        process.kill()
        process.wait()


def _during(flood: Flood, measure: Measure) -> Measure:
    def flooded() -> float:
        flood.tell("begin")
        time.sleep(WARM_UP)
        try:
            return measure()
        finally:
            flood.tell("rest")

    return flooded


# --------------------------------------------------------------------------- the flood's own process


class _Asker:
    """Asks over connections that stay open, at a steady pace."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.is_on = threading.Event()
        self.answered = 0
        self.refused = 0

    def ask_forever(self) -> None:
        """Ask whenever it is on."""
        while True:
            self.is_on.wait()
            with ExitStack() as held:
                # The server closes what is idle: new ones for each time.
                address = ("127.0.0.1", self._port)
                every = range(CONNECTIONS)
                open_ = [held.enter_context(socket.create_connection(address)) for _ in every]
                while self.is_on.is_set():
                    self._ask(open_)

    def _ask(self, open_: list[socket.socket]) -> None:
        due = time.perf_counter() + CONNECTIONS / (TIMES * LIMIT_RATE)
        asked = (
            f"GET /list-apps HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
            f"authorization: Bearer {TOKEN}\r\n\r\n"
        )
        for connection in open_:
            connection.sendall(asked.encode())
        for connection in open_:
            if connection.recv(64 * 1024).startswith(b"HTTP/1.1 429"):
                self.refused += 1
            else:
                self.answered += 1
        time.sleep(max(0.0, due - time.perf_counter()))


def main(port: int) -> None:
    """Flood when told to, until stdin ends."""
    asker = _Asker(port)
    threading.Thread(target=asker.ask_forever, daemon=True).start()
    for line in sys.stdin:
        match line.strip():
            case "begin":
                asker.is_on.set()
            case "rest":
                asker.is_on.clear()
            case _:
                print(asker.answered, asker.refused, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
