"""L: one piece of sound in and one out, over a live socket, beside ADK's own `/run_live`.

The agent answers each chunk of 20 ms with one, so all that is measured is the way: the socket, the queue to
the model, ADK's live flow, the way back, and with ours the log. It is the server's CPU time, all threads,
for exchanges one after the other. *binary* is our efficient form, *JSON* that of the AI SDK's chunks, which
ADK's route has too.

The duplex row is about time: sessions that send a piece every 20 ms and have to get one as often. An
underrun is a piece that comes more than the buffer late.
"""

from __future__ import annotations

import base64
import json
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count

from benchmarks.child import Child, child
from benchmarks.client import read_all, request
from benchmarks.rounds import Measure, Measured, take_turns
from benchmarks.socket_client import BINARY, TEXT, Socket
from benchmarks.table import Row

EXCHANGES = 1000
SPOKEN = b"\0\1" * 320
"""20 ms of 16 kHz."""
CHUNK = base64.b64encode(SPOKEN).decode()

SESSIONS = 25
SECONDS = 10
PACE = 0.02
PIECES = int(SECONDS / PACE)
BUFFER = 0.1
"""Seconds of sound that a page holds before it plays."""

_numbers = count(1)
Exchange = Callable[[], None]
"""Says a piece and hears one."""
Talk = Callable[[Child], AbstractContextManager[Exchange]]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with ExitStack() as running:
        prism = running.enter_context(child("prism"))
        adk = running.enter_context(child("adk"))
        variants = {
            "binary": _measured(prism, talk_binary),
            "JSON": _measured(prism, talk_json),
            "ADK": _measured(adk, talk_adk),
        }
        used = take_turns(variants, 3 if quick else 7)
        late, busy = duplex(prism)
    return [
        *(_row(name, used, target) for name, target in TARGETS.items()),
        Row(
            f"{SESSIONS} duplex sessions: pieces later than {BUFFER * 1000:.0f} ms",
            f"{late}",
            f"{SESSIONS * SECONDS / PACE:,.0f}",
            float(late),
            0.0,
        ),
        Row(f"{SESSIONS} duplex sessions: share of a core", f"{busy:.0%}", "100%", busy),
    ]


def _row(name: str, used: Measured, target: float) -> Row:
    told = f"a piece in and out, {name}, against ADK's /run_live (CPU)"
    ours, theirs = (f"{used.cost(found) * 1e6:.0f} µs" for found in (name, "ADK"))
    return Row(told, ours, theirs, used.ratio(name, "ADK"), target)


def _measured(server: Child, talk: Talk) -> Measure:
    def measure() -> float:
        with talk(server) as exchange:
            exchange()  # it has begun: what that costs is another matter
            began = server.cpu()
            for _ in range(EXCHANGES):
                exchange()
            return (server.cpu() - began) / EXCHANGES

    return measure


def _start(server: Child, audio: str) -> Socket:
    session = f"live-{next(_numbers)}"
    found = Socket(server.port, f"/api/live/echo?session={session}&audio={audio}")
    found.send(b'{"type":"audio_control","action":"start"}', TEXT)
    return found


@contextmanager
def talk_binary(server: Child) -> Iterator[Exchange]:
    """Talk to us in the efficient form."""
    found = _start(server, "binary")

    def exchange() -> None:
        found.send(SPOKEN)
        while found.receive()[0] != BINARY:
            pass

    yield exchange
    _end(found)


@contextmanager
def talk_json(server: Child) -> Iterator[Exchange]:
    """Talk to us in the AI SDK's form."""
    found = _start(server, "json")
    about = {"chunk": CHUNK, "sampleRate": 16000, "channels": 1, "bitDepth": 16}
    sent = json.dumps({"type": "audio_chunk", **about}).encode()

    def exchange() -> None:
        found.send(sent, TEXT)
        while b'"data-pcm"' not in found.receive()[1]:
            pass

    yield exchange
    _end(found)


def _end(found: Socket) -> None:
    found.send(b'{"type":"close"}', TEXT)
    found.close()


@contextmanager
def talk_adk(server: Child) -> Iterator[Exchange]:
    """Talk to ADK's own route."""
    session = f"live-{next(_numbers)}"
    read_all(request(server.port, f"/apps/echo/users/user/sessions/{session}", {}))
    found = Socket(server.port, f"/run_live?app_name=echo&user_id=user&session_id={session}")
    sent = json.dumps({"blob": {"mime_type": "audio/pcm;rate=16000", "data": CHUNK}}).encode()

    def exchange() -> None:
        found.send(sent, TEXT)
        while b'"inlineData"' not in found.receive()[1]:
            pass

    yield exchange
    found.send(b'{"close":true}', TEXT)
    found.close()


TARGETS = {"binary": 1.2, "JSON": 1.2}
"""The highest ratio to ADK that is good."""


class _Session:
    """One of many that talk at once."""

    def __init__(self, server: Child, number: int) -> None:
        self.socket = _start(server, "binary")
        self.socket.send(SPOKEN)
        while self.socket.receive()[0] != BINARY:
            pass  # it has begun: how long that takes is no matter of sound
        self._offset = number * PACE / SESSIONS
        self._sent = 0
        self.heard = 0
        self.late = 0

    def speak(self, now: float) -> None:
        """Send what is due, `now` seconds after the beginning."""
        while self._sent < PIECES and now - self._offset >= self._sent * PACE:
            self._sent += 1
            self.socket.send(SPOKEN)

    def listen(self, now: float) -> None:
        """Take what has come."""
        for kind, _ in self.socket.ready():
            if kind == BINARY:
                due = self._offset + self.heard * PACE
                self.heard += 1
                self.late += now - due > BUFFER


def duplex(server: Child) -> tuple[int, float]:
    """Talk in many sessions at once, at the pace of speech; return late pieces, and CPU used.

    A piece that has not come a second after the last was sent never will.
    """
    sessions = [_Session(server, number) for number in range(SESSIONS)]
    used, began = server.cpu(), time.monotonic()
    with selectors.DefaultSelector() as selector:
        for session in sessions:
            selector.register(session.socket, selectors.EVENT_READ, session)
        while (now := time.monotonic() - began) < SECONDS + 1:
            for session in sessions:
                session.speak(now)
            for key, _ in selector.select(0.002):
                key.data.listen(time.monotonic() - began)
            if all(session.heard == PIECES for session in sessions):
                break
    busy = (server.cpu() - used) / (time.monotonic() - began)
    for session in sessions:
        _end(session.socket)
    return sum(session.late + PIECES - session.heard for session in sessions), busy
