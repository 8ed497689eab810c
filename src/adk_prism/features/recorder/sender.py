"""The thread that delivers a recorder's records, so that no agent waits for them.

A thread, because agents may block their event loop. What could not be delivered is tried again, with longer
pauses; one line says that it began to fail, and one that it works again.

A recorder delivers to an adk-prism server, or a folder with one recording for each run.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Struct

from adk_prism.features.captures.recording_file import write_run
from adk_prism.log.entry import RECORDED_RUN, Entry, NodeEnded, NodeStarted, Record, RunEnded, RunId
from adk_prism.log.private_files import FILE_MODE, make_folder

# ---------------------------------------------------------------------------
# The id of a run that a recorder sends is the digest of the recorder's secret.
#
# So only who made the secret can write to the run, two recorders cannot have one id, and nothing has to be
# stored to check it. Everybody who may see the run knows its id; that does not give the secret.


def recorded_run(secret: str) -> RunId:
    """Return the run that the owner of a secret may write."""
    return RunId(RECORDED_RUN + hashlib.sha256(secret.encode()).hexdigest()[:40])


def recorded_session(run: RunId, session: str) -> str:
    """Return the name under which the runs of a recorded session are kept together.

    It is a name that no session of this server has, whatever the recorder calls its own.
    """
    name = hashlib.sha256(session.encode()).hexdigest()[:40] if session else run
    return f"recording-{name}"


# ---------------------------------------------------------------------------
# What a recorder has not delivered yet: a queue for each run, all of them bounded together.
#
# Agents put records in, from their event loops, and never wait; one thread takes them out. If there
# is no room for a record, its run is cut: an end that says *incomplete* takes the place of the record
# and of all after it.

MOST_RECORDS = 50_000
MOST_BYTES = 32 * 1024**2
"""What a process may lose memory to while nobody takes its records: some hours of an ordinary agent."""

BATCH_RECORDS, BATCH_BYTES = 500, 256 * 1024
"""Of one delivery; a larger record goes alone."""

HEARTBEAT = 15.0
"""Seconds after which a run that has nothing to deliver says that it goes on."""

OVERFLOW = "recorder_overflow"
"""Code of a run that was cut."""


class OutboundRun:
    """One run that is recorded: its queue, and how far it is."""

    def __init__(self) -> None:
        self.secret = secrets.token_urlsafe(32)
        """Only who knows it may write this run."""
        self.run = recorded_run(self.secret)
        self.cursor = 0
        """Of the last record that was put in."""
        self.lines: deque[tuple[int, bytes]] = deque()
        self.state: Literal["open", "ended", "cut", "refused"] = "open"
        self.sent = time.monotonic()
        """When something was last delivered."""
        self.nodes: dict[str, None] = {}
        """Those that have begun and not ended, in order."""


Delivery = tuple[OutboundRun, Sequence[bytes]]
"""A run and its next lines; none: the run only says that it goes on."""


class Outbox:
    """The records of one recorder on their way."""

    def __init__(self, most_records: int = MOST_RECORDS, most_bytes: int = MOST_BYTES) -> None:
        self._most_records, self._most_bytes = most_records, most_bytes
        self._records = self._bytes = 0
        self._runs: deque[OutboundRun] = deque()
        """Those that are not delivered to their end; the next one to deliver first."""
        self._changed = threading.Condition()

    def put(self, run: OutboundRun, when: float, record: Record) -> bool:
        """Take a run's next record; return whether there was room for it. Nodes end before their run."""
        with self._changed:
            if isinstance(record, RunEnded):
                for node in reversed(list(run.nodes)):
                    self._put(run, when, NodeEnded(node=node, status="cancelled", derived=True))
            return self._put(run, when, record)

    def _put(self, run: OutboundRun, when: float, record: Record) -> bool:
        if run.state != "open":
            return run.state == "ended"
        _note_node(run, record)
        line = _line(run, when, record)
        size = self._bytes + len(line)
        fits = self._records < self._most_records and size <= self._most_bytes
        if not fits and not isinstance(record, RunEnded):
            run.state = "cut"
            line = _line(run, when, RunEnded(outcome="incomplete", code=OVERFLOW))
            if not run.cursor:
                return False  # Nothing of it was delivered, so nothing has to end.
        elif isinstance(record, RunEnded):
            run.state = "ended"
        if not run.cursor:
            self._runs.append(run)
        run.cursor += 1
        run.lines.append((run.cursor, line))
        self._count(1, len(line))
        self._changed.notify()
        return run.state != "cut"

    def end_open(self, ended: RunEnded) -> None:
        """End all runs that have no end: their process stops."""
        for run in list(self._runs):
            self.put(run, time.time(), ended)

    def take(self, seconds: float) -> Delivery | None:
        """Return what to deliver next; None if there was nothing for so long."""
        with self._changed:
            delivery = self._next()
            if delivery is None and seconds > 0:
                self._changed.wait(seconds)
                delivery = self._next()
        return delivery

    def _next(self) -> Delivery | None:
        late = time.monotonic() - HEARTBEAT
        for _ in range(len(self._runs)):
            run = self._runs[0]
            self._runs.rotate(-1)
            if run.lines:
                return run, _batch(run)
            if run.sent < late:
                return run, ()
        return None

    def delivered(self, run: OutboundRun, cursor: int) -> None:
        """Forget a run's records up to a cursor."""
        with self._changed:
            run.sent = time.monotonic()
            while run.lines and run.lines[0][0] <= cursor:
                self._count(-1, -len(run.lines.popleft()[1]))
            if not run.lines and run.state in ("ended", "cut"):
                self._runs.remove(run)

    def cut(self, run: OutboundRun) -> bool:
        """Put an end in the place of what a run has not delivered; return whether that helps."""
        with self._changed:
            if run.state == "cut" or not run.lines or run.lines[0][0] == 1:
                return False
            run.cursor = run.lines[0][0] - 1
            self._clear(run)
            run.state = "cut"
            line = _line(run, time.time(), RunEnded(outcome="incomplete", code=OVERFLOW))
            run.cursor += 1
            run.lines.append((run.cursor, line))
            self._count(1, len(line))
        return True

    def refuse(self, run: OutboundRun) -> None:
        """Forget a run that nobody takes."""
        with self._changed:
            run.state = "refused"
            self._clear(run)
            self._runs.remove(run)

    def _clear(self, run: OutboundRun) -> None:
        self._count(-len(run.lines), -sum(len(line) for _, line in run.lines))
        run.lines.clear()

    @property
    def waiting(self) -> int:
        """How many records are not delivered."""
        return self._records

    def wake(self) -> None:
        """Let `take` return."""
        with self._changed:
            self._changed.notify_all()

    def _count(self, records: int, size: int) -> None:
        self._records += records
        self._bytes += size


