"""Every answer that is not a success: `application/problem+json` (RFC 9457).

Decides how an error becomes a status and a text. Ours are safe to show and are shown; anything else
is one fixed sentence with a correlation id, and the operator gets the cause under the same id.
ADK's clients look for `detail`, which is there. A body that is JSON of the wrong shape is 422, as
FastAPI and ADK say; a body that is not JSON is 400.

`ProblemEdge` stands around the whole application, so that nothing reaches the ASGI server's own
plain-text 500, and nothing is caught without being reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any, Final, Literal

import msgspec
from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from msgspec import structs
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from adk_prism.diagnostics import Diagnostic, Report, cause_of, new_correlation
from adk_prism.errors import Draining, NotBuilt, PrismError, TooMany, Unauthorized
from adk_prism.server.operating.calls import CALL

MEDIA_TYPE: Final = "application/problem+json"

TYPE_PREFIX = "urn:adk-prism:problem:"
"""A name, not an address: nothing has to be reachable for a client to tell problems apart."""

SHOWN_MISTAKES = 10
"""Mistakes of a request that are listed: a union of ADK's types can give hundreds for one."""

RETRY_AFTER = "5"
"""Seconds. A store that is down or a server that is going down is not back sooner."""

ADK_TAG = "ADK: "
"""How the tags of the routes begin that follow ADK's own server."""

INTERNAL = "The server failed to answer; the operator finds the cause under this correlation id."


