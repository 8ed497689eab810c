"""What a recorder has not delivered yet: a queue for each run, all of them bounded together.

Agents put records in, from their event loops, and never wait; one thread takes them out. If there is no room
for a record, its run is cut: an end that says *incomplete* takes the place of the record and of all after it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Literal

from adk_prism.runlog.entry import Entry, NodeEnded, NodeStarted, Record, RunEnded
from adk_prism.runlog.recorder_run_id import recorded_run
from adk_prism.source.recording_file import write_run

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
