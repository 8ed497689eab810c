"""Replicas as processes, over one Redis and one store of sessions: started, killed, paused.

Or a single process with its log in a file, which is killed and started again.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import PATIENCE
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer

_READY = re.compile(r"adk-prism on (http://\S+) ")
_HIDDEN = re.compile(r"ADK_PRISM_|GOOGLE_|GEMINI_|.*_API_KEY$")
_ENDS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT}
_CLOCK = Path(__file__).parent / "clock"


@dataclass
class Replica:
    """One server process."""

    process: subprocess.Popen[str]
    clock: Path
    """Holds by how many seconds its time of day is wrong."""
    url: str = ""
    lines: list[str] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)
    said: threading.Condition = field(default_factory=threading.Condition)
    reader: threading.Thread | None = None
    is_ended: bool = False
    """Whether it was told to end."""

    def read(self) -> None:
        """Read what it says, until it ends."""
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                found = _READY.search(line)
                if found:
                    self.url = found[1]
                    self.ready.set()
                else:
                    with self.said:
                        self.lines.append(line.rstrip())
                        self.said.notify_all()
        self.ready.set()

    def says(self, words: str, patience: float) -> bool:
        """Wait until it tells its operator something; tell whether it has."""
        with self.said:
            return self.said.wait_for(
                lambda: any(words in line for line in self.lines), timeout=patience
            )

    def signal(self, name: signal.Signals) -> None:
        self.is_ended |= name in _ENDS
        self.process.send_signal(name)


class Replicas:
    """Some replicas of the bundled apps, or of those in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        lease: float,
        postgres: bool = False,
        delay: str = "0.01",
        agents: Path | None = None,
        words: Sequence[str] = (),
        in_file: bool = False,
        after: str = "0",
    ) -> None:
        """With `postgres` the sessions are in PostgreSQL, else in a file of SQLite; `in_file`: the log too.

        `after` is how many seconds the agents in a folder take between their answer and their end.
        """
        self.folder = folder
        self.redis: RedisServer | None = None
        self.log = folder / "log" / "runs.db"
        if not in_file:
            data = folder / "redis"
            data.mkdir()
            self.redis = RedisServer(data)
        self.postgres = PostgresServer() if postgres else None
        sessions = self.postgres.uri if self.postgres else f"sqlite:///{folder / 'sessions.db'}"
        self._words = [
            *([str(agents)] if agents else []),
            *("--log", self.redis.url if self.redis else f"sqlite:///{self.log}"),
            *("--lease", f"{lease}s"),
            *("--sessions", sessions),
            *("--chat-busy", "wait"),
            *words,
        ]
        self._delay = delay
        self._after = after
        self.all: list[Replica] = []

    def start(self, count: int = 1, *, delay: str = "") -> list[Replica]:
        """Start some, and wait until they answer; with `delay`, their model has a pace of its own."""
        begun = [self._begin(delay or self._delay) for _ in range(count)]
        for each in begun:
            each.ready.wait(PATIENCE)
            assert each.url, "\n".join(each.lines)
        return begun

    def pause(self, replica: Replica) -> None:
        """Stop a process at a moment at which it holds no lock on the file of sessions.

        With the lock held nobody else could go on, which is SQLite's to answer for and not the replicas'.
        """
        replica.signal(signal.SIGSTOP)
        while not self._is_free():
            replica.signal(signal.SIGCONT)
            time.sleep(0.01)
            replica.signal(signal.SIGSTOP)

    def _is_free(self) -> bool:
        if self.postgres is not None:
            return True
        sessions = sqlite3.connect(self.folder / "sessions.db", timeout=1, isolation_level=None)
        with closing(sessions):
            try:
                sessions.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            sessions.execute("ROLLBACK")
            return True

    def _begin(self, delay: str) -> Replica:
        kept = {k: v for k, v in os.environ.items() if not _HIDDEN.match(k)}
        clock = self.folder / f"clock-{len(self.all)}"
        clock.write_text("0")
        own = {
            "ADK_PRISM_MODEL": "offline",
            "ADK_PRISM_OFFLINE_DELAY": delay,
            "PRISM_TEST_CLOCK": str(clock),
            "PRISM_TEST_FOLDER": str(self.folder),
            "PRISM_TEST_AFTER": self._after,
            "PYTHONPATH": str(_CLOCK),
        }
        command = [sys.executable, "-m", "adk_prism.cli", "serve", "--port", "0", *self._words]
        process = subprocess.Popen(
            command, cwd=self.folder, env=kept | own, stderr=subprocess.PIPE, text=True
        )
        replica = Replica(process, clock)
        replica.reader = threading.Thread(target=replica.read, daemon=True)
        replica.reader.start()
        self.all.append(replica)
        return replica

    def alive(self) -> list[Replica]:
        """Return those that run, and were not told to end: one that ends answers nobody new."""
        running = (each for each in self.all if each.process.poll() is None)
        return [each for each in running if each.url and not each.is_ended]

    def lost(self) -> list[int]:
        """Return the processes that nobody told to end, and that have ended."""
        return [e.process.pid for e in self.all if not e.is_ended and e.process.poll() is not None]

    def close(self) -> None:
        """End everything."""
        for each in self.all:
            if each.process.poll() is None:
                each.process.kill()
            each.process.wait()
            if each.reader is not None:
                each.reader.join()
        if self.redis is not None and self.redis.process.poll() is None:
            self.redis.kill()
        if self.postgres is not None:
            self.postgres.close()
