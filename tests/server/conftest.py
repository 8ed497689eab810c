"""Servers for tests: real apps, real services, requests without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from adk_prism.errors import Diagnostic
from adk_prism.features.page import web_page
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

AGENTS = Path(__file__).parent / "agents"

OPEN = "http://127.0.0.1:8000"
"""What a client of the default settings calls."""

OF_ADK = (
    r"ignore:\[EXPERIMENTAL\]",
    "ignore:LlmAgentConfig is deprecated",
    "ignore:Please use create_session instead",
    "ignore:.* is not a valid ",
)
"""Warnings of ADK about its own features, which its server and its loader use."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let ADK warn of itself in the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(AGENTS.parent):
            for rule in OF_ADK:
                item.add_marker(pytest.mark.filterwarnings(rule))


Client = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def unbuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve as from a checkout in which the web page was not built."""
    monkeypatch.setattr(web_page, "BUILT", tmp_path)


@pytest.fixture
def reports() -> list[Diagnostic]:
    """What the operator was told."""
    return []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings that leave nothing behind."""
    return Settings(
        log="memory:", sessions="memory://", artifacts=f"file://{tmp_path}/artifacts", keep_alive=1
    )


@pytest.fixture
def app(settings: Settings, reports: list[Diagnostic]) -> FastAPI:
    """Return a server of the test's agents."""
    return create_app(AGENTS, settings, report=reports.append)


@pytest.fixture
def serve(settings: Settings, reports: list[Diagnostic]) -> Client:
    """Return a way to talk to a server with other settings."""

    @asynccontextmanager
    async def served(**changes: object) -> AsyncIterator[httpx.AsyncClient]:
        app = create_app(AGENTS, replace(settings, **changes), report=reports.append)
        async with talking(app) as client:
            yield client

    return served


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of the server."""
    async with talking(app) as client:
        yield client


@asynccontextmanager
async def talking(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Start an application and give a client of it."""
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=OPEN) as client,
    ):
        yield client
