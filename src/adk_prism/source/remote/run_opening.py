"""The requests that run a remote agent: what is sent to a server of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from google.genai import types

from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL
from adk_prism.source.remote.connection import Connection
from adk_prism.source.remote.http_exchange import Exchange
from adk_prism.source.request import RunRequest, checked_message

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
) -> AbstractAsyncContextManager[Exchange]:
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
