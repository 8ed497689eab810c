"""The text of an exception, and its place in the app's code, for a developer on their own machine.

A pydantic error is written as a list of fields and what is wrong with each: without the input, which may
contain a secret, and without the link to pydantic's site. Python's class name comes first, because some
exceptions say nothing without it (`KeyError: 'city'`).
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context, ContextVar
from pathlib import Path
from types import CoroutineType
from typing import Any, TypeVar

from pydantic_core import ValidationError

from adk_prism.adk.app_folder import is_bundled
from adk_prism.errors import Diagnostic, Report, cause_of, new_correlation

MOST_FIELDS = 5
"""Fields of a pydantic error that are written: a wrong union gives dozens, and the first ones are enough."""

MOST_CAUSES = 8
"""Exceptions that are followed back: loaders and clients wrap an error two or three times."""

_PACKAGE = Path(__file__).parent.parent
_LIBRARIES = tuple(
    Path(path)
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *(path for path in sys.path if path.endswith(("site-packages", "dist-packages"))),
    }
    if path
)


def report_error(report: Report, kind: str, error: BaseException, detail: str = "") -> str:
    """Report an exception to the operator; return the correlation id, which is all that a client is told."""
    correlation, said = new_correlation(), message_of(error)
    cause = cause_of(error)
    report(Diagnostic(kind=kind, detail=detail, correlation=correlation, cause=cause, message=said))
    return correlation


def message_of(error: BaseException) -> str:
    """Return what an exception says, after the name of its class."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(message_of(each) for each in error.exceptions[:MOST_FIELDS])
    if isinstance(error, ValidationError):
        return _fields(error)
    text = _text(error)
    for cause in _causes(error):
        # A wrapping error usually repeats the text of its cause.
        if isinstance(cause, ValidationError) and (said := str(cause)) in text:
            text = text.replace(said, _fields(cause))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def load_failure(error: BaseException) -> str:
    """Return why a module could not be loaded, and at which line of which file, if that is known."""
    for cause in _causes(error):
        # A loader that repeats what it caught adds nothing: the app's own error is the reason.
        if not (said := _text(cause)) or said not in _text(error):
            break
        error = cause
    places = filter(None, map(_place, (error, *_causes(error))))
    place = next(places, "")
    return f"{message_of(error)} ({place})" if place else message_of(error)


def place_in(cause: str) -> tuple[str, str] | None:
    """Return the place of the innermost line of the app's own code in a traceback, and the line."""
    for filename, line, source in reversed(_FRAME.findall(cause)):
        if is_own(filename):
            return f"{shown_path(filename)}, line {line}", source.strip()
    return None


_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d+)(?:, in [^\n]*)?\n([^\n]*)', re.MULTILINE)


def _text(error: BaseException) -> str:
    try:
        return str(error).strip()
    except (
        BaseException
    ):  # An exception's own __str__ may raise anything; its class is still known.
        return ""


def _fields(error: ValidationError) -> str:
    mistakes = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, mistake['loc'])) or 'value'}: {mistake['msg']}"
        for mistake in mistakes[:MOST_FIELDS]
    ]
    more = len(mistakes) - MOST_FIELDS
    return f"{error.title}: {'; '.join(shown)}" + (f"; and {more} more" if more > 0 else "")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield what an exception says that it was raised from, the nearest first."""
    for _ in range(MOST_CAUSES):
        if error.__cause__ is None:
            return
        error = error.__cause__
        yield error


def _place(error: BaseException) -> str:
    """Return the innermost line of the app's own code; of a SyntaxError, the line that it is about."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{shown_path(error.filename)}, line {error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.lineno and is_own(frame.filename):
            return f"{shown_path(frame.filename)}, line {frame.lineno}"
    return ""


def is_own(filename: str) -> bool:
    """Tell whether a file is an app's own code, not a library's or ours."""
    path = Path(filename)
    if not path.is_absolute():  # <frozen importlib._bootstrap>, <string>
        return False
    if is_bundled(path):
        return True
    return not any(path.is_relative_to(library) for library in (_PACKAGE, *_LIBRARIES))


