"""The actions of people on runs and conversations that belong in an audit log.

This module names the actions; the server knows who does them, and writes the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct

from adk_prism.runlog.entry import Origin

Action = Literal[
    "approval given",
    "approval denied",
    "run cancelled",
    "run forked",
    "run repeated",
    "message taken back",
    "session rewound",
    "session deleted",
    "session restored",
    "artifact deleted",
    "link made",
    "link revoked",
    "run removed",
]


class AuditedAction(Struct, frozen=True, kw_only=True):
    """An action that was done."""

    action: Action
    origin: Origin
    """The session that it was done to."""
    run: str = ""
    about: str = ""
    """What exactly: the approval, the link, the new session, the name of the artifact."""


WriteAudit = Callable[[AuditedAction], Awaitable[None]]
"""Writes an action to the audit log; returns once it is written."""


async def no_audit(action: AuditedAction) -> None:
    """Write nothing: where there is no audit log."""
    del action
