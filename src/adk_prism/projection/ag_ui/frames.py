"""The events of the AG-UI protocol, as the npm package `@ag-ui/core` defines them.

Follows the event schemas of 0.0.59 and 1.0.0. An absent optional field is left out, never null: both
versions refuse most nulls. Only `dialects.py` knows what a version lacks. Chunk events are not used, since
their expansion depends on the reader.

Frames are not frozen: the projection writes the time into each of an entry's frames at once.
"""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform

from msgspec import UNSET, Raw, Struct, UnsetType

Json = dict[str, Any]


@dataclass_transform()
class _Frame(Struct, tag_field="type", rename="camel", omit_defaults=True, gc=False):
    """Base of all frames."""


class _Timed(_Frame, kw_only=True):
    timestamp: int | UnsetType = UNSET
    """Milliseconds since 1970; 1.0 takes integers only."""
    metadata: Json | UnsetType = UNSET


class _Owned(_Timed, kw_only=True):
    subagent_run_id: str | UnsetType = UNSET
    """The sub-agent that this belongs to; absent for the run's own agent. The pieces of a text have it, too:
    clients that show sub-agents apart sort each event by it."""


# ------------------------------------------------------------------ runs and steps


class RunStarted(_Timed, tag="RUN_STARTED"):
    thread_id: str
    run_id: str
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    input: Json | UnsetType = UNSET


class RunFinished(_Timed, tag="RUN_FINISHED"):
    thread_id: str
    run_id: str
    outcome: Json | UnsetType = UNSET
    usage: list[Json] | UnsetType = UNSET


class RunError(_Timed, tag="RUN_ERROR"):
    message: str
    code: str | UnsetType = UNSET
    usage: list[Json] | UnsetType = UNSET


class StepStarted(_Owned, tag="STEP_STARTED"):
    step_name: str


class StepFinished(_Owned, tag="STEP_FINISHED"):
    step_name: str


class SubagentStarted(_Owned, tag="SUBAGENT_STARTED"):
    name: str
    parent_subagent_run_id: str | UnsetType = UNSET
    parent_tool_call_id: str | UnsetType = UNSET


class SubagentFinished(_Owned, tag="SUBAGENT_FINISHED"):
    result: Any = UNSET
    outcome: Json | UnsetType = UNSET


class SubagentError(_Owned, tag="SUBAGENT_ERROR"):
    message: str
    code: str | UnsetType = UNSET


# ------------------------------------------------------------------ what is said


class TextMessageStart(_Owned, tag="TEXT_MESSAGE_START"):
    message_id: str
    role: Literal["assistant", "user"]
    name: str | UnsetType = UNSET


class TextMessageContent(_Frame, tag="TEXT_MESSAGE_CONTENT"):
    """Nearly every event is one: it has its time from the start, and no metadata."""

    message_id: str
    delta: str
    timestamp: int | UnsetType = UNSET
    subagent_run_id: str | UnsetType = UNSET


class TextMessageEnd(_Owned, tag="TEXT_MESSAGE_END"):
    message_id: str


class ReasoningStart(_Owned, tag="REASONING_START"):
    message_id: str


class ReasoningMessageStart(_Owned, tag="REASONING_MESSAGE_START"):
    message_id: str
    role: Literal["reasoning"]


class ReasoningMessageContent(_Owned, tag="REASONING_MESSAGE_CONTENT"):
    message_id: str
    delta: str


class ReasoningMessageEnd(_Owned, tag="REASONING_MESSAGE_END"):
    message_id: str


class ReasoningEnd(_Owned, tag="REASONING_END"):
    message_id: str


class ReasoningEncryptedValue(_Owned, tag="REASONING_ENCRYPTED_VALUE"):
    subtype: Literal["tool-call", "message"]
    entity_id: str
    encrypted_value: str


# ------------------------------------------------------------------ tools


class ToolCallStart(_Owned, tag="TOOL_CALL_START"):
    tool_call_id: str
    tool_call_name: str
    parent_message_id: str


class ToolCallArgs(_Owned, tag="TOOL_CALL_ARGS"):
    tool_call_id: str
    delta: str


class ToolCallEnd(_Owned, tag="TOOL_CALL_END"):
    tool_call_id: str


class ToolCallResult(_Owned, tag="TOOL_CALL_RESULT"):
    message_id: str
    tool_call_id: str
    content: str
    role: Literal["tool"]


# ------------------------------------------------------------------ state, activities, the rest


class StateSnapshot(_Owned, tag="STATE_SNAPSHOT"):
    snapshot: Raw


class StateDelta(_Owned, tag="STATE_DELTA"):
    delta: list[Json]


class MessagesSnapshot(_Timed, tag="MESSAGES_SNAPSHOT"):
    messages: list[Json]


class ActivitySnapshot(_Owned, tag="ACTIVITY_SNAPSHOT"):
    message_id: str
    activity_type: str
    content: Any
    """A JSON object."""


class RawEvent(_Owned, tag="RAW"):
    event: Any
    """JSON, or a note in its place."""
    source: str


class Custom(_Owned, tag="CUSTOM"):
    name: str
    value: Any


Frame = (
    RunStarted
    | RunFinished
    | RunError
    | StepStarted
    | StepFinished
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | TextMessageStart
    | TextMessageContent
    | TextMessageEnd
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningMessageContent
    | ReasoningMessageEnd
    | ReasoningEnd
    | ReasoningEncryptedValue
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallResult
    | StateSnapshot
    | StateDelta
    | MessagesSnapshot
    | ActivitySnapshot
    | RawEvent
    | Custom
)
