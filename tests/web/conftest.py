"""The page in a real browser: one server for all, and Node's own test runner for each file of tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.server import Server, serving

WEB = Path(__file__).parent.parent.parent / "web"
BROWSER = Path(__file__).parent.parent / "node" / "node_modules" / ".browser"
PAGE = WEB.parent / "src" / "adk_prism" / "web" / "dist"


@pytest.fixture(scope="session")
def browser() -> Path:
    """Return the folder of the unpacked browser."""
    if not (BROWSER / "chromium").is_file():
        pytest.fail(f"{BROWSER} holds no Chromium: run `make test ARGS=tests/web`")
    return BROWSER


@pytest.fixture(scope="session")
def page() -> Path:
    """Return the folder of the built page."""
    if not (PAGE / "index.html").is_file():
        pytest.fail(f"{PAGE} holds no page: run `make test ARGS=tests/web`")
    return PAGE


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the bundled apps, as `make serve` does."""
    with serving(tmp_path_factory.mktemp("served"), agents=None) as found:
        yield found


@pytest.fixture(scope="session")
def asking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the bundled apps to those who are known: by a token, or by what a proxy says."""
    folder = tmp_path_factory.mktemp("asking")
    tokens = {"token-of-ann": "ann", "token-of-bob": "bob"}
    (folder / "tokens.json").write_text(json.dumps(tokens))
    words = ("--tokens", "tokens.json", "--proxy-user-header", "x-user", "--log", "memory:")
    with serving(folder, *words, agents=None) as found:
        yield found


@pytest.fixture(scope="session")
def talking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve an app that can be talked to, and one that cannot."""
    agents = Path(__file__).parent / "talking"
    with serving(tmp_path_factory.mktemp("talking"), "--log", "memory:", agents=agents) as found:
        yield found


@pytest.fixture(scope="session")
def odd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve odd apps, as behind a proxy that takes a prefix off."""
    agents = Path(__file__).parent / "agents"
    words = ("--root-path", "/prism", "--log", "memory:", "--sessions", "memory://")
    with serving(tmp_path_factory.mktemp("odd"), *words, agents=agents) as found:
        yield found
