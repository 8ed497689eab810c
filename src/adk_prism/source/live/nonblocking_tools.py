"""Makes a tool non-blocking while a call of it is about to wait, so that the agent can go on speaking.

google-adk 2.13 reads the next message of a live model only after the tools of the last one have answered. A
tool whose `behavior` is NON_BLOCKING runs beside that loop, but a tool that declares it from the start
tells the model too, and not every model accepts that. So the behavior is set when the call arrives, and
restored when the call starts to run. Tools are shared by all sessions of an app: the original value is
restored after the last call.
"""

from __future__ import annotations

from google.adk.tools.base_tool import BaseTool
from google.genai import types


class _Changed:
    __slots__ = ("calls", "original", "tool")

    def __init__(self, tool: BaseTool) -> None:
        self.tool = tool
        """Referenced so that its id, which is the key, stays its own."""
        self.original = tool.behavior
        self.calls = 0


class NonBlockingTools:
    """The tools of one Runner that are non-blocking now."""

    def __init__(self) -> None:
        self._changed: dict[int, _Changed] = {}

    def add(self, tool: BaseTool) -> None:
        """Make a tool non-blocking for one call."""
        self._changed.setdefault(id(tool), _Changed(tool)).calls += 1
        tool.behavior = types.Behavior.NON_BLOCKING

    def remove(self, tool: BaseTool) -> None:
        """End this for one call; after the last one the tool is as before."""
        changed = self._changed[id(tool)]
        changed.calls -= 1
        if not changed.calls:
            tool.behavior = changed.original
            del self._changed[id(tool)]


class NonBlockingCalls:
    """The calls of one run for which a tool is non-blocking."""

    def __init__(self, tools: NonBlockingTools) -> None:
        self._tools = tools
        self._calls: dict[str, BaseTool] = {}

    def add(self, call: str, tool: BaseTool) -> None:
        """Make a tool non-blocking for a call."""
        if call not in self._calls:
            self._calls[call] = tool
            self._tools.add(tool)

    def remove(self, call: str) -> None:
        """Restore the tool, now that the call runs. Other calls are ignored."""
        tool = self._calls.pop(call, None)
        if tool is not None:
            self._tools.remove(tool)

    def close(self) -> None:
        """Restore the tools of calls that never ran."""
        for call in list(self._calls):
            self.remove(call)
