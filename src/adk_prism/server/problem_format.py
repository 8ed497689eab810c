"""The form in which a client gets a problem: JSON, or its text alone.

The AI SDK's chat transport and AG-UI's `HttpAgent` make the whole body of a refusal the message of the error
that a page shows, so under their routes a problem is plain text, unless the request says that it reads JSON.
What browsers and most programs send by default (`*/*`) says nothing of the kind.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.types import Scope

MEDIA_TYPE: Final = "application/problem+json"
TEXT_TYPE: Final = "text/plain"
CHAT_PATH: Final = "/api/chat"
AG_UI_PATH: Final = "/api/ag-ui"
COPILOTKIT_PATH: Final = "/api/copilotkit"

_SHOWN_AS_TEXT = (CHAT_PATH, AG_UI_PATH, COPILOTKIT_PATH)
_JSON = frozenset({"application/json", "application/problem+json"})


def wants_text(scope: Scope) -> bool:
    """Return whether a problem of this request is answered as text."""
    path: str = scope.get("path", "")
    path = path.removeprefix(scope.get("root_path", ""))
    if not any(path == each or path.startswith(f"{each}/") for each in _SHOWN_AS_TEXT):
        return False
    accepted = (value.decode("latin-1") for name, value in scope["headers"] if name == b"accept")
    return not any(_is_json(each) for value in accepted for each in value.split(","))


def _is_json(media_range: str) -> bool:
    media_type, *parameters = (text.strip().lower() for text in media_range.split(";"))
    return media_type in _JSON and not any(_is_refused(parameter) for parameter in parameters)


def _is_refused(parameter: str) -> bool:
    """Tell a weight of nothing: `q=0`, `q=0.0`."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip().rstrip("0.") == ""


# --------------------------------------------------------------------------- as OpenAPI says it

_FIELDS: dict[str, Any] = {
    "type": {"type": "string"},
    "title": {"type": "string"},
    "status": {"type": "integer"},
    "detail": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
    "correlation": {"type": "string"},
    "request": {"type": "string"},
    "errors": {"type": "array", "items": {"type": "object"}},
}
_AS_JSON: dict[str, Any] = {
    MEDIA_TYPE: {
        "schema": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": _FIELDS,
        }
    }
}
_AS_TEXT: dict[str, Any] = {TEXT_TYPE: {"schema": {"type": "string"}}}

RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Anything but a success is a problem (RFC 9457)",
        "content": _AS_JSON,
    }
}
"""Of every route."""

TEXT_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Anything but a success is a problem: its text, or JSON (RFC 9457) if accepted",
        "content": {**_AS_TEXT, **_AS_JSON},
    }
}
"""Of the routes of chat clients and of AG-UI."""
