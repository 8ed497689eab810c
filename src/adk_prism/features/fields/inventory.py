"""What upstream can say: every type that an ADK event can hold, read from the installed packages.

Starts at google-adk's `Event` and follows the annotations of its fields, so a type that a new field
brings along is found without being named here. Of enumerations only those are listed whose values
we translate one by one; all others pass as they are.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any, get_args

import msgspec
from google.adk.events.event import Event
from google.genai import types
from msgspec import Struct
from pydantic import BaseModel

TRANSLATED = (types.FinishReason, types.BlockedReason)
"""Enumerations of which each value has a disposition of its own."""

_PACKAGES = {"google.adk": "google-adk", "google.genai": "google-genai"}


class UpstreamType(Struct, frozen=True):
    """A model with its fields, or an enumeration with its values."""

    name: str
    package: str
    """Its distribution and version: `google-adk 2.13.0`."""
    word: str
    """What its members are: `field` or `value`."""
    members: tuple[str, ...]


Inventory = dict[str, UpstreamType]
"""Upstream's types by name, in the order in which an event leads to them."""


def read_inventory(root: type[BaseModel] = Event) -> Inventory:
    """Return the types that `root` can hold, itself first, and the enumerations we translate."""
    found: Inventory = {}
    for model in _reachable(root):
        name = model.__name__
        if name in found:
            name = f"{model.__module__}.{name}"
        found[name] = UpstreamType(name, _package(model), "field", tuple(model.model_fields))
    return found | {values.__name__: _values(values) for values in TRANSLATED}


def _reachable(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    seen = {root}
    waiting = [root]
    while waiting:
        model = waiting.pop(0)
        yield model
        for field in model.model_fields.values():
            for held in _models_in(field.annotation):
                if held not in seen:
                    seen.add(held)
                    waiting.append(held)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _values(values: type[enum.Enum]) -> UpstreamType:
    return UpstreamType(
        values.__name__, _package(values), "value", tuple(str(each.value) for each in values)
    )


def _package(upstream: type) -> str:
    """Name the package of a type; one that is defined elsewhere goes with what it extends."""
    for base in upstream.__mro__:
        for prefix, package in _PACKAGES.items():
            if base.__module__.startswith(prefix):
                return f"{package} {version(package)}"
    return upstream.__module__


# ---------------------------------------------------------------------------
# What the npm packages accept, by release: chunks of the AI SDK and events of AG-UI.

# ---------------------------------------------------------------------- AI SDK
#
# What AI SDK clients accept: the chunk types and keys of three releases, kept in a file.
#
# Users have no Node, so `ai_sdk_chunks.json` is part of the package. It is read out of the npm packages by
# `tests/node/schema.mjs`, and a test fails when it is not what they say.


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
    kept = files("adk_prism.features.fields").joinpath("ai_sdk_chunks.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[Release, ...])


def accepted(releases: Sequence[Release | AgUiRelease]) -> dict[str, tuple[str, ...]]:
    """Return every chunk or event type that any release accepts, with every key of it."""
    found: dict[str, set[str]] = {}
    for release in releases:
        kinds = release.chunks if isinstance(release, Release) else release.events
        for kind, keys in kinds.items():
            found.setdefault(kind, set()).update(keys.names)
    return {kind: tuple(sorted(keys)) for kind, keys in found.items()}


# ---------------------------------------------------------------------- AG-UI
#
# What AG-UI clients accept: the event types and keys of two releases, kept in a file.
#
# Users have no Node, so `ag_ui_events.json` is part of the package. It is read out of the npm packages by
# `tests/node/ag_ui_schema.mjs`, and a test fails when it is not what they say.

PACKAGE = "@ag-ui/core"


class AgUiRelease(Struct, frozen=True):
    """One release of the npm package `@ag-ui/core`."""

    version: str
    events: dict[str, Keys]
    """By type."""


def read_ag_ui_releases() -> tuple[AgUiRelease, ...]:
    """Return the releases, the oldest first."""
    kept = files("adk_prism.features.fields").joinpath("ag_ui_events.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[AgUiRelease, ...])
