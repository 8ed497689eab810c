"""The types of values in a frame, by key: what the JSON schema of a protocol says beyond its keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Json = dict[str, Any]
TypeRule = tuple[str, Callable[[Any], bool]]
"""A type's name, and whether a value has it."""

STRING: TypeRule = ("a string", lambda value: isinstance(value, str))
BOOLEAN: TypeRule = ("true or false", lambda value: isinstance(value, bool))
OBJECT: TypeRule = ("an object", lambda value: isinstance(value, dict))
LIST: TypeRule = ("a list", lambda value: isinstance(value, list))
WHOLE: TypeRule = (
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool),
)
NUMBER: TypeRule = (
    "a number",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool),
)


def named(value: Any) -> str:
    """Return a value for a report; of objects and lists only what they are."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else repr(value)


def wrong_types(frame: Json, rules: Mapping[str, TypeRule]) -> Iterator[str]:
    """Yield each value of a frame that is not of its type; null is of none."""
    for key, (name, fits) in rules.items():
        if key in frame and not fits(frame[key]):
            yield f"{key} must be {name}, got {named(frame[key])}"


def missing_keys(frame: Json, required: tuple[str, ...]) -> Iterator[str]:
    """Yield each required key that a frame lacks."""
    yield from (f"{key} is missing" for key in required if key not in frame)
