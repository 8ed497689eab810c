"""The ADK servers that can be spoken to, as a table: how each differs from Python's 2.x."""

from __future__ import annotations

from msgspec import Struct

AUTO = "auto"


class Dialect(Struct, frozen=True, kw_only=True):
    """One kind of ADK server."""

    name: str
    prefix: str = ""
    """Of every path."""
    patches_state: bool = False
    """`PATCH …/sessions/{s}` changes state without a run."""
    has_app_info: bool = False
    """`GET /apps/{app}/app-info` describes the agents."""
    has_metadata: bool = False
    """A run takes `customMetadata`."""
    has_versions: bool = False
    """Artifacts have versions with metadata."""


DIALECTS = {
    each.name: each
    for each in (
        Dialect(
            name="python",
            patches_state=True,
            has_app_info=True,
            has_metadata=True,
            has_versions=True,
        ),
        Dialect(name="python-1", patches_state=True),
    )
}
"""By name, in the order in which they are listed."""
