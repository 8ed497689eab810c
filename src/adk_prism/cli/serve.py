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
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from adk_prism.cli import fail, note
from adk_prism.cli.terminal import keep_printing, progress
from adk_prism.errors import Diagnostic, PrismError, Report, ServerCancelled, UsageError, cause_of
from adk_prism.log.private_files import close_port_in_children
from adk_prism.options import Option, flag_name, variable_name
from adk_prism.server import settings as server_settings
from adk_prism.server.setting_groups import GROUPS
from adk_prism.version import OLD_SETTINGS, adk_notice

if TYPE_CHECKING:
    from fastapi import FastAPI

    from adk_prism.server.context import Context


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


# ---------------------------------------------------------------------- workers
#
# Several server processes on one listening socket, for a machine with several cores.
#
# The parent listens and forks before anything heavy is imported. Then it only supervises: it forwards
# signals, restarts workers that died, and ends when all have ended. Workers share the run log and the session
# store, so another worker resumes the runs of one that died. Windows has no fork, and uses one process.
#
# Not `uvicorn.supervisors.Multiprocess` (0.54): it starts workers without a number, restarts on SIGHUP, drops
# the second signal, kills a worker that does not answer in 5 s, and has no exit code
# (`docs/decisions/0060-kept-by-hand.md`).

SHORTEST_LIFE = 5.0
"""Seconds. A worker that dies sooner would die again, so the whole server ends."""


class Workers:
    """The worker processes of one server."""

    def __init__(self, count: int, work: Callable[[int], int]) -> None:
        """`work` is run in each worker, with its number from 0, and returns its exit code."""
        self._count = count
        self._work = work
        self._endings = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        """Signals that end the server. An ignored SIGHUP (`nohup`) stays ignored."""
        self._alive: dict[int, tuple[int, float]] = {}
        """Worker number and start time, by process id."""
        self._signals = 0
        self._code = 0

    def run(self) -> int:
        """Run until all workers have ended; return the worst of their exit codes."""
        for name in self._endings:
            if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
                signal.signal(name, self._forward)
        for number in range(self._count):
            self._start(number)
        while self._alive:
            ended, status = os.waitpid(-1, 0)
            self._note_end(ended, os.waitstatus_to_exitcode(status))
        return self._code

    def _start(self, number: int) -> None:
        worker = os.fork()
        if worker:
            self._alive[worker] = (number, time.monotonic())
            if self._signals:  # A signal arrived during the fork.
                os.kill(worker, signal.SIGTERM)
            return
        for name in self._endings:
            if signal.getsignal(name) is not signal.SIG_IGN:
                signal.signal(name, signal.SIG_DFL)
        code = 1
        try:
            code = self._work(number)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _note_end(self, worker: int, code: int) -> None:
        number, began = self._alive.pop(worker, (0, 0.0))
        if self._signals:
            self._code = self._code or max(code, 0)
            return
        if code > 0 or time.monotonic() - began < SHORTEST_LIFE:
            self._code = max(code, 1)
            self._signals += 1
            self._send_signal(signal.SIGTERM)
            return
        print(
            f"adk-prism: worker {number} died (exit code {code}); restarting it.", file=sys.stderr
        )
        self._start(number)

    def _forward(self, name: int, frame: FrameType | None) -> None:
        del frame
        self._signals += 1
        self._send_signal(name)

    def _send_signal(self, name: int) -> None:
        for worker in list(self._alive):
            with suppress(ProcessLookupError):  # It has already ended.
                os.kill(worker, name)


# ---------------------------------------------------------------------- options of adk web
#
# Options of `adk web` and `adk api_server` that are not settings: what each means, or what to use instead.
#
# Follows google-adk 2.13 `cli/cli_tools_click.py`. Options that are settings under another name are spelled
# there (`Option.adk`). With this table a command line for `adk web` works for `adk-prism serve`, or is
# refused with a line that says what to do; none is ignored in silence.

_LOGO = "the page has no logo to change; leave it out"
_REGISTER = "register the agent with `adk api_server` instead"

_TRACING = (
    "traces go to the OpenTelemetry provider of the process: run it with"
    " `opentelemetry-instrument` and an exporter for Google Cloud"
)
_TRIGGERS = (
    "triggers are not built: let Pub/Sub or Eventarc call `adk api_server --trigger_sources`"
)

REFUSED = {
    "--trace_to_cloud": _TRACING,
    "--otel_to_cloud": _TRACING,
    "--eval_storage_uri": "eval sets are files beside the agent here, and run with `adk-prism eval`",
    "--no_use_local_storage": "use --sessions memory:// and --artifacts memory://",
    "--trigger_sources": _TRIGGERS,
    "--trigger_oidc_audience": _TRIGGERS,
    "--trigger_oidc_service_accounts": _TRIGGERS,
    "--avatar_config": "video output is not built: serve it with `adk api_server --avatar_config`",
    "--logo-text": _LOGO,
    "--logo-image-url": _LOGO,
    "--gemini_enterprise_app_name": _REGISTER,
    "--express_mode": _REGISTER,
}
"""Options that are not built, and what to do instead."""


