"""Every scenario of the tour, run again with nothing changed: the same calls, answers, state, questions."""

from __future__ import annotations

import httpx
from fastapi import FastAPI

from adk_prism.apps.tour.scenarios import SCENARIOS
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

DIFFER = {
    "exception": ["nodes"],  # the tool is not called, so that it cannot raise
    "progress": ["answer", "nodes"],  # what the tool itself says is not said again
}
SLOW = ("slow", "long", "broken stream")


async def test_the_tour_is_the_same_again() -> None:
    """All kinds of tools, agents and workflows that the tour shows; each differs as it must."""
    app = create_app(
        None, Settings(log="memory:", sessions="memory://", artifacts="memory://"), report=print
    )
    names = [each.name for each in SCENARIOS if each.name not in SLOW]
    async with app.router.lifespan_context(app):
        found = {name: await _differs(app, name) for name in names}
    assert {name: differs for name, differs in found.items() if differs} == DIFFER


async def _differs(app: FastAPI, prompt: str) -> list[str]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        session = prompt.replace(" ", "-")
        await client.post(f"/apps/tour/users/user/sessions/{session}")
        said = {"role": "user", "parts": [{"text": prompt}]}
        body = {"appName": "tour", "userId": "user", "sessionId": session, "newMessage": said}
        run = (await client.post("/run_sse", json=body)).headers["x-prism-run"]
        again = await client.post(f"/api/runs/{run}/rerun", json={})
        assert again.status_code == 200, again.text
        both = {"a": run, "b": again.json()["run"]}
        differs: list[str] = (await client.get("/api/compare", params=both)).json()["differs"]
        return differs
