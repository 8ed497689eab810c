"""`/dev/apps/{app}/debug/trace…`: what ADK's page reads for its Trace tab, from the run log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.cli.fast_api import get_fast_api_app
from tests.security.people import BOB, ROOT, headers, house
from tests.server.conftest import OPEN, talking

import adk_prism.apps
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

BUNDLED = Path(adk_prism.apps.__path__[0])
APP, USER = "tour", "u"
KINDS = ("generate_content", "execute_tool", "invoke_agent", "invoke_node")
MERGED = "execute_tool (merged)"
"""ADK's span for joining the results of parallel calls, which takes no time."""
FIELDS = {
    "name",
    "start_time",
    "end_time",
    "trace_id",
    "span_id",
    "parent_span_id",
    "attributes",
    "logs",
}
NEEDED = {"generate_content": ("event_id", "invocation_id"), "execute_tool": ("event_id",)}
"""Attributes without which ADK's page refuses a span, or does not find it."""

Json = dict[str, Any]


@asynccontextmanager
async def asking(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=OPEN) as client:
        yield client


async def said(client: httpx.AsyncClient, prompt: str) -> tuple[str, list[Json]]:
    """Say something in a new session; return the session and its events."""
    made = await client.post(f"/apps/{APP}/users/{USER}/sessions", json={})
    session = made.json()["id"]
    message = {"role": "user", "parts": [{"text": prompt}]}
    body = {"appName": APP, "userId": USER, "sessionId": session, "newMessage": message}
    answer = await client.post("/run", json=body)
    assert answer.status_code == 200, answer.text
    return session, answer.json()


async def trace(client: httpx.AsyncClient, session: str) -> list[Json]:
    answer = await client.get(f"/dev/apps/{APP}/debug/trace/session/{session}")
    assert answer.status_code == 200
    spans: list[Json] = answer.json()
    return spans


def tree(spans: list[Json]) -> Counter[tuple[str, str]]:
    """Count the spans by name, each with the agent around it: of a tool's workflow ADK forgets the tool."""
    known = {span["span_id"]: span for span in spans}

    def around(span: Json) -> str:
        outer = known.get(span["parent_span_id"])
        while outer is not None and not outer["name"].startswith("invoke_agent"):
            outer = known.get(outer["parent_span_id"])
        return outer["name"] if outer is not None else ""

    return Counter(
        (span["name"], around(span))
        for span in spans
        if span["name"].startswith(KINDS) and span["name"] != MERGED
    )


@pytest.mark.parametrize("prompt", ["tool", "workflow", "agent tool", "parallel specialists"])
async def test_spans_are_those_of_adk(prompt: str, settings: Settings) -> None:
    """The same model calls, tools and agents, inside one another as ADK has them, in ADK's shape."""
    adk = get_fast_api_app(
        agents_dir=str(BUNDLED),
        web=True,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    async with asking(adk) as client:
        session, _ = await said(client, prompt)
        theirs = await trace(client, session)
    async with talking(create_app(BUNDLED, settings)) as client:
        session, events = await said(client, prompt)
        ours = await trace(client, session)
        assert tree(ours) == tree(theirs)
        for span in ours:
            assert span.keys() == FIELDS
            assert span["start_time"] <= span["end_time"]
            assert max(span["trace_id"], span["span_id"]) < 2**53
            operation = span["attributes"]["gen_ai.operation.name"]
            for name in NEEDED.get(operation, ()):
                assert span["attributes"][f"gcp.vertex.agent.{name}"]
        await check_events(client, events, ours)


async def check_events(client: httpx.AsyncClient, events: list[Json], spans: list[Json]) -> None:
    """An event's own trace is the span that names it; an event of no span has none."""
    by_event = {s["attributes"].get("gcp.vertex.agent.event_id"): s for s in spans}
    for event in events:
        answer = await client.get(f"/dev/apps/{APP}/debug/trace/{event['id']}")
        span = by_event.get(event["id"])
        if span is None:
            assert answer.status_code == 404
            assert answer.json()["detail"] == "Trace not found"
        else:
            assert answer.json()["span_id"] == span["span_id"]
            assert answer.json().items() >= span["attributes"].items()


async def test_a_session_without_runs_has_no_spans(client: httpx.AsyncClient) -> None:
    """As of ADK."""
    assert await trace(client, "nothing") == []


async def test_what_is_read_is_bounded(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long session the latest runs are shown, and the last one always."""
    monkeypatch.setattr("adk_prism.features.otlp.spans.MOST_BYTES", 1)
    async with talking(create_app(BUNDLED, settings)) as client:
        session, _ = await said(client, "text")
        first = await trace(client, session)
        message = {"role": "user", "parts": [{"text": "tool"}]}
        body = {"appName": APP, "userId": USER, "sessionId": session, "newMessage": message}
        await client.post("/run", json=body)
        latest = await trace(client, session)
    assert {span["trace_id"] for span in first}.isdisjoint(span["trace_id"] for span in latest)
    assert any(span["name"] == "execute_tool get_weather" for span in latest)


async def test_requests_are_for_those_who_may_see_model_calls(tmp_path: Path) -> None:
    """As ADK's page reads them: `config` with instruction and tools, `contents`. A user gets `{}`."""
    async with house(tmp_path, model_calls="full") as made:
        path = f"/dev/apps/app/debug/trace/session/{made.bobs.session}"
        seen: dict[str, Json] = {}
        for who in (BOB, ROOT):
            spans = (await made.client.get(path, headers=headers(who))).json()
            about = [s["attributes"] for s in spans if s["name"].startswith("generate_content")]
            seen[who] = json.loads(about[0]["gcp.vertex.agent.llm_request"])
    assert seen[BOB] == {}
    assert seen[ROOT].keys() == {"model", "config", "contents"}
    assert "systemInstruction" in seen[ROOT]["config"]
    assert seen[ROOT]["config"]["tools"]
    assert seen[ROOT]["contents"][0]["role"] == "user"
