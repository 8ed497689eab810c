"""The frames of ADK's own protocol: its events, as it serialised them."""

from __future__ import annotations

from msgspec import Struct


class AdkFrame(Struct, frozen=True, gc=False):
    """One event, camelCase JSON."""

    event: bytes
