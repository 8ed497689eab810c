"""Servers that OpenAI's own client talks to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import uvicorn
from google.adk.agents import LlmAgent
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, LocalServer, local_server


@asynccontextmanager
async def talking(
    model: Scripted, tools: list[Callable[..., Any]] | None = None, **options: Any
) -> AsyncIterator[tuple[openai.AsyncOpenAI, LocalServer]]:
    """Serve an agent, and give the client of the package `openai`."""
    root = LlmAgent(name="helper", model=model, tools=tools or [])
    async with local_server(root, **options) as server:
        assert server.app is not None
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(server.app))
        async with openai.AsyncOpenAI(
            base_url="http://127.0.0.1:8000/v1", api_key="none", http_client=http, max_retries=0
        ) as client:
            yield client, server


async def sessions(server: LocalServer) -> list[str]:
    """Return the sessions of all runs, in the order in which they began, each once."""
    runs = await server.context.log.list(app=APP)
    return list(dict.fromkeys(run.origin.session for run in runs))


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str | None) -> Any:
    return {"role": "assistant", "content": text}


@asynccontextmanager
async def talking_over_a_socket(
    model: Scripted,
) -> AsyncIterator[tuple[openai.AsyncOpenAI, LocalServer]]:
    """The same over a real connection, which a client can close."""
    async with talking(model) as (_, local):
        assert local.app is not None
        config = uvicorn.Config(local.app, port=0, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            async with openai.AsyncOpenAI(
                base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0
            ) as client:
                yield client, local
        finally:
            server.should_exit = True
            await serving
