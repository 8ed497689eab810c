"""Several server processes on one listening socket, for a machine with several cores.

The parent listens and forks before anything heavy is imported. Then it only supervises: it forwards signals,
restarts workers that died, and ends when all have ended. Workers share the run log and the session store, so
another worker resumes the runs of one that died.

Not `uvicorn.supervisors.Multiprocess` (0.54): it starts workers without a number, restarts on SIGHUP, drops
the second signal, kills a worker that does not answer in 5 s, and has no exit code
(`docs/decisions/0060-kept-by-hand.md`).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end the server. An ignored SIGHUP (`nohup`) stays ignored."""

SHORTEST_LIFE = 5.0
"""Seconds. A worker that dies sooner would die again, so the whole server ends."""


class Workers:
    """The worker processes of one server."""

    def __init__(self, count: int, work: Callable[[int], int]) -> None:
        """`work` is run in each worker, with its number from 0, and returns its exit code."""
        self._count = count
        self._work = work
        self._alive: dict[int, tuple[int, float]] = {}
        """Worker number and start time, by process id."""
        self._signals = 0
        self._code = 0

    def run(self) -> int:
        """Run until all workers have ended; return the worst of their exit codes."""
        for name in SIGNALS:
            if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
                signal.signal(name, self._forward)
        for number in range(self._count):
            self._start(number)
        while self._alive:
            ended, status = os.waitpid(-1, 0)
            self._note_end(ended, os.waitstatus_to_exitcode(status))
        return self._code

    def _start(self, number: int) -> None:
        worker = os.fork()
        if worker:
            self._alive[worker] = (number, time.monotonic())
            if self._signals:  # A signal arrived during the fork.
                os.kill(worker, signal.SIGTERM)
            return
        for name in SIGNALS:
            if signal.getsignal(name) is not signal.SIG_IGN:
                signal.signal(name, signal.SIG_DFL)
        code = 1
        try:
            code = self._work(number)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _note_end(self, worker: int, code: int) -> None:
        number, began = self._alive.pop(worker, (0, 0.0))
        if self._signals:
            self._code = self._code or max(code, 0)
            return
        if code > 0 or time.monotonic() - began < SHORTEST_LIFE:
            self._code = max(code, 1)
            self._signals += 1
            self._send_signal(signal.SIGTERM)
            return
        print(
            f"adk-prism: worker {number} died (exit code {code}); restarting it.", file=sys.stderr
        )
        self._start(number)

    def _forward(self, name: int, frame: FrameType | None) -> None:
        del frame
        self._signals += 1
        self._send_signal(name)

    def _send_signal(self, name: int) -> None:
        for worker in list(self._alive):
            with suppress(ProcessLookupError):  # It has already ended.
                os.kill(worker, name)
