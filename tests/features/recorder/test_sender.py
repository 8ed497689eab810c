"""What is not delivered at once: kept, repeated, bounded, and given up with one line."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.features.recorder.recorded import recordings
from tests.patience import PATIENCE

from adk_prism.features.captures.recording_file import read_part
from adk_prism.features.recorder.sender import (
    OVERFLOW,
    OutboundRun,
    Outbox,
    PrismServer,
    Refused,
    Sender,
    TooLong,
    Unavailable,
)
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunStarted

START = RunStarted(run="r", origin=Origin(app="app", user="u", session="s"))
EVENT = AgentEvent(b'{"author":"agent"}')
END = RunEnded(outcome="finished")
Deliver = Callable[[int], None]


class _Shelf:
    """A destination that stores each record once, as a server does, and fails as it is told."""

    title = "shelf"

    def __init__(self, before: Deliver | None = None, after: Deliver | None = None) -> None:
        self._before = before or (lambda _: None)
        self._after = after or (lambda _: None)
        self._calls = 0
        self.stored: dict[str, list[Entry]] = {}
        self.is_closed = threading.Event()

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        self._calls += 1
        self._before(self._calls)
        stored = self.stored.setdefault(run.run, [])
        for entry in read_part(b"".join(lines)):
            if entry.cursor > len(stored):
                assert entry.cursor == len(stored) + 1, "a record is missing"
                stored.append(entry)
        self._after(self._calls)
        return len(stored)

    def close(self) -> None:
        self.is_closed.set()


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return what the recorder has logged."""
    caplog.set_level(logging.INFO, logger="adk_prism.recorder")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "adk_prism.recorder"]


def put(outbox: Outbox, count: int) -> OutboundRun:
    """Put a whole run with so many events into an outbox."""
    run = OutboundRun()
    for record in (START, *[EVENT] * count, END):
        outbox.put(run, 1.0, record)
    return run


def delivered(outbox: Outbox, shelf: _Shelf) -> None:
    """Deliver all there is."""
    sender = Sender(outbox, shelf)
    sender.start()
    until = time.monotonic() + PATIENCE
    while outbox.waiting and time.monotonic() < until:
        time.sleep(0.01)  # between two looks
    sender.close()
    assert shelf.is_closed.wait(PATIENCE)


def test_what_was_not_acknowledged_is_sent_again(lines: Callable[[], list[str]]) -> None:
    """Whether the request or only its answer was lost: each record is stored once, in order."""

    def lose(*calls: int) -> Deliver:
        def fail(call: int) -> None:
            if call in calls:
                raise Unavailable("lost")

        return fail

    outbox, shelf = Outbox(), _Shelf(before=lose(1, 4), after=lose(2, 6))
    runs = [put(outbox, count) for count in (1200, 3)]
    delivered(outbox, shelf)
    for run, count in zip(runs, (1200, 3), strict=True):
        assert [e.record for e in shelf.stored[run.run]] == [START, *[EVENT] * count, END]
    said = [line.partition("shelf ")[2] for line in lines()]
    assert sum("does not take records" in line for line in said) == sum(
        "is back" in s for s in said
    )


def test_a_run_that_is_refused_is_dropped(lines: Callable[[], list[str]]) -> None:
    """With one line for all of them; what its agent still says is not kept, and other runs go on."""
    outbox = Outbox()
    runs = [put(outbox, 2) for _ in range(3)]

    def refuse(call: int) -> None:
        if call <= 2:
            raise Refused("409 conflict")

    shelf = _Shelf(before=refuse)
    delivered(outbox, shelf)
    assert list(shelf.stored) == [runs[2].run]
    outbox.put(runs[0], 1.0, EVENT)
    assert outbox.waiting == 0
    assert lines() == ["adk-prism recorder: a run is not taken (409 conflict)."]


def test_a_run_that_is_too_long_for_the_server_ends_there() -> None:
    """What it has taken stays, with an end that says so."""

    def stop(call: int) -> None:
        if call == 2:
            raise TooLong("413 too-large")

    outbox, shelf = Outbox(), _Shelf(before=stop)
    run = put(outbox, 2000)
    delivered(outbox, shelf)
    stored = shelf.stored[run.run]
    assert 1 < len(stored) < 1000
    assert stored[-1].record == RunEnded(outcome="incomplete", code=OVERFLOW)


