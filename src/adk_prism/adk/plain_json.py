"""JSON that every reader accepts, from values that agents make.

Decides what becomes of a value that JSON cannot hold: a lone surrogate is replaced, NaN and the
infinities are null, a cycle, too deep a nest or too long a number is cut and marked (`log.json_bounds`),
an object of a type that Pydantic does not know is its `repr`, as ADK does for state. Nothing is raised: an
event with one bad value is better than no event. This is the slow path; ordinary events do not take it.
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

from adk_prism.log import hooks

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
        if not value or not hooks.has_long_number(value):
            return value
        return hooks.number_mark(int(value.bit_length() * math.log10(2)) + 1)
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
    if len(above) >= hooks.MAX_VALUE_DEPTH:
        return hooks.TOO_DEEP
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
    """Replace what some session service cannot store, or not read back, in place, so that the run sees what
    history will say.

    PostgreSQL refuses U+0000, no service takes a lone surrogate, a number that is not finite or a cycle, and
    the readers of each have bounds (`log.json_bounds`).
    """
    for part in (event.content.parts if event.content is not None else None) or ():
        _store_plainly(part, "text")
        _store_plainly(part.function_response, "response")
        _store_plainly(part.function_call, "args")
        if (
            part.inline_data is not None
            and len(part.inline_data.data or b"") > hooks.MAX_BYTES * 3 // 4
        ):
            part.text = f"[cut: a file of {len(part.inline_data.data or b'')} bytes]"
            part.inline_data = None
    for name in ("output", "custom_metadata"):
        _store_plainly(event, name)
    for name in ("state_delta", "agent_state"):
        _store_plainly(event.actions, name)


def _store_plainly(holder: BaseModel | None, name: str) -> None:
    value = getattr(holder, name, None)
    is_state = name == "state_delta"
    if holder is None or value is None or _is_storable(value, knows_unknown=is_state):
        return
    if hooks.size_of(value) > hooks.MAX_BYTES:
        value = hooks.shrink(value, hooks.MAX_BYTES // 2)
    setattr(holder, name, storable(value))


def _is_storable(value: Any, *, knows_unknown: bool) -> bool:
    """Return whether there is nothing to replace; an object that is no plain data is for ADK to write, if it
    can: in the state it writes whatever it does not know as a text."""
    level, others = [value], False
    for _ in range(hooks.MAX_VALUE_DEPTH + 1):
        below: dict[int, Any] = {}
        for found in level:
            if isinstance(found, Mapping | list | tuple):
                if isinstance(found, Mapping):
                    if not all(isinstance(key, _SCALARS) for key in found):
                        return False
                    below |= {id(item): item for item in found.values()}
                below |= {id(item): item for item in found}
            elif not _is_storable_scalar(found):
                return False
            else:
                others = others or not isinstance(found, _SCALARS)
        level = list(below.values())
        if not level:
            return hooks.size_of(value) <= hooks.MAX_BYTES and not (
                others and _is_unwritable(value, knows_unknown=knows_unknown)
            )
    return False


_SCALARS = (str, int, float, type(None))


def _is_storable_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return replace_unstorable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return not (isinstance(value, int) and hooks.has_long_number(value))


def _is_unwritable(value: Any, *, knows_unknown: bool) -> bool:
    """Return whether ADK's services could not write a value that holds other objects than JSON has."""
    try:
        pydantic_core.to_json(value, serialize_unknown=knows_unknown)
    except Exception:  # an object's own methods may raise anything
        return True
    return False
