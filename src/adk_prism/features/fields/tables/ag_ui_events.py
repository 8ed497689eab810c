"""AG-UI's events: which we write, because of which facts, and which we leave alone."""

from __future__ import annotations

from msgspec import structs

from adk_prism.facts import model as fact
from adk_prism.features.fields.kinds import (
    Chunk,
    ChunkDisposition,
    Declined,
    Emitted,
    Place,
    declined,
    emitted,
)

_BESIDE = Declined(
    "`RAW` has ADK's event, on request; beside each of our events it would be doubled"
)
_OPENED = Declined("said once, at the start of the message or call")
_NOBODY = Declined("it has nothing to say but what its other keys say")
_SHARED = Declined("state belongs to the session, whichever agent changed it")
_UNKNOWN = Declined("the log does not say it")
_OWN = Declined("in 0.0.59, and replaced there by `REASONING_*`")

_ANSWERS = (fact.CallAnswered, fact.CallFailed, fact.CallDenied, fact.CallAbandoned)
_CODE = (fact.CodeShown, fact.CodeResultShown)
_ENDED = (fact.BlockEnded, fact.BlocksReplaced, fact.RunOver)
_NODES = (fact.NodeBegan, fact.NodeFinished)
_USER = (fact.UserSpoke, fact.InputTranscribed)


def _event(facts: tuple[type, ...], keys: str = "", **others: ChunkDisposition) -> Chunk:
    """Describe an event that is sent with these keys: all have a time, none has upstream's event."""
    return emitted(facts, f"timestamp {keys}", rawEvent=_BESIDE, **others)


RUNS: dict[str, Chunk] = {
    "RUN_STARTED": _event(
        (fact.RunBegan,),
        "threadId runId parentRunId input",
        protocolVersion=Emitted((fact.RunBegan,), dialect="1.0"),
        metadata=_NOBODY,
    ),
    "RUN_FINISHED": _event(
        (fact.RunOver,),
        "threadId runId outcome usage",
        result=Declined("an ADK run returns nothing; what nodes return is `adk.output`"),
        metadata=_NOBODY,
    ),
    "RUN_ERROR": _event((fact.RunOver,), "message code usage", metadata=_NOBODY),
    "STEP_STARTED": _event((fact.NodeBegan,), "stepName subagentRunId", metadata=_NOBODY),
    "STEP_FINISHED": _event((fact.NodeFinished,), "stepName subagentRunId metadata"),
    "SUBAGENT_STARTED": _event(
        (fact.NodeBegan,),
        "subagentRunId name parentSubagentRunId parentToolCallId",
        description=_UNKNOWN,
        parentMessageId=Declined("`parentToolCallId` says it more precisely"),
        metadata=_NOBODY,
    ),
    "SUBAGENT_FINISHED": _event(
        (fact.NodeFinished,), "subagentRunId outcome result", metadata=_NOBODY
    ),
    "SUBAGENT_ERROR": _event((fact.NodeFinished,), "subagentRunId message code", metadata=_NOBODY),
}

TEXTS: dict[str, Chunk] = {
    "TEXT_MESSAGE_START": _event(
        (fact.BlockBegan, *_USER), "messageId role name subagentRunId metadata"
    ),
    "TEXT_MESSAGE_CONTENT": _event(
        (fact.BlockGrew, *_USER), "messageId delta subagentRunId", metadata=_OPENED
    ),
    "TEXT_MESSAGE_END": _event((*_ENDED, *_USER), "messageId subagentRunId metadata"),
    "REASONING_START": _event((fact.BlockBegan,), "messageId subagentRunId", metadata=_NOBODY),
    "REASONING_MESSAGE_START": _event((fact.BlockBegan,), "messageId role subagentRunId metadata"),
    "REASONING_MESSAGE_CONTENT": _event(
        (fact.BlockGrew,), "messageId delta subagentRunId", metadata=_OPENED
    ),
    "REASONING_MESSAGE_END": _event(_ENDED, "messageId subagentRunId metadata"),
    "REASONING_END": _event(_ENDED, "messageId subagentRunId", metadata=_NOBODY),
    "REASONING_ENCRYPTED_VALUE": _event(
        (fact.BlockBegan, fact.BlockEnded, fact.CallRequested),
        "subtype entityId encryptedValue subagentRunId",
        metadata=_NOBODY,
    ),
    **{
        kind: declined("a start, its pieces and an end say the same, and need no expansion")
        for kind in ("TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK", "TOOL_CALL_CHUNK")
    },
    **{
        kind: Chunk(_OWN)
        for kind in (
            "THINKING_START",
            "THINKING_END",
            "THINKING_TEXT_MESSAGE_START",
            "THINKING_TEXT_MESSAGE_CONTENT",
            "THINKING_TEXT_MESSAGE_END",
        )
    },
}

