"""The frames of the AI SDK's UI message stream, as the npm package `ai` defines its chunks.

Follows `uiMessageChunkSchema` of ai 6.0.0 (strict: an extra key or a null kills the stream), and for
dialect 7 the chunks that ai 7.0.0 added; dialect 5 leaves out what ai 5.0.0 does not know. An absent
optional field is left out, never null. `Dialect` says which frame and key one may use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, dataclass_transform

from msgspec import UNSET, Raw, Struct, UnsetType, structs

from adk_prism.protocols.contract import Complete

ProviderMetadata = dict[str, dict[str, Any]]


@dataclass_transform(frozen_default=True)
class TypedFrame(
    Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True, gc=False
):
    """Base of the frames that the AI SDK defines."""


class Start(TypedFrame, tag="start"):
    message_id: str
    message_metadata: dict[str, Any] | UnsetType = UNSET


class StartStep(TypedFrame, tag="start-step"):
    pass


class FinishStep(TypedFrame, tag="finish-step"):
    pass


class ResetStep(TypedFrame, tag="reset-step"):
    """Takes back every part of the step that is open."""


class MessageMetadata(TypedFrame, tag="message-metadata"):
    message_metadata: dict[str, Any]


class Finish(TypedFrame, tag="finish"):
    finish_reason: str | UnsetType
    message_metadata: dict[str, Any]


class Abort(TypedFrame, tag="abort"):
    pass


class Error(TypedFrame, tag="error"):
    error_text: str


class TextStart(TypedFrame, tag="text-start"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class TextDelta(TypedFrame, tag="text-delta"):
    id: str
    delta: str


class TextEnd(TypedFrame, tag="text-end"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ReasoningStart(TypedFrame, tag="reasoning-start"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ReasoningDelta(TypedFrame, tag="reasoning-delta"):
    id: str
    delta: str


class ReasoningEnd(TypedFrame, tag="reasoning-end"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ToolInputStart(TypedFrame, tag="tool-input-start"):
    tool_call_id: str
    tool_name: str


class ToolInputDelta(TypedFrame, tag="tool-input-delta"):
    tool_call_id: str
    input_text_delta: str


class ToolInputAvailable(TypedFrame, tag="tool-input-available"):
    tool_call_id: str
    tool_name: str
    input: Raw
    provider_executed: bool | UnsetType = UNSET
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ToolApprovalRequest(TypedFrame, tag="tool-approval-request"):
    approval_id: str
    tool_call_id: str
    reason: str | UnsetType = UNSET


class ToolApprovalResponse(TypedFrame, tag="tool-approval-response"):
    approval_id: str
    approved: bool
    reason: str | UnsetType = UNSET


class ToolOutputAvailable(TypedFrame, tag="tool-output-available"):
    tool_call_id: str
    output: Raw
    provider_executed: bool | UnsetType = UNSET
    preliminary: bool | UnsetType = UNSET
    """How far the tool is; its output follows."""


class ToolOutputError(TypedFrame, tag="tool-output-error"):
    tool_call_id: str
    error_text: str
    provider_executed: bool | UnsetType = UNSET


class ToolOutputDenied(TypedFrame, tag="tool-output-denied"):
    tool_call_id: str


class SourceUrl(TypedFrame, tag="source-url"):
    source_id: str
    url: str
    title: str | UnsetType = UNSET


class SourceDocument(TypedFrame, tag="source-document"):
    source_id: str
    media_type: str
    title: str
    filename: str | UnsetType = UNSET


class File(TypedFrame, tag="file"):
    url: str
    media_type: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class Data(Struct, omit_defaults=True, rename="camel", frozen=True, gc=False):
    """A part of our own: `data-<name>`."""

    type: str
    data: Any
    id: str | UnsetType = UNSET
    transient: bool | UnsetType = UNSET


class Done(Struct, frozen=True, gc=False):
    """The terminator, which is not JSON."""


Frame = TypedFrame | Data | Done

# ---------------------------------------------------------------------------
# Where the AI SDK's frames hold the text of an error: a server completes it for who may see it.


def completed(frame: Frame, complete: Complete) -> Frame:
    """Return a frame with its error text completed; itself, if it has no error."""
    found = _COMPLETED.get(type(frame))
    return frame if found is None else found(frame, complete)


def _text(frame: Error | ToolOutputError, complete: Complete) -> Frame:
    return structs.replace(frame, error_text=complete(frame.error_text))


def _metadata(frame: MessageMetadata | Finish, complete: Complete) -> Frame:
    given = frame.message_metadata
    if "failure" not in given:
        return frame
    return structs.replace(frame, message_metadata={**given, "failure": complete(given["failure"])})


def _data(frame: Data, complete: Complete) -> Frame:
    if frame.type != "data-error" or "message" not in frame.data:
        return frame
    # The code is beside it, and is not said twice.
    full = complete(frame.data["message"]).removeprefix(f"{frame.data.get('code')}: ")
    return structs.replace(frame, data={**frame.data, "message": full})


_COMPLETED: dict[type[Any], Callable[[Any, Complete], Frame]] = {
    Error: _text,
    ToolOutputError: _text,
    MessageMetadata: _metadata,
    Finish: _metadata,
    Data: _data,
}

# ---------------------------------------------------------------------------
# What differs between AI SDK versions, all of it.
#
# Dialect 6 uses only what ai 6.0.0 knows, which every v6 and v7 client accepts. Dialect 7 adds what
# ai 7.0.0 brought: the reason of an approval request, approval answers in a replayed message, and
# taking back text that ADK did not store. Dialect 5 does without what ai 5.0.0 lacks: finish reasons
# and approvals, which are data parts there.


class Dialect(Struct, frozen=True):
    """One version's ways."""

    name: str
    finish_reasons: bool
    """`finish` may carry `finishReason`."""
    approvals: bool
    """`tool-approval-request` and `tool-output-denied` exist."""
    provider_calls_apart: bool
    """Stock clients leave out the provider's own calls when they decide whether to post again."""
    approval_reasons: bool
    """`tool-approval-request` may carry `reason`."""
    approval_responses: bool
    """`tool-approval-response` exists: a replay shows who decided what, and `tool-output-denied` after
    it. Without it, a decided request cannot be replayed: a v6 client would ask the person again."""
    resets: bool
    """`reset-step` exists: what a step shows can be rewound."""


