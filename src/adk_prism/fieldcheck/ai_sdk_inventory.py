"""What AI SDK clients accept: the chunk types and keys of three releases, kept in a file.

Users have no Node, so `ai_sdk_chunks.json` is part of the package. It is read out of the npm
packages by `tests/node/schema.mjs`, and a test fails when it is not what they say.
"""

from __future__ import annotations

from importlib.resources import files

import msgspec
from msgspec import Struct


class Keys(Struct, frozen=True):
    """The keys of one chunk type, apart from `type`."""

    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.required + self.optional


class Release(Struct, frozen=True, rename="camel"):
    """One release of the npm package `ai`."""

    sdk: str
    version: str
    finish_reasons: tuple[str, ...]
    chunks: dict[str, Keys]
    """By type; `data-*` means every type with that prefix."""


def read_releases() -> tuple[Release, ...]:
    """Return the releases, the oldest first."""
    kept = files("adk_prism.fieldcheck").joinpath("ai_sdk_chunks.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[Release, ...])


def accepted(releases: tuple[Release, ...]) -> dict[str, tuple[str, ...]]:
    """Return every chunk type that any release accepts, with every key of it."""
    found: dict[str, dict[str, None]] = {}
    for release in releases:
        for kind, keys in release.chunks.items():
            found.setdefault(kind, {}).update(dict.fromkeys(keys.names))
    return {kind: tuple(sorted(keys)) for kind, keys in found.items()}
