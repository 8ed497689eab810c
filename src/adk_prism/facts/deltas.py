"""The fast path for text deltas: an event that only extends the open block of its lane.

Nearly every entry of a streamed run is one, so a small model reads it at half the cost of the whole event
(`benchmarks/log_to_bytes.py`). The result always equals that of `event_reader`, which reads everything
else: the first delta of a block, signatures, calls, transcripts, user messages, long texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from adk_prism.facts.adk_event import FunctionCall, FunctionResponse
from adk_prism.facts.model import BlockGrew, BlockKind
from adk_prism.facts.model_call import Lane, ModelCall
from adk_prism.log.entry import NOTHING, AgentEvent

LONGEST = 1024
"""Bytes. An event with a delta has some hundred; longer ones are read in full."""


class _Piece(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None


class _Content(Struct, gc=False):
    parts: tuple[_Piece]
    """One piece; anything else is refused by the decoder."""


class _Node(Struct, gc=False):
    path: str = ""


class _Delta(Struct, rename="camel", gc=False):
    """The fields that decide whether an event is a text delta."""

    author: str = ""
    partial: bool | None = None
    content: _Content | None = None
    node_info: _Node | None = None
    branch: str | None = None
    interrupted: bool | None = None
    input_transcription: Raw = NOTHING
    output_transcription: Raw = NOTHING


_read = msgspec.json.Decoder(_Delta).decode
_NO_DELTA = None, ""


class TextDeltas:
    """Reads the text deltas of one run."""

    __slots__ = ("_call", "_kind", "_lanes")

    def __init__(self, lanes: Mapping[Lane, ModelCall]) -> None:
        self._lanes = lanes
        self._call: ModelCall | None = None
        """Whose text the last entry extended, if it was a delta."""
        self._kind: BlockKind = "text"

    def read(self, record: AgentEvent) -> BlockGrew | None:
        """Return the growth of a lane's open block, if the event holds nothing else."""
        call, text = self._call, record.more
        if call is None or not text:
            call, text = self._decode(record.event)
        grown = call.grow(self._kind, text) if call is not None else None
        self._call = call if grown is not None else None
        return grown

    def interrupt(self) -> None:
        """Note that something else was read."""
        self._call = None

    def _decode(self, raw: bytes) -> tuple[ModelCall | None, str]:
        """Return whose text an event extends, and with what."""
        if not self._lanes or len(raw) > LONGEST:
            return _NO_DELTA  # nothing is being streamed: saves tool events a decode
        try:
            event = _read(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return _NO_DELTA
        content = event.content
        if not event.partial or content is None or event.interrupted:
            return _NO_DELTA
        if event.input_transcription is not NOTHING or event.output_transcription is not NOTHING:
            return _NO_DELTA
        node = event.node_info
        path = "" if node is None else node.path
        call = self._lanes.get((path or event.author, event.branch or ""))
        if call is None or call.speaker.author != event.author or call.speaker.path != path:
            return _NO_DELTA
        piece = content.parts[0]
        if not piece.text or piece.thought_signature:
            return _NO_DELTA
        self._kind = "reasoning" if piece.thought else "text"
        return call, piece.text


# ---------------------------------------------------------------------------
# The fast path for tools: an event that holds calls and responses, and nothing rare.
#
# Most whole events of a run are such. What one of them may hold beside its parts is in this small
# model; with any other field, or with one that is not as usual, the decoder refuses it, and
# `event_reader` reads it in full. So whoever gets a `ToolEvent` need not look for errors,
# transcripts, sources or questions. The facts are always the same.

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


_read_tools = msgspec.json.Decoder(ToolEvent).decode


def tool_event(event: bytes) -> ToolEvent | None:
    """Return a whole event of an agent's tools; None if it is not one, or holds more."""
    if event.find(_BEGINNING, 0, _NEAR) < 0:
        return None  # saves other events a decode
    try:
        found = _read_tools(event)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return None if found.partial or found.author == "user" else found
