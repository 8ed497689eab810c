"""One server for all, the real chat clients, and the judge of what they were sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conformance.chat import Chat
from tests.conformance.conftest import chat as chat
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.end_to_end.clients import CLIENTS, Client, Player
from tests.end_to_end.server import Server, serving


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
