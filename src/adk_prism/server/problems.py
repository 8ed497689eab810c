"""Every answer that is not a success: `application/problem+json` (RFC 9457), or its text alone.

Decides how an error becomes a status and a text. Ours are safe to show and are shown; anything else
is one fixed sentence with a correlation id, and the operator gets the cause under the same id. On a
developer's own machine the cause's text is shown, too (`error_text_store`). Which clients get plain text
`problem_form` decides.
ADK's clients look for `detail`, which is there. A body that is JSON of the wrong shape is 422, as
FastAPI and ADK say; a body that is not JSON is 400.

`ProblemEdge` wraps the whole application, so that nothing reaches the ASGI server's own
plain-text 500, and nothing is caught without being reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

from adk_prism import errors as faults
from adk_prism.adk.errors import message_of, place_in, report_error
from adk_prism.log.private_files import Recent
from adk_prism.protocols.contract import Complete
from adk_prism.server.identity.caller import SCOPE_KEY, may_operate
from adk_prism.server.proxies import is_forwarded, is_forwarded_from_elsewhere, is_local
from adk_prism.server.request_tracking import CURRENT_REQUEST

# ---------------------------------------------------------------------------
# The full texts of errors, beside the log, and who is shown them.
#
# The log, and so every recording, shared file, fork and film, has a reference where an exception had
# a text. On a developer's own machine the text is what they need, so it is kept here for a while, in
# memory, under that reference. It is put in at the last moment, into error texts of answers to
# requests that may see it; nothing that others are shown, or that is kept, ever holds it. After a
# restart, or on another replica, there is none, and the reference is shown.
#
# Secrets that the server knows by value are taken out before a text comes here.

ErrorRule = Literal["reference", "unforwarded", "full"]
"""Who gets full texts: nobody; who calls from this machine without a proxy; who calls from this machine,
also through a proxy on it."""

MOST_TEXTS = 256
"""Errors that are kept: more than a developer looks back at."""

LONGEST_TEXT = 4096
"""Characters of one: a model's API sends some hundred, a validation of a large schema thousands."""

LONGEST_TRACE = 16 * 1024
"""Characters of a traceback, from its end: the raised exception is there, and some hundred frames."""

_TRACEBACK = "Traceback (most recent call last)"

_REFERENCE = re.compile(r"Reference: ([0-9a-f]{12})\.")


class ErrorTexts:
    """The last texts, by reference."""

    def __init__(self, rule: ErrorRule = "reference") -> None:
        self._rule = rule
        self._texts: Recent[str, str] = Recent(MOST_TEXTS)
        self._traces: Recent[str, str] = Recent(MOST_TEXTS)

    def keep(self, diagnostic: faults.Diagnostic) -> None:
        """Keep the text of a diagnostic under its reference, if a caller may see it. The first one stays."""
        reference, text, cause = diagnostic.correlation, diagnostic.message, diagnostic.cause
        if self._rule == "reference" or not reference:
            return
        if text and reference not in self._texts:
            short = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
            self._texts[reference] = short
        # An agent's error is reported twice: as ADK's event, and as the exception that ended the run.
        if _TRACEBACK in cause and reference not in self._traces:
            self._traces[reference] = cause[-LONGEST_TRACE:]

    @property
    def newest(self) -> str:
        """The reference of the newest text: it changes whenever a text comes or goes."""
        return next(reversed(self._texts), "")

    def completion(self, scope: Scope) -> Complete | None:
        """Return what completes error texts for a request; None for one that is shown references only."""
        return self._complete if self.shows(scope) else None

    def text(self, scope: Scope, text: str) -> str:
        """Return an error text as a request may see it."""
        return self._complete(text) if self.shows(scope) else text

    def trace(self, scope: Scope, reference: str) -> dict[str, str] | None:
        """Return an error's traceback, and the line of the app in it, if a request may see them."""
        trace = self._traces.get(reference) if self.shows(scope) else None
        if trace is None:
            return None
        place, source = place_in(trace) or ("", "")
        text = self._texts.get(reference, "")
        return {"text": text, "place": place, "source": source, "traceback": trace}

    def shows(self, scope: Scope) -> bool:
        """Tell whether a request may see full texts, and what of the code is in them."""
        if self._rule == "reference" or not is_local(scope):
            return False
        passes = is_forwarded if self._rule == "unforwarded" else is_forwarded_from_elsewhere
        caller = scope.get(SCOPE_KEY)
        return not passes(scope) and caller is not None and may_operate(caller)

    def _complete(self, text: str) -> str:
        found = _REFERENCE.search(text)
        full = self._texts.get(found[1]) if found else None
        return text if found is None or full is None else f"{full} {found[0]}"


# ---------------------------------------------------------------------------
# The form in which a client gets a problem: JSON, or its text alone.
#
# The AI SDK's chat transport and AG-UI's `HttpAgent` make the whole body of a refusal the message of
# the error that a page shows, so under their routes a problem is plain text, unless the request says
# that it reads JSON. What browsers and most programs send by default (`*/*`) says nothing of the
# kind.

