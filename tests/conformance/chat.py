"""A scripted conversation between the AI SDK's real chat client and a server.

`tests/node/chat.mjs` does the work and documents the script. A test says

    result = chat({"sdk": sdk, "url": url, "steps": [{"do": "send", "text": "hello"}]})
    assert result.text == "Hello!"

The call blocks. A test whose server runs in the same event loop awaits `chat.in_thread(script)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.worker import Worker

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatResult:
    """What the client showed and what it sent; the fields are described in chat.mjs."""

    status: str
    error: str | None
    messages: list[Json]
    steps: list[Json]
    requests: list[Json]
    finishes: list[Json]
    data: list[Json]
    errors: list[str]

    @property
    def text(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1])

    @property
    def posts(self) -> list[Json]:
        """The requests that sent a message to the chat."""
        return [
            request
            for request in self.requests
            if request["method"] == "POST" and "trigger" in (request["body"] or {})
        ]

    def call(self, tool: str) -> Json:
        """The newest call of `tool`, as the client shows it."""
        parts = [part for message in self.messages for part in message["parts"]]
        return next(part for part in reversed(parts) if _tool_name(part) == tool)


def text_of(message: Json) -> str:
    """The text parts of a message, joined."""
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _tool_name(part: Json) -> str | None:
    if part["type"] == "dynamic-tool":
        return str(part["toolName"])
    return part["type"].removeprefix("tool-") if "toolCallId" in part else None


@dataclass(frozen=True, slots=True)
class Chat:
    """Plays scripts; call it."""

    worker: Worker

    def __call__(self, script: Mapping[str, Any]) -> ChatResult:
        """Play `script`; a script that cannot be played to its end fails the test."""
        reply = self.worker.ask({"script": dict(script)})
        failure = reply.pop("failure")
        assert failure is None, f"{failure}\n{_story(reply)}"
        return ChatResult(**reply)

    async def in_thread(self, script: Mapping[str, Any]) -> ChatResult:
        """Play `script` while the caller's event loop goes on."""
        return await asyncio.to_thread(self, script)


def _story(reply: Json) -> str:
    requests = [f"  {r['method']} {r['url']} -> {r['status']}" for r in reply["requests"]]
    errors = [f"  {error}" for error in reply["errors"]]
    return "\n".join([f"status {reply['status']}", *requests, *errors])
