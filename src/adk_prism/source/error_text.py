"""The text of an exception, and its place in the app's code, for a developer on their own machine.

A pydantic error is written as a list of fields and what is wrong with each: without the input, which may
contain a secret, and without the link to pydantic's site. Python's class name comes first, because some
exceptions say nothing without it (`KeyError: 'city'`).
"""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from pydantic_core import ValidationError

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.source.bundled_apps import is_bundled

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
        if _is_own(filename):
            return f"{_shown(filename)}, line {line}", source.strip()
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
        return f"{_shown(error.filename)}, line {error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.lineno and _is_own(frame.filename):
            return f"{_shown(frame.filename)}, line {frame.lineno}"
    return ""


def _is_own(filename: str) -> bool:
    path = Path(filename)
    if not path.is_absolute():  # <frozen importlib._bootstrap>, <string>
        return False
    if is_bundled(path):
        return True
    return not any(path.is_relative_to(library) for library in (_PACKAGE, *_LIBRARIES))


def _shown(filename: str) -> str:
    """Return a path relative to the working folder, or whole if it is elsewhere."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
