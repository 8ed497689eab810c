"""Apps of another ADK server: what a run costs us, how much later its words arrive, and how many run at once.

The cost is the CPU time of our process for a run on ADK's own server, against the same run in our process.
How late words are, and 200 runs at once, is measured on a server that costs nearly nothing (`loopback.py`).
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from contextlib import ExitStack
from itertools import count
from statistics import median, quantiles

from benchmarks.child import Child, allow_open_files, child
from benchmarks.client import CHUNK, SILENCE, read_all, read_head, request
from benchmarks.rounds import Measure, take_turns
from benchmarks.stream_over_http import chat_body
from benchmarks.table import Row, millis

DELTAS = 2000
TOOL_RUNS = 20
RUNS, WORDS, EVERY = 200, 60, 0.05
"""Runs at once; each says twenty words a second for three seconds, as a model does."""
FIRST_BYTE = 0.005
"""Seconds that the first word may take through us."""
LATE = 0.1
"""Seconds after which a word is late."""

_numbers = count(1)
_TIME = re.compile(rb'"delta":"(\d+\.\d+) "')


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    allow_open_files(4096)
    rounds = 3 if quick else 9
    with ExitStack() as running:

        def start(kind: str, *words: str) -> Child:
            return running.enter_context(child(kind, *words))

        adk, loopback = start("adk"), start("loopback")
        local, remote = start("prism"), start("remote", str(adk.port))
        paced = start("remote", str(loopback.port))
        return [
            _cost(
                f"a remote run of {DELTAS:,} deltas",
                local,
                remote,
                rounds,
                ("speaker", str(DELTAS), 1),
            ),
            _cost("a remote run with a tool", local, remote, rounds, ("caller", "tool", TOOL_RUNS)),
            *_first_word(loopback, paced, 10 if quick else 40),
            *_at_once(paced),
        ]


def _cost(name: str, local: Child, remote: Child, rounds: int, asked: tuple[str, str, int]) -> Row:
    app, text, times = asked

    def cpu(server: Child) -> Measure:
        def measure() -> float:
            before = server.cpu()
            for _ in range(times):
                read_all(_asked(server, app, text))
            return (server.cpu() - before) / times

        return measure

    used = take_turns({"remote": cpu(remote), "local": cpu(local)}, rounds)
    ours, theirs = used.cost("remote"), used.cost("local")
    return Row(
        f"CPU: {name}, against the same in process",
        millis(ours),
        millis(theirs),
        used.ratio("remote", "local"),
        0.4,
    )


def _asked(server: Child, app: str, text: str) -> socket.socket:
    return request(server.port, f"/api/chat/{app}", chat_body(f"chat-{next(_numbers)}", text))


def _first_word(loopback: Child, paced: Child, runs: int) -> list[Row]:
    """Return how much later than sent the first word arrives, and what the whole way costs beyond."""
    asked = f"1 every {EVERY}"
    late: list[float] = []

    def through() -> float:
        began = time.perf_counter()
        wire = _asked(paced, "speaker", asked)
        late.extend(_lateness([wire]))
        return time.perf_counter() - began

    def directly() -> float:
        began = time.perf_counter()
        body = {"newMessage": {"parts": [{"text": asked}]}}
        with request(loopback.port, "/run_sse", body) as wire:
            read_head(wire)
        return time.perf_counter() - began

    took = take_turns({"through": through, "directly": directly}, runs)
    word, whole = median(late), took.cost("through") - took.cost("directly")
    return [
        _limit("a remote's first word, later than sent", word, FIRST_BYTE, 1),
        _limit("a short remote run, longer than directly", whole, FIRST_BYTE),
    ]


def _at_once(paced: Child) -> list[Row]:
    """Run 200 chats at once; return how much of a core they took, and how late their words were."""
    before, began = paced.cpu(), time.monotonic()
    asked = f"{WORDS} every {EVERY}"
    late = _lateness([_asked(paced, "speaker", asked) for _ in range(RUNS)])
    share = (paced.cpu() - before) / (time.monotonic() - began)
    if len(late) < RUNS * WORDS * 0.95:
        raise RuntimeError(f"{len(late)} words of {RUNS * WORDS} arrived")
    name = f"{RUNS} remote runs at once"
    return [
        Row(f"{name}, each {1 / EVERY:g} words a second: cores", f"{share:.2f}", "1", share, 1),
        _limit(f"{name}: 99 of 100 words, later than sent", quantiles(late, n=100)[98], LATE),
        _limit(f"{name}: the middle word, later than sent", median(late), LATE),
    ]


def _limit(name: str, took: float, limit: float, target: float | None = None) -> Row:
    return Row(name, f"{took * 1e3:.1f} ms", f"{limit * 1e3:g} ms", took / limit, target)


def _lateness(wires: list[socket.socket]) -> list[float]:
    """Read streams to their ends; return how long after it was sent each word came."""
    late: list[float] = []
    with selectors.DefaultSelector() as selector:
        for wire in wires:
            selector.register(wire, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(SILENCE):
                wire = key.fileobj
                assert isinstance(wire, socket.socket)
                piece = wire.recv(CHUNK)
                late += [time.monotonic() - float(sent) for sent in _TIME.findall(piece)]
                if not piece:
                    selector.unregister(wire)
                    wire.close()
    return late