MEDIA_TYPE: Final = "application/problem+json"
TEXT_TYPE: Final = "text/plain"
CHAT_PATH: Final = "/api/chat"
AG_UI_PATH: Final = "/api/ag-ui"
COPILOTKIT_PATH: Final = "/api/copilotkit"

_SHOWN_AS_TEXT = (CHAT_PATH, AG_UI_PATH, COPILOTKIT_PATH)
_JSON = frozenset({"application/json", "application/problem+json"})


FORMS: dict[str, Callable[[Problem], bytes]] = {}
"""Other forms in JSON, by the first part of the path: a feature puts in what the clients of its API read."""


def _form_of(scope: Scope) -> Callable[[Problem], bytes] | None:
    path: str = scope.get("path", "").removeprefix(scope.get("root_path", ""))
    return FORMS.get(f"/{path.split('/')[1]}") if path.startswith("/") else None


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
_REQUIRED = ["type", "title", "status", "detail"]
_SCHEMA = {"type": "object", "required": _REQUIRED, "properties": _FIELDS}
_AS_JSON: dict[str, Any] = {MEDIA_TYPE: {"schema": _SCHEMA}}
_AS_TEXT: dict[str, Any] = {TEXT_TYPE: {"schema": {"type": "string"}}}

Responses = dict[int | str, dict[str, Any]]

RESPONSES: Responses = {
    "default": {
        "description": "Anything but a success is a problem (RFC 9457)",
        "content": _AS_JSON,
    }
}
"""Of every route."""

TEXT_RESPONSES: Responses = {
    "default": {
        "description": "Anything but a success is a problem: its text, or JSON (RFC 9457) if accepted",
        "content": {**_AS_TEXT, **_AS_JSON},
    }
}
"""Of the routes of chat clients and of AG-UI."""

# ---------------------------------------------------------------------------

TYPE_HEADER: Final = "x-prism-problem"
REFERENCE_HEADER: Final = "x-prism-reference"
"""What a problem's type and reference are in, whatever the form of the answer."""

TYPE_PREFIX = "urn:adk-prism:problem:"
"""A name, not an address: clients compare it, and need not open it."""

SHOWN_MISTAKES = 10
"""Mistakes of a request that are listed: a union of ADK's types can give hundreds for one."""

RETRY_AFTER = "5"
"""Seconds. A store that is down or a server that is going down is not back sooner."""

ADK_TAG = "ADK: "
"""How the tags of the routes begin that follow ADK's own server."""

INTERNAL = "Internal server error. The server log has details under this correlation id."


_NO_FAULT = (faults.NotBuilt, faults.Draining)
"""5xx by their meaning, and nothing for an operator to look into."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One problem, as it is sent."""

    type: str
    title: str
    status: int
    detail: str | Sequence[Mapping[str, Any]]
    """What is wrong. On ADK's routes, for a request of the wrong shape: as FastAPI lists it."""
    correlation: str = ""
    request: str = ""
    """The request's id, which the operator's lines about it have."""
    errors: Sequence[Mapping[str, str]] = ()
    """For a request of the wrong shape: where, and what was expected there."""


# --------------------------------------------------------------------------- from errors


def problem_of(error: Exception, report: faults.Report) -> Problem:
    """Return what a client gets of an error; report the rest to the operator."""
    if isinstance(error, faults.PrismError):
        return _of_ours(error, report)
    if isinstance(error, RequestValidationError):
        return _of_mistakes(error.errors())
    if isinstance(error, HTTPException):
        return _of_http(error)
    return _of_unexpected(error, report)


def _of_ours(error: faults.PrismError, report: faults.Report) -> Problem:
    correlation = error.correlation
    if not correlation and error.status >= 500 and not isinstance(error, _NO_FAULT):
        correlation = _report_ours(error, report)
    return _shown(error, correlation)


def _shown(error: faults.PrismError, correlation: str = "") -> Problem:
    return Problem(
        type=TYPE_PREFIX + error.kind,
        title=error.title,
        status=error.status,
        detail=error.detail,
        correlation=correlation,
    )


def _report_ours(error: faults.PrismError, report: faults.Report) -> str:
    """Report an error of ours: its words say it all, unless something else caused it."""
    correlation, cause = faults.new_correlation(), error.__cause__
    report(
        faults.Diagnostic(
            kind=error.title.lower(),
            detail=error.detail,
            correlation=correlation,
            cause=faults.cause_of(error) if cause is not None else "",
            message=f"{error.detail} ({message_of(cause)})" if cause is not None else "",
        )
    )
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
        {
            "loc": [part if isinstance(part, int) else str(part)[:60] for part in mistake["loc"]],
            "msg": str(mistake["msg"])[:200],
            "type": str(mistake["type"])[:60],
        }
        for mistake in error.errors()[:SHOWN_MISTAKES]
    ]
    return structs.replace(problem, detail=found)


def _is_of_adk(connection: HTTPConnection) -> bool:
    tags = getattr(connection.scope.get("route"), "tags", ())
    return any(str(tag).startswith(ADK_TAG) for tag in tags)


