"""The tolerant read model of ADK's wire event: the only module that knows its field names.

Follows google-adk 2.13.0 (`Event`, 35 fields; `EventActions`, 15; genai `Part`, 17), camelCase.
Every field is optional and unknown keys are ignored, so that events of a newer ADK can be read;
`unknown_fields` returns what was ignored. Variants of other writers are accepted: numbers in quotes,
null for absent values. Values that no fact inspects stay raw JSON.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct, field

from adk_prism.facts.state import is_given
from adk_prism.log.entry import NOTHING

APPENDED = "adk_prism_appended"
"""Custom metadata of an event that agent code stored in its session itself: the Runner never yielded it."""
PROGRESS = "adk_prism_progress"
"""Custom metadata of a partial event in which a tool says how far it is."""
CONFIRMATION = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"
INPUT = "adk_request_input"
REQUESTS = frozenset({CONFIRMATION, CREDENTIAL, INPUT})
"""Calls by which ADK itself asks a person."""
MADE_UP_HINT = "Please approve or reject the tool call"
"""The beginning of ADK's default hint, which is addressed to a program and not shown to people."""

ABORTED = "INVOCATION_ABORTED"

FINISH_REASONS = frozenset(
    """FINISH_REASON_UNSPECIFIED STOP MAX_TOKENS CONTINUATION SAFETY RECITATION LANGUAGE OTHER BLOCKLIST
    PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION
    IMAGE_OTHER NO_IMAGE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS""".split()
)
BLOCK_REASONS = frozenset("BLOCKED_REASON_UNSPECIFIED JAILBREAK MODEL_ARMOR".split())
"""Reasons for refusing a prompt that are not finish reasons as well."""


def request_name(kind: str) -> str:
    """Return the name of the call by which ADK asks for a `confirmation`, `credential` or `input`."""
    return f"adk_request_{kind}"


class _Read(Struct, rename="camel", gc=False):
    """Base of the read model."""


class FunctionCall(_Read):
    id: str | None = None
    name: str | None = None
    args: Raw = NOTHING
    partial_args: list[dict[str, Any]] | None = None
    will_continue: bool | None = None


class Blob(_Read):
    mime_type: str | None = None
    data: str | None = None
    display_name: str | None = None


class FileData(_Read):
    mime_type: str | None = None
    file_uri: str | None = None
    display_name: str | None = None


class ResponsePart(_Read):
    inline_data: Blob | None = None
    file_data: FileData | None = None


class FunctionResponse(_Read):
    id: str | None = None
    name: str | None = None
    response: Raw = NOTHING
    parts: list[ResponsePart] | None = None
    will_continue: bool | None = None


class ServerCall(_Read):
    """A tool that the model's provider runs itself (`toolCall`)."""

    id: str | None = None
    tool_type: str | None = None
    args: Raw = NOTHING


class ServerResponse(_Read):
    id: str | None = None
    tool_type: str | None = None
    response: Raw = NOTHING


class Transcription(_Read):
    text: str | None = None
    finished: bool | None = None


class Part(_Read):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    executable_code: Raw = NOTHING
    code_execution_result: Raw = NOTHING
    tool_call: ServerCall | None = None
    tool_response: ServerResponse | None = None
    audio_transcription: Transcription | None = None
    part_metadata: Raw = NOTHING


class Content(_Read):
    parts: list[Part] | None = None
    role: str | None = None


class Actions(_Read):
    state_delta: dict[str, Raw] = {}
    artifact_delta: dict[str, int] = {}
    transfer_to_agent: str | None = None
    transfer_reason: str | None = None
    skip_summarization: bool | None = None
    escalate: bool | None = None
    requested_tool_confirmations: dict[str, Raw] = {}
    requested_auth_configs: dict[str, Raw] = {}
    compaction: Raw = NOTHING


class NodeInfo(_Read):
    path: str = ""


class GroundingSource(_Read):
    uri: str | None = None
    source_uri: str | None = None
    """The page that shows an image."""
    image_uri: str | None = None
    title: str | None = None
    document_name: str | None = None


class GroundingChunk(_Read):
    web: GroundingSource | None = None
    retrieved_context: GroundingSource | None = None
    maps: GroundingSource | None = None
    image: GroundingSource | None = None


class Grounding(_Read):
    grounding_chunks: list[GroundingChunk] | None = None


class Progress(_Read):
    call: str = ""
    done: float | None = None
    total: float | None = None
    message: str = ""
    data: Raw = NOTHING


class _Metadata(Struct):
    progress: Progress | None = field(name=PROGRESS, default=None)