DEFAULT = "6"
_SIX = Dialect(
    DEFAULT,
    finish_reasons=True,
    approvals=True,
    provider_calls_apart=True,
    approval_reasons=False,
    approval_responses=False,
    resets=False,
)
_SEVEN = structs.replace(
    _SIX, name="7", approval_reasons=True, approval_responses=True, resets=True
)
_FIVE = structs.replace(
    _SIX, name="5", finish_reasons=False, approvals=False, provider_calls_apart=False
)
DIALECTS = {each.name: each for each in (_SIX, _SEVEN, _FIVE)}
"""The default first."""


def kept(name: str) -> Dialect:
    """Return the dialect in which whole messages are kept.

    Where parts have approvals they can hold a decision, also where the stream has no chunk that would tell it
    to a client that was not there.
    """
    found = DIALECTS[name or DEFAULT]
    return structs.replace(found, approval_responses=found.approvals)


# ---------------------------------------------------------------------------
# Finish reasons: from a model's word to the six that the AI SDK knows.

_STOP, _LENGTH, _FILTER, _ERROR, _OTHER = "stop", "length", "content-filter", "error", "other"
TOOL_CALLS = "tool-calls"

FINISH_REASONS = {
    "": _STOP,
    "STOP": _STOP,
    "FINISH_REASON_UNSPECIFIED": _STOP,
    "MAX_TOKENS": _LENGTH,
    "CONTINUATION": _LENGTH,
    "SAFETY": _FILTER,
    "RECITATION": _FILTER,
    "LANGUAGE": _FILTER,
    "BLOCKLIST": _FILTER,
    "PROHIBITED_CONTENT": _FILTER,
    "SPII": _FILTER,
    "IMAGE_SAFETY": _FILTER,
    "IMAGE_PROHIBITED_CONTENT": _FILTER,
    "IMAGE_RECITATION": _FILTER,
    "JAILBREAK": _FILTER,
    "MODEL_ARMOR": _FILTER,
    "BLOCKED_REASON_UNSPECIFIED": _FILTER,
    "MALFORMED_FUNCTION_CALL": _ERROR,
    "UNEXPECTED_TOOL_CALL": _ERROR,
    "TOO_MANY_TOOL_CALLS": _ERROR,
    "NO_IMAGE": _ERROR,
    "OTHER": _OTHER,
    "IMAGE_OTHER": _OTHER,
}


def finish_reason(upstream: str, *, awaiting: bool) -> str:
    """Map a finish reason; a message that waits for a person or the client ends in `tool-calls`."""
    return TOOL_CALLS if awaiting else FINISH_REASONS.get(upstream, _OTHER)
