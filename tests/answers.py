"""How a person or a client answers what a run waits for."""

from __future__ import annotations

from typing import Any

from google.genai import types
from tests.app_runner import AppRun


def decision(call: types.FunctionCall, approved: bool) -> types.FunctionResponse:
    """Approve or deny a confirmation call."""
    return respond(call, {"confirmed": approved})


def decisions(take: AppRun, approved: bool) -> list[types.FunctionResponse]:
    """Approve or deny everything that a run asked approval for."""
    asked = [call for call in take.calls if call.name == "adk_request_confirmation"]
    return [decision(call, approved) for call in asked]


def sign_in(call: types.FunctionCall) -> types.FunctionResponse:
    """Answer a credential request with a token, as a client does after the sign-in."""
    config: dict[str, Any] = (call.args or {})["authConfig"]
    config["exchangedAuthCredential"]["oauth2"]["accessToken"] = "synthetic-token"
    return respond(call, config)


def respond(call: types.FunctionCall, response: dict[str, Any]) -> types.FunctionResponse:
    """Answer any open call."""
    return types.FunctionResponse(id=call.id, name=call.name, response=response)
