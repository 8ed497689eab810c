"""Answers to a remote app's request to sign in, with the secrets that their request had.

A request for a credential holds the app's own secret (of an OAuth client), which logs and clients never get.
google-adk 1.x expects it back in the answer, and without it fails to sign in, silently. So what the answer
lacks is taken from the request as the remote's session has it, and sent to the remote alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from adk_prism.facts.adk_event import CREDENTIAL
from adk_prism.source.adk.credential_redaction import redact_credentials
from adk_prism.source.secret_forms import REDACTED

_CONFIG = ("authConfig", "auth_config")
"""The argument of ADK's request that holds the credential."""


def requests_of(events: Iterable[Event]) -> dict[str, Any]:
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
