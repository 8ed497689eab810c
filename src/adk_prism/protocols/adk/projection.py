"""The run as ADK's `/run_sse` gives it: lossless, so it reads no facts.

Follows google-adk 2.13 with these differences, on purpose: an error is one event (ADK sends an event and
then an object that is none; on legacy roots only the latter), and an event that saves an artifact is not
split in two. What agent code stored in its session itself is in the log, and in ADK's session, and in no
stream of ADK's: nor is it here.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Struct

from adk_prism.commands import ChangeState, ClientRequest, Command, RunAgent
from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import APPENDED, read_event
from adk_prism.facts.outcome import failure_text
from adk_prism.log import entry as records
from adk_prism.protocols.contract import Complete, Payload

# ---------------------------------------------------------------------------
# The frames of ADK's own protocol: its events, as it serialised them.

_KEY = b'"errorMessage":'


class _Failed(Struct, rename="camel"):
    error_code: str | None = None
    error_message: str = ""


_read = msgspec.json.Decoder(_Failed).decode


def completed_event(frame: Payload, complete: Complete) -> Payload:
    """Return an event with its `errorMessage` completed, and the rest of its bytes as they were.

    The code is in a field of its own, as from ADK's server, and is not said twice.
    """
    if _KEY not in frame.data:
        return frame
    try:
        error = _read(frame.data)
    except msgspec.MsgspecError:  # It was written elsewhere: no reference of ours is in it.
        return frame
    full = complete(error.error_message).removeprefix(f"{error.error_code}: ")
    before, after = (_KEY + msgspec.json.encode(text) for text in (error.error_message, full))
    return Payload(frame.data.replace(before, after, 1))


# ---------------------------------------------------------------------------

_APPENDED = APPENDED.encode()


def _is_appended(event: bytes) -> bool:
    """Return whether agent code stored the event in its session itself. A text may hold the word, too."""
    try:
        metadata = msgspec.json.decode(event).get("customMetadata")
    except (msgspec.MsgspecError, AttributeError):
        return False
    return isinstance(metadata, dict) and metadata.get(APPENDED) is True


class AdkProjection:
    """One run as ADK events."""

    def __init__(self) -> None:
        self._invocation = ""
        self._author = ""
        self._error = b""
        """The event with an error, while nothing follows it."""

    def feed(self, entry: records.Entry) -> list[Payload]:
        """Return the frames that an entry causes."""
        record = entry.record
        if type(record) is records.AgentEvent:
            if _APPENDED in record.event and _is_appended(record.event):
                return []
            self._listen(record.event)
            return [Payload(record.event)]
        match record:
            case records.RunStarted():
                self._invocation = record.invocation
                self._author = record.agents[0].name if record.agents else record.origin.app
                return []
            case records.RunEnded():
                return self._end(entry, record)
            case (
                records.ChildEvent()
                | records.NodeStarted()
                | records.NodeEnded()
                | records.RunTakenOver()
                | records.ModelCalled()
            ):
                return []  # ADK's protocol has no word for them
            case records.ApprovalAsked() | records.ApprovalGiven() | records.SpeakerInterrupted():
                return []
            case records.AgentEvent():
                raise AssertionError("handled above")
            case _:
                assert_never(record)

    def _listen(self, event: bytes) -> None:
        """Keep an error until something else is said; the checkpoint of a resumable agent is nothing.

        The bytes are searched, not parsed: this is the hot path. A mistake is found at the end.
        """
        if b'"errorCode":' in event:
            self._error = event
        elif self._error and b'"content":' in event:
            self._error = b""

    def _end(self, entry: records.Entry, ended: records.RunEnded) -> list[Payload]:
        """Give a failure its one event, unless the agent's own error event was the last thing said."""
        if ended.outcome != "failed" or self._told(ended.code):
            return []
        reference = f" Reference: {ended.correlation}." if ended.correlation else ""
        event = {
            "errorCode": ended.code or "error",
            "errorMessage": failure_text(ended.code) + reference,
            "invocationId": self._invocation,
            "author": self._author,
            "actions": {
                "stateDelta": {},
                "artifactDelta": {},
                "requestedAuthConfigs": {},
                "requestedToolConfirmations": {},
            },
            "id": f"error-{entry.cursor}",
            "timestamp": entry.time,
        }
        return [Payload(msgspec.json.encode(event))]

    def _told(self, code: str) -> bool:
        if not self._error:
            return False
        try:
            last = read_event(self._error)
        except msgspec.MsgspecError:
            return False
        return last.error_code is not None and last.error_code == code


# ---------------------------------------------------------------------------
# What a client of ADK's `/run` and `/run_sse` asks for.
#
# Follows `RunAgentRequest` of google-adk 2.13: both spellings of a key, unknown keys are ignored. A
# request without a message that changes state is a state-only update.

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
    content = records.given_raw(message)
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
