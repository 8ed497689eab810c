"""E: how smoothly many answers arrive at once, against ADK's own server of the same agent.

Twenty-five clients ask at the same moment, and the model of each says fifty words a second. *First delta*
is the time from a request to its first word (95th percentile of the streams); *gap* is the time between
two words of one stream, as the client reads them (99th percentile of all gaps). Words that arrive
together have gaps of nothing and a long one before: so a server that holds words back shows here, even if
its throughput is good. With fifty streams or more, as many as ADK's server cannot serve in time on this
machine, a process has more to do than it can; then the time of a whole answer counts.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.child import Child, child
from benchmarks.client import CHUNK, SILENCE, read_all, request
from benchmarks.rounds import Ratio
from benchmarks.stream_over_http import chat_body
from benchmarks.table import Row, millis

WORDS, EVERY = 150, 0.02
STREAMS = 25
MANY = (50, 75, 100, 150)
LATE = 1.2 * WORDS * EVERY
"""Seconds: an answer that takes longer came from a server with too much to do."""

_numbers = count(1)


class Smoothness(NamedTuple):
    """What one round showed; seconds."""

    first: float
    gap: float
    whole: float


@dataclass
class _Reading:
    """One client: when it asked, and when each word came."""

    began: float
    arrivals: list[float] = field(default_factory=list)
    rest: bytes = b""

    def take(self, piece: bytes, word: bytes) -> None:
        data = self.rest + piece
        self.arrivals += [time.perf_counter()] * data.count(word)
        # A word may be cut in two by the network; it counts when its end has come.
        self.rest = data[-(len(word) - 1) :]


Ask = Callable[[Child, str], socket.socket]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with child("prism") as prism, child("adk") as adk:
        sides = {
            "prism": (prism, _ask_chat, b'"type":"text-delta"'),
            "adk": (adk, _ask_adk, b'"partial":true'),
        }
        overload = _overload(adk)
        found = {(side, streams): [] for side in sides for streams in (STREAMS, overload)}
        for number in range(-1, 2 if quick else 5):
            for (side, streams), rounds in found.items():
                server, ask, word = sides[side]
                measured = _measure(server, ask, word, streams)
                if number >= 0:
                    rounds.append(measured)
    ours, theirs = found["prism", STREAMS], found["adk", STREAMS]
    return [
        _row(f"{STREAMS} streams: first delta (p95)", ours, theirs, "first", 1.2),
        _row(f"{STREAMS} streams: gap between deltas (p99)", ours, theirs, "gap", 1.2),
        _row(
            f"{overload} streams: a whole answer",
            found["prism", overload],
            found["adk", overload],
            "whole",
            0.85,
        ),
    ]


def _overload(adk: Child) -> int:
    """Return how many streams are too many for ADK's server here."""
    for streams in MANY:
        if _measure(adk, _ask_adk, b'"partial":true', streams).whole > LATE:
            return streams
    return MANY[-1]


def _row(
    name: str, ours: list[Smoothness], theirs: list[Smoothness], what: str, target: float
) -> Row:
    mine = [getattr(each, what) for each in ours]
    peers = [getattr(each, what) for each in theirs]
    ratio = Ratio([a / b for a, b in zip(mine, peers, strict=True)])
    return Row(name, millis(median(mine)), millis(median(peers)), ratio, target)


def _measure(server: Child, ask: Ask, word: bytes, streams: int) -> Smoothness:
    readings: dict[socket.socket, _Reading] = {}
    with selectors.DefaultSelector() as selector:
        sessions = [f"smooth-{next(_numbers)}" for _ in range(streams)]
        for session in sessions:
            if ask is _ask_adk:  # makes no session by itself
                read_all(request(server.port, f"/apps/speaker/users/user/sessions/{session}", {}))
        for session in sessions:
            began = time.perf_counter()
            connection = ask(server, session)
            readings[connection] = _Reading(began)
            selector.register(connection, selectors.EVENT_READ)
        ends = _read(selector, readings, word)
    gaps: list[float] = []
    for reading in readings.values():
        if len(reading.arrivals) != WORDS:
            raise RuntimeError(f"{len(reading.arrivals)} words came, not {WORDS}")
        gaps += [b - a for a, b in zip(reading.arrivals, reading.arrivals[1:], strict=False)]
    firsts = [reading.arrivals[0] - reading.began for reading in readings.values()]
    return Smoothness(quantiles(firsts, n=20)[-1], quantiles(gaps, n=100)[-1], median(ends))


def _read(
    selector: selectors.BaseSelector, readings: dict[socket.socket, _Reading], word: bytes
) -> list[float]:
    """Read all streams to their ends; return how long each took."""
    ends: list[float] = []
    while selector.get_map():
        ready = selector.select(SILENCE)
        if not ready:
            raise RuntimeError(f"{len(selector.get_map())} streams have gone silent")
        for key, _ in ready:
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            piece = connection.recv(CHUNK)
            readings[connection].take(piece, word)
            if not piece:
                ends.append(time.perf_counter() - readings[connection].began)
                selector.unregister(connection)
                connection.close()
    return ends


_TEXT = f"{WORDS} every {EVERY}"


def _ask_chat(server: Child, session: str) -> socket.socket:
    return request(server.port, "/api/chat/speaker", chat_body(session, _TEXT))


def _ask_adk(server: Child, session: str) -> socket.socket:
    body = {
        "appName": "speaker",
        "userId": "user",
        "sessionId": session,
        "newMessage": {"role": "user", "parts": [{"text": _TEXT}]},
        "streaming": True,
    }
    return request(server.port, "/run_sse", body)
