"""A remote server that a test scripts, and our server in front of it, beside a local app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.features.remote.loopback import Loopback, listening
from tests.server.conftest import Client

Json = dict[str, Any]


@dataclass(frozen=True)
class Chat:
    """A chat client of one app."""

    http: httpx.AsyncClient
    app: str = "far"

    async def say(self, text: str = "hi", chat: str = "c1", message: str = "m1") -> httpx.Response:
        """Send a message."""
        said = {"id": message, "role": "user", "parts": [{"type": "text", "text": text}]}
        body = {"id": chat, "messages": [said], "trigger": "submit-message"}
        return await self.http.post(f"/api/chat/{self.app}", json=body, headers=JSON)

    async def outcome(self) -> tuple[str, str]:
        """Return how the last run ended, and its code."""
        runs = (await self.http.get("/api/runs", params={"app": self.app})).json()
        run = (await self.http.get(f"/api/runs/{runs[-1]['run']}")).json()
        return run["outcome"], await self._code(runs[-1]["run"])

    async def _code(self, run: str) -> str:
        recording = (await self.http.get(f"/api/runs/{run}/recording")).text
        return httpx.Response(200, text=recording.strip().split("\n")[-1]).json().get("code", "")


JSON = {"accept": "application/json, text/event-stream"}
Fronted = Callable[..., AbstractAsyncContextManager[Chat]]


@pytest.fixture
async def far() -> AsyncIterator[Loopback]:
    """A remote server."""
    async with listening(Loopback()) as server:
        yield server


@pytest.fixture
def fronted(serve: Client) -> Fronted:
    """Our server in front of a remote: `fronted(url, **settings)`."""

    @asynccontextmanager
    async def served(url: str, **changes: object) -> AsyncIterator[Chat]:
        async with serve(remote=(f"far={url}",), **changes) as http:
            yield Chat(http)

    return served
