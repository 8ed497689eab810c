"""The access log: one line on stderr for each request and socket, when it is over.

It has no data that can contain a secret: the route's template instead of the path, no query, header or
body. So tickets, tokens and share links are never in it, and nothing from a caller can end a line or
control a terminal.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from adk_prism.server.observability import now, one_line, writing
from adk_prism.server.request_tracking import Ended, TrackedRequest
from adk_prism.server.setting_groups import LogFormat

ACCESS_KIND = "request"
"""What the line is in JSON, beside the kinds of diagnostics."""


def access_log(form: LogFormat, stream: TextIO | None = None) -> Ended:
    """Return what writes the line of a call."""
    return writing(_access_as_json if form == "json" else _access_as_text, stream)


def _access_fields(call: TrackedRequest) -> dict[str, Any]:
    fields = {
        "request": call.id,
        "method": call.method,
        "route": call.route,
        "status": call.status,
        "seconds": round(call.seconds, 6),
        "sent": call.sent,
        "received": call.received,
        "user": call.user,
        "run": call.run,
        "address": call.address,
    }
    given = {name: value for name, value in fields.items() if value != ""}
    return given | {"cut": True} if call.is_cut else given


def _access_as_json(call: TrackedRequest) -> str:
    # ASCII: a user's name may hold what would command a terminal, or half a surrogate pair.
    return json.dumps({"time": now().isoformat(), "kind": ACCESS_KIND, **_access_fields(call)})


def _access_as_text(call: TrackedRequest) -> str:
    fields = _access_fields(call)
    words = [
        f"{now():%H:%M:%S}",
        fields.pop("method"),
        fields.pop("route", "-"),
        str(fields.pop("status", "-")),
        f"{fields.pop('seconds'):.3f}s",
        f"{fields.pop('sent')}B",
        *(f"{name}={value}" for name, value in fields.items() if value),
    ]
    return one_line(" ".join(words))
