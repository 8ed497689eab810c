"""What the operator gets, and the client does not.

A diagnostic says what went wrong with its cause; the client gets safe text and the same correlation
id. This module only names the shape: `cli` and `server` decide where lines go and how they look.
"""

from __future__ import annotations

import secrets
import traceback
from collections.abc import Callable

from msgspec import Struct


class Diagnostic(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing an operator should know."""

    kind: str
    """What happened, in a stable word or two: `run failed`, `unknown field`, `viewer cut`."""
    detail: str = ""
    correlation: str = ""
    request: str = ""
    """Id of the request that was being answered, or that started the run."""
    run: str = ""
    app: str = ""
    cause: str = ""
    """The exception with its stack, or upstream's raw text."""
    message: str = ""
    """What the exception says, in a line or a few: what a developer is shown on their own machine."""


Report = Callable[[Diagnostic], None]


def new_correlation() -> str:
    """Draw an id that joins what a client saw to the operator's line. 48 bits: unique in a log file."""
    return secrets.token_hex(6)


def cause_of(error: BaseException) -> str:
    """Return an exception with its stack, for operators only."""
    return "".join(traceback.format_exception(error)).rstrip()


def ignore(diagnostic: Diagnostic) -> None:
    """Drop a diagnostic: for pure uses such as `project`, which have no operator."""
    del diagnostic
