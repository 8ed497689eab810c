"""One server for all, the real chat clients, and the judge of what they were sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from tests.conformance.chat import Chat
from tests.conformance.conftest import chat as chat
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.end_to_end.adk_client import Adk, client_of, opened
from tests.end_to_end.clients import CLIENTS, Client, Player
from tests.end_to_end.server import Server, serving, serving_with_adk
from tests.patience import PATIENCE


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the tour and the apps of these tests, on SQLite, in a fresh folder.

    For all modules: each test has chats of its own, and a start takes longer than most tests.
    """
    with serving(tmp_path_factory.mktemp("served"), "--keep-alive", "0.2s") as found:
        yield found


@pytest.fixture(params=CLIENTS, ids=str)
def client(request: pytest.FixtureRequest) -> Client:
    """Each chat client in turn."""
    found: Client = request.param
    return found


@pytest.fixture
def play(server: Server, client: Client, chat: Chat, judge: Judge) -> Player:
    """`play(*steps, app="tour", fails=False, **script) -> ChatResult`."""
    return Player(server, client, chat, judge)


@pytest.fixture
async def ours(server: Server) -> AsyncIterator[Adk]:
    """A new session of the tour on our server."""
    async with opened(client_of(server), "tour") as adk:
        yield adk


@pytest.fixture
async def diary(server: Server) -> AsyncIterator[Adk]:
    """A new session of the diary on our server."""
    async with opened(client_of(server), "diary") as adk:
        yield adk


@pytest.fixture(scope="session")
def adk_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of ADK's own server of the same apps."""
    with serving_with_adk(tmp_path_factory.mktemp("adk")) as url:
        yield url


@pytest.fixture
async def theirs(adk_url: str) -> AsyncIterator[Adk]:
    """A new session of the tour on ADK's server."""
    async with opened(httpx.AsyncClient(base_url=adk_url, timeout=PATIENCE), "tour") as adk:
        yield adk
