"""Which form of AG-UI a request wants: its dialect, and the encoding of its events."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from adk_prism.errors import Unprocessable
from adk_prism.projection.ag_ui.dialects import DEFAULT

PROTOBUF = "application/vnd.ag-ui.event+proto"
SSE = "text/event-stream"

_VERSION = re.compile(r"(\d{1,4})(?:\.\d{1,4}){0,2}(?:[-+].{0,40})?")
_BY_MAJOR = {"0": DEFAULT, "1": "1.0"}


def dialect_of(body: dict[str, Any], asked: str) -> str:
    """Return the dialect that a request asks for, or that its input is in. Raise `Unprocessable`."""
    if asked:
        return asked
    version = body.get("protocolVersion")
    if version is None:
        return DEFAULT  # clients before 1.0 do not say
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    found = _BY_MAJOR.get(match[1]) if match is not None else None
    if found is None:
        raise Unprocessable(
            f"`protocolVersion` {str(version)[:40]!r} is not spoken here; expected 1.0, or none for clients "
            "before 1.0. `?dialect=` overrides it."
        )
    return found


def check_encoding(request: Request) -> None:
    """Raise a 406 for a client that reads nothing but protobuf."""
    accepted = [
        each.partition(";")[0].strip().lower()
        for value in request.headers.getlist("accept")
        for each in value.split(",")
    ]
    if PROTOBUF in accepted and not {SSE, "text/*", "*/*"} & set(accepted):
        raise HTTPException(406, f"Events are sent as {SSE} only; {PROTOBUF} is not offered.")
