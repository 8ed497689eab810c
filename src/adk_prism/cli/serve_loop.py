"""The event loop of the server's process, which only the operator ends.

Agent code can schedule a callback that exits, or stop the loop: asyncio then leaves `run_until_complete`,
with all that is scheduled still there. So the loop is run again until the server itself is done. A
`KeyboardInterrupt` is the operator's only while Python's own handler of SIGINT is in place, which is before
the server has installed its own.

When the server is done, what agent code left running gets `LEFT_OVER` seconds: a thread cannot be stopped,
and a task may ignore its cancellation, but neither keeps the process alive.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from adk_prism.diagnostics import Diagnostic, Report, cause_of

LEFT_OVER = 5.0
"""Seconds. All of ours is closed by then; what is left is agent code, and exporters of telemetry."""


def run_server(
    serve: Coroutine[Any, Any, None],
    report: Report,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run until the server is done, for a process that ends then. Raise what the server raises."""
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
    """End the process after some seconds, if it has not ended by then."""

    def end() -> None:
        kind, detail = "process ended", "Agent code that did not stop was not waited for."
        report(Diagnostic(kind=kind, detail=detail))
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
