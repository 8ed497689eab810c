"""Bodies of ADK's own routes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pydantic
from tests.fuzz.target import Target, as_json, split

from adk_prism.adk.request import checked_message
from adk_prism.errors import UsageError
from adk_prism.features.artifacts import routes as artifacts
from adk_prism.log.entry import to_raw
from adk_prism.protocols.adk import sessions as adk_models
from adk_prism.protocols.adk.routes import RunAgentRequest
from adk_prism.runs.conversations import read_content
from adk_prism.server.request_bodies import parse_body

_ADK_WORDS = (
    "appName userId sessionId newMessage streaming stateDelta invocationId customMetadata role user parts"
    " text inlineData data mimeType fileData fileUri functionResponse functionCall id name response args"
    " state events author content actions timestamp filename artifact session_id new_message app:x temp:x"
    " adk_request_confirmation adk_request_credential videoMetadata startOffset fps thoughtSignature"
).split()


def _read_adk(data: bytes) -> None:
    """The bodies of ADK's routes, as FastAPI reads them, and the message that ADK is given."""
    which, rest = split(data, 5)
    body = parse_body(as_json(rest, _ADK_WORDS))
    models: Sequence[type[pydantic.BaseModel]] = (
        RunAgentRequest,
        adk_models.CreateSession,
        adk_models.UpdateSession,
        artifacts.SaveArtifact,
        artifacts.UpdateMemory,
    )
    try:
        found = models[which].model_validate(body)
    except pydantic.ValidationError:
        return
    if isinstance(found, RunAgentRequest) and found.new_message is not None:
        checked_message(read_content(to_raw(found.new_message)))


def _adk_seeds() -> list[bytes]:
    message = {"role": "user", "parts": [{"text": "hello"}]}
    picture = {"inlineData": {"data": "AAAA", "mimeType": "image/png"}}
    event = {"id": "e", "author": "user", "content": message, "timestamp": 1.5}
    bodies: list[tuple[int, Any]] = [
        (0, {"appName": "a", "userId": "u", "sessionId": "s", "newMessage": message}),
        (0, {"userId": "u", "sessionId": "s", "newMessage": {"parts": [picture]}}),
        (1, {"state": {"a": 1}, "events": [event]}),
        (2, {"stateDelta": {"a": [1, {"b": None}]}}),
        (3, {"filename": "a.png", "artifact": picture}),
        (4, {"sessionId": "s"}),
    ]
    return [bytes([which, 0]) + json.dumps(body).encode() for which, body in bodies]


TARGET = Target(_read_adk, (UsageError,), _adk_seeds, _ADK_WORDS)
