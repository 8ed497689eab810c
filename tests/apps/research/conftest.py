"""What the tests of the research app share: the real server, its clients, and no network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.apps.research.talk import Talk
from tests.conformance.chat import Chat
from tests.conformance.conftest import chat as chat
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.end_to_end.adk_client import client_of, opened
from tests.end_to_end.clients import CLIENTS, Client, Player
from tests.end_to_end.server import Server, serving


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key in the environment turns the script off, or a service on."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    monkeypatch.setenv("ADK_PRISM_OFFLINE", "1")


@pytest.fixture(scope="session")
def research_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the bundled apps, without a key and without settings."""
    with serving(tmp_path_factory.mktemp("research"), agents=None) as found:
        yield found


@pytest.fixture
async def talk(research_server: Server) -> AsyncIterator[Talk]:
    """A new session of the app on the real server."""
    async with opened(client_of(research_server), "research") as adk:
        yield Talk(adk)


@pytest.fixture(params=CLIENTS, ids=str)
def client(request: pytest.FixtureRequest) -> Client:
    """Each chat client in turn."""
    found: Client = request.param
    return found


@pytest.fixture
def play(research_server: Server, client: Client, chat: Chat, judge: Judge) -> Player:
    """Play conversations of a chat client with the app."""
    return Player(research_server, client, chat, judge)
