"""What people do to runs and conversations that an operator may have to account for later.

This module names the deeds; the server knows who does them, and writes both down.
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
    "message taken back",
    "session rewound",
    "session deleted",
    "artifact deleted",
    "link made",
    "link revoked",
]


class AuditedAction(Struct, frozen=True, kw_only=True):
    """One thing that was done."""

    action: Action
    origin: Origin
    """Whose it was done to."""
    run: str = ""
    about: str = ""
    """What exactly: the approval, the link, the new session, the name of the artifact."""


WriteAudit = Callable[[AuditedAction], Awaitable[None]]
"""Has a deed written down; done when it is."""


async def no_audit(deed: AuditedAction) -> None:
    """Write nothing down: where nobody operates anything."""
    del deed