CALLS: dict[str, Chunk] = {
    "TOOL_CALL_START": _event(
        (fact.CallInputGrew, fact.CallRequested, *_CODE),
        "toolCallId toolCallName parentMessageId subagentRunId metadata",
    ),
    "TOOL_CALL_ARGS": _event(
        (fact.CallInputGrew, fact.CallRequested, *_CODE),
        "toolCallId delta subagentRunId",
        metadata=_OPENED,
    ),
    "TOOL_CALL_END": _event(
        (fact.CallRequested, fact.CallAbandoned, fact.RunOver, *_CODE),
        "toolCallId subagentRunId metadata",
    ),
    "TOOL_CALL_RESULT": _event(
        (*_ANSWERS, fact.CodeResultShown, fact.RunOver),
        "messageId toolCallId content role subagentRunId metadata",
    ),
}

_SHOWN = (
    fact.BlocksReplaced,
    fact.FileShown,
    fact.ArtifactSaved,
    fact.SourcesLinked,
    fact.CitationsGiven,
    fact.Annotated,
    fact.ApprovalRequested,
    fact.ApprovalDecided,
    *_ANSWERS,
)
_PASSING = (
    fact.MessageBegan,
    fact.TakenOver,
    fact.InputTranscribed,
    fact.AudioHeard,
    fact.ModelCallEnded,
    fact.MetadataGiven,
    fact.Interrupted,
    fact.AgentTransferred,
    fact.NodeOutput,
    fact.ErrorRaised,
    fact.Unrecognised,
)

STATE: dict[str, Chunk] = {
    "STATE_SNAPSHOT": _event((fact.RunBegan,), "snapshot", subagentRunId=_SHARED, metadata=_NOBODY),
    "STATE_DELTA": _event(
        (fact.StateChanged, *_NODES), "delta", subagentRunId=_SHARED, metadata=_NOBODY
    ),
    "MESSAGES_SNAPSHOT": declined(
        "a run consists of its events; `connect` sends one, of the thread's past"
    ),
    "ACTIVITY_SNAPSHOT": _event(
        _SHOWN,
        "messageId activityType content subagentRunId",
        replace=Declined("a snapshot replaces the one before, which is the default"),
        metadata=_NOBODY,
    ),
    "ACTIVITY_DELTA": declined("an activity is small, and sent whole when it changes"),
    "RAW": _event(
        (), "event source", subagentRunId=Declined("it says so itself"), metadata=_NOBODY
    ),
    "CUSTOM": _event(_PASSING, "name value subagentRunId", metadata=_NOBODY),
}

TABLE: dict[str, Chunk] = {**RUNS, **TEXTS, **CALLS, **STATE}


# ---------------------------------------------------------------------- where ADK's fields are in them
#
# Where AG-UI clients find what the AI SDK's clients find: place for place.
#
# Both protocols tell the same facts, so a field of ADK needs one row in the tables. Each row names a place
# in the AI SDK's chunks; this table names the place in AG-UI's events that goes with it. The longest
# beginning counts, and what is below it stays below it.

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
