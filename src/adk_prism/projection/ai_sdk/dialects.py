"""What differs between AI SDK versions, all of it.

Dialect 6 uses only what ai 6.0.0 knows, which every v6 and v7 client accepts. Dialect 7 adds what
ai 7.0.0 brought: the reason of an approval request, approval answers in a replayed message, and taking back
a step whose text is said anew and otherwise, after a takeover.
"""

from __future__ import annotations

from msgspec import Struct

from adk_prism.errors import UsageError


class Dialect(Struct, frozen=True):
    """One version's ways."""

    name: str
    approval_reasons: bool
    """`tool-approval-request` may carry `reason`."""
    approval_responses: bool
    """`tool-approval-response` exists: a replay shows who decided what, and `tool-output-denied` after
    it. Without it, a decided request cannot be replayed: a v6 client would ask the person again."""
    resets: bool
    """`reset-step` exists: what a step shows can be taken back."""


DIALECTS = {
    "6": Dialect("6", approval_reasons=False, approval_responses=False, resets=False),
    "7": Dialect("7", approval_reasons=True, approval_responses=True, resets=True),
}
DEFAULT = "6"


def dialect(name: str) -> Dialect:
    """Look a dialect up; raise `UsageError` for one we do not speak."""
    found = DIALECTS.get(name or DEFAULT)
    if found is None:
        raise UsageError(
            f"Dialect {name[:20]!r} is not known; expected one of {', '.join(DIALECTS)}."
        )
    return found
