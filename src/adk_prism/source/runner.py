"""A run of an in-process ADK Runner as a source of records."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from google.adk.runners import Runner
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.diagnostics import Report, ignore
from adk_prism.runlog.entry import NOTHING, Agent, Continues, Origin, Record


class CallAnswer(Struct, frozen=True, kw_only=True):
    """The result of a call that the client ran, or the answer to one of ADK's own questions."""

    call: str
    name: str
    response: Raw
    """A JSON object; anything else is wrapped as `{"result": …}`."""


class ApprovalAnswer(Struct, frozen=True, kw_only=True):
    """A person's answer to an approval request."""

    approval: str
    """Id of the `adk_request_confirmation` call."""
    approved: bool
    reason: str = ""
    payload: Raw = NOTHING


class RunRequest(Struct, frozen=True, kw_only=True):
    """What is asked of a Runner."""

    run: str
    origin: Origin
    invocation: str = ""
    """Empty: one is chosen. Given: the invocation to start (again) or to resume."""
    message: types.Content | None = None
    message_id: str = ""
    streaming: bool = True
    state_delta: Mapping[str, Any] = {}
    continues: Continues | None = None
    replaces: str = ""
    answers: Sequence[CallAnswer] = ()
    decisions: Sequence[ApprovalAnswer] = ()
    custom_metadata: Mapping[str, Any] = {}


class RunnerSource:
    """One run of a Runner."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        agents: Sequence[Agent] = (),
        report: Report = ignore,
    ) -> None:
        raise NotImplementedError

    def records(self) -> AsyncIterator[Record]:
        """Run the agent; yield `RunStarted`, then one `AgentEvent` per event of ADK."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Set ADK's abort signal; the run seals its open calls and ends."""
        raise NotImplementedError


class StateUpdateSource:
    """A state-only update as a run: one event, no model call."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        *,
        agents: Sequence[Agent] = (),
        report: Report = ignore,
    ) -> None:
        raise NotImplementedError

    def records(self) -> AsyncIterator[Record]:
        """Append the state change; yield `RunStarted` and the event."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Do nothing: the update is done before anyone could stop it."""
        raise NotImplementedError


def read_content(json: bytes | Raw) -> types.Content:
    """Read a genai `Content` in either spelling. Raise `Unprocessable`."""
    raise NotImplementedError
