"""What a module of this package declares about the internal that it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Capability(NamedTuple):
    """Something that adk-prism does with an internal of a third party."""

    name: str
    summary: str
    """What it is for."""
    without: str
    """What happens if the internal is missing."""
    probe: Callable[[], str | None]
    """Return, or raise, why the internal cannot be used; None if it looks as expected. Cheap."""


class Unavailable(Exception):
    """Raised by a probe: the installed version lacks the internal, or has another one."""


def require(condition: bool, problem: str) -> None:
    """Raise `Unavailable` with the problem if the condition does not hold."""
    if not condition:
        raise Unavailable(problem)
