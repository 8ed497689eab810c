"""The requests that run a remote agent: what is sent to a server of each kind.

An answer to a request to sign in is sent with the secrets that its request had. A request for a credential
holds the app's own secret (of an OAuth client), which logs and clients never get. google-adk 1.x expects it
back in the answer, and without it fails to sign in, silently. So what the answer lacks is taken from the
request as the remote's session has it, and sent to the remote alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_prism.adk.redaction import redact_credentials
from adk_prism.adk.request import RunRequest, checked_message
from adk_prism.adk.secret_forms import REDACTED
from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL
from adk_prism.features.remote.connection import Connection

ENGINE_EVENTS = ("application/json", "text/event-stream")
"""What a stream of Agent Engine calls itself, though it is one event to a line."""

_HIDING = frozenset({CONFIRMATION, CREDENTIAL})
"""Answers that ADK hides from the model, with everything else in their message."""


def messages_of(request: RunRequest) -> list[types.Content]:
    """Return what is sent, one request each. Raise `Unprocessable`.

    ADK hides a message that answers an approval from the model, results of tools and all: they go first.
    """
    responses = request.responses()
    if responses:
        hidden = [each for each in responses if each.name in _HIDING]
        shown = [each for each in responses if each.name not in _HIDING]
        return [_answers(group) for group in (shown, hidden) if group]
    if request.message is None:
        raise Unprocessable("A run of a remote app needs a message or answers.")
    message = checked_message(request.message, may_be_empty=request.may_be_empty)
    return [message]


def open_run(
    connection: Connection, request: RunRequest, message: types.Content, *, is_first: bool
) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
    """Return the request with one message, whose answer is a stream of events."""
    dialect = connection.dialect
    if dialect.is_engine:
        path = connection.remote.engine_path(stream=True)
        given = _engine_input(request, message, is_first=is_first)
        body: dict[str, Any] = {"class_method": "async_stream_query", "input": given}
        return connection.client.stream(path, body, ENGINE_EVENTS)
    body = {
        "appName": connection.app,
        "userId": request.origin.user,
        "sessionId": request.origin.session,
        "streaming": request.streaming,
        "newMessage": _dumped(message),
    }
    if request.state_delta and is_first:
        body["stateDelta"] = dict(request.state_delta)
    if request.custom_metadata and dialect.has_metadata:
        body["customMetadata"] = dict(request.custom_metadata)
    return connection.client.stream(dialect.prefix + "/run_sse", body)


def _engine_input(request: RunRequest, message: types.Content, *, is_first: bool) -> dict[str, Any]:
    """Return what Agent Engine's method takes; it passes what it does not know to the Runner."""
    given: dict[str, Any] = {
        "user_id": request.origin.user,
        "session_id": request.origin.session,
        "message": _dumped(message),
    }
    if request.streaming:
        given["run_config"] = {"streaming_mode": "sse"}
    if request.state_delta and is_first:
        given["state_delta"] = dict(request.state_delta)
    return given


def _answers(responses: Sequence[types.FunctionResponse]) -> types.Content:
    parts = [types.Part(function_response=each) for each in responses]
    return types.Content(role="user", parts=parts)


def _dumped(message: types.Content) -> Any:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


# --------------------------------------------------------------------------- answers to sign-ins

_CONFIG = ("authConfig", "auth_config")
"""The argument of ADK's request that holds the credential."""


def requested_credentials(events: Iterable[Event]) -> dict[str, Any]:
    """Return the credentials that a session's events request, by the id of the call."""
    found: dict[str, Any] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.name == CREDENTIAL and call.id:
                arguments = call.args or {}
                found[call.id] = next((arguments[key] for key in _CONFIG if key in arguments), None)
    return found


def with_secrets(message: types.Content, requested: Mapping[str, Any]) -> types.Content:
    """Return a message whose answers to sign-ins have the secrets of their requests."""
    parts = [_with_secret(part, requested) for part in message.parts or ()]
    return message.model_copy(update={"parts": parts})


def _with_secret(part: types.Part, requested: Mapping[str, Any]) -> types.Part:
    answer = part.function_response
    if answer is None or answer.name != CREDENTIAL or not isinstance(answer.response, dict):
        return part
    config = requested.get(answer.id or "")
    if not isinstance(config, dict):
        return part
    filled = _filled(answer.response, config, redact_credentials(config))
    return types.Part(function_response=answer.model_copy(update={"response": filled}))


def _filled(answer: Any, requested: Any, shown: Any) -> Any:
    """Return an answer with what the request has and was not shown; anything else is the answer's own."""
    if not isinstance(answer, dict) or not isinstance(requested, dict):
        return answer
    visible = shown if isinstance(shown, dict) else {}
    filled = {
        key: _filled(value, requested.get(key), visible.get(key))
        for key, value in answer.items()
        if value != REDACTED
    }
    hidden = {key: value for key, value in requested.items() if key not in visible}
    return hidden | filled