def shown_path(filename: str | Path) -> str:
    """Return a path relative to the working folder, or whole if it is elsewhere."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


# ---------------------------------------------------------------------------
# The part of a model provider's error message that clients may see.
#
# An exception's text never enters the log: it may quote requests, paths and secrets. An error of
# Google's API is the exception, where it is about the state of the service: a user who reads "quota
# exceeded" knows what to do. ADK writes such an error into its event as google-genai 2.34 spells it
# (`errors.APIError.__str__`): `429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': '…',
# 'status': 'RESOURCE_EXHAUSTED'}}`, with its own advice before it. Only the message in that form is
# taken, only of the codes below, its first line, and without whatever looks like a key, an account, a
# project or the query of an address.

PUBLIC_CODES = frozenset(
    """RESOURCE_EXHAUSTED UNAVAILABLE DEADLINE_EXCEEDED INTERNAL ABORTED CANCELLED NOT_FOUND
    FAILED_PRECONDITION""".split()
)
"""Codes of google.rpc whose message is about the service. Of the others, INVALID_ARGUMENT quotes the request,
PERMISSION_DENIED and UNAUTHENTICATED name accounts and keys."""

LONGEST = 300
"""Characters. The first line of the longest message that the API is known to send has 220."""

_MOST = 20_000
"""Characters of an error that are parsed: its details may hold whole requests."""

_WRITTEN = re.compile(
    r"(?:\A|\n)\d{3} (?P<status>[A-Z_]{2,40})\. (?P<details>\{.*\})\s*\Z", re.DOTALL
)

_MASKED = (
    (re.compile(r"(https?://[^\s?#]+)[?#]\S*"), r"\1"),
    (
        re.compile(r"\b(projects?[/:]|project_number:|consumer '?)\s*[\w.:-]+", re.IGNORECASE),
        r"\1…",
    ),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "…"),
    (
        re.compile(
            r"\b(key|token|secret|password|bearer)(['\"]?\s*[:=]\s*|\s+)['\"]?[\w./+-]{8,}",
            re.IGNORECASE,
        ),
        r"\1\2…",
    ),
    (re.compile(r"(?<![\w/.-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}(?![\w/.-])"), "…"),
)
"""Queries and fragments of addresses, projects, accounts, what is called a key, and what looks like one."""


def provider_message(code: str, text: str) -> str:
    """Return what clients may see of a provider's error; empty if nothing."""
    if code not in PUBLIC_CODES or len(text) > _MOST:
        return ""
    found = _WRITTEN.search(text)
    if found is None or found["status"] != code:
        return ""
    return _masked(_message_in(found["details"]))


