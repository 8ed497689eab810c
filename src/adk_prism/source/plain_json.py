"""JSON that every reader accepts, from values that agents make.

Decides what becomes of a value that JSON cannot hold: a lone surrogate is replaced, NaN and the
infinities are null, a cycle or too deep a nest is cut and marked, an object of a type that Pydantic
does not know is its `repr`, as ADK does for state. Nothing is raised: an event with one bad value is
better than no event. This is the slow path; ordinary events do not take it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

import pydantic_core
from google.adk.events.event import Event
from pydantic import BaseModel

MAX_DEPTH = 200
"""Pydantic refuses to serialise deeper than 255 levels and common JSON readers stop near 500."""

TOO_DEEP = "[nested too deeply]"
CIRCULAR = "[refers to itself]"


def encode_strictly(value: Any) -> bytes:
    """Encode any value as UTF-8 JSON without NaN, lone surrogates, cycles or unknown types."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null")
    except (ValueError, RecursionError):
        return pydantic_core.to_json(plain(value), inf_nan_mode="null")


def plain(value: Any) -> Any:
    """Return a copy made of JSON types only."""
    return _plain(value, (), replace_surrogates)


def storable(value: Any) -> Any:
    """Return a plain copy that every session service can store: PostgreSQL refuses U+0000."""
    return _plain(value, (), replace_unstorable)


def _plain(value: Any, above: tuple[int, ...], text: Callable[[str], str]) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return base64.urlsafe_b64encode(value).decode("ascii")
    if isinstance(value, BaseModel | Mapping | list | tuple | Set):
        return _plain_nest(value, above, text)
    return _plain_other(value, text)


def _plain_other(value: Any, text: Callable[[str], str]) -> Any:
    """Return a date, a number of another kind, a data class as Pydantic writes it; else its `repr`."""
    try:
        known = pydantic_core.to_jsonable_python(value, inf_nan_mode="null")
    except (ValueError, RecursionError):
        return text(describe(value))
    return text(known) if isinstance(known, str) else known


def _plain_nest(value: Any, above: tuple[int, ...], text: Callable[[str], str]) -> Any:
    if id(value) in above:
        return CIRCULAR
    if len(above) >= MAX_DEPTH:
        return TOO_DEEP
    inside = (*above, id(value))
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {
            (fields[name].alias or name if name in fields else name): _plain(item, inside, text)
            for name, item in value
            if item is not None
        }
    if isinstance(value, Mapping):
        return {text(str(key)): _plain(item, inside, text) for key, item in value.items()}
    return [_plain(item, inside, text) for item in value]


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD; a proper pair becomes its character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def replace_unstorable(text: str) -> str:
    """Return the text without lone surrogates and without U+0000."""
    return replace_surrogates(text).replace("\0", "\ufffd")


def describe(value: object) -> str:
    """Return an object's `repr`, or the name of its type if even that fails."""
    try:
        return repr(value)
    except Exception:  # A user's __repr__ may raise anything.
        return f"<{type(value).__name__}>"


# ---------------------------------------------------------------------- events


def make_storable(event: Event) -> None:
    """Replace what some session service cannot store, in place, so that the run sees what history will say.

    PostgreSQL refuses U+0000, and no service takes a lone surrogate or a number that is not finite.
    """
    for part in (event.content.parts if event.content is not None else None) or ():
        if part.text is not None and not _is_storable(part.text):
            part.text = replace_unstorable(part.text)
        response, call = part.function_response, part.function_call
        if response is not None and not _is_storable(response.response):
            response.response = storable(response.response)
        if call is not None and not _is_storable(call.args):
            call.args = storable(call.args)
    delta = event.actions.state_delta
    if delta and not _is_storable(delta):
        event.actions.state_delta = storable(delta)


def _is_storable(value: Any) -> bool:
    """Return whether there is nothing to replace; what is no plain data is for ADK to write."""
    waiting, seen = [value], set[int]()
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            if replace_unstorable(found) != found:
                return False
        elif isinstance(found, float):
            if not math.isfinite(found):
                return False
        elif isinstance(found, Mapping | list | tuple) and id(found) not in seen:
            seen.add(id(found))
            waiting.extend(found)
            if isinstance(found, Mapping):
                waiting.extend(found.values())
    return True