def _line(run: OutboundRun, when: float, record: Record) -> bytes:
    (line,) = write_run([Entry(run.cursor + 1, when, record)])
    return line


def _note_node(run: OutboundRun, record: Record) -> None:
    if isinstance(record, NodeStarted):
        run.nodes[record.node] = None
    elif isinstance(record, NodeEnded):
        run.nodes.pop(record.node, None)


def _batch(run: OutboundRun) -> list[bytes]:
    batch: list[bytes] = []
    size = 0
    for _, line in run.lines:
        size += len(line)
        if batch and (size > BATCH_BYTES or len(batch) >= BATCH_RECORDS):
            break
        batch.append(line)
    return batch


# ---------------------------------------------------------------------------

TIMEOUT = 15.0
"""Seconds for one delivery: only the thread of the recorder waits."""

_PROBLEM = "x-prism-problem"
_FINAL = frozenset({400, 404, 409, 410, 413, 415, 422})
"""Statuses with which an adk-prism server refuses a run for good. From anything else, such as a proxy in
front of it, they mean that the server is not there now."""


class Unavailable(Exception):
    """Nothing can be delivered now; try again later."""

    def __init__(self, reason: str, again: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        """Seconds to wait at least, if the server says so."""


class Refused(Exception):
    """This run is not taken."""


class TooLong(Refused):
    """The run is not taken any further."""


class _Stored(Struct):
    cursor: int


class PrismServer:
    """An adk-prism server: `POST /api/record`."""

    def __init__(self, url: str, token: str = "") -> None:
        """Raise `ValueError`, with text for the log, for a URL that cannot be used."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the URL must begin with http:// or https://")
        if parts.username or parts.password:
            raise ValueError("the URL holds a password; use the token instead")
        if not token.isascii() or not token.isprintable():
            raise ValueError("the token must be ASCII text")
        self.title = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        self._token = token
        self._is_near = parts.hostname in ("127.0.0.1", "::1", "localhost")
        self._http: httpx.Client | None = None

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        """Send a piece of a run."""
        headers = {"content-type": "application/x-ndjson", "x-prism-recorder": run.secret}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            answer = self._client().post(
                f"{self.title}/api/record", content=b"".join(lines), headers=headers
            )
            if answer.status_code == httpx.codes.OK:
                return msgspec.json.decode(answer.content, type=_Stored).cursor
        except (httpx.HTTPError, msgspec.MsgspecError, ValueError) as error:
            raise Unavailable(f"no answer ({type(error).__name__})") from error
        if answer.status_code in _FINAL and _PROBLEM in answer.headers:
            is_long = answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
            refusal = TooLong if is_long else Refused
            raise refusal(f"{answer.status_code} {answer.headers[_PROBLEM][:60]}")
        again = answer.headers.get("retry-after", "")
        raise Unavailable(f"status {answer.status_code}", float(again) if again.isdigit() else 0.0)

    def _client(self) -> httpx.Client:
        """Return the connection; made late, as it takes a while to load certificates."""
        if self._http is None:
            # A proxy of the environment is for other machines.
            self._http = httpx.Client(timeout=TIMEOUT, trust_env=not self._is_near)
        return self._http

    def close(self) -> None:
        """Disconnect."""
        if self._http is not None:
            self._http.close()
            self._http = None


class RecordingFolder:
    """A folder: each run becomes a recording, `RUN.jsonl`, which only this user can read."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).expanduser().absolute()
        self.title = str(self._folder)

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        """Append to the run's file."""
        if not lines:
            return 0  # A file needs no sign of life.
        try:
            make_folder(self._folder)
            _append(self._folder / f"{run.run}.jsonl", b"".join(lines))
        except OSError as error:
            raise Unavailable(error.strerror or type(error).__name__) from error
        return run.lines[0][0] + len(lines) - 1

    def close(self) -> None:
        """Do nothing: no file is open between two deliveries."""


def _append(path: Path, data: bytes) -> None:
    """Append to a file, all or nothing: a disk may be full in the middle of a line."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE), "ab", 0) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.write(data) != len(data):
                raise OSError("the disk is full")
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise


Destination = PrismServer | RecordingFolder
"""Takes lines of recordings, in one thread only; raises `Unavailable` or `Refused`."""

PAUSES = (0.5, 10.0)
"""Seconds between two attempts, the first and the longest: well below what a server waits for a recorder."""

BETWEEN = 0.05
"""Seconds between two deliveries: as many records as come meanwhile share a request."""

LOOK = 1.0
"""Seconds after which the thread looks for runs that ended without a word."""

LAST = 3.0
"""Seconds that the end of a process waits for what is not delivered."""

STOPPED = "server_stopped"
"""Code of runs that did not end before their process."""

logger = logging.getLogger("adk_prism.recorder")


class Sender:
    """Delivers what is in an outbox; the thread begins with the first run."""

    def __init__(self, outbox: Outbox, destination: Destination) -> None:
        self._outbox = outbox
        self._destination = destination
        self.vanished: deque[OutboundRun] = deque()
        """Runs whose context is gone and that nobody ended. Written by finalizers, which may take no lock."""
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._pause = 0.0
        self._has_refused = False

    def start(self) -> None:
        """Begin to deliver. Repeating it changes nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="adk-prism recorder", daemon=True
            )
            self._thread.start()
            atexit.register(self.close)

    def flush(self, seconds: float) -> bool:
        """Wait until all is delivered, at most so long; return whether it is."""
        until = time.monotonic() + seconds
        while self._outbox.waiting and not self._pause and time.monotonic() < until:
            time.sleep(BETWEEN)
        return not self._outbox.waiting

    def close(self) -> None:
        """Try for a short time to deliver what is left, and stop."""
        atexit.unregister(self.close)
        self._outbox.end_open(RunEnded(outcome="failed", code=STOPPED))
        self._closing.set()
        self._outbox.wake()
        if self._thread is not None:
            self._thread.join(LAST)
        if self._outbox.waiting:
            logger.warning(
                "adk-prism recorder: %d records were not delivered to %s.",
                self._outbox.waiting,
                self._destination.title,
            )

    def _run(self) -> None:
        while True:
            self._end_vanished()
            is_last = self._closing.is_set()
            delivery = self._outbox.take(0 if is_last else LOOK)
            if delivery is not None:
                self._deliver(delivery)
            if is_last and (delivery is None or self._pause or not self._outbox.waiting):
                break
            self._closing.wait(self._pause or (BETWEEN if delivery else 0))
        self._destination.close()

    def _end_vanished(self) -> None:
        while self.vanished:
            self._outbox.put(self.vanished.popleft(), time.time(), RunEnded(outcome="cancelled"))

    def _deliver(self, delivery: Delivery) -> None:
        run, lines = delivery
        try:
            self._outbox.delivered(run, self._destination.deliver(run, lines))
        except Refused as error:
            if not (isinstance(error, TooLong) and self._outbox.cut(run)):
                self._outbox.refuse(run)
            if not self._has_refused:
                self._has_refused = True
                logger.warning("adk-prism recorder: a run is not taken (%s).", error)
        except Unavailable as error:
            self._wait(error)
        except Exception as error:  # Nothing may end the thread; the next attempt may succeed.
            self._wait(Unavailable(type(error).__name__))
        else:
            if self._pause:
                logger.info("adk-prism recorder: %s is back.", self._destination.title)
            self._pause = 0.0

    def _wait(self, error: Unavailable) -> None:
        if not self._pause:
            logger.warning(
                "adk-prism recorder: %s does not take records now (%s). They are kept, and sent later.",
                self._destination.title,
                error,
            )
        first, longest = PAUSES
        self._pause = min(longest, max(first, 2 * self._pause, error.again))
