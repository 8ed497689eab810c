"""Runs a server in a thread of this process, for a command that is its client.

It runs in a thread so that a blocking tool does not freeze the console, and on a loopback port so that there
is only one way to talk to a server.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from adk_prism.cli.run import DiagnosticPrinter
from adk_prism.errors import LogError
from adk_prism.server.settings import Settings, read_settings

LAST_SECONDS = 2
"""Seconds for connections and runs to end after the command is done."""


def own_settings(*, kept: bool) -> Settings:
    """Return the settings of a server that stores nothing, or in the data folder of `serve`."""
    if not kept:
        return Settings(log="memory:", sessions="memory://", artifacts="memory://")
    return Settings(data_dir=read_settings({"insecure": True}, os.environ, Path.cwd()).data_dir)


@contextmanager
def serving(agents_dir: str, settings: Settings, say: Callable[[str], object]) -> Iterator[str]:
    """Serve until the block ends; yield the URL. Raise `PrismError` if the server cannot start."""
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.server.app import create_app

    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(agents_dir or None, settings, report=DiagnosticPrinter(say))
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
                raise LogError("the command's own server did not start; see the messages above.")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that signals when its startup has finished, successfully or not."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then signal it."""
        try:
            await super().startup(sockets)
        finally:
            self.settled.set()