class AdkEvent(_Read):
    id: str = ""
    author: str = ""
    partial: bool | None = None
    content: Content | None = None
    actions: Actions | None = None
    node_info: NodeInfo | None = None
    branch: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    finish_reason: str | None = None
    model_version: str | None = None
    long_running_tool_ids: frozenset[str] | None = None
    usage_metadata: Raw = NOTHING
    grounding_metadata: Raw = NOTHING
    citation_metadata: Raw = NOTHING
    cache_metadata: Raw = NOTHING
    custom_metadata: Raw = NOTHING
    logprobs_result: Raw = NOTHING
    avg_logprobs: float | None = None
    output: Raw = NOTHING
    interrupted: bool | None = None
    turn_complete: bool | None = None
    interaction_status: str | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    invocation_id: str = ""
    timestamp: float = field(default=0.0)


_UNUSED = {
    "event": """turnCompleteReason liveSessionResumptionUpdate liveSessionId goAway
        voiceActivity interactionId environmentId isolationScope""",
    "actions": """endOfAgent agentState rewindBeforeInvocationId route
        renderUiWidgets setModelResponse""",
    "nodeInfo": "outputFor messageAsOutput",
    "part": "mediaResolution videoMetadata mediaProcessing speechMetadata",
}
"""Fields that ADK has and no fact uses; `fieldcheck` gives the reason for each."""


def _names(model: type[Struct], where: str) -> frozenset[str]:
    return frozenset(model.__struct_encode_fields__) | frozenset(_UNUSED[where].split())


EVENT_FIELDS = _names(AdkEvent, "event")
ACTION_FIELDS = _names(Actions, "actions")
NODE_FIELDS = _names(NodeInfo, "nodeInfo")
PART_FIELDS = _names(Part, "part")


_read_strictly = msgspec.json.Decoder(AdkEvent).decode
_read_leniently = msgspec.json.Decoder(AdkEvent, strict=False).decode
_read_tree = msgspec.json.Decoder(dict[str, Any]).decode
_read_metadata = msgspec.json.Decoder(_Metadata).decode
_read_grounding = msgspec.json.Decoder(Grounding, strict=False).decode
_encode = msgspec.json.Encoder().encode


def read_event(event: bytes) -> AdkEvent:
    """Read an event. Raise `msgspec.MsgspecError` if it is not an ADK event."""
    try:
        return _read_strictly(event)
    except UnicodeDecodeError as error:  # the one error that msgspec does not wrap
        raise msgspec.DecodeError(str(error)) from error
    except msgspec.ValidationError:
        tree = _without_nulls(_read_tree(event))
        for inner in ("actions", "nodeInfo"):
            if isinstance(tree.get(inner), dict):
                tree[inner] = _without_nulls(tree[inner])
        return _read_leniently(_encode(tree))


def progress_of(event: AdkEvent) -> Progress | None:
    """Return what a tool reports in an event, if it is such a report."""
    if event.partial and is_given(event.custom_metadata):
        with suppress(msgspec.MsgspecError):
            return _read_metadata(event.custom_metadata).progress
    return None


def _without_nulls(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if value is not None}


def read_grounding(grounding: bytes) -> list[GroundingChunk]:
    """Return the sources of grounding metadata; none if they cannot be read."""
    try:
        return _read_grounding(grounding).grounding_chunks or []
    except msgspec.MsgspecError:
        return []


def unknown_part(event: bytes, index: int) -> Raw | None:
    """Return a part as it was written if it has unknown fields; else None."""
    part = _without_nulls(_read_tree(event)["content"]["parts"][index])
    return Raw(_encode(part)) if part.keys() - PART_FIELDS else None


# ---------------------------------------------------------------------------
# Fields of an ADK event that this version does not know: they are reported, never dropped.

MOST = 32
"""Fields that are reported per run. ADK gained ten in a year; more would only be noise."""


class _Parts(Struct, gc=False):
    parts: list[dict[str, Raw]] | None = None


class _Objects(_Read):
    """The objects of an event whose members have known names."""

    actions: dict[str, Raw] | None = None
    node_info: dict[str, Raw] | None = None
    content: _Parts | None = None


_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_objects = msgspec.json.Decoder(_Objects).decode


def unknown_fields(event: bytes) -> dict[str, Raw]:
    """Return the unknown fields of an event, by place and name: `event.x`, `nodeInfo.x`, `part.x`."""
    try:
        members, inner = _read_members(event), _read_objects(event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    parts = (inner.content.parts if inner.content is not None else None) or ()
    places = [
        ("event", members, EVENT_FIELDS),
        ("actions", inner.actions or {}, ACTION_FIELDS),
        ("nodeInfo", inner.node_info or {}, NODE_FIELDS),
        *(("part", part, PART_FIELDS) for part in parts),
    ]
    return {
        f"{where}.{name}": value
        for where, found, known in places
        for name, value in found.items()
        if name not in known and bytes(value) != b"null"
    }


# ---------------------------------------------------------------------------
# What kind of media a part holds.

MediaKind = Literal["inline", "file", "code", "result"]


def media_kind(part: Part) -> MediaKind | None:
    """Tell what kind of media a part holds, if any."""
    if part.inline_data is not None:
        return "inline"
    if part.file_data is not None:
        return "file"
    if is_given(part.executable_code):
        return "code"
    if is_given(part.code_execution_result):
        return "result"
    return None
