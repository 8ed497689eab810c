"""An AG-UI client in a few lines: it keeps a thread's messages as `HttpAgent` does, and posts them all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.server.local_server import APP, SESSION, LocalServer

Json = dict[str, Any]


def user(text: str, name: str = "") -> Json:
    return {"id": name or f"u-{text}", "role": "user", "content": text}


def result(call: str, content: Any) -> Json:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"id": f"r-{call}", "role": "tool", "toolCallId": call, "content": text}


def resolved(interrupt: str, payload: Any = None) -> Json:
    return {"interruptId": interrupt, "status": "resolved", "payload": payload}


def cancelled(interrupt: str) -> Json:
    return {"interruptId": interrupt, "status": "cancelled"}


def run_input(*messages: Json, run: str, thread: str = SESSION, **more: Any) -> Json:
    """Return an input as 1.0 sends it."""
    return {
        "threadId": thread,
        "runId": run,
        "protocolVersion": "1.0",
        "messages": list(messages),
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
        **more,
    }


def events(answer: httpx.Response) -> list[Json]:
    """Return the events of a stream."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


def of_type(found: list[Json], kind: str) -> list[Json]:
    return [event for event in found if event["type"] == kind]


def customs(found: list[Json], name: str) -> list[Json]:
    return [event for event in of_type(found, "CUSTOM") if event["name"] == name]


def text_of(found: list[Json]) -> str:
    """Return what the events say."""
    return "".join(e["delta"] for e in of_type(found, "TEXT_MESSAGE_CONTENT")).strip()


def interrupts(found: list[Json]) -> list[Json]:
    """Return the interrupts with which a run ended."""
    outcome: Json = found[-1]["outcome"]
    assert outcome["type"] == "interrupt", found[-1]
    listed: list[Json] = outcome["interrupts"]
    return listed


@dataclass
class Thread:
    """One thread of a client."""

    stage: LocalServer
    messages: list[Json] = field(default_factory=list)
    count: int = 0
    path: str = f"/api/ag-ui/{APP}"

    async def post(self, *new: Json, run: str = "", **more: Any) -> httpx.Response:
        """Post the thread with further messages."""
        self.count += 1
        self.messages += new
        body = run_input(*self.messages, run=run or f"r{self.count}", **more)
        return await self.stage.client.post(self.path, json=body)

    async def run(self, *new: Json, **more: Any) -> list[Json]:
        """Post and return the events; calls that were made are messages of the thread then."""
        found = events(await self.post(*new, **more))
        for event in of_type(found, "TOOL_CALL_START"):
            self.messages.append(
                {
                    "id": f"a-{event['toolCallId']}",
                    "role": "assistant",
                    "toolCalls": [
                        {
                            "id": event["toolCallId"],
                            "type": "function",
                            "function": {"name": event["toolCallName"], "arguments": "{}"},
                        }
                    ],
                }
            )
        return found

    async def refused(self, *new: Json, **more: Any) -> tuple[str, str]:
        """Post what is refused; return code and message of the only event."""
        (only,) = events(await self.post(*new, **more))
        assert only["type"] == "RUN_ERROR", only
        return only["code"], only["message"]

    async def history(self) -> list[Json]:
        """Return the messages as a client gets them that opens the thread now."""
        body = run_input(run="connect")
        found = events(await self.stage.client.post(f"{self.path}/connect", json=body))
        (snapshot,) = of_type(found, "MESSAGES_SNAPSHOT")
        listed: list[Json] = snapshot["messages"]
        return listed
