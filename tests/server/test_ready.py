"""`/ready` while a store is stopped or full: 503 within the period of a probe, 200 when it is back."""

from __future__ import annotations

import resource
import signal
import time
from pathlib import Path

import httpx
import pytest
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.server.test_process import asked, make_sessions, serving

from adk_prism.errors import LogError
from adk_prism.log.sqlite import store
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.server import routes as ready

PERIOD = 10.0
"""Seconds between two of Kubernetes' probes, if nobody says otherwise."""


def status(url: str) -> int:
    return httpx.get(f"{url}/ready", timeout=PATIENCE).status_code


def becomes(url: str, wanted: int) -> None:
    until = time.monotonic() + PATIENCE
    while status(url) != wanted:
        assert time.monotonic() < until, f"/ready does not become {wanted}"
        time.sleep(0.2)  # between two probes


def test_a_redis_that_is_stopped(redis: RedisServer, tmp_path: Path) -> None:
    """It takes connections and says nothing: the answer does not wait for it."""
    assert ready.BOUND + ready.KEPT < PERIOD
    with serving(tmp_path, "--log", redis.url) as served:
        assert status(served.url) == 200
        redis.process.send_signal(signal.SIGSTOP)
        try:
            becomes(served.url, 503)
            began = time.monotonic()
            assert httpx.get(f"{served.url}/health", timeout=PATIENCE).status_code == 200
            assert status(served.url) == 503
            assert time.monotonic() - began < PERIOD
        finally:
            redis.process.send_signal(signal.SIGCONT)
        becomes(served.url, 200)


def test_a_file_that_cannot_grow(tmp_path: Path) -> None:
    """The system refuses to write beyond a size, as a quota or a full disk would."""
    (tmp_path / "go").touch()
    with serving(tmp_path) as served, httpx.Client(base_url=served.url, timeout=PATIENCE) as client:
        assert status(served.url) == 200
        make_sessions(client, "one")
        client.post("/run_sse", json=asked("one"))
        wal = tmp_path / ".adk-prism" / "runs.db-wal"
        limits = (wal.stat().st_size, resource.RLIM_INFINITY)
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, limits)
        becomes(served.url, 503)
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        becomes(served.url, 200)


async def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is asked of the system, before entries are lost."""
    log = SqliteLog(tmp_path / "runs.db")
    await log.open()
    await log.probe()
    monkeypatch.setattr(store, "LEAST_FREE", 2**62)
    with pytest.raises(LogError, match="disk"):
        await log.probe()
    await log.close()
