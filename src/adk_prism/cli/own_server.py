"""A server of one's own, in a thread of this process, for a command that is a client of it.

A thread, so that a tool that blocks does not stop the panel; a loopback port, so that there is one way to
talk to a server and not two. Nothing is kept unless a session is named: then in the files that `serve`
uses by default.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from adk_prism.cli.run import Teller
from adk_prism.errors import LogError
from adk_prism.server.setting_sources import read_settings
from adk_prism.server.settings import Settings

LAST_SECONDS = 2
"""How long connections and runs may take to end when the panel has closed."""


@contextmanager
def serving(agents_dir: str, *, kept: bool, tell: Callable[[str], object]) -> Iterator[str]:
    """Serve until the block ends; yield the address. Raise `PrismError` for what cannot be served."""
    # Importing ADK takes seconds; what was typed is checked before that.
    from adk_prism.server.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = (
            Settings(data_dir=read_settings({"insecure": True}, os.environ, Path.cwd()).data_dir)
            if kept
            else Settings(log="memory:", sessions="memory://", artifacts="memory://")
        )
        app = create_app(agents_dir or None, settings, report=Teller(tell))
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                http="httptools",
                timeout_graceful_shutdown=LAST_SECONDS,
            )
        )
        thread = threading.Thread(target=server.run, args=([listener],), name="own server")
        thread.start()
        try:
            server.settled.wait()
            if not server.started:
                raise LogError("the server of the panel did not start.")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that tells when it has started, or will not."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        try:
            await super().startup(sockets)
        finally:
            self.settled.set()
