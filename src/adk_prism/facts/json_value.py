"""Raw JSON as Python values, whatever stands in it: for the few facts that look inside a value.

Never raises: tools and models put everything into their values, and no reading may fail for it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import NOTHING


def read_value(raw: Raw | bytes) -> Any:
    """Return the value, repaired where strict readers refuse it; None for what is no JSON at all."""
    sound = repair(bytes(raw))
    try:
        return msgspec.json.decode(sound)
    except msgspec.MsgspecError:
        pass
    try:
        return json.loads(sound)  # It takes numbers that are out of a double's range.
    except ValueError:
        return None


def read_object(raw: Raw | bytes) -> dict[str, Any]:
    """Return the object; an empty one for any other value."""
    value = read_value(raw)
    return value if isinstance(value, dict) else {}


def is_given(raw: Raw) -> bool:
    """Tell a value from an absent one: some writers leave it out, others write null."""
    return raw is not NOTHING and bytes(raw) not in (b"", b"null")
