"""A Redis for the replicas of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redis_server import RedisServer


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    yield server
    server.kill()
