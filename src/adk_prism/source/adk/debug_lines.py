"""Read the DEBUG lines of one of ADK's loggers, whatever level the operator has set.

While a filter is attached, the logger's level is one below DEBUG, a value that nobody else uses, so that an
operator's own setting can be distinguished from ours. The filter drops the lines that the operator did not
ask for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

LEVEL = logging.DEBUG - 1

Watcher = TypeVar("Watcher", bound=Callable[..., None])


class DebugLines(logging.Filter):
    """A filter on one logger. One per process: ADK has one logger for all runs."""

    def __init__(self, logger: str) -> None:
        super().__init__()
        self._logger = logging.getLogger(logger)
        self._level = logging.NOTSET
        """The operator's level of the logger."""

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Handle a DEBUG line, which has not been formatted."""
        raise NotImplementedError

    def attach(self) -> None:
        """Add the filter and set the level, if they are not as we left them. Costs next to nothing."""
        if self._logger.level != LEVEL:
            self._level = self._logger.level
            self._logger.setLevel(LEVEL)
        if self not in self._logger.filters:
            self._logger.filters.insert(0, self)  # before one of the operator's that drops the line

    def detach(self) -> None:
        """Restore the logger."""
        self._logger.removeFilter(self)
        if self._logger.level == LEVEL:
            self._logger.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Read a line; return whether the operator wants to see it."""
        if record.levelno == logging.DEBUG and isinstance(record.args, tuple):
            self.read(record.msg, record.args)
        if self._logger.level != LEVEL:  # the operator has set another one since
            return True
        parent = self._logger.parent
        wanted = self._level or (parent.getEffectiveLevel() if parent is not None else LEVEL)
        return record.levelno >= wanted


class WatchedLines(DebugLines, Generic[Watcher]):
    """Attached while somebody watches; the context that logs tells which watcher a line is for."""

    def __init__(self, logger: str, watcher: ContextVar[Watcher | None]) -> None:
        super().__init__(logger)
        self.watcher = watcher
        self._watching = 0

    @contextmanager
    def watched_by(self, watcher: Watcher) -> Iterator[None]:
        """Read lines that are logged in this context."""
        token = self.watcher.set(watcher)
        self._watching += 1
        self.attach()
        try:
            yield
        finally:
            self._watching -= 1
            if not self._watching:
                self.detach()
            self.watcher.reset(token)
