"""Makes a failing import of google-adk cheap: it is tried again in every run.

Whenever google-adk runs an agent, it looks for its optional `RemoteA2aAgent`. Without the package `a2a`,
Python reads and executes the module each time, only to fail: more than a millisecond, a fifth of what a short
run costs. Here the first failure is remembered, and raised again. Whoever imports the module gets the same
error as before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType

REPEATED = ("google.adk.agents.remote_a2a_agent",)
"""Modules that google-adk imports in every run, if it can."""


class _KnownFailures(MetaPathFinder):
    """Fails at once for modules that could not be imported before."""

    def __init__(self, failures: dict[str, ModuleNotFoundError]) -> None:
        self._failures = failures

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raise what the import raised the first time; otherwise leave it to others."""
        del path, target
        known = self._failures.get(fullname)
        if known is not None:
            # A new one: the first keeps the frames of its traceback alive.
            raise ModuleNotFoundError(known.msg, name=known.name, path=known.path)


@cache
def remember_missing_extras() -> None:
    """Try the repeated imports once, and make those cheap that fail for want of a package."""
    failures: dict[str, ModuleNotFoundError] = {}
    for name in REPEATED:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("google.adk"):
                failures[name] = error.with_traceback(None)
        except Exception:  # Another package's fault: google-adk meets it as before.
            continue
    if failures:
        sys.meta_path.insert(0, _KnownFailures(failures))
