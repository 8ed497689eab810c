"""Field coverage: what upstream has, beside what has been decided about it.

A *missing* disposition is a field that upstream added and nobody has looked at; a *stale* one is about
something that upstream no longer has. Both are findings, and each says what to do.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Literal, get_args

import msgspec
from google.adk.events.event import Event
from google.genai import types
from msgspec import Struct
from pydantic import BaseModel

from adk_prism.features.fields import dispositions

# ---------------------------------------------------------------------- inventory
#
# What upstream can say: every type that an ADK event can hold, read from the installed packages.
#
# Starts at google-adk's `Event` and follows the annotations of its fields, so a type that a new field
# brings along is found without being named here. Of enumerations only those are listed whose values
# we translate one by one; all others pass as they are.


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
        found[name] = UpstreamType(name, _origin(model), "field", tuple(model.model_fields))
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
        values.__name__, _origin(values), "value", tuple(str(each.value) for each in values)
    )


def _origin(upstream: type) -> str:
    """Name the package of a type; one that is defined elsewhere goes with what it extends."""
    for base in upstream.__mro__:
        for prefix, package in _PACKAGES.items():
            if base.__module__.startswith(prefix):
                return f"{package} {version(package)}"
    return upstream.__module__


# ---------------------------------------------------------------------------
# What clients' packages accept, by release: chunks of the AI SDK, events of AG-UI, types of OpenAI.

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


# ---------------------------------------------------------------------- OpenAI
#
# What the Python package `openai` reads: chunks, events and output items, kept in a file, since users need
# not have the package. `tests/features/fields/openai_types.py` writes it, and a test fails when it is stale.


def read_openai_releases() -> tuple[AgUiRelease, ...]:
    """Return the release; its `events` are all types, by their `type` or the name of their class."""
    kept = files("adk_prism.features.fields").joinpath("openai_types.json").read_bytes()
    return msgspec.json.decode(kept, type=tuple[AgUiRelease, ...])


# ---------------------------------------------------------------------- report


FIELD_KINDS = ("projected", "carried", "dropped")
CHUNK_KINDS = ("emitted", "declined")

_DECIDE = f"decide its disposition in {dispositions.FILE}."
_REMOVE = f"remove its row from {dispositions.FILE}."


class Finding(Struct, frozen=True):
    """Something to decide."""

    kind: Literal["missing", "stale"]
    what: str
    """`Type.field`, or `chunk.key`."""
    message: str


class Item(Struct, frozen=True):
    """One field, value, chunk or key, and what becomes of it; nothing where that is not decided."""

    name: str
    disposition: Any = None

    @property
    def kind(self) -> str:
        return "missing" if self.disposition is None else type(self.disposition).__name__.lower()


class Coverage(Struct, frozen=True):
    """One upstream type, or chunk type, with all that it has."""

    name: str
    origin: str
    """Package and version."""
    items: tuple[Item, ...]

    @property
    def counts(self) -> Counter[str]:
        return Counter(item.kind for item in self.items)


class Report(Struct, frozen=True):
    """Everything that `adk-prism fields` reports."""

    fields: tuple[Coverage, ...]
    chunks: tuple[Coverage, ...]
    events: tuple[Coverage, ...]
    openai: tuple[Coverage, ...]
    findings: tuple[Finding, ...]


def report(
    inventory: Inventory,
    releases: tuple[Release, ...],
    ag_ui: tuple[AgUiRelease, ...],
    openai: tuple[AgUiRelease, ...],
) -> Report:
    """Compare upstream with the dispositions."""
    packages = (
        _ai_sdk(releases),
        _package(PACKAGE, ag_ui, dispositions.EVENTS),
        _package("openai", openai, dispositions.OPENAI),
    )
    findings = [*_field_findings(inventory)]
    findings += (each for package in packages for each in _key_findings(package))
    chunks, events, answers = (package.coverages() for package in packages)
    return Report(tuple(_fields(inventory)), chunks, events, answers, tuple(findings))


def totals(coverages: Iterable[Coverage]) -> Counter[str]:
    """Add counts up."""
    return sum((coverage.counts for coverage in coverages), Counter())


def to_json(found: Report) -> dict[str, Any]:
    """Return the report for `--json`."""
    return {
        "ok": not found.findings,
        "fields": _section(found.fields),
        "chunks": _section(found.chunks),
        "events": _section(found.events),
        "openai": _section(found.openai),
        "findings": list(found.findings),
    }


def _section(coverages: tuple[Coverage, ...]) -> dict[str, Any]:
    types = {
        coverage.name: {
            "package": coverage.origin,
            "counts": dict(coverage.counts),
            "items": {item.name: _item(coverage, item) for item in coverage.items},
        }
        for coverage in coverages
    }
    return {"totals": dict(totals(coverages)), "types": types}


def _item(coverage: Coverage, item: Item) -> dict[str, Any]:
    if item.disposition is None:
        return {"disposition": "missing"}
    shown = dispositions.as_json(item.disposition, f"{coverage.name}.{item.name}")
    if isinstance(item.disposition, dispositions.Projected):
        places = map(dispositions.ag_ui_place, item.disposition.places)
        shown["agUi"] = [{"frame": at.frame, "key": at.key, "how": at.how} for at in places]
    return shown


# --------------------------------------------------------------------------- fields and values


def _fields(inventory: Inventory) -> Iterator[Coverage]:
    for upstream in inventory.values():
        known = dispositions.FIELDS.get(upstream.name, {})
        items = (Item(member, known.get(member)) for member in upstream.members)
        yield Coverage(upstream.name, upstream.package, tuple(items))


def _field_findings(inventory: Inventory) -> Iterator[Finding]:
    for upstream in inventory.values():
        known = dispositions.FIELDS.get(upstream.name, {})
        for member in upstream.members:
            what = f"{upstream.name}.{member}"
            if member not in known:
                why = f"{upstream.package} has a new {upstream.word} {what}"
                yield Finding("missing", what, f"{why}: {_DECIDE}")
        for member in sorted(known.keys() - set(upstream.members)):
            what = f"{upstream.name}.{member}"
            why = f"{upstream.package} no longer has the {upstream.word} {what}"
            yield Finding("stale", what, f"{why}: {_REMOVE}")
    for name in sorted(dispositions.FIELDS.keys() - inventory.keys()):
        why = f"No event can hold the type {name} any more"
        yield Finding("stale", name, f"{why}: remove its table from {dispositions.FILE}.")


# --------------------------------------------------------------------------- chunks, events and their keys


class _Package(Struct, frozen=True):
    """What the releases of a package accept, and what is decided about it."""

    name: str
    versions: tuple[str, ...]
    accepted: Mapping[str, tuple[str, ...]]
    """The keys of each chunk or event type, in any release."""
    decided: Mapping[str, dispositions.Chunk]
    values: Mapping[str, dispositions.ChunkDisposition | None] = {}
    """The values of `finishReason` that any release accepts."""

    def coverages(self) -> tuple[Coverage, ...]:
        origin = f"{self.name} {', '.join(self.versions)}"
        found = [
            Coverage(kind, origin, tuple(_keys(self.decided.get(kind), keys)))
            for kind, keys in self.accepted.items()
        ]
        if self.values:
            values = tuple(Item(value, decided) for value, decided in self.values.items())
            found.append(Coverage("finishReason", origin, values))
        return tuple(found)


def _ai_sdk(releases: tuple[Release, ...]) -> _Package:
    versions = tuple(release.version for release in releases)
    values = dict.fromkeys(reason for release in releases for reason in release.finish_reasons)
    decided = {value: dispositions.FINISH_REASONS.get(value) for value in values}
    return _Package("ai", versions, accepted(releases), dispositions.CHUNKS, decided)


def _package(
    name: str, releases: tuple[AgUiRelease, ...], decided: Mapping[str, dispositions.Chunk]
) -> _Package:
    versions = tuple(release.version for release in releases)
    return _Package(name, versions, accepted(releases), decided)


def _keys(chunk: dispositions.Chunk | None, keys: Iterable[str]) -> Iterator[Item]:
    """Yield a type and its keys; whatever a type has that is never emitted is declined with it."""
    yield Item("type", None if chunk is None else chunk.itself)
    for key in keys:
        if chunk is not None and isinstance(chunk.itself, dispositions.Declined):
            yield Item(key, chunk.itself)
        else:
            yield Item(key, None if chunk is None else chunk.keys.get(key))


def _key_findings(package: _Package) -> Iterator[Finding]:
    offered = set()
    for coverage in package.coverages():
        for item in coverage.items:
            what = f"{coverage.name}.{item.name}"
            offered.add(what)
            if item.disposition is None:
                why = f"{package.name} {package.versions[-1]} accepts {what}"
                yield Finding("missing", what, f"{why}: {_DECIDE}")
    decided = {f"{k}.{key}" for k, each in package.decided.items() for key in ("type", *each.keys)}
    if package.values:
        decided |= {f"finishReason.{value}" for value in dispositions.FINISH_REASONS}
    for what in sorted(decided - offered):
        why = f"No release of {package.name} that is kept accepts {what}"
        yield Finding("stale", what, f"{why}: {_REMOVE}")
