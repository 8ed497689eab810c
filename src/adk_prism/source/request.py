"""The request for one run of a Runner: a message, answers, or a state change.

Validates what ADK would only refuse after the run has begun, so that a bad request is the caller's
error and not a failed run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pydantic
from google.adk.runners import Runner
from google.genai import types
from msgspec import Raw, Struct

from adk_prism.errors import Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.runlog.entry import (
    NOTHING,
    BroughtTool,
    Continues,
    Origin,
    Repeats,
    Response,
    Warned,
    is_absent,
)
from adk_prism.source.denial_reason import REASON
from adk_prism.source.plain_json import replace_unstorable, storable
from adk_prism.source.rerun.recorded_tools import RecordedTools


class CallAnswer(Struct, frozen=True, kw_only=True):
    """The result of a call that the client ran, or the answer to a question of ADK's."""

    call: str
    name: str
    response: Raw
    """Any JSON value; one that is not an object is sent as `{"result": value}`."""

    def function_response(self) -> types.FunctionResponse:
        """Return the answer as ADK takes it."""
        value = storable(msgspec.json.decode(self.response))
        response = value if isinstance(value, dict) else {"result": value}
        return types.FunctionResponse(id=self.call, name=self.name, response=response)


class ApprovalAnswer(Struct, frozen=True, kw_only=True):
    """A person's answer to an approval request."""

    approval: str
    """Id of the `adk_request_confirmation` call."""
    approved: bool
    reason: str = ""
    """Why not; reaches the model through `DenialReasonPlugin`."""
    payload: Raw = NOTHING
    """What a tool asked for beyond yes or no."""

    def function_response(self) -> types.FunctionResponse:
        """Return the answer as ADK takes it."""
        response: dict[str, Any] = {"confirmed": self.approved}
        payload = None if is_absent(self.payload) else msgspec.json.decode(self.payload)
        if self.reason and not self.approved and (payload is None or isinstance(payload, dict)):
            payload = {REASON: self.reason, **(payload or {})}
        if payload is not None:
            response["payload"] = payload
        return types.FunctionResponse(id=self.approval, name=CONFIRMATION, response=response)


class Variant(Struct, frozen=True, kw_only=True):
    """An app with changes, for a run that is run again."""

    runner: Runner
    repeats: Repeats
    tools: RecordedTools | None
    """None: tools are called."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """One run. It has a message, answers, or the invocation to resume."""

    run: str
    origin: Origin
    invocation: str = ""
    """Empty: one is chosen, or found from the answers. With a message: the id to start under, so
    that a repeated start is one start. Alone: the invocation to resume."""
    message: types.Content | None = None
    may_be_empty: bool = False
    """The message may have no parts: ADK's own routes run the agent all the same."""
    message_id: str = ""
    extras: Mapping[str, Raw] = {}
    """What was sent with the message for the client's own use."""
    client_tools: Sequence[BroughtTool] = ()
    warnings: Sequence[Warned] = ()
    typed: types.Content | None = None
    """What the person said, where that is not the message but became one of the answers."""
    streaming: bool = True
    state_delta: Mapping[str, Any] = {}
    """Applied before the run, like ADK's PATCH: the agent's first step sees it, and it stays."""
    continues: Continues | None = None
    replaces: str = ""
    restores: str = ""
    rewound: Sequence[str] = ()
    answers: Sequence[CallAnswer] = ()
    decisions: Sequence[ApprovalAnswer] = ()
    answered: Mapping[str, Response] = {}
    """What the answers are to a run that is a turn of its own, as the log keeps it."""
    fitted: Mapping[str, Raw] = {}
    """Answers of the message as they were asked for, by their id: they take the place of what came."""
    custom_metadata: Mapping[str, Any] = {}
    variant: Variant | None = None
    """The app as it is run, where that is not as it is served."""

    def responses(self) -> list[types.FunctionResponse]:
        """Return every answer in the request, those that came as parts of the message included."""
        parts = self.message.parts or [] if self.message else []
        sent = [self._fit(part.function_response) for part in parts if part.function_response]
        return [
            *sent,
            *(answer.function_response() for answer in self.answers),
            *(decision.function_response() for decision in self.decisions),
        ]

    def _fit(self, response: types.FunctionResponse) -> types.FunctionResponse:
        fitted = self.fitted.get(response.id or "")
        if fitted is None:
            return response
        return response.model_copy(update={"response": storable(msgspec.json.decode(fitted))})


def checked_message(message: types.Content, *, may_be_empty: bool = False) -> types.Content:
    """Return the message as it can be stored. Raise `Unprocessable` for one ADK would refuse."""
    parts = message.parts or []
    if not parts and not may_be_empty:
        raise Unprocessable("The message has no parts; send at least one, e.g. {'text': 'Hello'}.")
    if any(part.function_call for part in parts):
        raise Unprocessable(
            "A user message cannot contain function calls; only agents call functions."
        )
    if any(part.function_response for part in parts) and any(part.text for part in parts):
        raise Unprocessable(
            "A message must contain either text or function responses: text starts a turn, responses "
            "continue one. Send them one after the other."
        )
    stored = [_storable_part(part) for part in parts]
    return types.Content(role="user", parts=None if message.parts is None else stored)


def _storable_part(part: types.Part) -> types.Part:
    text = part.text
    if text is None or (clean := replace_unstorable(text)) == text:
        return part
    return part.model_copy(update={"text": clean})


def read_content(json: bytes | Raw) -> types.Content:
    """Read a genai `Content`, camelCase or snake_case. Raise `Unprocessable`."""
    try:
        return types.Content.model_validate_json(bytes(json))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "content"
        raise Unprocessable(
            f"The message is not valid at {where[:80]!r}: {first['msg']}. "
            "Expected {'role': 'user', 'parts': [{'text': …}]}."
        ) from None
    except AttributeError:  # genai's enumerations expect text (genai 2.34)
        raise Unprocessable(
            "The message has a number where the name of an enumeration value is expected."
        ) from None
