"""The late switch: a call that will wait for somebody runs in the background, so that the voice goes on.

google-adk 2.13 reads a live model's next message only when the tools of the last one have answered. A tool
whose `behavior` is NON_BLOCKING is run beside that loop, but the model is told so too, and not every
model takes it. So the tool is declared as it is, switched when its call arrives, and switched back when
the call begins to run. Tools are shared by all sessions of an app: each remembers what it was before the
first switch, and is that again after the last.
"""

from __future__ import annotations

from google.adk.tools.base_tool import BaseTool
from google.genai import types


class _Switched:
    __slots__ = ("before", "calls", "tool")

    def __init__(self, tool: BaseTool) -> None:
        self.tool = tool
        self.before = tool.behavior
        self.calls = 0


class NonBlockingTools:
    """The tools of one Runner that are switched now."""

    def __init__(self) -> None:
        self._switched: dict[int, _Switched] = {}

    def on(self, tool: BaseTool) -> None:
        """Switch a tool for one call."""
        switched = self._switched.setdefault(id(tool), _Switched(tool))
        switched.calls += 1
        tool.behavior = types.Behavior.NON_BLOCKING

    def off(self, tool: BaseTool) -> None:
        """End the switch of one call."""
        switched = self._switched[id(tool)]
        switched.calls -= 1
        if not switched.calls:
            tool.behavior = switched.before
            del self._switched[id(tool)]


class NonBlockingCalls:
    """The calls of one run for which a tool is switched."""

    def __init__(self, nonblocking_tools: NonBlockingTools) -> None:
        self._tools = nonblocking_tools
        self._calls: dict[str, BaseTool] = {}

    def on(self, call: str, tool: BaseTool) -> None:
        """Switch a tool for a call."""
        if call not in self._calls:
            self._calls[call] = tool
            self._tools.on(tool)

    def off(self, call: str) -> None:
        """Switch it back, now that the call runs; without a switch, do nothing."""
        tool = self._calls.pop(call, None)
        if tool is not None:
            self._tools.off(tool)

    def close(self) -> None:
        """Switch back the tools of calls that never ran."""
        for call in list(self._calls):
            self.off(call)
