"""The frames of the AI SDK's UI message stream, as the npm package `ai` defines its chunks.

Follows `uiMessageChunkSchema` of ai 6.0.0 (strict: an extra key or a null kills the stream), and for
dialect 7 the chunks that ai 7.0.0 added; dialect 5 leaves out what ai 5.0.0 does not know. An absent
optional field is left out, never null. Only `dialects.py` knows which frame and key a dialect may use.
"""

from __future__ import annotations

from typing import Any, dataclass_transform

from msgspec import UNSET, Raw, Struct, UnsetType

ProviderMetadata = dict[str, dict[str, Any]]


@dataclass_transform(frozen_default=True)
class _Frame(Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True, gc=False):
    """Base of all frames."""


class Start(_Frame, tag="start"):
    message_id: str
    message_metadata: dict[str, Any] | UnsetType = UNSET


class StartStep(_Frame, tag="start-step"):
    pass


class FinishStep(_Frame, tag="finish-step"):
    pass


class ResetStep(_Frame, tag="reset-step"):
    """Takes back every part of the step that is open."""


class MessageMetadata(_Frame, tag="message-metadata"):
    message_metadata: dict[str, Any]


class Finish(_Frame, tag="finish"):
    finish_reason: str | UnsetType
    message_metadata: dict[str, Any]


class Abort(_Frame, tag="abort"):
    pass


class Error(_Frame, tag="error"):
    error_text: str


class TextStart(_Frame, tag="text-start"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class TextDelta(_Frame, tag="text-delta"):
    id: str
    delta: str


class TextEnd(_Frame, tag="text-end"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ReasoningStart(_Frame, tag="reasoning-start"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ReasoningDelta(_Frame, tag="reasoning-delta"):
    id: str
    delta: str


class ReasoningEnd(_Frame, tag="reasoning-end"):
    id: str
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ToolInputStart(_Frame, tag="tool-input-start"):
    tool_call_id: str
    tool_name: str


class ToolInputDelta(_Frame, tag="tool-input-delta"):
    tool_call_id: str
    input_text_delta: str


class ToolInputAvailable(_Frame, tag="tool-input-available"):
    tool_call_id: str
    tool_name: str
    input: Raw
    provider_executed: bool | UnsetType = UNSET
    provider_metadata: ProviderMetadata | UnsetType = UNSET


class ToolApprovalRequest(_Frame, tag="tool-approval-request"):
    approval_id: str
    tool_call_id: str
    reason: str | UnsetType = UNSET


class ToolApprovalResponse(_Frame, tag="tool-approval-response"):
    approval_id: str
    approved: bool
    reason: str | UnsetType = UNSET


class ToolOutputAvailable(_Frame, tag="tool-output-available"):
    tool_call_id: str
    output: Raw
    provider_executed: bool | UnsetType = UNSET


class ToolOutputError(_Frame, tag="tool-output-error"):
    tool_call_id: str
    error_text: str
    provider_executed: bool | UnsetType = UNSET


class ToolOutputDenied(_Frame, tag="tool-output-denied"):
    tool_call_id: str


class SourceUrl(_Frame, tag="source-url"):
    source_id: str
    url: str
    title: str | UnsetType = UNSET


class SourceDocument(_Frame, tag="source-document"):
    source_id: str
    media_type: str
    title: str
    filename: str | UnsetType = UNSET


class File(_Frame, tag="file"):
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


Frame = (
    Start
    | StartStep
    | FinishStep
    | ResetStep
    | MessageMetadata
    | Finish
    | Abort
    | Error
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolInputStart
    | ToolInputDelta
    | ToolInputAvailable
    | ToolApprovalRequest
    | ToolApprovalResponse
    | ToolOutputAvailable
    | ToolOutputError
    | ToolOutputDenied
    | SourceUrl
    | SourceDocument
    | File
    | Data
    | Done
)
