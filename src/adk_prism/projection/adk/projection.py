"""The run as ADK's `/run_sse` gives it: lossless, so it reads no facts.

Follows google-adk 2.13 with these differences, on purpose: an error is one event (ADK sends an event and
then an object that is none; on legacy roots only the latter), and an event that saves an artifact is not
split in two. What agent code stored in its session itself is in the log, and in ADK's session, and in no
stream of ADK's: nor is it here.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from adk_prism.facts.adk_event import APPENDED, read_event
from adk_prism.facts.outcome import failure_text
from adk_prism.projection.adk.frames import AdkFrame
from adk_prism.runlog.entry import (
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    ChildEvent,
    Entry,
    ModelCalled,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    RunTakenOver,
    SpeakerInterrupted,
)

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

    def feed(self, entry: Entry) -> list[AdkFrame]:
        """Return the frames that an entry causes."""
        record = entry.record
        if type(record) is AgentEvent:
            if _APPENDED in record.event and _is_appended(record.event):
                return []
            self._listen(record.event)
            return [AdkFrame(record.event)]
        match record:
            case RunStarted():
                self._invocation = record.invocation
                self._author = record.agents[0].name if record.agents else record.origin.app
                return []
            case RunEnded():
                return self._end(entry, record)
            case ChildEvent() | NodeStarted() | NodeEnded() | RunTakenOver() | ModelCalled():
                return []  # ADK's protocol has no word for them
            case ApprovalAsked() | ApprovalGiven() | SpeakerInterrupted():
                return []
            case AgentEvent():
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

    def _end(self, entry: Entry, ended: RunEnded) -> list[AdkFrame]:
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
        return [AdkFrame(msgspec.json.encode(event))]

    def _told(self, code: str) -> bool:
        if not self._error:
            return False
        try:
            last = read_event(self._error)
        except msgspec.MsgspecError:
            return False
        return last.error_code is not None and last.error_code == code
