"""Calls and their answers: functions of the app, and tools that the model's provider runs."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Rows, at, carried

_ASK = "tool-input-available"
_ANSWER = "tool-output-available"
_PIECE = "tool-input-delta.inputTextDelta"
_WRITTEN = "written as growing JSON"
_MADE_UP = "of a call that was never seen, made up for its answer"
_LIVE_TOOLS = "tells a live model when to listen; a later answer replaces an earlier one anyway"

CALL: Rows = {
    "id": at(f"{_ASK}.toolCallId", fact.CallRequested)
    + at("tool-input-start.toolCallId", fact.CallInputGrew),
    "name": at(f"{_ASK}.toolName", fact.CallRequested)
    + at("tool-input-start.toolName", fact.CallInputGrew),
    "args": at(f"{_ASK}.input", fact.CallRequested),
    "partial_args": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "will_continue": at(
        "tool-input-start.toolName",
        fact.CallInputGrew,
        "arguments follow; without it, they are all here",
    ),
}

PARTIAL_ARG: Rows = {
    "json_path": at(_PIECE, fact.CallInputGrew, "as keys and brackets"),
    "string_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "number_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "bool_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "null_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "will_continue": at(_PIECE, fact.CallInputGrew, "the string stays open"),
}

RESPONSE: Rows = {
    "id": at(f"{_ANSWER}.toolCallId", fact.CallAnswered),
    "name": at(f"{_ASK}.toolName", fact.CallRequested, _MADE_UP),
    "response": at(f"{_ANSWER}.output", fact.CallAnswered)
    + at("tool-output-error.errorText", fact.CallFailed, "its `error`, where the tool failed"),
    "parts": at("file.url", fact.FileShown, "after the output: see `FunctionResponsePart`"),
    **carried("scheduling will_continue", _LIVE_TOOLS),
}

RESPONSE_PART: Rows = {
    "inline_data": at("file.url", fact.FileShown, "see `FunctionResponseBlob`"),
    "file_data": at("file.url", fact.FileShown, "see `FunctionResponseFileData`"),
    **carried("media_processing", "tells the model how to take the part in"),
}

SERVER_CALL: Rows = {
    "id": at(f"{_ASK}.toolCallId", fact.CallRequested),
    "tool_type": at(f"{_ASK}.toolName", fact.CallRequested),
    "args": at(f"{_ASK}.input", fact.CallRequested),
}

SERVER_RESPONSE: Rows = {
    "id": at(f"{_ANSWER}.toolCallId", fact.CallAnswered),
    "tool_type": at(f"{_ASK}.toolName", fact.CallRequested, _MADE_UP),
    "response": at(f"{_ANSWER}.output", fact.CallAnswered),
}

TABLE = {
    "FunctionCall": CALL,
    "PartialArg": PARTIAL_ARG,
    "FunctionResponse": RESPONSE,
    "FunctionResponsePart": RESPONSE_PART,
    "ToolCall": SERVER_CALL,
    "ToolResponse": SERVER_RESPONSE,
}
