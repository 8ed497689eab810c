"""Artifacts that events say were saved: their content, by a handle, for who may see the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.security.people import ANN, BOB, headers, token_file
from tests.server.local_server import APP, USER, LocalServer, agent, local_server

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

MESSAGE = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "save"}]}


async def save(tool_context: ToolContext) -> str:
    """Save two artifacts, one of them twice, and one that only refers elsewhere."""
    page = types.Part(inline_data=types.Blob(data=b"<b>", mime_type="text/html"))
    elsewhere = types.FileData(file_uri="gs://bucket/private.png", mime_type="image/png")
    await tool_context.save_artifact("a.html", types.Part(text="first"))
    await tool_context.save_artifact("a.html", page)
    await tool_context.save_artifact("user:Grüße.txt", types.Part(text="for me"))
    await tool_context.save_artifact("elsewhere.png", types.Part(file_data=elsewhere))
    return "saved"


def saving(**settings: Any) -> Any:
    return local_server(
        agent(Scripted.saying(call("save", "c1"), "Done."), tools=[save]), **settings
    )


async def links(server: LocalServer, **request: Any) -> dict[str, str]:
    """Have artifacts saved; return their links, as the stream has them."""
    body = {"id": "chat", "messages": [MESSAGE]}
    answer = await server.client.post(f"/api/chat/{APP}", json=body, **request)
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    parts = [chunk["data"] for chunk in map(json.loads, lines) if chunk["type"] == "data-artifact"]
    return {part["filename"]: part["url"] for part in parts}


async def test_a_link_gives_the_content() -> None:
    """The version that was saved, never sniffed, active content as a download; what is not there is 404."""
    async with saving() as server:
        found = await links(server)
        page = await server.client.get(found["a.html"])
        assert (page.status_code, page.content) == (200, b"<b>")
        assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''a.html"
        assert page.headers["content-security-policy"] == "sandbox; default-src 'none'"
        mine = await server.client.get(found["user:Grüße.txt"])
        assert (mine.status_code, mine.text) == (200, "for me")
        refers = await server.client.get(found["elsewhere.png"])
        assert refers.status_code == 403
        folder = found["a.html"].rpartition("/")[0]
        for part in ("artifact-3", "artifact-", "artifact-x", "artifact-99999999", "artifact-0-0"):
            assert (await server.client.get(f"{folder}/{part}")).status_code == 404, part
        await server.client.delete(f"/apps/{APP}/users/{USER}/sessions/chat/artifacts/a.html")
        assert (await server.client.get(found["a.html"])).status_code == 404


async def test_it_is_the_runs_own(tmp_path: Path) -> None:
    """Another user gets what is not there; nobody gets it without saying who they are."""
    async with saving(tokens=token_file(tmp_path)) as server:
        found = await links(server, headers=headers(ANN))
        url = found["a.html"]
        statuses = [
            (await server.client.get(url, headers=sent)).status_code
            for sent in (headers(ANN), headers(BOB), {})
        ]
        assert statuses == [200, 404, 401]


async def test_a_recording_that_was_uploaded_opens_nothing() -> None:
    """Its names are a client's own words: also where such an artifact is there."""
    async with saving() as server:
        await links(server)
        event = {
            "id": "e1",
            "invocationId": "i",
            "author": "agent",
            "content": {"role": "model", "parts": [{"text": "x"}]},
            "actions": {"artifactDelta": {"a.html": 1, "user:Grüße.txt": 0, "../../x": 0}},
        }
        body = json.dumps({"appName": APP, "userId": USER, "id": "chat", "events": [event]})
        kind = {"content-type": "application/json"}
        answer = await server.client.post("/api/recordings", content=body, headers=kind)
        run = answer.headers["x-prism-run"]
        shown = await server.client.get(f"/api/runs/{run}/stream?as=ai-sdk")
        lines = [line[6:] for line in shown.text.splitlines() if line.startswith("data: {")]
        urls = [
            chunk["data"]["url"]
            for chunk in map(json.loads, lines)
            if chunk["type"] == "data-artifact"
        ]
        assert len(urls) == 3
        answers: list[httpx.Response] = [await server.client.get(url) for url in urls]
        assert [answer.status_code for answer in answers] == [403] * 3
