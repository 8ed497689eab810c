"""Starts and ends of workflow nodes, from the DEBUG lines of ADK's node runner.

google-adk has plugin callbacks for agents and tools only, and its events contain neither starts nor
ends. But the class that runs every node of the newer runtime (`workflow/_node_runner.py`), root agents
and delegated ones included, logs at DEBUG when a node starts, ends and is cancelled, in the node's own
task and with its full path. A filter on that logger (`debug_lines`) reads them:
- it is exact where spans are not: `invoke_node` spans carry a name, but neither path nor run;
- nothing is installed in OpenTelemetry, which an operator may want for other listeners;
- it costs a few lines per node, and nothing per streamed part.

Without the lines, the plugin still sees agents and tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from adk_prism.source.adk.capability import Capability, require
from adk_prism.source.adk.debug_lines import DebugLines

LOGGER = "google_adk.google.adk.workflow._node_runner"

STARTED = "node %s started."
ENDED = "node %s end."
CANCELLED = "node %s cancelled via signal."

Signal = Callable[[str], None]
"""Called with a node's path."""


class AdkLogListener(DebugLines):
    """Reads the lines of the node runner."""

    def __init__(self, started: Signal, ended: Signal, cancelled: Signal) -> None:
        super().__init__(LOGGER)
        self._signals = {STARTED: started, ENDED: ended, CANCELLED: cancelled}

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Signal a start or an end."""
        signal = self._signals.get(message)
        if signal is not None:
            signal(str(args[0]))


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
