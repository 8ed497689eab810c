"""The Runner that is calling a plugin.

google-adk gives plugins the context of an invocation, which names an agent but neither the Runner nor a root
that is a workflow. The Runner is on the stack of every callback. Only its public names are used.
"""

from __future__ import annotations

import sys
from types import FrameType

from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner

DEEPEST = 24
"""Frames that are looked at: the Runner is a few above the callback."""


def current_runner(manager: PluginManager) -> Runner | None:
    """Return the Runner of a plugin manager whose callback is running; None if it is not found."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(DEEPEST):
        if frame is None:
            return None
        for value in frame.f_locals.values():
            if isinstance(value, Runner) and value.plugin_manager is manager:
                return value
        frame = frame.f_back
    return None
