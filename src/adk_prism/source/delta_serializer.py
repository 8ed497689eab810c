"""The JSON of the next delta of a streamed text, from the pattern of the one before.

Nearly every event of a run is such a delta, and differs from the last one in its text, id and time only. To
check that nothing else differs costs a third of what pydantic takes to serialise the event. A pattern is
taken only from an event whose other values are plain, so that equal values are written alike; text has no
keys, so there is nothing to redact in it.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.genai import types

from adk_prism.runlog.entry import AgentEvent

_encode = msgspec.json.Encoder().encode

_OWN = {"content", "actions", "node_info", "id", "timestamp"}
"""Fields that are compared separately."""
_rest_of_event = itemgetter(*(name for name in Event.model_fields if name not in _OWN))
_rest_of_part = itemgetter(*(name for name in types.Part.model_fields if name != "text"))
_NO_ACTIONS = EventActions().__dict__
_PLAIN = (type(None), bool, str)

_TIMES = (1e6, 1e12)
"""Between these, all JSON encoders write a time with the same digits."""


class _Pattern(NamedTuple):
    event: tuple[Any, ...]
    node: dict[str, Any]
    part: tuple[Any, ...]
    role: str | None
    before_text: bytes
    after_text: bytes


class DeltaSerializer:
    """Writes the deltas of one run; returns None for events that need the real serializer."""

    def __init__(self) -> None:
        self._pattern: _Pattern | None = None
        self._is_last = False
        """The last event had the pattern."""

    def write(self, event: Event) -> AgentEvent | None:
        """Return an event that differs from the last delta only in text, id and time."""
        follows, self._is_last = self._is_last, False
        pattern, text = self._pattern, _text_of(event)
        if pattern is None or text is None:
            return None
        rest, node, of_part, role, _, _ = pattern
        content, timestamp = event.content, event.timestamp
        if (
            _rest_of_event(event.__dict__) != rest
            or event.actions.__dict__ != _NO_ACTIONS
            or event.node_info.__dict__ != node
            or _rest_of_part(content.parts[0].__dict__) != of_part  # type: ignore[union-attr,index]
            or content.role != role  # type: ignore[union-attr]
            or type(timestamp) is not float
            or not _TIMES[0] < timestamp < _TIMES[1]
        ):
            return None
        data = _written(pattern, text, event)
        self._is_last = data is not None
        return None if data is None else AgentEvent(data, text if follows else "")

    def learn(self, event: Event, data: bytes) -> None:
        """Take the pattern of a delta that has been written, if it is one."""
        text = _text_of(event)
        if text is None or event.actions.__dict__ != _NO_ACTIONS:
            return
        part, role = event.content.parts[0], event.content.role  # type: ignore[union-attr,index]
        rest, node = _rest_of_event(event.__dict__), event.node_info.__dict__
        of_part = _rest_of_part(part.__dict__)
        if all(type(value) in _PLAIN for value in (*rest, *node.values(), *of_part, role)):
            # The first bare `"text":` is the part's key: inside a string the marks are escaped.
            before, key, after = data.partition(b'"text":')
            middle = after[len(_encode(text)) :].rpartition(b'"id":')[0]
            pattern = _Pattern(rest, dict(node), of_part, role, before + key, middle)
            if _written(pattern, text, event) == data:
                self._pattern, self._is_last = pattern, True


def _text_of(event: Event) -> str | None:
    """Return the text of an event with one text part, if all objects are of ADK's own classes."""
    content = event.content
    if event.partial is not True or type(event) is not Event or type(content) is not types.Content:
        return None
    parts = content.parts
    if type(event.node_info) is not NodeInfo or parts is None or len(parts) != 1:
        return None
    if type(parts[0]) is not types.Part or type(parts[0].text) is not str:
        return None
    return parts[0].text


def _written(pattern: _Pattern, text: str, event: Event) -> bytes | None:
    try:
        return b'%b%b%b"id":%b,"timestamp":%b}' % (
            pattern.before_text,
            _encode(text),
            pattern.after_text,
            _encode(event.id),
            _encode(event.timestamp),
        )
    except (ValueError, TypeError):  # Lone surrogates, or no text: left to the real serializer.
        return None
