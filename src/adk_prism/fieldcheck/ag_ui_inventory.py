"""What AG-UI clients accept: the event types and keys of two releases, kept in a file.

Users have no Node, so `ag_ui_events.json` is part of the package. It is read out of the npm packages by
`tests/node/ag_ui_schema.mjs`, and a test fails when it is not what they say.
"""

from __future__ import annotations

from importlib.resources import files

import msgspec
from msgspec import Struct

from adk_prism.fieldcheck.ai_sdk_inventory import Keys

PACKAGE = "@ag-ui/core"


class AgUiRelease(Struct, frozen=True):
    """One release of the npm package `@ag-ui/core`."""

    version: str
    events: dict[str, Keys]
    """By type."""


def read_ag_ui_releases() -> tuple[AgUiRelease, ...]:
    """Return the releases, the oldest first."""
    kept = files("adk_prism.fieldcheck").joinpath("ag_ui_events.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[AgUiRelease, ...])


def accepted_events(releases: tuple[AgUiRelease, ...]) -> dict[str, tuple[str, ...]]:
    """Return every event type that any release accepts, with every key of it."""
    found: dict[str, dict[str, None]] = {}
    for release in releases:
        for kind, keys in release.events.items():
            found.setdefault(kind, {}).update(dict.fromkeys(keys.names))
    return {kind: tuple(sorted(keys)) for kind, keys in found.items()}
