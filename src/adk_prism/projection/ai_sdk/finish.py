"""Finish reasons: from a model's word to the six that the AI SDK knows."""

from __future__ import annotations

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