@pytest.mark.parametrize("bound", [{"most_records": 10}, {"most_bytes": 700}], ids=str)
def test_a_run_that_does_not_fit_is_cut(bound: dict[str, int]) -> None:
    """It ends as incomplete; a run that finds no room at all leaves nothing; later ones are whole."""
    outbox, shelf = Outbox(**bound), _Shelf()
    cut, none = put(outbox, 1000), put(outbox, 1)
    assert outbox.waiting <= 12
    delivered(outbox, shelf)
    assert shelf.stored[cut.run][-1].record == RunEnded(outcome="incomplete", code=OVERFLOW)
    assert none.run not in shelf.stored
    later = put(outbox, 1)
    delivered(outbox, shelf)
    assert shelf.stored[later.run][-1].record == END


def test_a_destination_that_never_answers_delays_nobody() -> None:
    """Neither who puts records in nor the end of the process, which gives it a short time."""
    held = threading.Event()
    outbox, shelf = Outbox(), _Shelf(before=lambda _: held.wait(PATIENCE) and None)
    sender = Sender(outbox, shelf)
    sender.start()
    put(outbox, 1000)
    assert not sender.flush(0.1)
    sender.close()
    assert outbox.waiting == 1002
    held.set()
    assert shelf.is_closed.wait(PATIENCE)


_SCRIPT = """
import asyncio, sys
from adk_prism import Recorder, ScriptedModel
from adk_prism.models import say
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import InMemoryRunner
from google.genai import types

agent = LlmAgent(name="agent", model=ScriptedModel(script=lambda _: say("one two three"), delay=0))
runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[Recorder(file=sys.argv[1])]))
text = types.Content(role="user", parts=[types.Part(text="hi")])

async def main():
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    async for event in runner.run_async(user_id="u", session_id="s", new_message=text):
        pass

asyncio.run(main())
"""


def test_a_process_that_just_ends_delivers_what_is_left(tmp_path: Path) -> None:
    """Without `runner.close()`: most scripts have none."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(tmp_path)], check=True, timeout=PATIENCE
    )
    (entries,) = recordings(tmp_path)
    assert entries[-1].record == END


def test_an_open_run_ends_with_its_process() -> None:
    """Whoever looks at it does not wait for a process that is gone."""
    outbox, shelf, run = Outbox(), _Shelf(), OutboundRun()
    sender = Sender(outbox, shelf)
    sender.start()
    outbox.put(run, 1.0, START)
    sender.close()
    assert shelf.stored[run.run][-1].record == RunEnded(outcome="failed", code="server_stopped")


# ------------------------------------------------------------------ over HTTP


@contextmanager
def answering(status: int, body: bytes = b"", **headers: str) -> Iterator[tuple[str, list[str]]]:
    """Serve one answer to everything; give the address, and the tokens that came."""
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            tokens.append(self.headers.get("authorization", ""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", tokens
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        (200, b"<html>a page</html>", {}, Unavailable),
        (200, b'{"cursor": "many"}', {}, Unavailable),
        (302, b"", {"location": "http://127.0.0.1:1/"}, Unavailable),
        (401, b"", {"x_prism_problem": "unauthorized"}, Unavailable),
        (404, b"not here", {}, Unavailable),
        (409, b"", {"x_prism_problem": "conflict"}, Refused),
        (413, b"", {"x_prism_problem": "too-large"}, TooLong),
        (503, b"", {"x_prism_problem": "draining", "retry_after": "7"}, Unavailable),
    ],
)
def test_what_an_answer_means(
    status: int, body: bytes, headers: dict[str, str], expected: type[Exception]
) -> None:
    """A run is given up only if an adk-prism server says so; anything else may pass."""
    with answering(status, body, **headers) as (url, tokens):
        server = PrismServer(url, "a-token")
        with pytest.raises(expected) as caught:
            server.deliver(OutboundRun(), [b"{}\n"])
        server.close()
    assert tokens == ["Bearer a-token"]
    assert "a-token" not in str(caught.value)
    if isinstance(caught.value, Unavailable):
        assert caught.value.again == float(headers.get("retry_after", 0))
