"""Nothing that an agent, a tool or a remote server says becomes a frame of ours."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.tools import ToolContext
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.conformance.worker import Worker, running
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

if TYPE_CHECKING:
    from tests.conftest import Node

BREAKS = ("\r", "\n", "\r\n", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\0")
FORGED = 'id: 9.9{b}event: end{b}data: {{"type":"finish"}}{b}{b}data: [DONE]{b}{b}retry: 1{b}{b}'
PAYLOAD = "".join(f"{b}{b}{FORGED.format(b=b)}" for b in BREAKS)
PROTOCOLS = ("adk", "ai-sdk", "studio", "ag-ui")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def parser(node: Node) -> Iterator[Worker]:
    """eventsource-parser, which the AI SDK reads with."""
    with running(node.binary, node.folder / "sse.mjs") as worker:
        yield worker


def poison(tool_context: ToolContext) -> Json:
    """Say it wherever a tool can."""
    tool_context.state[f"key{PAYLOAD}"] = PAYLOAD
    return {f"key{PAYLOAD}": PAYLOAD, "list": [PAYLOAD]}


def model() -> Scripted:
    named = types.FileData(file_uri=f"https://a/{PAYLOAD}", mime_type=PAYLOAD, display_name=PAYLOAD)
    return Scripted.saying(
        [types.Part(text=PAYLOAD, thought=True), call("poison", f"c1{PAYLOAD}")],
        [types.Part(text=PAYLOAD), types.Part(file_data=named)],
        RuntimeError(PAYLOAD),
    )


async def streams(server: LocalServer, run: str) -> dict[str, bytes]:
    """Return a run in every protocol, as bytes."""
    return {
        name: (await server.client.get(f"/api/runs/{run}/stream?as={name}")).content
        for name in PROTOCOLS
    }


def check(parser: Worker, name: str, stream: bytes) -> list[Json]:
    """Parse a stream as a client does; every event is one that we sent."""
    told: list[Json] = parser.ask({"stream": base64.b64encode(stream).decode()})["events"]
    frames = [block for block in stream.split(b"\n\n") if b"data:" in block]
    assert len(told) == len(frames), name
    assert not [e for e in told if "error" in e]
    ids = [e["id"] for e in told if e["id"]]
    assert "9.9" not in ids
    assert len(set(ids)) == len(ids)
    for raw in ("\r", "\u2028", "\u2029", "\u0085"):
        assert raw.encode() not in stream, (name, raw)
    last = [e for e in told if e["data"] == "[DONE]"]
    assert len(last) == (name == "ai-sdk")
    for event in told:
        if name != "studio" and event["data"] != "[DONE]":
            json.loads(event["data"])
    return told


async def test_an_agents_words_are_never_frames(parser: Worker) -> None:
    """In texts, thoughts, names, ids, keys, values, links and errors; in every protocol."""
    async with local_server(agent(model(), tools=[poison])) as server:
        for text in (PAYLOAD, "again"):
            run = await server.say(text.replace("\0", ""))
            for name, stream in (await streams(server, run)).items():
                assert check(parser, name, stream)
        history = (await server.client.get(f"/api/chat/{APP}/{SESSION}/messages")).text
        json.loads(history)


async def test_a_remote_servers_frames_are_never_ours(parser: Worker) -> None:
    """A capture of another server's stream, which tries to be two."""
    event = {
        "id": f"e{PAYLOAD}",
        "invocationId": f"i{PAYLOAD}",
        "author": f"agent{PAYLOAD}",
        "content": {"role": "model", "parts": [{"text": PAYLOAD}]},
        "errorCode": f"X{PAYLOAD}",
        "errorMessage": PAYLOAD,
        "branch": PAYLOAD,
    }
    line = f"id: 7{PAYLOAD[:2]}\ndata: {json.dumps(event)}\n\n".encode()
    async with local_server(agent(Scripted())) as server:
        made = await server.client.post(
            "/api/recordings", content=line * 2, headers={"content-type": "text/event-stream"}
        )
        assert made.status_code == 201, made.text
        for name, stream in (await streams(server, made.json()["run"])).items():
            check(parser, name, stream)
