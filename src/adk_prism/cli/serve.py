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
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from adk_prism.cli import fail, words
from adk_prism.cli.adk_options import add_adk_options
from adk_prism.cli.serve_loop import run_server
from adk_prism.cli.server_output import keep_printing
from adk_prism.cli.setting_groups import GROUPS
from adk_prism.cli.terminal import progress
from adk_prism.diagnostics import Diagnostic, Report
from adk_prism.errors import PrismError
from adk_prism.runlog.forked_child import close_port_in_children
from adk_prism.server.settings import Settings, options
from adk_prism.server.settings.option_kinds import Option, flag_name, variable_name
from adk_prism.server.settings.sources import read_settings
from adk_prism.version import adk_notice

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 2048
"""Length of the listen queue: uvicorn's default."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the settings, and what else `adk web` takes."""
    parser.usage = words.SERVE_USAGE
    parser.epilog = words.SERVE_EPILOG
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
    with progress(words.STARTING), _without_garbage_collection():
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
    from adk_prism.server.configured_secrets import secrets_of
    from adk_prism.server.observability.diagnostics_sink import route_logging, sink
    from adk_prism.server.observability.observability import open_observability

    report, secrets = sink(settings.log_format), secrets_of(settings)
    route_logging(secrets.redacting(report), settings.log_level)
    observability = open_observability(settings, secrets, report, listens=True)
    return build_app(settings.agents_dir, settings, observability), observability.report


async def _serve(app: FastAPI, listeners: Sequence[socket.socket], announces: bool) -> None:
    from adk_prism.server.uvicorn_server import serve
    from adk_prism.source.tool_work import NotingExecutor

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
        return words.ADDRESS_IN_USE.format(address=address)
    return words.CANNOT_LISTEN.format(address=address, why=error.strerror or error)


def _announce(listener: socket.socket, apps: list[str], advice: str) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    names = ", ".join(apps) or words.NO_APPS
    print(words.SERVING.format(host=shown, port=port, apps=names), file=sys.stderr, flush=True)
    if advice:
        print(advice, file=sys.stderr, flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop if it is installed; it does not support Windows."""
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory


# ---------------------------------------------------------------------- options


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add all settings to a parser, under the headings of their groups."""
    known = options()
    for name, option in known.items():
        if option.positional:
            _add(parser.add_argument, name, option)
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names:
            _add(group.add_argument, name, known[name])


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings; the command line overrides the environment and pyproject.toml.

    Raise `UsageError` as `read_settings` does.
    """
    typed = {name: getattr(args, name, None) for name in options()}
    given = {name: value for name, value in typed.items() if value is not None}
    if getattr(args, "verbose", False):
        given.setdefault("log_level", "debug")
    return read_settings(given, os.environ, Path.cwd())


def _add(add: Callable[..., argparse.Action], name: str, option: Option) -> None:
    # The default is None, so that an option that was not given can be recognised.
    text = f"{option.help}{_default(name, option)} [{variable_name(name)}]".replace("%", "%%")
    kind = option.kind
    names = [flag_name(name), option.adk] if option.adk else [flag_name(name)]
    if option.positional:
        add(name, nargs="?", metavar=name.upper(), help=text)
    elif kind.negatable:
        add(*names, action=argparse.BooleanOptionalAction, help=text)
    elif kind.flag:
        add(*names, action="store_true", default=None, help=text)
    elif kind.many:
        add(*names, action="append", metavar=kind.metavar, help=text)
    else:
        add(*names, metavar=kind.metavar, help=text)


def _default(name: str, option: Option) -> str:
    value = Settings.__dataclass_fields__[name].default
    return words.DEFAULT.format(value=option.kind.show(value)) if value else ""
