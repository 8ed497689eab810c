"""The chat clients that a person may have, and what each of them was sent, judged.

A conversation is played by the AI SDK's real client (`tests.conformance.chat`); whatever stream the
server answered with goes to the judge of every release that has to understand it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.conformance.chat import Chat, ChatResult
from tests.conformance.judge import FIVES, SDKS, Judge, Sdk
from tests.end_to_end.server import Server

Json = dict[str, Any]
Step = Json


@dataclass(frozen=True)
class Client:
    """A release of the AI SDK, and the dialect that it asks for."""

    sdk: Sdk
    dialect: str = ""

    def __str__(self) -> str:
        return f"{self.sdk}-dialect-{self.dialect or 6}"

    @property
    def query(self) -> str:
        """Return the query of the chat's address."""
        return f"?dialect={self.dialect}" if self.dialect else ""

    @property
    def judges(self) -> tuple[Sdk, ...]:
        """Return the releases that understand the dialect."""
        return {"5": FIVES, "7": ("ai-7",)}.get(self.dialect, SDKS)


CLIENTS = (Client("ai-6.0.0"), Client("ai-6"), Client("ai-7"), Client("ai-7", "7"))

_numbers = count(1)


def new_id(kind: str = "chat") -> str:
    """Return an id that no other test uses."""
    return f"{kind}_{next(_numbers)}"


@dataclass(frozen=True)
class Player:
    """Plays conversations of one client with one server; call it."""

    server: Server
    client: Client
    chat: Chat
    judge: Judge

    def __call__(
        self,
        *steps: Step,
        app: str = "tour",
        fails: bool = False,
        allowed: frozenset[str] = frozenset(),
        **script: Any,
    ) -> ChatResult:
        """Play a script and judge what came back.

        `fails`: a run of it is to end in an error. `allowed`: codes of the judge that a client may
        be blamed for. A response that the script itself cuts or stops is judged only if it came
        to its end.
        """
        script = {"id": new_id(), "limits": {"seconds": 30}, **script}
        url = self.server.chat(app) + self.client.query
        result = self.chat({"sdk": self.client.sdk, "url": url, "steps": steps, **script})
        broken = any("cut" in step or step["do"] == "stop" for step in steps)
        failures = 0
        for stream in streams(result):
            if "data: [DONE]" not in stream["text"]:
                assert broken, f"the stream has no end: {stream['text'][-200:]}"
                continue
            failures += self._judge(stream, allowed)
        assert (failures > 0) == fails
        return result

    def _judge(self, stream: Json, allowed: frozenset[str]) -> bool:
        failed = 'data: {"type":"error"' in stream["text"]
        for sdk in self.client.judges:
            verdict = self.judge(stream["text"], sdk, _prior(stream), expect_error=failed)
            assert verdict.codes <= allowed, f"{sdk}: {verdict.why}\n{stream['text']}"
        return failed


def streams(result: ChatResult) -> Iterator[Json]:
    """Yield the requests that were answered with a stream."""
    for request in result.requests:
        if request["responseHeaders"].get("content-type", "").startswith("text/event-stream"):
            yield request


def _prior(request: Json) -> Json | None:
    """Return the assistant's message that a response continues, as the client sent it."""
    messages = (request["body"] or {}).get("messages") or [{}]
    last: Json = messages[-1]
    return last if last.get("role") == "assistant" else None


def send(text: str, **extras: Any) -> Step:
    """Type a message."""
    return {"do": "send", "text": text, **extras}


def post(path: str, body: Json) -> Step:
    """Call a route of the server that is not the chat's."""
    return {"do": "fetch", "method": "POST", "path": f"../../../..{path}", "body": body}


def open_gate(gate: str) -> Step:
    """Open a gate of the diary's, in a session of its own."""
    return post("/api/chat/diary", chat_body(new_id("keeper"), f"open {gate}"))


def chat_body(chat: str, text: str) -> Json:
    """Return what a chat client posts to say something."""
    message = {"id": new_id("m"), "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": chat, "messages": [message], "trigger": "submit-message"}


APPROVE = {"do": "approve"}
DENY = {"do": "deny", "reason": "too expensive"}
RELOAD = {"do": "reload"}
RESUME = {"do": "resume"}
RELEASE = {"do": "release"}
MESSAGES = {"do": "fetch", "path": "messages"}
STOP = {"do": "fetch", "method": "POST", "path": "stop"}

DONE, FAILED, DENIED = "output-available", "output-error", "output-denied"
"""How a call can end, in the client's words."""


def shown(message: Json, client: Client) -> Json:
    """Return a message without what a release adds to it or forgets of it.

    Nor with when a user's message came, which only the server knows, and that a call was answered, which
    only the history says of it.
    """
    said = {key: value for key, value in message.items() if key != "metadata"}
    kept = said if message["role"] == "user" else message
    return {**kept, "parts": [_shown_part(part, client) for part in message["parts"]]}


def _shown_part(part: Json, client: Client) -> Json:
    dropped = {"reasoning": "id"}  # kept on the part by newer releases
    if client.sdk in ("ai-6.0.0", *FIVES):
        dropped["file"] = "providerMetadata"  # not read by the first release
    kept = {key: value for key, value in part.items() if key != dropped.get(part["type"])}
    if part["type"] == "data-long-running":
        kept["data"] = {key: value for key, value in part["data"].items() if key != "status"}
    if "prism" in part.get("providerMetadata", {}):  # says what may be replaced while it streams
        told = part["providerMetadata"]
        kept["providerMetadata"] = {key: told[key] for key in told if key != "prism"}
    return kept
