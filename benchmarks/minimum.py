"""The hand-written minimum: from an event's JSON to exactly the bytes that adk-prism sends for it.

For each kind of event one small model with only the fields that are needed, one frame, one format. It
knows which kind comes next, that nothing is unusual, and what came before; it keeps no state, repairs
nothing and could serve no other event. It is what everything else is measured in.

`tool` and `state` read values and write them again, as any such program would at first; `copied_tool` and
`copied_state` pass the JSON of a value on unread, as adk-prism does. Nothing that reads events in Python
can be much cheaper than that.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

_encode = msgspec.json.Encoder().encode

Value = TypeVar("Value")


class _Call(Struct, Generic[Value]):
    id: str
    name: str
    args: Value


class _Answer(Struct, Generic[Value]):
    id: str
    response: Value


class _Part(Struct, Generic[Value], rename="camel"):
    function_call: _Call[Value] | None = None
    function_response: _Answer[Value] | None = None


class _Content(Struct, Generic[Value]):
    parts: list[_Part[Value]]


class _Tool(Struct, Generic[Value]):
    content: _Content[Value]


class _Actions(Struct, Generic[Value], rename="camel"):
    state_delta: Value


class _State(Struct, Generic[Value]):
    actions: _Actions[Value]


class _TextPart(Struct):
    text: str


class _TextContent(Struct):
    parts: list[_TextPart]


class _Text(Struct):
    content: _TextContent


class _ToolInput(Struct, tag_field="type", tag="tool-input-available", rename="camel"):
    tool_call_id: str
    tool_name: str
    input: Any
    provider_metadata: Any


class _ToolOutput(Struct, tag_field="type", tag="tool-output-available", rename="camel"):
    tool_call_id: str
    output: Any


class _StateData(Struct, tag_field="type", tag="data-state"):
    data: Any


_read_text = msgspec.json.Decoder(_Text).decode
_read_tool = msgspec.json.Decoder(_Tool[Any]).decode
_read_state = msgspec.json.Decoder(_State[Any]).decode
_copy_tool = msgspec.json.Decoder(_Tool[Raw]).decode
_copy_state = msgspec.json.Decoder(_State[Raw]).decode


def text(cursor: int, event: bytes) -> bytes:
    """Return the frame of a delta."""
    return b'id: %d.1\ndata: {"type":"text-delta","id":"text-3.0","delta":%b}\n\n' % (
        cursor,
        _encode(_read_text(event).content.parts[0].text),
    )


def tool(cursor: int, event: bytes) -> bytes:
    """Return the frames of a call, or of its answer."""
    return _tool(cursor, _read_tool(event).content.parts[0])


def copied_tool(cursor: int, event: bytes) -> bytes:
    """Return the same, with values unread."""
    return _tool(cursor, _copy_tool(event).content.parts[0])


def _tool(cursor: int, part: _Part[Any]) -> bytes:
    call = part.function_call
    if call is None:
        answer = part.function_response
        assert answer is not None
        return b"id: %d.1\ndata: %b\n\n" % (
            cursor,
            _encode(_ToolOutput(answer.id, answer.response)),
        )
    speaker = {"adk": {"author": "speaker", "path": "speaker@1"}}
    frame = _encode(_ToolInput(call.id, call.name, call.args, speaker))
    return (
        b'id: %d.1\ndata: {"type":"finish-step"}\n\nid: %d.2\ndata: {"type":"start-step"}\n\n'
        b"id: %d.3\ndata: %b\n\n" % (cursor, cursor, cursor, frame)
    )


def state(cursor: int, event: bytes) -> bytes:
    """Return the frame of a change of state."""
    frame = _encode(_StateData(_read_state(event).actions.state_delta))
    return b"id: %d.1\ndata: %b\n\n" % (cursor, frame)


def copied_state(cursor: int, event: bytes) -> bytes:
    """Return the same, with values unread."""
    frame = _encode(_StateData(_copy_state(event).actions.state_delta))
    return b"id: %d.1\ndata: %b\n\n" % (cursor, frame)
