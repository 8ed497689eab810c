"""Fields of an ADK event that this version does not know: they are reported, never dropped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from adk_prism.facts.adk_event import (
    ACTION_FIELDS,
    EVENT_FIELDS,
    NODE_FIELDS,
    PART_FIELDS,
    read_known_event,
)
from adk_prism.runlog.entry import NOTHING

MOST = 32
"""Fields that are reported per run. ADK gained ten in a year; more would only be noise."""


_read_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_read_parts = msgspec.json.Decoder(list[dict[str, Raw]]).decode


def unknown_fields(event: bytes) -> dict[str, Raw]:
    """Return the unknown fields of an event, by place and name: `event.x`, `nodeInfo.x`, `part.x`."""
    return {} if read_known_event(event) is not None else dict(_unknown_fields(event))


def _unknown_fields(event: bytes) -> Iterator[tuple[str, Raw]]:
    fields = _keys(event)
    yield from _unknown("event", fields, EVENT_FIELDS)
    yield from _unknown("actions", _keys(fields.get("actions", NOTHING)), ACTION_FIELDS)
    yield from _unknown("nodeInfo", _keys(fields.get("nodeInfo", NOTHING)), NODE_FIELDS)
    for part in _parts(_keys(fields.get("content", NOTHING)).get("parts", NOTHING)):
        yield from _unknown("part", part, PART_FIELDS)


def _unknown(
    where: str, fields: dict[str, Raw], known: frozenset[str]
) -> Iterator[tuple[str, Raw]]:
    for name, value in fields.items():
        if name not in known and bytes(value) != b"null":
            yield f"{where}.{name}", value


def _keys(raw: bytes | Raw) -> dict[str, Raw]:
    """Return the members of an object; none for any other value."""
    try:
        return _read_keys(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _parts(raw: Raw) -> list[dict[str, Raw]]:
    try:
        return _read_parts(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
