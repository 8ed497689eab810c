"""The events of the AG-UI protocol, as the npm package `@ag-ui/core` defines them.

Follows the event schemas of 0.0.59 and 1.0.0. An absent optional field is left out, never null: both
versions refuse most nulls. `Dialect` says what a version lacks. Chunk events are not used, since
their expansion depends on the reader.

Frames are not frozen: the projection writes the time into each of an entry's frames at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, dataclass_transform

from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts.state import repair, sound

Json = dict[str, Any]


@dataclass_transform()
class _Frame(Struct, tag_field="type", rename="camel", omit_defaults=True, gc=False):
    """Base of all frames."""


class TimedFrame(_Frame, kw_only=True):
    """Base of all frames but one."""

    timestamp: int | UnsetType = UNSET
    """Milliseconds since 1970; 1.0 takes integers only."""
    metadata: Json | UnsetType = UNSET


class _Owned(TimedFrame, kw_only=True):
    subagent_run_id: str | UnsetType = UNSET
    """The sub-agent that this belongs to; absent for the run's own agent. The pieces of a text have it, too:
    clients that show sub-agents apart sort each event by it."""


# ------------------------------------------------------------------ runs and steps


class RunStarted(TimedFrame, tag="RUN_STARTED"):
    thread_id: str
    run_id: str
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    input: Json | UnsetType = UNSET


class RunFinished(TimedFrame, tag="RUN_FINISHED"):
    thread_id: str
    run_id: str
    outcome: Json | UnsetType = UNSET
    usage: list[Json] | UnsetType = UNSET


class RunError(TimedFrame, tag="RUN_ERROR"):
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


class MessagesSnapshot(TimedFrame, tag="MESSAGES_SNAPSHOT"):
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


Frame = TimedFrame | TextMessageContent

# ---------------------------------------------------------------------------
# What differs between versions of AG-UI, all of it.
#
# A client that sends no `protocolVersion` is one of before 1.0: its event schema refuses the outcome
# `cancelled` and `pendingToolCallIds`, with which the whole run would fail.


class Dialect(Struct, frozen=True):
    """One version's ways."""

    name: str
    protocol_version: str
    """What RUN_STARTED declares; empty where it declares nothing."""
    cancelled: bool
    """A run can be finished as `cancelled`; else a stopped run is an error with the code `STOPPED`."""
    pending_calls: bool
    """The outcome `success` names the calls that wait for the client."""


DEFAULT = "0.0.59"
_BEFORE = Dialect(DEFAULT, "", cancelled=False, pending_calls=False)
_ONE = Dialect("1.0", "1.0", cancelled=True, pending_calls=True)
DIALECTS = {each.name: each for each in (_BEFORE, _ONE)}
"""The default first."""

# ---------------------------------------------------------------------------
# How large a frame may be: a client's SSE reader gives up at 10 MB.
#
# Text and arguments go in several deltas. Anything else that is too large is replaced by its size;
# the log has it all.

LIMIT = 4_000_000
"""Bytes of JSON in one frame. Written as a string inside JSON, as results are, they are at most doubled."""

PIECE = 1_000_000
"""Characters in one delta. Escaped or as UTF-8, one takes six bytes at most."""


def fits(size: int) -> bool:
    """Tell whether so many bytes fit a frame."""
    return size <= LIMIT


def too_large(size: int) -> str:
    """Return what stands in the place of a value that does not fit."""
    return f"[{size} bytes: too large for an event]"


def pieces(text: str) -> Sequence[str]:
    """Return a text in pieces that fit a frame; none for an empty one."""
    if 0 < len(text) <= PIECE:
        return (text,)  # most often
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


# ---------------------------------------------------------------------------
# JSON of tools and models, as every client can read it.

_NULL = Raw(b"null")


def safe(raw: Raw) -> Raw:
    """Return a value as JSON that strict readers take; null where there is none."""
    return sound(raw) if bytes(raw) else _NULL


def bounded(raw: Raw) -> Raw | str:
    """Return a value that fits an event; where it does not, what stands in its place."""
    data = safe(raw)
    size = len(bytes(data))
    return data if fits(size) else too_large(size)


def text_of(raw: Raw) -> str:
    """Return a value as JSON text, for a field that is a string; empty where there is none."""
    before = bytes(raw)
    return repair(before, parsed=True).decode() if before else ""