def _message_in(details: str) -> str:
    try:
        tree: Any = ast.literal_eval(details)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    error = tree.get("error", tree) if isinstance(tree, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _masked(message: str) -> str:
    line = " ".join(next((line for line in message.splitlines() if line.strip()), "").split())
    for pattern, shown in _MASKED:
        line = pattern.sub(shown, line)
    line = "".join(char for char in line if char.isprintable())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


# ---------------------------------------------------------------------------
# What agent code raises ends its run, never the process.
#
# asyncio lets `SystemExit` and `KeyboardInterrupt` of a task leave the event loop, and google-adk
# runs tools, agents and workflow nodes in tasks of its own. So a task factory wraps every task that
# is created while a run is recorded (`CONTAINED` is set in its context), including those that a tool
# leaves behind: a `BaseException` leaves the task as `Escaped`, an ordinary exception whose class has
# the same name.
#
# A cancellation leaves a task only if another task or the loop requested it. One that code raised, or
# that a task requested of itself, is a failure too: ADK treats the cancellation of an agent's task as
# the end of the run.
#
# Not contained: ADK's own control flow (`NodeInterruptedError`), and what no `except` catches
# (`os._exit`, a signal, a crash of the interpreter).

_ADK = "google.adk."
_Result = TypeVar("_Result")


class Escaped(Exception):
    """Stands for a `BaseException` that is not an `Exception`; its class has the name of what was raised."""


class Containment:
    """What escaped from the tasks of one run."""

    def __init__(self) -> None:
        self.first: Escaped | None = None
        """The first: later ones are often its consequences."""

    def take(self, error: BaseException) -> Escaped:
        """Return what was raised as an ordinary exception."""
        escaped = _escaped(error)
        self.first = self.first or escaped
        return escaped


CONTAINED: ContextVar[Containment | None] = ContextVar("adk_prism_contained", default=None)
"""Set in the task that records a run, and so in all that it starts."""


def contain(loop: asyncio.AbstractEventLoop) -> None:
    """Install the task factory on a loop; repeating it changes nothing."""
    before: Any = loop.get_task_factory()
    if not isinstance(before, _Factory):
        factory: Any = _Factory(before)  # typeshed's protocol for it is private
        loop.set_task_factory(factory)


def ordinary(error: BaseException) -> Exception:
    """Return an exception that a future can hold and a task can raise."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return _escaped(error)


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the exception to blame: the first leaf that is not a mere cancellation."""
    leaves = _leaves(group)
    return next(
        (leaf for leaf in leaves if not isinstance(leaf, asyncio.CancelledError)), leaves[0]
    )


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(reversed(error.exceptions))
        else:
            leaves.append(error)
    return leaves


def _escaped(error: BaseException) -> Escaped:
    cause = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
    kind = type(type(cause).__name__, (Escaped,), {"__module__": __name__})
    escaped: Escaped = kind()
    escaped.__cause__ = error
    return escaped


class _Task(asyncio.Task[Any]):
    """A task that counts the cancellations that it requested of itself."""

    own_requests = 0

    def cancel(self, msg: Any | None = None) -> bool:
        if _current() is self:
            self.own_requests += 1
        return super().cancel(msg)

    def uncancel(self) -> int:
        left = super().uncancel()
        self.own_requests = min(self.own_requests, left)
        return left


class _Factory:
    """Makes the tasks of a loop, as the factory before it did."""

    def __init__(self, before: Callable[..., asyncio.Future[Any]] | None) -> None:
        self._before = before

    def __call__(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        *,
        context: Context | None = None,
        **more: Any,
    ) -> asyncio.Future[Any]:
        active = CONTAINED.get() if context is None else context.get(CONTAINED)
        if context is not None:
            more["context"] = context
        if active is None or _is_asyncios_own(coro):
            return self._make(asyncio.Task, loop, coro, more)
        task = self._make(_Task, loop, _contained(coro, active), more)
        # If the task is cancelled before its first step, nothing else closes the coroutine.
        task.add_done_callback(lambda _: coro.close())
        return task

    def _make(
        self,
        kind: type[asyncio.Task[Any]],
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        more: dict[str, Any],
    ) -> asyncio.Future[Any]:
        if self._before is not None:
            return self._before(loop, coro, **more)
        return kind(coro, loop=loop, **more)


_WAITS = frozenset({asyncio.Queue.get.__code__, asyncio.Event.wait.__code__})
"""What waits without running code of an agent. google-adk makes such a task for every event."""


def _is_asyncios_own(coro: Coroutine[Any, Any, Any]) -> bool:
    """Return whether a coroutine, which has not begun, only waits for something of asyncio's."""
    return isinstance(coro, CoroutineType) and coro.cr_code in _WAITS


async def _contained(coro: Coroutine[Any, Any, _Result], active: Containment) -> _Result:
    task = asyncio.current_task()
    try:
        return await coro
    except Exception:
        raise
    except BaseException as error:
        if _may_leave(error, task):
            raise
        raise active.take(error) from error


def _may_leave(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    if isinstance(error, asyncio.CancelledError):
        own = task.own_requests if isinstance(task, _Task) else 0
        return task is not None and task.cancelling() > own
    if isinstance(error, GeneratorExit):
        return _current() is not task  # The coroutine is being closed; no code raised it.
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_harmless, _leaves(error)))
    return _is_harmless(error)


def _is_harmless(error: BaseException) -> bool:
    return isinstance(error, Exception | asyncio.CancelledError) or any(
        kind.__module__.startswith(_ADK) for kind in type(error).__mro__
    )


def _current() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
