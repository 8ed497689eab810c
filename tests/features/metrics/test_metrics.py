"""The numbers of a server that is used: what happened is counted, and nobody is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from prometheus_client.parser import text_string_to_metric_families
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, ROOT, headers, token_file
from tests.server.local_server import APP, agent, local_server
from tests.voice.served import Served, served
from websockets.asyncio.client import connect

from adk_prism.log.entry import Origin, RunId, RunStarted
from adk_prism.log.memory import MemoryLog

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")

CHAT = "/api/chat/{app_name}"
Numbers = dict[tuple[str, ...], float]


@asynccontextmanager
async def serving(
    folder: Path, *turns: Any, **settings: Any
) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Serve an agent to Ann, Bob and an administrator."""
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="agent", model=Scripted.saying(*turns)),
        session_service=InMemorySessionService(),
    )
    async with (
        served(runner, tokens=token_file(folder), **settings) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        yield server, client


async def numbers(client: httpx.AsyncClient) -> Numbers:
    """Scrape: sample names with the values of their labels, sorted by label, without empty ones."""
    answer = await client.get("/metrics", headers=headers(ROOT))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *filter(None, sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def chat(name: str) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    return {"id": name, "messages": [message]}


async def test_runs_and_requests_are_counted(tmp_path: Path) -> None:
    """By app, outcome and code; by method, template and status; bytes as they went over the wire."""
    async with serving(tmp_path, "Well said.", ValueError("broken")) as (_, client):
        body = 0
        for name in ("good", "bad"):
            answer = await client.post("/api/chat/app", json=chat(name), headers=headers(ANN))
            body += len(answer.content)
        assert (await client.get("/list-apps")).status_code == 401
        found = await numbers(client)
    assert found["adk_prism_runs_started_total", "app"] == 2
    assert found["adk_prism_runs_ended_total", "app", "finished"] == 1
    assert found["adk_prism_runs_ended_total", "app", "ValueError", "failed"] == 1
    assert found["adk_prism_run_duration_seconds_count", "app"] == 2
    assert ("adk_prism_runs_active", "app") not in found
    assert found["adk_prism_http_requests_total", "POST", CHAT, "200"] == 2
    assert found["adk_prism_http_requests_total", "GET", "-", "401"] == 1
    assert found["adk_prism_http_first_byte_seconds_count", CHAT] == 2
    assert found["adk_prism_http_sent_bytes_total", CHAT] == body
    assert found["adk_prism_http_received_bytes_total", CHAT] > 100
    assert found["adk_prism_diagnostics_total", "run failed"] == 1
    assert found["adk_prism_log_append_seconds_count",] >= 2
    assert found["adk_prism_log_commit_seconds_count",] >= 4
    assert found["process_resident_memory_bytes",] > 10_000_000
    assert found["process_open_fds",] > 3


async def test_what_goes_on_is_seen_while_it_does(tmp_path: Path) -> None:
    """Runs, viewers by protocol, sockets; and not afterwards."""
    async with serving(tmp_path, asyncio.Event()) as (server, client):
        url = server.url.replace("http", "ws") + "/api/chat/app/socket"
        asking = client.stream("POST", "/api/chat/app", json=chat("one"), headers=headers(ANN))
        async with (
            asking as running,
            connect(url, additional_headers=headers(BOB), open_timeout=PATIENCE),
        ):
            path = f"/api/runs/{running.headers['x-prism-run']}/stream?as=studio"
            async with client.stream("GET", path, headers=headers(ANN)) as watching:
                reading = [shown.aiter_bytes() for shown in (running, watching)]
                for each in reading:
                    await anext(each)
                during = await numbers(client)
        after = await settled(client)
    assert during["adk_prism_runs_active", "app"] == 1
    assert during["adk_prism_viewers", "ai-sdk"] == during["adk_prism_viewers", "studio"] == 1
    assert during["adk_prism_viewer_lag_entries", "ai-sdk"] == 0
    assert during["adk_prism_http_open", "WS", "/api/chat/{app_name}/socket"] == 1
    assert during["adk_prism_http_open", "POST", CHAT] == 1
    assert after["adk_prism_http_requests_total", "WS", "/api/chat/{app_name}/socket", "101"] == 1
    assert after["adk_prism_streams_cut_total", CHAT] == 1


async def settled(client: httpx.AsyncClient) -> Numbers:
    """Scrape when nobody looks any more."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await numbers(client)
            if not [name for name in found if name[0] == "adk_prism_viewers"]:
                return found


async def test_refusals_are_counted_by_limit(tmp_path: Path) -> None:
    """So that an operator sees which one is too low, or who is too greedy."""
    async with serving(tmp_path, asyncio.Event(), limit_rate=1, limit_runs=1) as (_, client):
        asking = client.stream("POST", "/api/chat/app", json=chat("one"), headers=headers(ANN))
        async with asking:
            second = await client.post("/api/chat/app", json=chat("two"), headers=headers(ANN))
            assert second.status_code == 429
        asked = await asyncio.gather(
            *(client.get("/list-apps", headers=headers(BOB)) for _ in range(20))
        )
        refused = sum(answer.status_code == 429 for answer in asked)
        found = await numbers(client)
    assert found["adk_prism_refusals_total", "runs"] == 1
    # How many are refused depends on how fast they arrive: what is counted is what was answered.
    assert found["adk_prism_refusals_total", "rate"] == refused > 0


async def test_nobody_is_named(tmp_path: Path) -> None:
    """No user, session, run or invented route is in a label, whatever is asked for."""
    async with serving(tmp_path, "Well.") as (server, client):
        answer = await client.post(
            "/api/chat/app", json=chat("a-secret-session"), headers=headers(ANN)
        )
        run = answer.headers["x-prism-run"]
        await client.get(f"/api/runs/{run}", headers=headers(ANN))
        await client.get("/an/invented/path", headers=headers(ANN))
        await client.request("INVENT", "/list-apps", headers=headers(ANN))
        text = server.context.observability.meter.text().decode()
    for word in (ANN, "a-secret-session", run, "invented", "INVENT"):
        assert word not in text
    assert 'route="/api/runs/{run}"' in text


async def test_a_run_that_was_left_is_taken_over() -> None:
    """When the server starts again: it is counted as taken over, not as started."""
    log = MemoryLog()
    await log.open()
    origin = Origin(app=APP, user="user", session="chat")
    await log.append(RunId("run-1"), [RunStarted(run="run-1", origin=origin)])
    async with local_server(agent(Scripted.saying()), log=log) as stage:
        await stage.context.runs.wait(RunId("run-1"))
        value = stage.context.observability.meter.registry.get_sample_value
        assert value("adk_prism_takeovers_total", {"app": APP}) == 1
        assert value("adk_prism_runs_started_total", {"app": APP}) is None
        ended = {"app": APP, "outcome": "failed", "code": "owner_lost"}
        assert value("adk_prism_runs_ended_total", ended) == 1


async def test_the_event_loop_is_looked_at(tmp_path: Path) -> None:
    """While the server runs: how late it was is a number."""
    async with serving(tmp_path) as (_, client), asyncio.timeout(PATIENCE):
        while not (await numbers(client))["adk_prism_event_loop_lag_seconds_count",]:
            pass
