"""The hand-written minimum: from an event's JSON to exactly the bytes that adk-prism sends for it.

For each kind of event one small model with only the fields that are needed, and one format. It knows
what kind comes next, that nothing is unusual, and what came before; it keeps no state, repairs nothing
and could serve no other event. Nothing that reads the JSON in Python can be much cheaper, so it is what
everything else is measured in.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

_encode = msgspec.json.Encoder().encode


class _Call(Struct):
    id: str
    name: str
    args: Raw


class _Answer(Struct):
    id: str
    response: Raw


class _Part(Struct, rename="camel"):
    text: str = ""
    function_call: _Call | None = None
    function_response: _Answer | None = None


class _TextPart(Struct):
    text: str


class _TextContent(Struct):
    parts: list[_TextPart]


class _Text(Struct):
    content: _TextContent


class _Content(Struct):
    parts: list[_Part]


class _Tool(Struct):
    content: _Content


class _Actions(Struct, rename="camel"):
    state_delta: Raw


class _State(Struct):
    actions: _Actions


_read_text = msgspec.json.Decoder(_Text).decode
_read_tool = msgspec.json.Decoder(_Tool).decode
_read_state = msgspec.json.Decoder(_State).decode


def text(cursor: int, event: bytes) -> bytes:
    """Return the frame of a delta."""
    return b'id: %d.1\ndata: {"type":"text-delta","id":"text-2.0","delta":%b}\n\n' % (
        cursor,
        _encode(_read_text(event).content.parts[0].text),
    )


def tool(cursor: int, event: bytes) -> bytes:
    """Return the frames of a call in a step of its own, or of its answer."""
    part = _read_tool(event).content.parts[0]
    call = part.function_call
    if call is not None:
        return (
            b'id: %d.1\ndata: {"type":"finish-step"}\n\n'
            b'id: %d.2\ndata: {"type":"start-step"}\n\n'
            b'id: %d.3\ndata: {"type":"tool-input-available","toolCallId":%b,"toolName":%b,'
            b'"input":%b,"providerMetadata":{"adk":{"author":"speaker","path":"speaker@1"}}}\n\n'
            % (cursor, cursor, cursor, _encode(call.id), _encode(call.name), bytes(call.args))
        )
    answer = part.function_response
    assert answer is not None
    return b'id: %d.1\ndata: {"type":"tool-output-available","toolCallId":%b,"output":%b}\n\n' % (
        cursor,
        _encode(answer.id),
        bytes(answer.response),
    )


def state(cursor: int, event: bytes) -> bytes:
    """Return the frame of a change of state."""
    return b'id: %d.1\ndata: {"type":"data-state","data":%b}\n\n' % (
        cursor,
        bytes(_read_state(event).actions.state_delta),
    )
