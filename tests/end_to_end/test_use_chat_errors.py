"""What a stock chat client shows as `error.message`: a sentence; on one's own machine, the real one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.conformance.chat import Chat
from tests.conformance.judge import Judge
from tests.end_to_end.clients import Client, Player, new_id, send
from tests.end_to_end.server import Server, serving

AGENTS = {
    "keyless": 'root_agent = Agent(name="keyless", model="gemini-2.5-flash")',
    "misspelt": 'root_agent = Agent(name="misspelt", modle="gemini-2.5-flash")',
}
"""What a beginner's first app does."""


@pytest.fixture(scope="module")
def beginners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve apps that cannot work, as somebody does on their own machine: without options or keys."""
    folder = tmp_path_factory.mktemp("beginner")
    for name, text in AGENTS.items():
        (folder / "agents" / name).mkdir(parents=True)
        code = f"from google.adk.agents import Agent\n\n{text}\n"
        (folder / "agents" / name / "agent.py").write_text(code)
    with serving(folder, agents=folder / "agents") as found:
        yield found


@pytest.fixture
def begin(beginners: Server, client: Client, chat: Chat, judge: Judge) -> Player:
    """Play with that server."""
    return Player(beginners, client, chat, judge)


@dataclass(frozen=True)
class Case:
    id: str
    app: str
    says: str
    forwarded: str
    """What somebody sees who comes through a proxy."""


CASES = [
    Case("no key", "keyless", "No API key was provided", "ValueError"),
    Case(
        "a misspelt field",
        "misspelt",
        "LlmAgent: modle: Extra inputs are not permitted (agents/misspelt/agent.py, line 3)",
        "The app 'misspelt' could not be loaded",
    ),
    Case("no such app", "nothing", "There is no app 'nothing'", "There is no app 'nothing'"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_error_is_a_sentence(begin: Player, case: Case) -> None:
    """No JSON, no stack, no link; through a proxy, a reference instead of an exception's text."""
    fails = case.app == "keyless"  # its run begins; the others are refused
    here = begin(send("hello"), app=case.app, id=new_id(), fails=fails).error or ""
    proxied = {"x-forwarded-for": "192.0.2.1"}
    there = (
        begin(send("hello"), app=case.app, id=new_id(), fails=fails, headers=proxied).error or ""
    )
    assert case.says in here
    assert case.forwarded in there
    for told in (here, there):
        assert not told.startswith("{")
        assert "Traceback" not in told
        assert "pydantic.dev" not in told
    if case.says != case.forwarded:
        assert case.says not in there
        assert "Reference: " in there
