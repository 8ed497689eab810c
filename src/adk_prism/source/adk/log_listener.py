"""Starts and ends of workflow nodes, from the DEBUG lines of ADK's node runner.

google-adk has plugin callbacks for agents and tools only, and its events contain neither starts nor
ends. But the class that runs every node of the newer runtime (`workflow/_node_runner.py`), root agents
and delegated ones included, logs at DEBUG when a node starts, ends and is cancelled, in the node's own
task and with its full path. A filter on that logger reads those lines:
- it is exact where spans are not: `invoke_node` spans carry a name, but neither path nor run;
- nothing is installed in OpenTelemetry, which an operator may want for other listeners;
- it costs a few lines per node, and nothing per streamed part.

The logger's level is set to one below DEBUG, a level that nobody else uses, so that an operator's own
setting can be told from ours. The filter drops lines that the operator did not ask for. Without the
lines, the plugin still sees agents and tools.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from adk_prism.source.adk.capability import Capability, require

LOGGER = "google_adk.google.adk.workflow._node_runner"
LEVEL = logging.DEBUG - 1

STARTED = "node %s started."
ENDED = "node %s end."
CANCELLED = "node %s cancelled via signal."

Signal = Callable[[str], None]
"""Called with a node's path."""


class AdkLogListener(logging.Filter):
    """Reads the lines of the node runner; one per process, for ADK has one logger."""

    def __init__(self, started: Signal, ended: Signal, cancelled: Signal) -> None:
        super().__init__()
        self._signals: Mapping[str, Signal] = {
            STARTED: started,
            ENDED: ended,
            CANCELLED: cancelled,
        }
        self._level = logging.NOTSET
        """The operator's level of the logger."""

    def attach(self) -> None:
        """Add the filter and set the level, if they are not as we left them. Costs next to nothing."""
        logger = logging.getLogger(LOGGER)
        if logger.level != LEVEL:
            self._level = logger.level
            logger.setLevel(LEVEL)
        if self not in logger.filters:
            logger.filters.insert(0, self)  # before one of the operator's that drops the line

    def detach(self) -> None:
        """Restore the logger."""
        logger = logging.getLogger(LOGGER)
        logger.removeFilter(self)
        if logger.level == LEVEL:
            logger.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Signal a line; return whether the operator wants to see it."""
        if record.levelno == logging.DEBUG:
            signal = self._signals.get(record.msg)
            if signal is not None and isinstance(record.args, tuple):
                signal(str(record.args[0]))
        return record.levelno >= self._wanted()

    def _wanted(self) -> int:
        parent = logging.getLogger(LOGGER).parent
        return self._level or (parent.getEffectiveLevel() if parent is not None else LEVEL)


def _probe() -> None:
    from google.adk.workflow import _node_runner

    require(_node_runner.logger.name == LOGGER, "The node runner has another logger.")
    logged = set(_strings(vars(_node_runner)))
    missing = [line for line in (STARTED, ENDED, CANCELLED) if line not in logged]
    require(not missing, f"The node runner does not log {missing}.")


def _strings(names: Mapping[str, Any]) -> Iterator[str]:
    """Yield the string constants in the functions of a module's classes."""
    waiting: list[Any] = [
        member
        for each in names.values()
        if isinstance(each, type)
        for member in vars(each).values()
    ]
    while waiting:
        member = waiting.pop()
        if isinstance(member, str):
            yield member
        elif isinstance(member, CodeType):
            waiting.extend(member.co_consts)
        else:
            waiting.extend(filter(None, [getattr(member, "__code__", None)]))


CAPABILITY = Capability(
    name="workflow nodes",
    summary="see function and join nodes, and the ends of all nodes",
    without="only agents and tools appear as nodes; some ends are inferred",
    probe=_probe,
)
