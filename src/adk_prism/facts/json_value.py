"""Raw JSON as Python values, for the few facts that inspect a value.

Never raises: tools and models may write anything into their values.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import NOTHING


def read_value(raw: Raw | bytes) -> Any:
    """Return the value, repaired if strict readers reject it; None if it is not JSON."""
    if raw is NOTHING:
        return None  # most absent values: saves two failing parsers
    sound = repair(bytes(raw))
    try:
        return msgspec.json.decode(sound)
    except msgspec.MsgspecError:
        pass
    try:
        return json.loads(sound)  # it accepts numbers outside the range of a double
    except ValueError:
        return None


def read_stored(raw: Raw | bytes) -> Any:
    """Return the value as it was stored; repaired only if it cannot be read, None if it is not JSON."""
    try:
        return msgspec.json.decode(bytes(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return read_value(raw)


def read_object(raw: Raw | bytes) -> dict[str, Any]:
    """Return the object; an empty one for any other value."""
    value = read_value(raw)
    return value if isinstance(value, dict) else {}


def is_given(raw: Raw) -> bool:
    """Return whether a value is present; some writers omit absent ones, others write null."""
    # The length saves copying the bytes of a long one.
    return raw is not NOTHING and (len(raw) > len(b"null") or bytes(raw) not in (b"", b"null"))


def same_json(ours: Raw, theirs: Raw) -> bool:
    """Compare values as a JavaScript client can keep them: every number is a double."""
    return bool(
        _doubles(msgspec.json.decode(bytes(ours))) == _doubles(msgspec.json.decode(bytes(theirs)))
    )


def _doubles(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    return float(value)
