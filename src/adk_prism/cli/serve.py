"""`adk-prism serve`: the application on a port of this machine, until it is told to stop.

Decides how the process starts and ends: everything that can fail is tried before the first request
is taken and told in one line; on SIGTERM or SIGINT the server drains (health says so, new work is
refused, what runs may finish within the grace period) and then stops. A second signal stops now.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import socket
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from adk_prism.cli.options import add_settings, settings_of
from adk_prism.errors import SourceError
from adk_prism.server.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from adk_prism.server.lifecycle import Lifecycle

LAST_SECONDS = 2
"""How long a connection may take to close once everything has drained."""

BACKLOG = 2048
"""Connections that wait to be accepted: uvicorn's own default."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the settings."""
    add_settings(parser)


def execute(args: argparse.Namespace) -> int:
    """Serve until a signal comes. Raise `PrismError` for what keeps it from starting."""
    settings = settings_of(args)
    with _listening(settings) as listener:
        # ADK takes seconds to import: a port that is taken is told before that.
        from adk_prism.server.app import create_app
        from adk_prism.server.diagnostics_sink import route_logging, sink

        report = sink(settings.log_format)
        route_logging(report)
        app = create_app(settings=settings, report=report)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(app, settings, listener))
    return 0


@contextlib.contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(_why(error, settings)) from error
    with listener:
        yield listener


class CannotListen(SourceError):
    """The address cannot be listened on."""


def _why(error: OSError, settings: Settings) -> str:
    place = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return f"{place} is in use; stop what listens there, or choose another --port."
    return f"cannot listen on {place}: {error.strerror or error}."


async def _serve(app: FastAPI, settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    context = app.state.context
    # Before uvicorn, whose own way to report a failed start is a stack.
    await context.lifecycle.start()
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http="httptools",
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    server = _server_class()(config, context.lifecycle, settings.grace)
    _announce(listener, context.apps.names())
    await server.serve(sockets=[listener])


def _server_class() -> type[_DrainingServer]:
    return _DrainingServer


def _announce(listener: socket.socket, apps: list[str]) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    names = ", ".join(apps) or "no apps"
    print(f"adk-prism on http://{shown}:{port} serving {names}", file=sys.stderr, flush=True)