def add_adk_options(parser: argparse.ArgumentParser) -> None:
    """Add what `adk web` takes and no setting is."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="the same as --log-level debug"
    )
    parser.add_argument(
        "--with_ui",
        action="store_true",
        help="accepted as by `adk api_server`; the page is always served",
    )
    for name in REFUSED:
        parser.add_argument(name, nargs="?", const="", help=argparse.SUPPRESS)


# ---------------------------------------------------------------------- settings


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add all settings to a parser, under the headings of their groups."""
    headings: dict[str, Any] = {}
    for group in (*GROUPS, *server_settings.feature_settings().values()):
        if group.title not in headings:
            headings[group.title] = parser.add_argument_group(group.title)
        for each in fields(group):
            option = each.metadata["option"]
            place = parser if option.positional else headings[group.title]
            _add(place.add_argument, each.name, option, each.default)
    for name in server_settings.REMOVED:
        # Without a value, too: the answer is the same.
        parser.add_argument(flag_name(name), nargs="?", const="", help=argparse.SUPPRESS)
    for name, new in OLD_SETTINGS.items():
        action = "append" if server_settings.options()[new].kind.many else "store"
        parser.add_argument(flag_name(name), action=action, help=argparse.SUPPRESS)


def settings_of(args: argparse.Namespace) -> server_settings.Settings:
    """Return the settings; the command line overrides the environment and pyproject.toml.

    Raise `UsageError` as `read_settings` does.
    """
    for name in server_settings.REMOVED:
        if getattr(args, name, None) is not None:
            raise server_settings.removed_setting(name, flag_name(name))
    for flag, advice in REFUSED.items():
        if getattr(args, flag.removeprefix("--").replace("-", "_"), None) is not None:
            raise UsageError(f"{flag} of `adk web` is not supported; {advice}.")
    typed = {name: getattr(args, name, None) for name in server_settings.options()}
    given = {name: value for name, value in typed.items() if value is not None}
    for old, new in OLD_SETTINGS.items():
        if getattr(args, old, None) is not None:
            note(f"{flag_name(old)} is now called {flag_name(new)}.")
            given.setdefault(new, getattr(args, old))
    if getattr(args, "verbose", False):
        given.setdefault("log_level", "debug")
    return server_settings.read_settings(given, os.environ, Path.cwd())


def _add(add: Callable[..., argparse.Action], name: str, option: Option, default: Any) -> None:
    # The default is None, so that an option that was not given can be recognised.
    kind = option.kind
    shown = f" (default: {kind.show(default)})" if default else ""
    text = f"{option.help}{shown} [{variable_name(name)}]".replace("%", "%%")
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
        return Workers(settings.workers, lambda number: _worker(settings, listener, number)).run()


def _worker(settings: server_settings.Settings, listener: socket.socket, number: int) -> int:
    """Serve as one of several processes; return the exit code."""
    try:
        return _work(settings, listener, number)
    except PrismError as error:
        return fail(error.detail)


def _work(settings: server_settings.Settings, listener: socket.socket, number: int) -> int:
    own = settings.worker_port and settings.worker_port + number
    if not own:
        return _serve_on(settings, [listener], announces=number == 0)
    try:
        listening = _listen(settings, own)
    except OSError as error:
        return fail(_why(error, settings, own))
    with listening as second:
        return _serve_on(settings, [listener, second], announces=number == 0)


def _serve_on(
    settings: server_settings.Settings, listeners: Sequence[socket.socket], *, announces: bool
) -> int:
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


def _built(settings: server_settings.Settings) -> tuple[FastAPI, Report]:
    # Importing ADK takes seconds, so the port is checked first.
    from adk_prism.server.app import build_app
    from adk_prism.server.observability import open_observability, route_logging, secrets_of, sink

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
        _announce(listeners[0], context)
    await serve(app, context, listeners)


def _listen(settings: server_settings.Settings, port: int) -> socket.socket:
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def _why(error: OSError, settings: server_settings.Settings, port: int) -> str:
    address = f"{settings.host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{address} is already in use; stop the other server, or choose another --port."
    return f"cannot listen on {address}: {error.strerror or error}."


def _announce(listener: socket.socket, context: Context) -> None:
    from adk_prism.server.observability import sink

    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    where = f"adk-prism on {address} serving {', '.join(context.apps.names()) or 'no apps'}"
    for line in filter(None, (where, context.apps.advice())):
        if context.settings.log_format == "json":
            sink("json")(Diagnostic(kind="serving", detail=line))
        else:
            print(line, file=sys.stderr, flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop if it is installed; it does not support Windows."""
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
