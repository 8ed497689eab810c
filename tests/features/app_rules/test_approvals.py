"""Tools that the operator lets run only with an approval: asked for in every protocol, as ADK asks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools import BaseTool, FunctionTool, ToolContext
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, LocalServer, agent, local_server
from tests.voice.agent import pay, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import served

Json = dict[str, Any]
UI_MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}


class Deletes:
    """Two tools that delete: a function, and an object without a gate of its own."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def delete_note(self, title: str) -> Json:
        """Delete a note."""
        self.deleted.append(title)
        return {"deleted": title}

    def other(self) -> BaseTool:
        deleted = self.deleted

        class DeleteAll(BaseTool):
            def _get_declaration(self) -> types.FunctionDeclaration:
                return types.FunctionDeclaration(name=self.name, description=self.description)

            async def run_async(self, *, args: Json, tool_context: ToolContext) -> Json:
                del args, tool_context
                deleted.append("all")
                return {"deleted": "all"}

        return DeleteAll(name="delete_all", description="Delete all.")


@asynccontextmanager
async def serving(
    folder: Path, tool: str, **args: Any
) -> AsyncIterator[tuple[LocalServer, Deletes]]:
    file = folder / "rules.toml"
    file.write_text(f'[apps.{APP}]\napprove = ["delete_*"]\n')
    deletes = Deletes()
    model = Scripted.saying(call(tool, "c-1", **args), call("count", "c-2"), "Done.")
    root = agent(model, tools=[deletes.delete_note, deletes.other()])
    async with local_server(root, rules=str(file)) as server:
        yield server, deletes


TOOLS: dict[str, Json] = {"delete_note": {"title": "x"}, "delete_all": {}}


def _frames(text: str) -> list[Json]:
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_person_is_asked(tool: str, approved: bool, tmp_path: Path) -> None:
    """Over the AI SDK: the call waits, and runs or not as the person says; others run at once."""
    async with serving(tmp_path, tool, **TOOLS[tool]) as (server, deletes):
        answer = await server.client.post(
            f"/api/chat/{APP}", json={"id": "c", "messages": [UI_MESSAGE]}
        )
        frames = _frames(answer.text)
        [asked] = [each for each in frames if each["type"] == "tool-approval-request"]
        assert deletes.deleted == []
        history = (await server.client.get(f"/api/chat/{APP}/c/messages")).json()
        [part] = [each for each in history[-1]["parts"] if each["type"] == f"tool-{tool}"]
        assert part["state"] == "approval-requested"
        part["state"] = "approval-responded"
        part["approval"] = {"id": asked["approvalId"], "approved": approved}
        answer = await server.client.post(f"/api/chat/{APP}", json={"id": "c", "messages": history})
        assert answer.status_code == 200, answer.text
        assert bool(deletes.deleted) is approved
        assert "Done." in answer.text
        kinds = [each["type"] for each in _frames(answer.text)]
        assert "tool-approval-request" not in kinds, "a tool without a rule is not asked about"
        assert ("tool-output-denied" in kinds) is not approved


REQUESTS: dict[str, tuple[str, Json, str]] = {
    "adk": (
        "/run",
        {
            "appName": APP,
            "userId": "user",
            "sessionId": "s",
            "newMessage": {"role": "user", "parts": [{"text": "hello"}]},
        },
        "adk_request_confirmation",
    ),
    "ag-ui": (
        f"/api/ag-ui/{APP}",
        {
            "threadId": "t",
            "runId": "r",
            "state": {},
            "messages": [{"id": "m", "role": "user", "content": "hello"}],
            "tools": [],
            "context": [],
            "forwardedProps": {},
        },
        "delete_note",
    ),
    "studio": (f"/api/studio/{APP}/stream", {"input": "hello", "session_id": "s"}, "interrupt"),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_every_protocol_asks(name: str, tmp_path: Path) -> None:
    path, body, words = REQUESTS[name]
    async with serving(tmp_path, "delete_note", title="x") as (server, deletes):
        await server.client.post(f"/apps/{APP}/users/user/sessions/s")
        answer = await server.client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        assert words in answer.text
        assert "Done." not in answer.text
        assert deletes.deleted == []
        [run] = (await server.client.get("/api/runs")).json()
        assert run["outcome"] == "waiting"


@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
async def test_a_voice_conversation_asks(tmp_path: Path) -> None:
    """A tool that declares nothing, in a live run: it waits, and runs when it is approved."""
    file = tmp_path / "rules.toml"
    file.write_text('[apps.app]\napprove = ["p*"]\n')
    runner = runner_of(scripted_agent(script, [FunctionTool(pay)]))
    async with served(runner, rules=str(file)) as server, server.live() as client:
        await client.say("pay")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        assert client.chunks("tool-output-available") == []
        await client.send("approval", approvalId=asked["approvalId"], approved=True)
        done = await client.until_chunk("tool-output-available")
        assert done["chunk"]["output"] == {"paid": 1}
