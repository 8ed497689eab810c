"""`GET /api/setup`: how the server is set up, without anything that is secret."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import pytest
from tests.server.conftest import talking

from adk_prism.adk.internals.capabilities import CAPABILITIES
from adk_prism.server.app import create_app
from adk_prism.server.routes import shown_place
from adk_prism.server.settings import Settings
from adk_prism.version import ADK_RANGE


async def test_versions_capabilities_and_storage(settings: Settings) -> None:
    """What `doctor` says, and how much is stored."""
    async with talking(create_app(None, replace(settings, reload=True))) as client:
        before = (await client.get("/api/setup")).json()
        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "text"}]}
        await client.post("/api/chat/tour", json={"id": "c", "messages": [message]})
        after = (await client.get("/api/setup")).json()
    adk = {"name": "google-adk", "installed": version("google-adk"), "supported": ADK_RANGE}
    assert adk in after["packages"]
    assert [each["name"] for each in after["capabilities"]] == [each.name for each in CAPABILITIES]
    assert (before["log"]["runs"], after["log"]["runs"]) == (0, 1)
    assert after["log"]["bytes"] > before["log"]["bytes"] == 0
    assert after["reloads"]
    assert (after["log"]["maxAge"], after["log"]["maxBytes"]) == (30 * 24 * 3600, 2 * 1024**3)


async def test_without_retention_no_limit_is_shown(settings: Settings) -> None:
    """Nothing removes runs then."""
    without = ("run_retention", "session_retention")
    async with talking(create_app(None, replace(settings, without=without))) as client:
        log = (await client.get("/api/setup")).json()["log"]
    assert log.keys() == {"place", "runs", "bytes"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("memory:", "memory:"),
        ("sqlite:///.adk-prism/runs.db", "sqlite:///.adk-prism/runs.db"),
        ("sqlite:////srv/runs.db?mode=rwc", "sqlite:////srv/runs.db"),
        ("redis://:pass@cache:6379/0", "redis://cache:6379/0"),
        ("postgresql+asyncpg://me:a/b?c#d@e@db/prism?password=x", "postgresql+asyncpg://db/prism"),
        ("agentengine?key=x", "agentengine"),
    ],
)
def test_a_place_is_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_place(url) == shown
