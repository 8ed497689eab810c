"""Behind a proxy that changes Host and keeps Origin: refused with the reason, or made to work."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from tests.server.proxy import Proxy, Rules, proxying
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

PUBLIC = "https://agents.example"
SAME = {"origin": PUBLIC, "host": "agents.example", "sec-fetch-site": "same-origin"}
"""What a browser sends that has opened the page under its public name."""

BROKEN = """from google.adk.agents import Agent

root_agent = Agent(name="broken", modle="gemini-2.5-flash")
"""


def said(text: str, chat: str = "chat") -> dict[str, Any]:
    message = {"id": f"m-{text}", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": chat, "messages": [message]}


def chunks(text: str) -> list[dict[str, Any]]:
    lines = (line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return [json.loads(line) for line in lines]


def client_of(proxy: Proxy | Server, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=proxy.url, timeout=PATIENCE, headers=headers)


async def socket_says(proxy: Proxy, path: str, text: str, **headers: str) -> str:
    """Ask over the chat's socket, as a page of the public name does."""
    url = proxy.url.replace("http", "ws") + path
    async with connect(url, additional_headers=headers, origin=PUBLIC) as socket:
        await socket.send(json.dumps({"type": "send", "requestId": "r", **said(text, "socket")}))
        told = ""
        while '"end"' not in told:
            told += str(await socket.recv())
    return told


async def test_a_proxy_that_changes_host_is_explained(tmp_path: Path) -> None:
    """Refused with what to do, over sockets too; the operator is told once; no exception's text passes it."""
    agents = tmp_path / "agents"
    (agents / "broken").mkdir(parents=True)
    (agents / "broken" / "agent.py").write_text(BROKEN)
    with serving(tmp_path, agents=agents) as server:
        async with proxying(Rules(server.port)) as plain, client_of(plain) as client:
            for _ in range(3):
                refused = await client.post("/api/chat/broken", json=said("hello"), headers=SAME)
                assert refused.status_code == 403
                assert "a proxy in front of it changes Host" in refused.text
                assert f"--public-url {PUBLIC}" in refused.text
            with pytest.raises(InvalidStatus) as denied:
                await socket_says(plain, "/api/chat/broken/socket", "hello")
            assert denied.value.response.status_code == 403
        told = refusals(server)
        assert len(told) == 1
        assert f"--public-url {PUBLIC}" in told[0]
        await texts_stay_here(server)


def refusals(server: Server) -> list[str]:
    """Return what the operator was told of refused origins; its lines come from another process."""
    deadline = time.monotonic() + PATIENCE
    while not (told := [line for line in server.lines if "origin refused" in line]):
        assert time.monotonic() < deadline, "nothing is said"
        time.sleep(0.05)
    return told


async def texts_stay_here(server: Server) -> None:
    """A developer sees why their app does not load; whoever comes through a proxy sees a reference."""
    why = "LlmAgent: modle: Extra inputs are not permitted"
    async with client_of(server) as client:
        answer = await client.post("/api/chat/broken", json=said("hello"))
        assert answer.status_code == 500
        assert why in answer.text
        assert "agents/broken/agent.py, line 3" in answer.text
        assert "pydantic.dev" not in answer.text
        assert why in (await client.get("/api/apps")).text
    for rules in (
        Rules(server.port, adds={"x-forwarded-for": "192.0.2.1"}),
        Rules(server.port, adds={"x-real-ip": "192.0.2.1"}),
        Rules(server.port, adds={"forwarded": "for=192.0.2.1"}),
        Rules(server.port, version="1.0"),
    ):
        async with proxying(rules) as proxy, client_of(proxy) as client:
            answer = await client.post("/api/chat/broken", json=said("hello"))
            assert answer.status_code == 500
            assert "Reference: " in answer.text
            assert why not in answer.text
            assert why not in (await client.get("/api/apps")).text


async def test_a_public_url_makes_it_work(tmp_path: Path) -> None:
    """The page's requests, its socket and its links: to files and artifacts, below the prefix."""
    with serving(tmp_path, "--public-url", f"{PUBLIC}/prism", agents=None) as server:
        async with proxying(Rules(server.port, "/prism")) as proxy, client_of(proxy) as client:
            await links_work(client, f"{PUBLIC}/prism", "/prism")
            told = await socket_says(proxy, "/prism/api/chat/tour/socket", "artifact")
            assert f'"url":"{PUBLIC}/prism/api/runs/' in told


async def links_work(client: httpx.AsyncClient, base: str, prefix: str) -> None:
    """Ask for a file and an artifact; follow the links through the proxy."""
    for text, kind in (("large file", "file"), ("artifact", "data-artifact")):
        answer = await client.post(f"{prefix}/api/chat/tour", json=said(text), headers=SAME)
        assert answer.status_code == 200, answer.text
        [found] = [chunk for chunk in chunks(answer.text) if chunk["type"] == kind]
        url: str = found["url"] if kind == "file" else found["data"]["url"]
        assert url.startswith(f"{base}/api/runs/"), url
        path = prefix + url.removeprefix(base)
        file = await client.get(path, headers={"host": "agents.example"})
        assert file.status_code == 200
        assert file.content
        assert file.headers["x-content-type-options"] == "nosniff"


async def test_a_trusted_proxy_says_where_it_is(tmp_path: Path) -> None:
    """X-Forwarded-Host and -Proto, with a prefix that both know; from an untrusted one they are nothing."""
    forwarded = {"x-forwarded-host": "agents.example", "x-forwarded-proto": "https"}
    for trusted in ("127.0.0.1", "10.0.0.0/8"):
        words = ["--trusted-proxy", trusted, "--root-path", "/prism"]
        with serving(tmp_path, *words, agents=None) as server:
            rules = Rules(server.port, "/prism", forwarded)
            async with proxying(rules) as proxy, client_of(proxy) as client:
                if trusted == "127.0.0.1":
                    await links_work(client, f"{PUBLIC}/prism", "/prism")
                    path = "/prism/api/chat/tour/socket"
                    assert f'"url":"{PUBLIC}/prism/' in await socket_says(proxy, path, "artifact")
                else:
                    body, path = said("tool"), "/prism/api/chat/tour"
                    refused = await client.post(path, json=body, headers=SAME)
                    assert refused.status_code == 403
                    assert "changes Host" in refused.text
                    # Without an Origin nothing is refused, and no link is the proxy's word.
                    answer = await client.post(path, json=said("artifact"))
                    assert "agents.example" not in answer.text


async def test_dev_lets_pages_of_this_machine_call(tmp_path: Path) -> None:
    """From any port, directly and through a development server; pages of elsewhere stay out."""
    page = {"origin": "http://localhost:3000"}
    with serving(tmp_path, "--dev", agents=None) as server:
        async with client_of(server) as client:
            answer = await client.post("/api/chat/tour", json=said("tool"), headers=page)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == page["origin"]
            elsewhere = {"origin": "http://localhost.evil.example"}
            refused = await client.post("/api/chat/tour", json=said("tool"), headers=elsewhere)
            assert refused.status_code == 403
        async with proxying(Rules(server.port)) as proxy, client_of(proxy) as client:
            answer = await client.post("/api/chat/tour", json=said("tool"), headers=page)
            assert answer.status_code == 200
