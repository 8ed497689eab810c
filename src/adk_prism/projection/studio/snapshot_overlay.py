"""What a node was asked and what it answered, laid over a snapshot of a state that has no such keys.

An agent that writes no state would show `{}` everywhere. `query` comes before the state's own keys and
`response` after them, as in the schema's examples. A key of the state is never covered; the frame lists
which keys are not of the state.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts.json_value import read_object
from adk_prism.projection.studio.frames import Overlay, StateSnapshot
from adk_prism.projection.studio.snapshots import QUERY, RESPONSE, Snapshot, cut
from adk_prism.runlog.entry import NOTHING, to_raw

_REQUEST = "request"
"""The only argument of an agent that is called as a tool, unless it has an input schema."""


class Laid(Struct, frozen=True, gc=False):
    """One side of a snapshot with what was laid over it."""

    state: Raw
    keys: Raw
    over: list[str]


def lay(found: Snapshot, query: Raw = NOTHING, response: str = "") -> Laid:
    """Lay a query and a response over a state; nothing where they are empty or the state has the key."""
    front = bytes(query) if QUERY not in found.reserved else b""
    back = bytes(to_raw(response)) if response and RESPONSE not in found.reserved else b""
    if not front and not back:
        return Laid(found.state, found.keys, [])
    values = ((QUERY, front), (RESPONSE, back))
    over = [key for key, value in values if value]
    return Laid(
        _around(found.state, *(b'"%s":%s' % (k.encode(), v) if v else b"" for k, v in values)),
        _around(found.keys, *(b'"%s"' % k.encode() if v else b"" for k, v in values)),
        over,
    )


def _around(written: Raw, front: bytes, back: bytes) -> Raw:
    """Return an object or list that is written already, with a member before and after its own."""
    raw = bytes(written)
    members = filter(None, (front, raw[1:-1], back))
    return Raw(raw[:1] + b",".join(members) + raw[-1:])


def between(before: Laid, after: Laid) -> tuple[StateSnapshot, Overlay | UnsetType]:
    """Return a frame's snapshot, and which of its keys are not of the state."""
    over = Overlay(before.over, after.over) if before.over or after.over else UNSET
    return StateSnapshot(before.state, after.state), over


def said_as_query(text: str) -> Raw:
    """Return a user's words as a query; nothing for none."""
    return to_raw(text) if text else NOTHING


def asked_with(arguments: Raw) -> Raw:
    """Return the arguments of a call as the query of the agent that it runs."""
    members = read_object(arguments)
    only = members.get(_REQUEST) if len(members) == 1 else None
    if isinstance(only, str):
        return said_as_query(only)
    return _value(cut(to_raw({QUERY: members}))) if members else NOTHING


def _value(written: Raw) -> Raw:
    return Raw(bytes(written)[len(f'{{"{QUERY}":') : -1])
