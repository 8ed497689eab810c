"""The fast path for tools: an event that holds calls and responses, and nothing rare.

Most whole events of a run are such. What one of them may hold beside its parts is in this small model; with
any other field, or with one that is not as usual, the decoder refuses it, and `event_reader` reads it in
full. So whoever gets a `ToolEvent` need not look for errors, transcripts, sources or questions. The facts are
always the same.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from adk_prism.facts.adk_event import FunctionCall, FunctionResponse
from adk_prism.runlog.entry import NOTHING

_BEGINNING = b'"parts":[{"function'
_NEAR = 200
"""Bytes. Before the parts of an event there is the name of the model, if anything."""

_Empty = Annotated[dict[str, Raw], Meta(max_length=0)]


class _Only(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """Base of the model: any other field is refused."""


class ToolPart(_Only):
    """A call or a response; neither if it only has a signature."""

    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought_signature: str = ""


class _ToolContent(_Only):
    parts: list[ToolPart]
    role: str = ""


class _ToolActions(_Only):
    state_delta: dict[str, Raw] = {}
    artifact_delta: _Empty = {}
    requested_auth_configs: _Empty = {}
    requested_tool_confirmations: _Empty = {}


class _ToolNode(_Only):
    path: str = ""


class ToolEvent(_Only, kw_only=True):
    """An event that only holds calls and responses, and changes of the state.

    The fields are in ADK's order, in which they are decoded fastest.
    """

    model_version: str = ""
    content: _ToolContent
    partial: bool = False
    finish_reason: str = ""
    usage_metadata: Raw = NOTHING
    invocation_id: str = ""
    author: str
    actions: _ToolActions | None = None
    long_running_tool_ids: frozenset[str] | None = None
    branch: str | None = None
    node_info: _ToolNode | None = None
    id: str = ""
    timestamp: float = 0.0


_read = msgspec.json.Decoder(ToolEvent).decode


def tool_event(event: bytes) -> ToolEvent | None:
    """Return a whole event of an agent's tools; None if it is not one, or holds more."""
    if event.find(_BEGINNING, 0, _NEAR) < 0:
        return None  # saves other events a decode
    try:
        found = _read(event)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return None if found.partial or found.author == "user" else found
