"""Fields of ADK's event that this version has never heard of: told once, never lost.

The read model passes unknown keys over, so that a newer ADK can still be read. Whether there are any is
found by a second model that refuses them: it costs less than a look at the keys, and nearly all events pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.facts.adk_event import ACTION_FIELDS, EVENT_FIELDS, NODE_FIELDS, PART_FIELDS
from adk_prism.runlog.entry import NOTHING

MOST = 32
"""Fields that are told of one run. ADK has gained ten in a year; more are no news but noise."""


def _refusing(name: str, fields: frozenset[str], **inner: Any) -> Any:
    """Return a model of these fields that refuses any other, and looks into none but the inner ones."""
    members = [(field, Raw, NOTHING) for field in sorted(fields - inner.keys())]
    models = [(field, model | None, None) for field, model in inner.items()]
    return msgspec.defstruct(name, [*members, *models], forbid_unknown_fields=True, gc=False)


_parts_of: Any = list[_refusing("Part", PART_FIELDS)]  # type: ignore[misc] # a type that is made here
_Content = msgspec.defstruct("Content", [("parts", _parts_of | None, None)], gc=False)
_Event = _refusing(
    "Event",
    EVENT_FIELDS,
    actions=_refusing("Actions", ACTION_FIELDS),
    nodeInfo=_refusing("NodeInfo", NODE_FIELDS),
    content=_Content,
)
_refuse = msgspec.json.Decoder(_Event).decode
_read_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_read_parts = msgspec.json.Decoder(list[dict[str, Raw]]).decode


def unknown_fields(event: bytes) -> dict[str, Raw]:
    """Return the unknown fields of an event, by place and name: `event.x`, `nodeInfo.x`, `part.x`."""
    try:
        _refuse(event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return dict(_unknown_fields(event))
    return {}


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
    """Return an object's members; none where it is no object."""
    try:
        return _read_keys(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _parts(raw: Raw) -> list[dict[str, Raw]]:
    try:
        return _read_parts(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
