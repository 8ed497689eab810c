"""What differs between versions of AG-UI, all of it.

A client that sends no `protocolVersion` is one of before 1.0: its event schema refuses the outcome
`cancelled` and `pendingToolCallIds`, with which the whole run would fail.
"""

from __future__ import annotations

from msgspec import Struct

from adk_prism.errors import UsageError


class Dialect(Struct, frozen=True):
    """One version's ways."""

    name: str
    protocol_version: str
    """What RUN_STARTED declares; empty where it declares nothing."""
    cancelled: bool
    """A run can be finished as `cancelled`; else a stopped run is an error with the code `STOPPED`."""
    pending_calls: bool
    """The outcome `success` names the calls that wait for the client."""


DEFAULT = "0.0.59"
_BEFORE = Dialect(DEFAULT, "", cancelled=False, pending_calls=False)
_ONE = Dialect("1.0", "1.0", cancelled=True, pending_calls=True)
DIALECTS = {each.name: each for each in (_BEFORE, _ONE)}
"""The default first."""


def dialect(name: str) -> Dialect:
    """Look a dialect up; raise `UsageError` for one we do not speak."""
    found = DIALECTS.get(name or DEFAULT)
    if found is None:
        raise UsageError(f"Unknown dialect {name[:20]!r}; expected one of {', '.join(DIALECTS)}.")
    return found
