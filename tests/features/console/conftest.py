"""One server for all, and the panel as a terminal that tests type on and read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.end_to_end.server import Server, serving
from tests.features.console.terminal import Terminal

from adk_prism.features.captures.client import SessionAddress
from adk_prism.features.console.screen import Console

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
        address = SessionAddress(app, session or f"s-{abs(hash(request.node.nodeid)):x}-{width}")
        console = Console(url or console_server.url, address)
        async with console.run_test(size=(width, height)) as pilot:
            found = Terminal(console, pilot)
            await found.until_open()
            yield found

    return open_one


class _Page(BaseHTTPRequestHandler):
    """Answers everything with a page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def loopback_page() -> Iterator[str]:
    """The address of a web server that is not ours."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
