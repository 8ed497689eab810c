"""The frames of the Studio protocol: SSE Schema v2, as named server-sent events.

Each frame has an event name. `session` and `chunk` are plain text and `end` is empty; all others are
JSON objects. Keys that the schema names come first, in its order; what we add is optional and comes
after them, so that a consumer of version 1 or 2 reads what it knows and passes over the rest. An
absent optional field is left out, never null. States are JSON that is already written (`Raw`): a
snapshot that several frames carry was encoded once.
"""

from __future__ import annotations

from typing import ClassVar, Literal, dataclass_transform

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from adk_prism.protocols.contract import Complete, Payload

Status = Literal["error", "cancelled", "waiting"]
"""How a node or run ended that did not succeed; success is said by silence, as the schema does."""

Level = Literal["warn", "error"]


class StateSnapshot(Struct, frozen=True, gc=False):
    """The state before and after."""

    input: Raw
    output: Raw


class Overlay(Struct, omit_defaults=True, frozen=True, gc=False):
    """The keys of a snapshot that are not of the state: what a node was asked, and what it answered."""

    input: list[str] = []
    output: list[str] = []


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Trace(Struct, tag_field="type", omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """Base of the `trace` frames. `timestamp`: milliseconds since 1970, as in an `interrupt`."""

    event: ClassVar[str] = "trace"


class NodeStart(Trace, tag="node_start"):
    """A node begins: agents and workflow steps, never tools."""

    node: str
    step: int
    """Counted from 1 in the order of starts."""
    state_snapshot: StateSnapshot
    state_keys: Raw
    timestamp: int
    id: str
    """Of this execution, in this run; a node of a loop has one name and many ids."""
    kind: str
    path: str | UnsetType = UNSET
    parent: str | UnsetType = UNSET
    """Id of the execution that it runs in."""
    call: str | UnsetType = UNSET
    """Id of the `tool_call` that it answers."""
    iteration: int | UnsetType = UNSET
    overlay: Overlay | UnsetType = UNSET
    derived: bool | UnsetType = UNSET
    """Inferred, not seen."""


class NodeEnd(Trace, tag="node_end"):
    """A node ends."""

    node: str
    step: int
    duration_ms: int
    state_snapshot: StateSnapshot
    state_keys: Raw
    timestamp: int
    id: str
    kind: str
    path: str | UnsetType = UNSET
    parent: str | UnsetType = UNSET
    call: str | UnsetType = UNSET
    iteration: int | UnsetType = UNSET
    overlay: Overlay | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    """What a workflow's node gave on to the next; what an agent answered."""
    status: Status | UnsetType = UNSET
    error: str | UnsetType = UNSET
    derived: bool | UnsetType = UNSET


class State(Trace, tag="state"):
    """The state changed while a node runs, or outside of all nodes."""

    state_snapshot: StateSnapshot
    state_keys: Raw
    timestamp: int
    changed: list[str]


class Done(Trace, tag="done"):
    """The run is over, and did not fail."""

    total_steps: int
    state_snapshot: StateSnapshot
    state_keys: Raw
    timestamp: int
    overlay: Overlay | UnsetType = UNSET
    status: Status | UnsetType = UNSET


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Message(Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """Base of the other frames that are JSON."""

    event: ClassVar[str]


class Thinking(Message):
    event: ClassVar[str] = "thinking"

    content: str
    node: str | UnsetType = UNSET


class ToolCall(Message):
    event: ClassVar[str] = "tool_call"

    name: str
    args: Raw
    id: str
    node: str | UnsetType = UNSET
    within: str | UnsetType = UNSET
    """The call whose tool runs the agent that makes this call."""


class ToolResult(Message):
    event: ClassVar[str] = "tool_result"

    name: str
    result: Raw
    id: str
    status: Literal["error", "denied", "abandoned"] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    within: str | UnsetType = UNSET


class Log(Message):
    event: ClassVar[str] = "log"

    message: str
    node: str | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    within: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    """All valid text, if some of it was replaced."""
    thinking: str | UnsetType = UNSET
    """The same of thoughts."""


class Interrupt(Message):
    """A person is asked; the run ends, and continues when the answer comes."""

    event: ClassVar[str] = "interrupt"

    type: Literal["approval", "input", "credential"]
    node_id: str
    message: str
    data: Raw
    thread_id: str
    checkpoint_id: str
    """A position of the run log: what was known when the question was asked."""
    timestamp: int


class Resume(Message):
    """The node that asked has its answer and continues."""

    event: ClassVar[str] = "resume"

    node_id: str
    timestamp: int


class Error(Message):
    """The run failed. Nothing follows."""

    event: ClassVar[str] = "error"

    message: str
    code: str | UnsetType = UNSET
    correlation: str | UnsetType = UNSET


class Session(Struct, frozen=True, gc=False):
    event: ClassVar[str] = "session"

    text: str


class Chunk(Struct, frozen=True, gc=False):
    """A piece of the answer's text, to be appended."""

    event: ClassVar[str] = "chunk"

    text: str


class End(Struct, frozen=True, gc=False):
    """The run is over. Nothing follows."""

    event: ClassVar[str] = "end"

    text: str = ""


Frame = Trace | Message | Session | Chunk | End

_encode = msgspec.json.Encoder().encode


def payload(frame: Frame) -> Payload:
    """Return a frame as text, under its event name."""
    if type(frame) is Chunk or isinstance(frame, Session | End):
        return Payload(frame.text.encode(), frame.event)
    return Payload(_encode(frame), frame.event)


def completed(frame: Frame, complete: Complete) -> Frame:
    """Return a frame with its error text completed; itself, if it has no error."""
    if type(frame) is Log and frame.level == "error":
        return structs.replace(frame, message=complete(frame.message))
    if type(frame) is not Error or frame.correlation is UNSET:
        return frame
    # Here the reference is a field of its own, which stays as it is.
    text = f"{frame.message} Reference: {frame.correlation}."
    full = complete(text)
    return frame if full == text else structs.replace(frame, message=full)
