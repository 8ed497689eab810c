"""A value for any field of any upstream type, such that no other field has the same."""

from __future__ import annotations

import enum
import types as python_types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin
from zlib import crc32

from fastapi.openapi.models import HTTPBearer
from google.adk.auth.auth_tool import AuthConfig
from google.genai import types
from pydantic import BaseModel

_SAID: Mapping[type[BaseModel], Any] = {
    types.Content: types.Content(role="model", parts=[types.Part(text="sampled")]),
    types.Part: types.Part(text="sampled"),
}
"""Types of which not all fields can be filled at once."""

AUTH = AuthConfig(auth_scheme=HTTPBearer(), credential_key="EventActions.requested_auth_configs")
_TYPED_LATE: Mapping[str, Any] = {"EventActions.requested_auth_configs": {"call-a": AUTH}}
"""Fields that are annotated more loosely than they are validated."""


def sample(model: type[BaseModel], field: str) -> Any:
    """Return a value of the field's own type."""
    name = f"{model.__name__}.{field}"
    if name in _TYPED_LATE:
        return _TYPED_LATE[name]
    return _value(model.model_fields[field].annotation, name)


def filled(model: type[BaseModel], only_required: bool = False) -> dict[str, Any]:
    """Return values for all fields of a model, or for those it cannot be made without."""
    return {
        name: sample(model, name)
        for name, field in model.model_fields.items()
        if field.is_required() or not only_required
    }


def _value(annotation: Any, name: str) -> Any:
    origin = get_origin(annotation)
    if origin in (Union, python_types.UnionType):
        return _value(next(a for a in get_args(annotation) if a is not type(None)), name)
    if origin is Literal:
        return get_args(annotation)[0]
    if origin in (list, set):
        return origin([_value(get_args(annotation)[0], name)])
    if origin is dict:
        return {name: _value(get_args(annotation)[1], name)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _SAID.get(annotation) or annotation(**filled(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return list(annotation)[-1]
    return _plain(annotation, name)


def _plain(annotation: Any, name: str) -> Any:
    number = 1000 + crc32(name.encode()) % 1_000_000
    by_type = {
        bool: True,
        int: number,
        float: number / 8,  # exact in binary, so it is the same after JSON
        str: name,
        bytes: name.encode(),
        Any: {name: number},
    }
    return by_type[annotation]
