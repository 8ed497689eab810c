"""Ids of tool calls: unique in a thread, since a client finds a call by its id in all its messages.

ADK's own ids, and those of the large providers, are unique anywhere and stay as they are. A short one
(`call-1`) is a model's own count, which begins anew with the next message: there a client would add the new
arguments to the old call. Such an id is sent with the id of its message after it.
"""

from __future__ import annotations

_MARK = "@"
UNIQUE = 16
"""Characters from which on an id is taken for unique: a counter is shorter, a random id is longer."""


def tool_call_id(call: str, message: str) -> str:
    """Return the id under which a client knows a call of a message."""
    return call if len(call) >= UNIQUE and _MARK not in call else f"{call}{_MARK}{message}"


def call_of(tool_call: str) -> str:
    """Return the call that a client means: the id by which facts name it."""
    before, mark, _ = tool_call.rpartition(_MARK)
    return before if mark else tool_call
