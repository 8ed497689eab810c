"""`adk-prism serve`: runs the server until a signal stops it.

Everything that can fail at startup is tried before the first request is accepted, and reported in one line.
`server.uvicorn_server` decides how the server ends.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adk_prism.cli import fail
from adk_prism.cli.serve_options import add_adk_options, add_settings, settings_of
from adk_prism.cli.terminal import keep_printing, progress
from adk_prism.errors import Diagnostic, PrismError, Report, ServerCancelled, cause_of
from adk_prism.log.private_files import close_port_in_children
from adk_prism.server.settings import Settings
from adk_prism.version import adk_notice

if TYPE_CHECKING:
    from fastapi import FastAPI


# ---------------------------------------------------------------------- the event loop
#
# The event loop of the server process, which only the operator can end.
#
# Agent code can call `sys.exit` in a callback or stop the loop; asyncio then leaves `run_until_complete` with
# everything still scheduled. So the loop runs again until the server itself has finished. Only before the
# server installs its own SIGINT handler does a `KeyboardInterrupt` come from the operator.
#
# When the server has finished, agent code gets `LEFT_OVER` seconds: a thread cannot be stopped and a task may
# ignore cancellation, but neither may keep the process alive.

LEFT_OVER = 5.0
"""Seconds for agent code and telemetry exporters; everything else is closed by then."""


def run_server(
    serve: Coroutine[Any, Any, None],
    report: Report,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run until the server has finished. Raise what it raises, or `ServerCancelled`."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        loop = runner.get_loop()
        task = loop.create_task(serve, name="adk-prism server")
        try:
            _run_to_end(loop, task, report)
        finally:
            _end_within(LEFT_OVER, report)


def _run_to_end(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None], report: Report) -> None:
    while not task.done():
        try:
            loop.run_until_complete(task)
        except BaseException as error:
            if task.cancelled():
                raise ServerCancelled(
                    "Agent code cancelled the server while it was stopping. Start it again."
                ) from None
            if task.done() or (isinstance(error, KeyboardInterrupt) and _is_operators()):
                raise
            report(
                Diagnostic(
                    kind="exit refused",
                    detail=f"Agent code tried to end the process ({type(error).__name__}).",
                    cause=cause_of(error),
                )
            )
    task.result()


def _is_operators() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _end_within(seconds: float, report: Report) -> None:
    """End the process after some seconds if it is still running."""

    def end() -> None:
        report(
            Diagnostic(
                kind="process ended",
                detail="Agent code did not stop in time, so the process was ended.",
            )
        )
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


# ---------------------------------------------------------------------- the command

BACKLOG = 2048
"""Length of the listen queue: uvicorn's default."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the settings, and what else `adk web` takes."""
    parser.usage = "adk-prism serve [AGENTS_DIR] [OPTIONS]"
    parser.epilog = (
        "Every option can also be set with the environment variable in brackets, or in [tool.adk-prism] of"
        " pyproject.toml. Options of `adk web` are accepted in its spelling."
    )
    add_settings(parser)
    add_adk_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Serve until a signal arrives. Raise `PrismError` if the server cannot start."""
    keep_printing("stdout")
    settings = settings_of(args)
    try:
        listening = _listen(settings, settings.port)
    except OSError as error:
        return fail(_why(error, settings, settings.port))
    with listening as listener:
        if settings.workers == 1:
            return _work(settings, listener, 0)
        # Imported here because Windows has no fork and uses one process.
        from adk_prism.cli.workers import Workers

        return Workers(settings.workers, lambda number: _worker(settings, listener, number)).run()


def _worker(settings: Settings, listener: socket.socket, number: int) -> int:
    """Serve as one of several processes; return the exit code."""
    try:
        return _work(settings, listener, number)
    except PrismError as error:
        return fail(error.detail)


def _work(settings: Settings, listener: socket.socket, number: int) -> int:
    own = settings.worker_port and settings.worker_port + number
    if not own:
        return _serve_on(settings, [listener], announces=number == 0)
    try:
        listening = _listen(settings, own)
    except OSError as error:
        return fail(_why(error, settings, own))
    with listening as second:
        return _serve_on(settings, [listener, second], announces=number == 0)


def _serve_on(settings: Settings, listeners: Sequence[socket.socket], *, announces: bool) -> int:
    for listener in listeners:
        close_port_in_children(listener.getsockname()[1])
    with progress("Starting the server…"), _without_garbage_collection():
        app, report = _built(settings)
    if announces and (notice := adk_notice()):
        report(Diagnostic(kind="google-adk is newer than tested", detail=notice))
    run_server(_serve(app, listeners, announces), report, _loop_factory())
    return 0


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keep what is loaded meanwhile out of every garbage collection.

    Nearly all of it stays; looking through it again and again takes a sixth of the start.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def _built(settings: Settings) -> tuple[FastAPI, Report]:
    # Importing ADK takes seconds, so the port is checked first.
    from adk_prism.server.app import build_app
    from adk_prism.server.data_folder import secrets_of
    from adk_prism.server.observability.observability import open_observability, route_logging, sink

    report, secrets = sink(settings.log_format), secrets_of(settings)
    route_logging(secrets.redacting(report), settings.log_level)
    observability = open_observability(settings, secrets, report, listens=True)
    return build_app(settings.agents_dir, settings, observability), observability.report


async def _serve(app: FastAPI, listeners: Sequence[socket.socket], announces: bool) -> None:
    from adk_prism.adk.tools import NotingExecutor
    from adk_prism.server.uvicorn_server import serve

    context = app.state.context
    # This executor reports tools that wait for a thread.
    asyncio.get_running_loop().set_default_executor(NotingExecutor(thread_name_prefix="asyncio"))
    # Started here, because uvicorn reports a failed start with a stack trace.
    await context.lifecycle.start()
    # Loaded modules, above all ADK, stay in memory. Freezing excludes them from garbage collection, which
    # otherwise paused every stream for 150 ms, three times in ten runs of 2,000 deltas; now it takes 10 ms.
    gc.freeze()
    if announces:
        _announce(listeners[0], context.apps.names(), context.apps.advice())
    await serve(app, context, listeners)


def _listen(settings: Settings, port: int) -> socket.socket:
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def _why(error: OSError, settings: Settings, port: int) -> str:
    address = f"{settings.host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{address} is already in use; stop the other server, or choose another --port."
    return f"cannot listen on {address}: {error.strerror or error}."


def _announce(listener: socket.socket, apps: list[str], advice: str) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    names = ", ".join(apps) or "no apps"
    print(f"adk-prism on http://{shown}:{port} serving {names}", file=sys.stderr, flush=True)
    if advice:
        print(advice, file=sys.stderr, flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop if it is installed; it does not support Windows."""
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
