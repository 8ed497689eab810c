"""One server for all, and the panel as a terminal that tests type on and read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.console.terminal import Terminal
from tests.end_to_end.server import Server, serving

from adk_prism.console.place import Place
from adk_prism.console.screen import Console

AGENTS = Path(__file__).parent / "agents"

Opens = Callable[..., AbstractAsyncContextManager[Terminal]]


@pytest.fixture(scope="session")
def console_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the tour and an app that keeps a grounding."""
    with serving(tmp_path_factory.mktemp("console"), agents=AGENTS) as server:
        yield server


@pytest.fixture
def terminal(console_server: Server, request: pytest.FixtureRequest) -> Opens:
    """`terminal(app, width, height, session) -> async with` a panel in a session of its own."""

    @asynccontextmanager
    async def open_one(
        app: str = "tour", width: int = 100, height: int = 40, session: str = "", url: str = ""
    ) -> AsyncIterator[Terminal]:
        place = Place(app, session or f"s-{abs(hash(request.node.nodeid)):x}-{width}")
        console = Console(url or console_server.url, place)
        async with console.run_test(size=(width, height)) as pilot:
            found = Terminal(console, pilot)
            await found.until_open()
            yield found

    return open_one
