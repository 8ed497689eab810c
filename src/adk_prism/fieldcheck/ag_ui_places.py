"""Where AG-UI clients find what the AI SDK's clients find: place for place.

Both protocols tell the same facts, so a field of ADK needs one row in the tables. Each row names a place in
the AI SDK's chunks; this table names the place in AG-UI's events that goes with it. The longest beginning
counts, and what is below it stays below it.
"""

from __future__ import annotations

from msgspec import structs

from adk_prism.fieldcheck.kinds import Place

_JSON = "as JSON text"
UNIQUE = "made unique where it is short"
_UPSTREAM = "upstream's own word"

PLACES: dict[str, tuple[str, str]] = {
    "text-delta.delta": ("TEXT_MESSAGE_CONTENT.delta", ""),
    "text-start.providerMetadata": ("TEXT_MESSAGE_START.metadata", ""),
    "text-start.providerMetadata.google.thoughtSignature": (
        "REASONING_ENCRYPTED_VALUE.encryptedValue",
        "",
    ),
    "text-end.providerMetadata.google.thoughtSignature": (
        "REASONING_ENCRYPTED_VALUE.encryptedValue",
        "",
    ),
    "reasoning-delta.delta": ("REASONING_MESSAGE_CONTENT.delta", ""),
    "reasoning-start.providerMetadata": ("REASONING_MESSAGE_START.metadata", ""),
    "reasoning-start.providerMetadata.google.thoughtSignature": (
        "REASONING_ENCRYPTED_VALUE.encryptedValue",
        "",
    ),
    "reasoning-end.providerMetadata.google.thoughtSignature": (
        "REASONING_ENCRYPTED_VALUE.encryptedValue",
        "",
    ),
    "tool-input-start.toolCallId": ("TOOL_CALL_START.toolCallId", UNIQUE),
    "tool-input-start.toolName": ("TOOL_CALL_START.toolCallName", ""),
    "tool-input-delta.inputTextDelta": ("TOOL_CALL_ARGS.delta", ""),
    "tool-input-available.toolCallId": (
        "TOOL_CALL_START.toolCallId",
        UNIQUE,
    ),
    "tool-input-available.toolName": ("TOOL_CALL_START.toolCallName", ""),
    "tool-input-available.input": ("TOOL_CALL_ARGS.delta", _JSON),
    "tool-input-available.providerExecuted": (
        "TOOL_CALL_START.metadata.adk.providerExecuted",
        "",
    ),
    "tool-input-available.providerMetadata": ("TOOL_CALL_START.metadata", ""),
    "tool-input-available.providerMetadata.google.thoughtSignature": (
        "REASONING_ENCRYPTED_VALUE.encryptedValue",
        "",
    ),
    "tool-output-available.toolCallId": (
        "TOOL_CALL_RESULT.toolCallId",
        UNIQUE,
    ),
    "tool-output-available.output": ("TOOL_CALL_RESULT.content", _JSON),
    "tool-output-available.providerExecuted": (
        "TOOL_CALL_START.metadata.adk.providerExecuted",
        "",
    ),
    "tool-output-error.errorText": ("TOOL_CALL_RESULT.metadata.adk.error", ""),
    "tool-approval-request.toolCallId": (
        "RUN_FINISHED.outcome.interrupts[].toolCallId",
        UNIQUE,
    ),
    "tool-approval-request.reason": ("RUN_FINISHED.outcome.interrupts[].message", ""),
    "data-approval.data.hint": ("RUN_FINISHED.outcome.interrupts[].message", ""),
    "data-approval.data.payload": ("RUN_FINISHED.outcome.interrupts[].metadata.adk.payload", ""),
    "data-credential-request.data.toolCallId": (
        "RUN_FINISHED.outcome.interrupts[].toolCallId",
        UNIQUE,
    ),
    "data-long-running.data.toolCallId": (
        "RUN_FINISHED.outcome.pendingToolCallIds[]",
        UNIQUE,
    ),
    "data-state.data": ("STATE_DELTA.delta[].value", "an operation for each key"),
    "data-artifact.data": ("ACTIVITY_SNAPSHOT.content", ""),
    "data-transfer.data": ("CUSTOM.value", ""),
    "data-output.data": ("CUSTOM.value", ""),
    "data-error.data": ("CUSTOM.value", ""),
    "data-interrupted.data": ("CUSTOM.value", ""),
    "data-input-transcription.data.text": ("TEXT_MESSAGE_CONTENT.delta", "of the user's message"),
    "data-input-transcription.data.final": (
        "TEXT_MESSAGE_END.messageId",
        "the user's message ends",
    ),
    "data-pcm.data": ("CUSTOM.value", ""),
    "data-file-reference.data": ("ACTIVITY_SNAPSHOT.content", ""),
    "data-executable-code.data": ("TOOL_CALL_ARGS.delta", _JSON),
    "data-code-execution-result.data": ("TOOL_CALL_RESULT.content", _JSON),
    "file.url": ("ACTIVITY_SNAPSHOT.content.url", ""),
    "file.mediaType": ("ACTIVITY_SNAPSHOT.content.mediaType", ""),
    "file.providerMetadata.adk": ("ACTIVITY_SNAPSHOT.content", ""),
    "source-url.url": ("ACTIVITY_SNAPSHOT.content.sources[].uri", ""),
    "source-url.title": ("ACTIVITY_SNAPSHOT.content.sources[].title", ""),
    "source-document.title": ("ACTIVITY_SNAPSHOT.content.sources[].title", ""),
    "source-document.filename": ("ACTIVITY_SNAPSHOT.content.sources[].uri", "the whole address"),
    "error.errorText": ("RUN_ERROR.message", ""),
    "finish.finishReason": ("CUSTOM.value.finishReason", _UPSTREAM),
    "finish.messageMetadata.adkFinishReason": ("CUSTOM.value.finishReason", ""),
    "finish.messageMetadata.finishMessage": ("CUSTOM.value.finishMessage", ""),
    "finish.messageMetadata.modelVersion": ("CUSTOM.value.model", ""),
    "finish.messageMetadata.avgLogprobs": ("CUSTOM.value.avgLogprobs", ""),
    "finish.messageMetadata.logprobs": ("CUSTOM.value.logprobs", ""),
    "finish.messageMetadata.cache": ("CUSTOM.value.cache", "as ADK has it"),
    "finish.messageMetadata.custom": ("CUSTOM.value", ""),
    "finish.messageMetadata.usage": ("RUN_FINISHED.usage[]", "summed per model"),
    "finish.messageMetadata.usage.modelCalls[]": ("CUSTOM.value.usage", ""),
    "finish.messageMetadata.grounding": ("ACTIVITY_SNAPSHOT.content.grounding", ""),
    "finish.messageMetadata.grounding.sources": ("ACTIVITY_SNAPSHOT.content.sources", ""),
    "finish.messageMetadata.citations": ("ACTIVITY_SNAPSHOT.content.citations", ""),
}
"""The beginning of a place in the AI SDK's chunks → its place in AG-UI's events, and in which form."""


def ag_ui_place(place: Place) -> Place:
    """Return where AG-UI's clients find a value. Raise `KeyError` for a place without a row."""
    path = str(place)
    start = max((each for each in PLACES if begins(path, each)), key=len, default="")
    there, how = PLACES[start]
    frame, _, key = f"{there}{path[len(start) :]}".partition(".")
    return structs.replace(place, frame=frame, key=key, how=how, protocol="ag-ui")


def begins(path: str, start: str) -> bool:
    """Tell whether a place is another one, or inside it."""
    rest = path.removeprefix(start)
    return path == start or (rest != path and rest.startswith((".", "[")))
