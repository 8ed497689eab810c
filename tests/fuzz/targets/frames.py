"""Frames of sockets: live ones, and chats."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.fuzz.target import Target, as_json, split
from tests.fuzz.targets.requests import WORDS

from adk_prism.errors import UsageError
from adk_prism.features.chat_socket import connection as chat_frames
from adk_prism.protocols.ai_sdk.requests import read_request
from adk_prism.voice import socket as live_frames

_FRAME_WORDS = (
    WORDS
    + (
        "requestId send resume abort headers body tool_result tool_call_id audio_chunk chunk sampleRate"
        " channels bitDepth audio_control action start stop interrupt ping timestamp close approvalId version"
    ).split()
)


def _read_frame(data: bytes) -> None:
    which, rest = split(data, 2)
    text = as_json(rest, _FRAME_WORDS)
    if which:
        frame = chat_frames.read_frame(text)
        if isinstance(frame, chat_frames.Send):
            read_request(frame.chat_body())
        chat_frames.request_of(text)
        return
    live = live_frames.read_frame(text)
    if isinstance(live, live_frames.AudioChunk):
        live.audio()
    elif isinstance(live, live_frames.Message):
        read_request(live.body("chat"))


def _frame_seeds() -> list[bytes]:
    said = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    sound = base64.b64encode(bytes(64)).decode()
    live: list[Any] = [
        {"type": "message", "id": "c", "messages": [said]},
        {"type": "audio_chunk", "chunk": sound, "sampleRate": 16000},
        {"type": "tool_result", "toolCallId": "c", "result": {"a": 1}},
        {"type": "approval", "approvalId": "a", "approved": True},
        {"type": "ping", "timestamp": 1.5},
    ]
    chat: list[Any] = [
        {"type": "send", "requestId": "r", "id": "c", "messages": [said], "body": {"userId": "u"}},
        {"type": "resume", "requestId": "r", "id": "c"},
        {"type": "abort", "requestId": "r"},
    ]
    return [b"\0\0" + json.dumps(f).encode() for f in live] + [
        b"\1\0" + json.dumps(f).encode() for f in chat
    ]


TARGET = Target(_read_frame, (UsageError,), _frame_seeds, _FRAME_WORDS)
