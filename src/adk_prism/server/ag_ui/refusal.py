"""A request that the conversation does not allow, answered as AG-UI says it: a stream of one RUN_ERROR.

Clients show the message of a RUN_ERROR, and of an HTTP error they show the raw body. So what a person can
cause in a page (a new message while a question is open, an answer that came too late) is a run that failed at
once. Nothing of it is in the log. What a program did wrong (a body that is no input, an unknown app) stays an
HTTP problem.
"""

from __future__ import annotations

from fastapi import Response

from adk_prism.errors import Conflict, Expired, QuestionsOpen, Unprocessable, UsageError
from adk_prism.projection.ag_ui import SPEC
from adk_prism.projection.ag_ui.frames import RunError
from adk_prism.server.event_stream import HEADERS
from adk_prism.server.problems import TYPE_HEADER

REFUSED = (Conflict, Unprocessable)
"""What becomes a RUN_ERROR."""

_CODES: dict[type[UsageError], str] = {
    QuestionsOpen: "INTERRUPT_OPEN",
    Expired: "INTERRUPT_EXPIRED",
    Conflict: "CONFLICT",
    Unprocessable: "INVALID_INPUT",
}


def refusal(error: UsageError) -> Response:
    """Return the stream that refuses a request."""
    code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
    data = SPEC.payload(RunError(error.detail, code)).data
    return Response(b"data: " + data + b"\n\n", headers={**HEADERS, TYPE_HEADER: error.kind})
