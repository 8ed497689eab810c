"""Cuts JSON texts that are too large to be kept, and leaves valid JSON of the same shape."""

from __future__ import annotations

from typing import Any

import msgspec

LONGEST_TEXT = 1024**2
"""Bytes of one piece of a request. A longer instruction or message is seldom read to its end."""

LONGEST_VALUE = 64 * 1024
"""Characters that are left of each string in a text that is too long."""

_BASE64 = "data"
"""The key of binary data, of which four characters are three bytes."""

_encode = msgspec.json.Encoder().encode


def bounded(text: bytes) -> tuple[bytes, bool]:
    """Return a JSON text of at most `LONGEST_TEXT` bytes, and whether something was cut."""
    if len(text) <= LONGEST_TEXT:
        return text, False
    value = _cut(msgspec.json.decode(text))
    shorter = _encode(value)
    if len(shorter) > LONGEST_TEXT:
        shorter = _encode(_replaced(value, f"[{len(text)} bytes, not kept]"))
    return shorter, True


def _cut(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _cut(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        note = "" if key == _BASE64 else f"… [cut: {len(value)} characters]"
        return value[:LONGEST_VALUE] + note
    return value


def _replaced(value: Any, note: str) -> Any:
    """Return a value of the same type with a note instead of its contents."""
    if isinstance(value, dict) and "parts" in value:
        role = {"role": value["role"]} if isinstance(value.get("role"), str) else {}
        return {"parts": [{"text": note}], **role}
    if isinstance(value, dict):
        return {"cut": note}
    return [{"cut": note}] if isinstance(value, list) else note
