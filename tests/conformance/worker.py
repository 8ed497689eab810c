"""A Node worker that answers JSON lines, kept for a whole test session.

The JavaScript half is `tests/node/worker.mjs`. Requests may come from several threads; replies are
matched by id. A worker that crashes or falls silent fails the test that asked, with its stderr.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.patience import PATIENCE

REPLY_SECONDS = 2 * PATIENCE
"""More than the limit of a script, which says on what it waited."""


class WorkerError(AssertionError):
    """The worker gave no usable reply: the harness is at fault, not the stream under test."""


class Worker:
    """One Node process; `ask` sends a request and waits for its reply."""

    def __init__(self, process: subprocess.Popen[str], stderr: IO[str]) -> None:
        self._process = process
        self._stderr = stderr
        self._ids = count(1)
        self._replies: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to `request`, without its id."""
        future: Future[dict[str, Any]] = Future()
        assert self._process.stdin is not None
        with self._lock:
            request_id = next(self._ids)
            self._replies[request_id] = future
            try:
                self._process.stdin.write(json.dumps({**request, "id": request_id}) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                raise WorkerError(f"the worker has ended\n{self._errors()}") from None
        try:
            reply = future.result(REPLY_SECONDS)
        except TimeoutError:
            raise WorkerError(f"no reply in {REPLY_SECONDS} s\n{self._errors()}") from None
        if "crash" in reply:
            raise WorkerError(reply["crash"])
        return reply

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reply = json.loads(line)
            with self._lock:
                future = self._replies.pop(reply.pop("id"))
            future.set_result(reply)
        with self._lock:
            for future in self._replies.values():
                future.set_result({"crash": f"the worker ended\n{self._errors()}"})
            self._replies.clear()

    def _errors(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()

    def close(self) -> None:
        """End the process and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()


@contextmanager
def running(binary: Path, script: Path) -> Iterator[Worker]:
    """Start `script` as a worker and end it afterwards."""
    with TemporaryFile("w+", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [binary, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
        )
        worker = Worker(process, stderr)
        try:
            yield worker
        finally:
            worker.close()
