"""The event loop of the server process, which only the operator can end.

Agent code can call `sys.exit` in a callback or stop the loop; asyncio then leaves `run_until_complete` with
everything still scheduled. So the loop runs again until the server itself has finished. Only before the
server installs its own SIGINT handler does a `KeyboardInterrupt` come from the operator.

When the server has finished, agent code gets `LEFT_OVER` seconds: a thread cannot be stopped and a task may
ignore cancellation, but neither may keep the process alive.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from adk_prism.cli import words
from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import ServerCancelled

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
                raise ServerCancelled(words.CANCELLED_WHILE_STOPPING) from None
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
