"""The AI SDK's chunks: which we write, because of which facts, and which we leave alone.

Dialect 6 keeps to the keys of ai 6.0.0, because clients up to 6.0.230 and 7.0.31 give a stream up
at any other.
"""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.features.fields.kinds import (
    Chunk,
    ChunkDisposition,
    Declined,
    Emitted,
    declined,
    emitted,
)

_LATER = Declined("later than ai 6.0.0, whose clients give up at a key that they do not know")
_STATIC = Declined("a call is always a part `tool-<name>`, which `useChat` can give a type")
_UNTITLED = Declined("ADK's tools have no titles")
_ON_START = Declined("said once, at the start of the block")
_UNSIGNED = Declined("answers are compared with the server's own pending calls; nothing is echoed")
_NOTHING_MORE = Declined("a source has nothing to say but what its other keys say")
_GATHERED = Declined("said by the input of the same call")

_OUTPUT = (
    fact.BlockBegan,
    fact.CallInputGrew,
    fact.CallRequested,
    fact.FileShown,
    fact.CodeShown,
    fact.CodeResultShown,
    fact.SourceCited,
    fact.RunOver,
)
"""Facts that can open a step, or close one before they open another."""

MESSAGE: dict[str, Chunk] = {
    "start": emitted((fact.MessageBegan,), "messageId messageMetadata"),
    "start-step": emitted(_OUTPUT),
    "finish-step": emitted(_OUTPUT),
    "reset-step": Chunk(Emitted((fact.BlocksReplaced,), dialect="7"), {}),
    "message-metadata": emitted((fact.MessageBegan, fact.RunOver), "messageMetadata"),
    "finish": emitted((fact.RunOver, fact.MessageEnded), "finishReason messageMetadata"),
    "abort": emitted((fact.RunOver,), reason=_LATER),
    "error": emitted((fact.RunOver,), "errorText"),
}

BLOCKS: dict[str, Chunk] = {
    "text-start": emitted((fact.BlockBegan,), "id providerMetadata"),
    "text-delta": emitted((fact.BlockGrew,), "id delta", providerMetadata=_ON_START),
    "text-end": emitted(
        (fact.BlockEnded,),
        "id providerMetadata",
        citations=Declined("ai 7.0.138 and later; `messageMetadata.grounding` has the spans"),
    ),
    "reasoning-start": emitted((fact.BlockBegan,), "id providerMetadata"),
    "reasoning-delta": emitted((fact.BlockGrew,), "id delta", providerMetadata=_ON_START),
    "reasoning-end": emitted((fact.BlockEnded,), "id providerMetadata"),
}

INPUTS: dict[str, Chunk] = {
    "tool-input-start": emitted(
        (fact.CallInputGrew,),
        "toolCallId toolName",
        dynamic=_STATIC,
        title=_UNTITLED,
        providerExecuted=Declined("only the app's own calls stream their arguments"),
        providerMetadata=_LATER,
        toolMetadata=_LATER,
        inputEncoding=_LATER,
    ),
    "tool-input-delta": emitted((fact.CallInputGrew,), "toolCallId inputTextDelta"),
    "tool-input-available": emitted(
        (fact.CallRequested, fact.CallAbandoned),
        "toolCallId toolName input providerExecuted providerMetadata",
        dynamic=_STATIC,
        title=_UNTITLED,
        toolMetadata=_LATER,
    ),
    "tool-input-error": declined(
        "ai 6.0.0 refuses the message that it makes; `tool-input-available` and"
        " `tool-output-error` say the same"
    ),
}

_DECIDED = Emitted((fact.MessageBegan, fact.ApprovalDecided), dialect="7")

APPROVALS: dict[str, Chunk] = {
    "tool-approval-request": emitted(
        (fact.ApprovalRequested,),
        "approvalId toolCallId",
        reason=Emitted((fact.ApprovalRequested,), dialect="7"),
        signature=_UNSIGNED,
        approvalDescriptor=_UNSIGNED,
        inputSchemaInput=_UNSIGNED,
        isAutomatic=Declined("a person decides, always"),
    ),
    "tool-approval-response": Chunk(
        _DECIDED,
        {
            **dict.fromkeys(("approvalId", "approved", "reason"), _DECIDED),
            "providerExecuted": _GATHERED,
            "providerMetadata": _GATHERED,
        },
    ),
    "tool-output-denied": emitted((fact.CallDenied,), "toolCallId"),
}

OUTPUTS: dict[str, Chunk] = {
    "tool-output-available": emitted(
        (fact.CallAnswered,),
        "toolCallId output providerExecuted",
        dynamic=_STATIC,
        preliminary=Declined("an output stands until another one for its call replaces it"),
        providerMetadata=_LATER,
        toolMetadata=_LATER,
    ),
    "tool-output-error": emitted(
        (fact.CallFailed, fact.CallAbandoned, fact.CallDenied),
        "toolCallId errorText providerExecuted",
        dynamic=_STATIC,
        providerMetadata=_LATER,
        toolMetadata=_LATER,
    ),
}

SHOWN: dict[str, Chunk] = {
    "file": emitted((fact.FileShown,), "url mediaType providerMetadata"),
    "source-url": emitted(
        (fact.SourceCited,), "sourceId url title", providerMetadata=_NOTHING_MORE
    ),
    "source-document": emitted(
        (fact.SourceCited,), "sourceId mediaType title filename", providerMetadata=_NOTHING_MORE
    ),
    "data-*": emitted(
        (
            fact.CallPending,
            fact.ApprovalRequested,
            fact.ApprovalDecided,
            fact.InputRequested,
            fact.FileShown,
            fact.AudioHeard,
            fact.CodeShown,
            fact.CodeResultShown,
            fact.InputTranscribed,
            fact.Interrupted,
            fact.StateChanged,
            fact.ArtifactSaved,
            fact.AgentTransferred,
            fact.NodeOutput,
            fact.ErrorRaised,
            fact.ModelCallEnded,
            fact.TakenOver,
            fact.Unrecognised,
        ),
        "data id transient",
    ),
}

NEVER: dict[str, Chunk] = {
    "custom": declined("ai 7 only; data parts say the same to every client"),
    "reasoning-file": declined("ai 7 only; a file that was thought of is a `file`"),
    "steering-message": declined("ai 7 only; a second message is a run of its own"),
}

TABLE: dict[str, Chunk] = MESSAGE | BLOCKS | INPUTS | APPROVALS | OUTPUTS | SHOWN | NEVER

_FINISHED = Emitted((fact.RunOver,))
FINISH_REASONS: dict[str, ChunkDisposition] = {
    **dict.fromkeys("stop length content-filter tool-calls error other".split(), _FINISHED),
    "interrupted": Declined("ai 7.0.149 and later; `data-interrupted` and `abort` say it"),
}
"""The values that `finish.finishReason` may have."""
