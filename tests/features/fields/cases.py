"""Values that are shown in another form than upstream's: what goes in, and what must come out.

A place without a `how` shows the value as it is, and needs no case here unless its value has to be
made to fit. Expectations are written out, not computed from the tables that they check.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.adk.models.cache_metadata import CacheMetadata
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import errors, types
from tests.features.fields import carriers as c
from tests.features.fields.carriers import CALL, PNG, said, text
from tests.features.fields.samples import AUTH


class Case(NamedTuple):
    """Events, and what is found at the place."""

    events: list[Event]
    found: Any
    """A value, or a pattern that a text has to match."""
    dialect: str = "6"
    nowhere: str = ""
    """A chunk type that may not be there at all."""
    shapes: Mapping[str, list[Event]] = {}
    """Other forms in which upstream writes the value: each of them has to show it as well."""


PNG_URL = "data:image/png;base64," + base64.b64encode(b"a picture").decode()
WEB = "https://example.org/a.pdf"
BUCKET = "gs://bucket/a.pdf"
PCM = types.Blob(mime_type="audio/pcm;rate=16000;channels=2", data=b"sound")
SIGNATURE = b"signed"
SIGNED = base64.urlsafe_b64encode(SIGNATURE).decode()

_AUTH = types.FunctionCall(
    id="ask-a", name="adk_request_credential", args={"functionCallId": "call-a", "authConfig": {}}
)
_PLACEHOLDER = types.Part(
    function_response=types.FunctionResponse(id="call-a", name="look", response={"result": "wait"})
)


_QUOTA = {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED"}
_TRANSCRIBED = c.transcribed("he", "a", "rd")


def _arguments(*pieces: types.PartialArg) -> list[Event]:
    return [event for piece in pieces for event in c.argued(piece)]


def _arg(**piece: Any) -> types.PartialArg:
    return types.PartialArg(json_path="$.at", **piece)


EVENT: Mapping[str, Case] = {
    "Event.content in text-delta.delta": Case([text("hello")], "hello"),
    "Event.partial in text-delta.delta": Case(
        [text("Hel", partial=True), text("lo", partial=True), text("Hello")], "Hello"
    ),
    "Event.node_info in text-start.providerMetadata.adk.path": Case(
        [text("so", node_info=NodeInfo(path="root@1/agent@2"))], "root@1/agent@2"
    ),
    "Event.actions in data-state.data": Case(
        c.acted(EventActions(state_delta={"mood": "good"})), {"mood": "good"}
    ),
    "Event.long_running_tool_ids in data-long-running.data.toolCallId": Case(
        [said(types.Part(function_call=CALL), long_running_tool_ids={"call-a"})], "call-a"
    ),
    "Event.finish_reason in finish.finishReason": Case(
        [text("so", finish_reason=types.FinishReason.MAX_TOKENS)], "length"
    ),
    "Event.error_code in error.errorText": Case(
        [Event(author="agent", error_code="Overload")], "The run failed (Overload)."
    ),
    "Event.error_code in finish.finishReason": Case(
        [Event(author="agent", error_code="MAX_TOKENS")], "length"
    ),
    "Event.error_message in data-error.data.message": Case(
        [Event(author="agent", error_code="Overload", error_message="no secrets here")],
        re.compile(r"The agent failed \(Overload\)\. Reference: \S+\."),
    ),
    "Event.error_message in error.errorText": Case(
        [
            Event(
                author="agent",
                error_code="RESOURCE_EXHAUSTED",
                error_message=str(errors.ClientError(429, {"error": _QUOTA})),
            )
        ],
        "RESOURCE_EXHAUSTED: Quota exceeded.",
    ),
    "Event.grounding_metadata in finish.messageMetadata.grounding": Case(
        c.chunk(web=types.GroundingChunkWeb(uri=WEB, title="A")),
        {
            "sources": [{"uri": WEB, "title": "A"}],
            "groundingChunks": [{"web": {"uri": WEB, "title": "A"}}],
        },
    ),
    "Event.cache_metadata in finish.messageMetadata.cache": Case(
        [text("so", cache_metadata=CacheMetadata(fingerprint="f", contents_count=2))],
        {"fingerprint": "f", "contents_count": 2, "hits": 0, "misses": 1},
    ),
    "Event.error_message in finish.messageMetadata.finishMessage": Case(
        [Event(author="agent", error_code="SAFETY", error_message="not that")], "not that"
    ),
    "Event.interrupted in data-interrupted.data.author": Case(
        [Event(author="voice", interrupted=True)], "voice"
    ),
    "Event.input_transcription in data-input-transcription.data.text": Case(
        c.heard(types.Transcription(text="heard")), "heard", shapes=_TRANSCRIBED
    ),
    "Event.output_transcription in text-delta.delta": Case(
        c.heard(types.Transcription(text="heard")), "heard", shapes=_TRANSCRIBED
    ),
    "Event.citation_metadata in finish.messageMetadata.citations": Case(
        c.cited(uri="https://example.org"), [{"uri": "https://example.org"}]
    ),
}

ACTIONS: Mapping[str, Case] = {
    "EventActions.artifact_delta in data-artifact.data.filename": Case(
        c.acted(EventActions(artifact_delta={"a.txt": 3})), "a.txt"
    ),
    "EventActions.artifact_delta in data-artifact.data.version": Case(
        c.acted(EventActions(artifact_delta={"a.txt": 3})), 3
    ),
    "EventActions.requested_tool_confirmations in tool-approval-request.toolCallId": Case(
        c.confirmed(ToolConfirmation(hint="sure?")), "call-a", nowhere="tool-output-error"
    ),
    "EventActions.requested_auth_configs in data-credential-request.data.toolCallId": Case(
        [
            said(types.Part(function_call=CALL)),
            said(types.Part(function_call=_AUTH), long_running_tool_ids={"ask-a"}),
            said(_PLACEHOLDER, actions=EventActions(requested_auth_configs={"call-a": AUTH})),
        ],
        "call-a",
        nowhere="tool-output-available",
    ),
    "ToolConfirmation.hint in data-approval.data.hint": Case(
        c.confirmed(ToolConfirmation(hint="sure?")), "sure?"
    ),
    "ToolConfirmation.hint in tool-approval-request.reason": Case(
        c.confirmed(ToolConfirmation(hint="sure?")), "sure?", dialect="7"
    ),
}

_THOUGHT = "providerMetadata.google.thoughtSignature"


def _late(thought: bool) -> list[Event]:
    """Return a block whose signature comes after its text."""
    unsigned = types.Part(text="so", thought=thought)
    signed = types.Part(text="", thought=thought, thought_signature=SIGNATURE)
    return [said(unsigned, partial=True), said(signed, partial=True), said(unsigned)]


PARTS: Mapping[str, Case] = {
    "Content.parts in text-delta.delta": Case([text("hello")], "hello"),
    "Part.thought in reasoning-delta.delta": Case(
        [said(types.Part(text="hm", thought=True))], "hm", nowhere="text-delta"
    ),
    f"Part.thought_signature in reasoning-start.{_THOUGHT}": Case(
        [said(types.Part(text="hm", thought=True, thought_signature=SIGNATURE))], SIGNED
    ),
    f"Part.thought_signature in reasoning-end.{_THOUGHT}": Case(_late(thought=True), SIGNED),
    f"Part.thought_signature in text-start.{_THOUGHT}": Case(
        [said(types.Part(text="so", thought_signature=SIGNATURE))], SIGNED
    ),
    f"Part.thought_signature in text-end.{_THOUGHT}": Case(_late(thought=False), SIGNED),
    f"Part.thought_signature in tool-input-available.{_THOUGHT}": Case(
        [said(types.Part(function_call=CALL, thought_signature=SIGNATURE))], SIGNED
    ),
    "Part.function_call in tool-input-available.input": Case(
        [said(types.Part(function_call=CALL))], {"at": "it"}
    ),
    "Part.function_response in tool-output-available.output": Case(
        c.answered(types.FunctionResponse(id="call-a", name="look", response={"seen": 1})),
        {"seen": 1},
    ),
    "Part.tool_call in tool-input-available.providerExecuted": Case(
        [said(types.Part(tool_call=types.ToolCall(id="a")))], True
    ),
    "Part.tool_response in tool-output-available.providerExecuted": Case(
        [said(types.Part(tool_response=types.ToolResponse(id="a", response={})))], True
    ),
    "Part.inline_data in file.url": Case([said(types.Part(inline_data=PNG))], PNG_URL),
    "Part.inline_data in data-pcm.data.content": Case(
        [said(types.Part(inline_data=PCM))], base64.b64encode(b"sound").decode()
    ),
    "Part.file_data in file.url": Case(
        [said(types.Part(file_data=types.FileData(file_uri=WEB)))], WEB
    ),
    "Part.audio_transcription in text-delta.delta": Case(
        [
            said(
                types.Part(
                    inline_data=types.Blob(mime_type="audio/wav", data=b"sound"),
                    audio_transcription=types.Transcription(text="spoken"),
                )
            )
        ],
        "spoken",
        nowhere="data-unrecognised",
    ),
    "Transcription.text in data-input-transcription.data.text": Case(
        [
            Event(author="user", partial=True, input_transcription=types.Transcription(text=piece))
            for piece in ("next que", "stion")
        ],
        "next question",
    ),
}


def _references(model: str, carry: Any) -> Mapping[str, Case]:
    told = "data-file-reference.data"
    kind = {
        "FileData": types.FileData,
        "FunctionResponseFileData": types.FunctionResponseFileData,
    }[model]
    lies = carry(kind(file_uri=BUCKET, mime_type="application/pdf", display_name="A"))
    return {
        f"{model}.file_uri in file.url": Case(carry(kind(file_uri=WEB)), WEB),
        f"{model}.file_uri in {told}.uri": Case(lies, BUCKET),
        f"{model}.mime_type in {told}.mediaType": Case(lies, "application/pdf"),
        f"{model}.display_name in {told}.filename": Case(lies, "A"),
    }


FILES: Mapping[str, Case] = {
    "Blob.data in file.url": Case([said(types.Part(inline_data=PNG))], PNG_URL),
    "Blob.data in data-pcm.data.content": Case(
        [said(types.Part(inline_data=PCM))], base64.b64encode(b"sound").decode()
    ),
    "Blob.mime_type in data-pcm.data.sampleRate": Case([said(types.Part(inline_data=PCM))], 16000),
    "Blob.mime_type in data-pcm.data.channels": Case([said(types.Part(inline_data=PCM))], 2),
    "FunctionResponseBlob.data in file.url": Case(
        c.with_media(
            inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b"a picture")
        ),
        PNG_URL,
    ),
    **_references("FileData", lambda file: [said(types.Part(file_data=file))]),
    **_references("FunctionResponseFileData", lambda file: c.with_media(file_data=file)),
}

_IN_DELTA = "tool-input-delta.inputTextDelta"

CALLS: Mapping[str, Case] = {
    f"FunctionCall.partial_args in {_IN_DELTA}": Case(
        _arguments(_arg(string_value="it")), '{"at":"it"'
    ),
    "FunctionCall.will_continue in tool-input-start.toolName": Case(c.streamed(CALL), "look"),
    f"PartialArg.json_path in {_IN_DELTA}": Case(
        _arguments(types.PartialArg(json_path="$.stops[0].name", string_value="A")),
        '{"stops":[{"name":"A"',
    ),
    f"PartialArg.string_value in {_IN_DELTA}": Case(
        _arguments(_arg(string_value="it")), '{"at":"it"'
    ),
    f"PartialArg.number_value in {_IN_DELTA}": Case(
        _arguments(_arg(number_value=2.5)), '{"at":2.5'
    ),
    f"PartialArg.bool_value in {_IN_DELTA}": Case(_arguments(_arg(bool_value=True)), '{"at":true'),
    f"PartialArg.null_value in {_IN_DELTA}": Case(
        _arguments(_arg(null_value="NULL_VALUE")), '{"at":null'
    ),
    f"PartialArg.will_continue in {_IN_DELTA}": Case(
        _arguments(_arg(string_value="it ", will_continue=True), _arg(string_value="all")),
        '{"at":"it all"',
    ),
    "FunctionResponse.name in tool-input-available.toolName": Case(
        c.answered(types.FunctionResponse(id="call-a", name="look", response={})), "look"
    ),
    "FunctionResponse.response in tool-output-error.errorText": Case(
        c.answered(types.FunctionResponse(id="call-a", name="look", response={"error": "dark"})),
        "dark",
    ),
    "FunctionResponse.parts in file.url": Case(
        c.with_media(file_data=types.FunctionResponseFileData(file_uri=WEB)), WEB
    ),
    "FunctionResponsePart.inline_data in file.url": Case(
        c.with_media(
            inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b"a picture")
        ),
        PNG_URL,
    ),
    "FunctionResponsePart.file_data in file.url": Case(
        c.with_media(file_data=types.FunctionResponseFileData(file_uri=WEB)), WEB
    ),
    "ToolResponse.tool_type in tool-input-available.toolName": Case(
        [
            said(
                types.Part(
                    tool_response=types.ToolResponse(
                        id="a", tool_type=types.ToolType.URL_CONTEXT, response={}
                    )
                )
            )
        ],
        "URL_CONTEXT",
    ),
}

SOURCES: Mapping[str, Case] = {
    "GroundingChunkImage.image_uri in source-url.url": Case(
        c.chunk(image=types.GroundingChunkImage(image_uri="https://example.org/a.png")),
        "https://example.org/a.png",
    ),
    "GroundingChunkRetrievedContext.document_name in source-document.title": Case(
        c.context(document_name="stores/1/documents/2"), "stores/1/documents/2"
    ),
    "GroundingChunkRetrievedContext.uri in source-document.filename": Case(
        c.context(uri=BUCKET), "a.pdf"
    ),
}


def _twice(**counts: int) -> list[Event]:
    return [*c.counted(**counts), *c.counted(**counts)]


_USAGE = "finish.messageMetadata.usage"
_MODEL = "GenerateContentResponseUsageMetadata"
USAGE: Mapping[str, Case] = {
    f"{_MODEL}.prompt_token_count in {_USAGE}.inputTokens": Case(_twice(prompt_token_count=21), 42),
    f"{_MODEL}.candidates_token_count in {_USAGE}.outputTokens": Case(
        _twice(candidates_token_count=21), 42
    ),
    f"{_MODEL}.total_token_count in {_USAGE}.totalTokens": Case(_twice(total_token_count=21), 42),
    f"{_MODEL}.thoughts_token_count in {_USAGE}.reasoningTokens": Case(
        _twice(thoughts_token_count=21), 42
    ),
    f"{_MODEL}.cached_content_token_count in {_USAGE}.cachedInputTokens": Case(
        _twice(cached_content_token_count=21), 42
    ),
}

_STOPS = {
    "stop": "STOP FINISH_REASON_UNSPECIFIED",
    "length": "MAX_TOKENS CONTINUATION",
    "content-filter": """SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
        IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION""",
    "error": "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS NO_IMAGE",
    "other": "OTHER IMAGE_OTHER",
}
_REFUSALS = {
    "content-filter": """BLOCKED_REASON_UNSPECIFIED SAFETY BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY
        MODEL_ARMOR JAILBREAK""",
    "other": "OTHER",
}
REASONS: Mapping[str, Case] = {
    **{
        f"FinishReason.{reason} in finish.finishReason": Case(
            [text("so", finish_reason=types.FinishReason(reason))], ours
        )
        for ours, reasons in _STOPS.items()
        for reason in reasons.split()
    },
    **{
        f"BlockedReason.{reason} in finish.finishReason": Case(
            [Event(author="agent", error_code=reason, error_message="refused")], ours
        )
        for ours, reasons in _REFUSALS.items()
        for reason in reasons.split()
    },
}

CASES: Mapping[str, Case] = {
    **EVENT,
    **ACTIONS,
    **PARTS,
    **FILES,
    **CALLS,
    **SOURCES,
    **USAGE,
    **REASONS,
}
"""By `Type.field in frame.key`."""
