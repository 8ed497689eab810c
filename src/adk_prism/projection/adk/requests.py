"""What a client of ADK's `/run` and `/run_sse` asks for.

Follows `RunAgentRequest` of google-adk 2.13: both spellings of a key, unknown keys are ignored. A request
without a message that changes state is a state-only update.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.commands import ChangeState, ClientRequest, Command, RunAgent
from adk_prism.errors import Unprocessable
from adk_prism.runlog.entry import NOTHING, to_raw

Json = dict[str, Any]


def read_request(body: Any) -> ClientRequest:
    """Read a request body. Raise `Unprocessable` for one that asks for nothing."""
    if not isinstance(body, dict):
        raise Unprocessable(
            "The body must be a JSON object: {appName, userId, sessionId, newMessage, …}."
        )
    message = _object(body, "newMessage", "new_message")
    delta = _object(body, "stateDelta", "state_delta") or {}
    invocation = _string(body, "invocationId", "invocation_id")
    return ClientRequest(
        session=_string(body, "sessionId", "session_id"),
        user=_string(body, "userId", "user_id"),
        command=_command(message, invocation, changes_state=bool(delta)),
        state_delta=delta,
        streaming=bool(body.get("streaming")),
        custom_metadata=_object(body, "customMetadata", "custom_metadata") or {},
    )


def _command(message: Json | None, invocation: str, *, changes_state: bool) -> Command:
    has_parts = bool(message and (message.get("parts") or message.get("function_responses")))
    if changes_state and not has_parts and not invocation:
        return ChangeState()
    if message is None and not invocation:
        raise Unprocessable(
            "`newMessage` is missing. Send a message, or `stateDelta` to change state only, or"
            " `invocationId` to resume."
        )
    # A message without parts: the agent runs on what the session has, as in ADK.
    content: Raw = NOTHING if message is None else to_raw(message)
    return RunAgent(content=content, invocation=invocation)


def _given(body: Json, *names: str) -> Any:
    return next((value for name in names if (value := body.get(name)) is not None), None)


def _object(body: Json, *names: str) -> Json | None:
    value = _given(body, *names)
    if value is not None and not isinstance(value, dict):
        raise Unprocessable(f"`{names[0]}` must be an object.")
    return value


def _string(body: Json, *names: str) -> str:
    value = _given(body, *names)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{names[0]}` must be a string.")
    return value or ""
