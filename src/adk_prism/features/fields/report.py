"""Field coverage: what upstream has, beside what has been decided about it.

A *missing* disposition is news from upstream that nobody has looked at; a *stale* one is about
something that upstream no longer has. Both are findings, and each says what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from adk_prism.features.fields import dispositions
from adk_prism.features.fields.inventory import (
    PACKAGE,
    AgUiRelease,
    Inventory,
    Release,
    accepted,
    accepted_events,
)
from adk_prism.features.fields.kinds import Chunk, Declined, Place, Projected, as_json
from adk_prism.features.fields.tables.ag_ui_events import ag_ui_place

FIELD_KINDS = ("projected", "carried", "dropped")
CHUNK_KINDS = ("emitted", "declined")

_DECIDE = "decide its disposition in {home}."
_REMOVE = "remove its row from {home}."


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
    """Everything that `adk-prism fields` tells."""

    fields: tuple[Coverage, ...]
    chunks: tuple[Coverage, ...]
    events: tuple[Coverage, ...]
    findings: tuple[Finding, ...]


def report(
    inventory: Inventory, releases: tuple[Release, ...], ag_ui: tuple[AgUiRelease, ...]
) -> Report:
    """Compare upstream with the dispositions."""
    return Report(
        tuple(_fields(inventory)),
        tuple(_chunks(releases)),
        tuple(_events(ag_ui)),
        (*_field_findings(inventory), *_chunk_findings(releases), *_event_findings(ag_ui)),
    )


def totals(coverages: Iterable[Coverage]) -> Counter[str]:
    """Add counts up."""
    return sum((coverage.counts for coverage in coverages), Counter())


def to_json(told: Report) -> dict[str, Any]:
    """Return the report for `--json`."""
    return {
        "ok": not told.findings,
        "fields": _section(told.fields),
        "chunks": _section(told.chunks),
        "events": _section(told.events),
        "findings": list(told.findings),
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
    told = as_json(item.disposition, f"{coverage.name}.{item.name}")
    if isinstance(item.disposition, Projected):
        told["agUi"] = [_ag_ui(place) for place in item.disposition.places]
    return told


def _ag_ui(place: Place) -> dict[str, str]:
    """Return where AG-UI's clients find what is at a place of the AI SDK's."""
    found = ag_ui_place(place)
    return {"frame": found.frame, "key": found.key, "how": found.how}


# --------------------------------------------------------------------------- fields and values


def _fields(inventory: Inventory) -> Iterator[Coverage]:
    for upstream in inventory.values():
        items = (
            Item(member, dispositions.disposition(upstream.name, member))
            for member in upstream.members
        )
        yield Coverage(upstream.name, upstream.package, tuple(items))


def _field_findings(inventory: Inventory) -> Iterator[Finding]:
    for upstream in inventory.values():
        home = dispositions.home(upstream.name)
        known = dispositions.FIELDS.get(upstream.name, {})
        for member in upstream.members:
            what = f"{upstream.name}.{member}"
            if member not in known:
                news = f"{upstream.package} has a new {upstream.word} {what}"
                yield Finding("missing", what, f"{news}: {_DECIDE.format(home=home)}")
        for member in sorted(known.keys() - set(upstream.members)):
            what = f"{upstream.name}.{member}"
            gone = f"{upstream.package} no longer has the {upstream.word} {what}"
            yield Finding("stale", what, f"{gone}: {_REMOVE.format(home=home)}")
    for name in sorted(dispositions.FIELDS.keys() - inventory.keys()):
        gone = f"No event can hold the type {name} any more"
        yield Finding("stale", name, f"{gone}: remove its table from {dispositions.home(name)}.")


# --------------------------------------------------------------------------- chunks and keys


def _chunks(releases: tuple[Release, ...]) -> Iterator[Coverage]:
    origin = "ai " + ", ".join(release.version for release in releases)
    for kind, keys in accepted(releases).items():
        chunk = dispositions.CHUNKS.get(kind)
        items = [Item("type", None if chunk is None else chunk.itself)]
        items += (Item(key, _key(chunk, key)) for key in keys)
        yield Coverage(kind, origin, tuple(items))
    reasons = (
        Item(reason, dispositions.FINISH_REASONS.get(reason)) for reason in _reasons(releases)
    )
    yield Coverage("finishReason", origin, tuple(reasons))


def _key(chunk: Chunk | None, key: str) -> Any:
    """Find a key's disposition; whatever a chunk has that is never emitted is declined with it."""
    if chunk is not None and isinstance(chunk.itself, Declined):
        return chunk.itself
    return None if chunk is None else chunk.keys.get(key)


def _reasons(releases: tuple[Release, ...]) -> dict[str, None]:
    return dict.fromkeys(reason for release in releases for reason in release.finish_reasons)


def _chunk_findings(releases: tuple[Release, ...]) -> Iterator[Finding]:
    news = releases[-1]
    for coverage in _chunks(releases):
        for item in coverage.items:
            if item.disposition is None:
                what = f"{coverage.name}.{item.name}"
                decide = _DECIDE.format(home=dispositions.CHUNKS_HOME)
                yield Finding("missing", what, f"ai {news.version} accepts {what}: {decide}")
    known = accepted(releases)
    for what in sorted(_decided(dispositions.CHUNKS) - _offered(known, _reasons(releases))):
        remove = _REMOVE.format(home=dispositions.CHUNKS_HOME)
        yield Finding("stale", what, f"No release of ai that is kept accepts {what}: {remove}")


def _decided(chunks: Mapping[str, Chunk]) -> set[str]:
    keys = {f"{kind}.{key}" for kind, chunk in chunks.items() for key in chunk.keys}
    types = {f"{kind}.type" for kind in chunks}
    return keys | types | {f"finishReason.{reason}" for reason in dispositions.FINISH_REASONS}


def _offered(known: Mapping[str, tuple[str, ...]], reasons: Iterable[str]) -> set[str]:
    keys = {f"{kind}.{key}" for kind, names in known.items() for key in ("type", *names)}
    return keys | {f"finishReason.{reason}" for reason in reasons}


# --------------------------------------------------------------------------- events and keys


def _events(releases: tuple[AgUiRelease, ...]) -> Iterator[Coverage]:
    origin = f"{PACKAGE} " + ", ".join(release.version for release in releases)
    for kind, keys in accepted_events(releases).items():
        event = dispositions.EVENTS.get(kind)
        items = [Item("type", None if event is None else event.itself)]
        items += (Item(key, _key(event, key)) for key in keys)
        yield Coverage(kind, origin, tuple(items))


def _event_findings(releases: tuple[AgUiRelease, ...]) -> Iterator[Finding]:
    news, home = releases[-1], dispositions.EVENTS_HOME
    for coverage in _events(releases):
        for item in coverage.items:
            if item.disposition is None:
                what = f"{coverage.name}.{item.name}"
                decide = _DECIDE.format(home=home)
                yield Finding("missing", what, f"{PACKAGE} {news.version} accepts {what}: {decide}")
    decided = {
        f"{kind}.{key}"
        for kind, event in dispositions.EVENTS.items()
        for key in ("type", *event.keys)
    }
    for what in sorted(decided - _offered(accepted_events(releases), ())):
        remove = _REMOVE.format(home=home)
        gone = f"No release of {PACKAGE} that is kept accepts {what}"
        yield Finding("stale", what, f"{gone}: {remove}")