_NO_FAULT = (NotBuilt, Draining)
"""5xx by their meaning, and nothing for an operator to look into."""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake of a request, in FastAPI's form."""

    loc: Sequence[str | int]
    msg: str
    type: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One problem, as it is sent."""

    type: str
    title: str
    status: int
    detail: str | Sequence[Mistake]
    """What is wrong. On ADK's routes, for a request of the wrong shape: as FastAPI lists it."""
    correlation: str = ""
    request: str = ""
    """The request's id, which the operator's lines about it have."""
    errors: Sequence[Mapping[str, str]] = ()
    """For a request of the wrong shape: where, and what was expected there."""


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Anything but a success is a problem (RFC 9457)",
        "content": {
            MEDIA_TYPE: {
                "schema": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail"],
                    "properties": {
                        "type": {"type": "string"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {
                            "anyOf": [
                                {"type": "string"},
                                {"type": "array", "items": {"type": "object"}},
                            ]
                        },
                        "correlation": {"type": "string"},
                        "request": {"type": "string"},
                        "errors": {"type": "array", "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}
"""What OpenAPI says of every route."""


# --------------------------------------------------------------------------- from errors


def problem_of(error: Exception, report: Report) -> Problem:
    """Return what a client is told of an error; report to the operator what it is not told."""
    if isinstance(error, PrismError):
        return _of_ours(error, report)
    if isinstance(error, RequestValidationError):
        return _of_mistakes(error.errors())
    if isinstance(error, HTTPException):
        return _of_http(error)
    return _of_unexpected(error, report)


def _of_ours(error: PrismError, report: Report) -> Problem:
    correlation = error.correlation
    if not correlation and error.status >= 500 and not isinstance(error, _NO_FAULT):
        correlation = _told(error, report)
    return Problem(
        type=TYPE_PREFIX + error.kind,
        title=error.title,
        status=error.status,
        detail=error.detail,
        correlation=correlation,
    )


def _told(error: PrismError, report: Report) -> str:
    """Report an error of ours: its words say it all, unless something else caused it."""
    correlation = new_correlation()
    cause = cause_of(error) if error.__cause__ is not None else ""
    kind = error.title.lower()
    report(Diagnostic(kind=kind, detail=error.detail, correlation=correlation, cause=cause))
    return correlation


def _of_mistakes(mistakes: Sequence[Any]) -> Problem:
    shown = [
        {"loc": ".".join(str(part)[:60] for part in m["loc"])[:200], "msg": str(m["msg"])[:200]}
        for m in mistakes[:SHOWN_MISTAKES]
    ]
    return Problem(
        type=TYPE_PREFIX + "wrong-shape",
        title="Wrong shape",
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        detail="; ".join(f"{mistake['loc']}: {mistake['msg']}" for mistake in shown),
        errors=shown,
    )


def as_fastapi(problem: Problem, error: RequestValidationError) -> Problem:
    """Return a problem whose detail clients of FastAPI can read, as those of ADK's server do."""
    found = [
        Mistake(
            loc=[part if isinstance(part, int) else str(part)[:60] for part in mistake["loc"]],
            msg=str(mistake["msg"])[:200],
            type=str(mistake["type"])[:60],
        )
        for mistake in error.errors()[:SHOWN_MISTAKES]
    ]
    return structs.replace(problem, detail=found)


def _is_of_adk(connection: HTTPConnection) -> bool:
    tags = getattr(connection.scope.get("route"), "tags", ())
    return any(str(tag).startswith(ADK_TAG) for tag in tags)


def _of_http(error: HTTPException) -> Problem:
    title = HTTPStatus(error.status_code).phrase.capitalize()
    return Problem(
        type=TYPE_PREFIX + title.lower().replace(" ", "-"),
        title=title,
        status=error.status_code,
        detail=str(error.detail),
    )


def _of_unexpected(error: Exception, report: Report) -> Problem:
    correlation = new_correlation()
    report(Diagnostic(kind="request failed", correlation=correlation, cause=cause_of(error)))
    return Problem(
        type=TYPE_PREFIX + "internal-error",
        title=PrismError.title,
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        detail=INTERNAL,
        correlation=correlation,
    )


# --------------------------------------------------------------------------- to responses


def respond(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    sent = dict(headers or {})
    if (call := CALL.get()) is not None:
        problem = structs.replace(problem, request=call.id)
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        sent.setdefault("retry-after", RETRY_AFTER)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=sent,
    )


CHALLENGE = 'Bearer realm="adk-prism"'
"""What a caller without identity is asked for."""


def headers_of(error: Exception) -> Mapping[str, str] | None:
    """Return the headers that belong to an error's answer."""
    if isinstance(error, HTTPException):
        return error.headers
    if isinstance(error, Unauthorized):
        return {"www-authenticate": error.challenge or CHALLENGE}
    if isinstance(error, TooMany):
        return {"retry-after": str(max(1, ceil(error.retry_after)))}
    return None


async def refuse(error: PrismError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or a WebSocket that was not accepted yet, with an error of the caller."""
    problem = Problem(
        type=TYPE_PREFIX + error.kind, title=error.title, status=error.status, detail=error.detail
    )
    await _answer(respond(problem, headers_of(error)), problem, scope, receive, send)


async def _answer(
    response: Response, problem: Problem, scope: Scope, receive: Receive, send: Send
) -> None:
    if scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
        await response(scope, receive, send)
    else:
        # Closed before it is accepted: the server answers the handshake with a bare 403.
        await _close(problem, send)


async def _close(problem: Problem, send: Send) -> None:
    code = 1011 if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR else 1008
    await send({"type": "websocket.close", "code": code, "reason": problem.title})


def add_problems(app: FastAPI, report: Report) -> None:
    """Let an application answer errors of its routes as problems."""

    async def answer(connection: HTTPConnection, error: Exception) -> Response:
        if isinstance(connection, WebSocket):
            raise error  # The edge knows whether it was accepted.
        problem = problem_of(error, report)
        if isinstance(error, RequestValidationError) and _is_of_adk(connection):
            problem = as_fastapi(problem, error)
        return respond(problem, headers_of(error))

    for kind in (PrismError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


Said = Literal["nothing", "accepted", "everything"]
"""What a connection has been answered so far."""

_SAID: Mapping[str, Said] = {
    "http.response.start": "everything",
    "websocket.accept": "accepted",
    "websocket.http.response.start": "everything",
    "websocket.close": "everything",
}


class ProblemEdge:
    """Answers whatever the application inside it raised."""

    def __init__(self, app: ASGIApp, report: Report) -> None:
        self._app = app
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        said: Said = "nothing"

        async def watch(message: Message) -> None:
            nonlocal said
            said = _SAID.get(message["type"], said)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except WebSocketDisconnect:
            return  # The client left: nobody's fault, and nobody to tell.
        except Exception as error:
            problem = problem_of(error, self._report)
            if said == "nothing":
                response = respond(problem, headers_of(error))
                await _answer(response, problem, scope, receive, send)
            elif said == "accepted":
                await _close(problem, send)
            # Else the headers are out and nothing can be said: the server cuts the connection.
