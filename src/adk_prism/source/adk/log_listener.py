"""What ADK says when it runs a node: the only trace of function and join nodes, and of every end.

google-adk 2.13 has plugin callbacks for agents and tools alone, and its events name neither starts nor
ends. But the one class that runs every node of the newer runtime, root agents and delegated ones
included (`workflow/_node_runner.py`), says at level DEBUG when a node starts, ends and is cancelled,
in the node's own task and with its full path. It is listened to there, by a filter on that one
logger:
- exact where its spans are not: `invoke_node` spans carry a name, but no path and no run;
- nothing is installed in OpenTelemetry, which an operator may want for other listeners;
- it costs a few lines per node, and nothing per streamed piece.

The logger is set to one below DEBUG, a level that nobody else uses, so that an operator's own setting
can be told from ours; lines that he would not have seen without us end in the filter. If the words
change, or logging is switched off as a whole, agents and tools are still seen by the plugin.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

LOGGER = "google_adk.google.adk.workflow._node_runner"
LEVEL = logging.DEBUG - 1

Signal = Callable[[str], None]
"""Is told a node's path."""


class AdkLogListener(logging.Filter):
    """Hears the lines of the node runner. One is enough for a process: whoever is told finds the run."""

    def __init__(self, started: Signal, ended: Signal, cancelled: Signal) -> None:
        super().__init__()
        self._signals: Mapping[str, Signal] = {
            "node %s started.": started,
            "node %s end.": ended,
            "node %s cancelled via signal.": cancelled,
        }
        self._level = logging.NOTSET
        """What the operator had set for the logger."""

    def attach(self) -> None:
        """Begin to listen, or see to it that nothing has been changed since. Costs next to nothing."""
        logger = logging.getLogger(LOGGER)
        if logger.level != LEVEL:
            self._level = logger.level
            logger.setLevel(LEVEL)
        if self not in logger.filters:
            logger.filters.insert(0, self)  # before one of the operator's that drops the line

    def detach(self) -> None:
        """Leave the logger as it was found."""
        logger = logging.getLogger(LOGGER)
        logger.removeFilter(self)
        if logger.level == LEVEL:
            logger.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell of a line, and let it pass if the operator wants to read it."""
        if record.levelno == logging.DEBUG:
            signal = self._signals.get(record.msg)
            if signal is not None and isinstance(record.args, tuple):
                signal(str(record.args[0]))
        return record.levelno >= self._wanted()

    def _wanted(self) -> int:
        parent = logging.getLogger(LOGGER).parent
        return self._level or (parent.getEffectiveLevel() if parent is not None else LEVEL)
