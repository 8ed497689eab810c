"""Requests of chat and Studio clients."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from tests.fuzz.target import Target, as_json

from adk_prism.commands import Answer
from adk_prism.errors import UsageError
from adk_prism.facts.state import same_json
from adk_prism.protocols.adk.projection import read_request as read_adk
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.protocols.studio.requests import read_request as read_studio
from adk_prism.server.request_bodies import parse_body

WORDS = (
    "id userId messages message role user assistant parts type text content file url mediaType filename"
    " data:image/png;base64,AAAA gs://b/c trigger submit-message regenerate-message messageId"
    " toolCallId input output state approval-responded output-available output-error errorText approval"
    " approved reason data data-input-response data-credential-response response providerExecuted"
    " session_id user_id answers call result kind stateDelta __proto__ constructor"
).split()


def _read_chat(data: bytes) -> None:
    body = parse_body(as_json(data, WORDS))
    if isinstance(body, dict):
        for read in (read_studio, read_adk):
            with suppress(UsageError):
                read(body)
    command = read_request(body).command
    if isinstance(command, Answer):
        for answer in command.answers:
            if bytes(answer.input):
                same_json(answer.input, answer.input)


def _chat_seeds() -> list[bytes]:
    said = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    part = {"type": "tool-x", "toolCallId": "c", "state": "approval-responded", "input": {"n": 1}}
    answer = {"id": "a", "approved": True, "reason": "r"}
    answered = {"id": "m", "role": "assistant", "parts": [{**part, "approval": answer}]}
    file = {"type": "file", "url": "data:image/png;base64,AAAA", "mediaType": "image/png"}
    bodies: list[Any] = [
        {"id": "c", "messages": [said], "trigger": "submit-message"},
        {"id": "c", "messages": [said, answered]},
        {"id": "c", "trigger": "regenerate-message", "messageId": "m"},
        {"id": "c", "messages": [{**said, "parts": [file]}]},
        {"input": "hello", "session_id": "s", "user_id": "u"},
    ]
    return [b"\0" + json.dumps(body).encode() for body in bodies] + [b"\1" + bytes(range(64))]


TARGET = Target(_read_chat, (UsageError,), _chat_seeds, WORDS)