_NO_ROUTE = (
    "Not Found: there is no such route; GET /docs lists the routes. If a proxy serves this server below"
    " a path prefix, it must remove the prefix."
)
"""For Starlette's own 404: a path that no route has is mostly one with the prefix of a proxy."""


def _of_http(error: HTTPException) -> Problem:
    status = HTTPStatus(error.status_code)
    title = status.phrase.capitalize()
    is_route_unknown = status == HTTPStatus.NOT_FOUND and error.detail == status.phrase
    return Problem(
        type=TYPE_PREFIX + title.lower().replace(" ", "-"),
        title=title,
        status=error.status_code,
        detail=_NO_ROUTE if is_route_unknown else str(error.detail),
    )


def _of_unexpected(error: Exception, report: faults.Report) -> Problem:
    correlation = report_error(report, "request failed", error)
    return Problem(
        type=TYPE_PREFIX + "internal-error",
        title=faults.PrismError.title,
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        detail=INTERNAL,
        correlation=correlation,
    )


# --------------------------------------------------------------------------- to responses


def respond(problem: Problem, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response in the form that the request can read."""
    sent = {TYPE_HEADER: problem.type.removeprefix(TYPE_PREFIX), **(headers or {})}
    if problem.correlation:
        sent[REFERENCE_HEADER] = problem.correlation
    if (call := CURRENT_REQUEST.get()) is not None:
        problem = structs.replace(problem, request=call.id)
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        sent.setdefault("retry-after", RETRY_AFTER)
    if (form := _form_of(scope)) is not None:
        return Response(form(problem), problem.status, sent, "application/json")
    if wants_text(scope):
        # It may repeat what a request said, and is nothing but text.
        sent |= {"x-content-type-options": "nosniff", "vary": "accept"}
        return Response(_text(problem), problem.status, sent, TEXT_TYPE)
    return Response(msgspec.json.encode(problem), problem.status, sent, MEDIA_TYPE)


def _text(problem: Problem) -> str:
    """Return all that a person needs of a problem: what it says, and where the operator finds more."""
    detail = problem.detail if isinstance(problem.detail, str) else ""
    text, reference = detail or problem.title, problem.correlation
    return f"{text} Reference: {reference}." if reference and reference not in text else text


def _completed(problem: Problem, scope: Scope, texts: ErrorTexts | None) -> Problem:
    """Return a problem with what caused it, for a request that may see that."""
    if texts is None or not problem.correlation:
        return problem
    referred = f"Reference: {problem.correlation}."
    full = texts.text(scope, referred)
    return problem if full == referred else structs.replace(problem, detail=full)


CHALLENGE = 'Bearer realm="adk-prism"'
"""What a caller without identity is asked for."""


def headers_of(error: Exception) -> Mapping[str, str] | None:
    """Return the headers that belong to an error's answer."""
    if isinstance(error, HTTPException):
        return error.headers
    if isinstance(error, faults.Unauthorized):
        return {"www-authenticate": error.challenge or CHALLENGE}
    if isinstance(error, faults.TooMany | faults.AppLoading):
        return {"retry-after": str(max(1, ceil(error.retry_after)))}
    return None


async def refuse(error: faults.PrismError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or a WebSocket that was not accepted yet, with an error of the caller."""
    problem = _shown(error)
    await _answer(respond(problem, scope, headers_of(error)), problem, scope, receive, send)


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


def add_problems(app: FastAPI, report: faults.Report, texts: ErrorTexts | None = None) -> None:
    """Let an application answer errors of its routes as problems."""

    async def answer(connection: HTTPConnection, error: Exception) -> Response:
        if isinstance(connection, WebSocket):
            raise error  # The edge knows whether it was accepted.
        problem = _completed(problem_of(error, report), connection.scope, texts)
        if isinstance(error, RequestValidationError) and _is_of_adk(connection):
            problem = as_fastapi(problem, error)
        return respond(problem, connection.scope, headers_of(error))

    for kind in (faults.PrismError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


_ANSWERED = {
    "http.response.start": "everything",
    "websocket.accept": "accepted",
    "websocket.http.response.start": "everything",
    "websocket.close": "everything",
}
"""What a connection has been answered so far, by the last message of these."""


@dataclass(eq=False)
class ProblemEdge:
    """Answers whatever the application inside it raised."""

    app: ASGIApp
    report: faults.Report
    texts: ErrorTexts | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        answered = "nothing"

        async def watch(message: Message) -> None:
            nonlocal answered
            answered = _ANSWERED.get(message["type"], answered)
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except WebSocketDisconnect:
            return  # The client has disconnected.
        except Exception as error:
            problem = _completed(problem_of(error, self.report), scope, self.texts)
            if answered == "nothing":
                response = respond(problem, scope, headers_of(error))
                await _answer(response, problem, scope, receive, send)
            elif answered == "accepted":
                await _close(problem, send)
            # Else the headers are out and nothing can be said: the server cuts the connection.
