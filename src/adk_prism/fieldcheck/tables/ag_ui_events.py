"""AG-UI's events: which we write, because of which facts, and which we leave alone."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Chunk, ChunkDisposition, Declined, Emitted, declined, emitted

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
    fact.ProofGiven,
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
