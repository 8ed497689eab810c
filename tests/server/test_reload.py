"""Apps are imported again when their code changes; what runs meanwhile finishes on the old code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.app_folders import restored, seen, write_app
from tests.server.conftest import talking

from adk_prism.errors import Diagnostic
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

APP = "prism_test_changing"
CODE = """
import asyncio
from pathlib import Path
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

HERE = Path(__file__).parent

class Saying(BaseLlm):
    model: str = "saying"

    async def generate_content_async(self, llm_request, stream=False):
        if "wait" in str(llm_request.contents[-1]):
            (HERE / "begun").touch()
            while not (HERE / "go").exists():
                await asyncio.sleep(0.01)
        part = types.Part(text="It is VERSION.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

root_agent = LlmAgent(name="changing", model=Saying(), description="VERSION")
"""


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("adk_prism.adk.app_imports.CHECK_EVERY", 0.0)
    folder = tmp_path / "agents"
    folder.mkdir()
    write(folder, "the first")
    with restored():
        yield folder


@pytest.fixture
async def client(
    agents: Path, settings: Settings, reports: list[Diagnostic]
) -> AsyncIterator[httpx.AsyncClient]:
    served = replace(settings, reload=True, auto_create_session=True)
    async with talking(create_app(agents, served, report=reports.append)) as client:
        yield client


def write(folder: Path, version: str, name: str = APP) -> None:
    write_app(folder, name, CODE.replace("VERSION", version))


async def ask(client: httpx.AsyncClient, text: str = "hello", session: str = "s") -> httpx.Response:
    body: dict[str, Any] = {
        "appName": APP,
        "userId": "u",
        "sessionId": session,
        "newMessage": {"role": "user", "parts": [{"text": text}]},
    }
    return await client.post("/run", json=body)


def reloaded(reports: list[Diagnostic]) -> int:
    return sum(report.kind == "app reloaded" for report in reports)


async def test_the_next_message_is_answered_by_the_new_code(
    client: httpx.AsyncClient, agents: Path, reports: list[Diagnostic]
) -> None:
    """In the same session; what describes the app is new as well, and the operator is told once."""
    assert "the first" in (await ask(client)).text
    assert "the first" in (await ask(client)).text
    assert reloaded(reports) == 0
    write(agents, "another one")
    [listed] = [each for each in (await client.get("/api/apps")).json() if each["name"] == APP]
    assert (listed["changed"], listed["reloads"]) == (True, 0)
    assert "another one" in (await ask(client)).text
    assert "another one" in (await ask(client)).text
    assert reloaded(reports) == 1
    shown = (await client.get(f"/api/apps/{APP}")).json()
    assert (shown["description"], shown["reloads"]) == ("another one", 1)
    assert not shown["changed"]
    assert "the first" in (await client.get(f"/apps/{APP}/users/u/sessions/s")).text


async def test_saves_of_the_same_size_in_the_same_second(
    client: httpx.AsyncClient, agents: Path
) -> None:
    """Python's bytecode has only the second and the size of its source."""
    for version in ("version 1", "version 2", "version 3", "version 4"):
        write(agents, version)
        assert version in (await ask(client)).text


async def test_a_run_in_progress_finishes_on_the_old_code(
    client: httpx.AsyncClient, agents: Path
) -> None:
    """Nothing of it is taken away."""
    waiting = asyncio.create_task(ask(client, "wait", "other"))
    await seen(agents / APP / "begun")
    write(agents, "another one")
    assert "another one" in (await ask(client)).text
    (agents / APP / "go").touch()
    assert "the first" in (await waiting).text


async def test_the_old_code_serves_until_the_new_code_can_be_imported(
    client: httpx.AsyncClient, agents: Path, reports: list[Diagnostic]
) -> None:
    """The operator is told once, and who lists the apps as long as it is so."""
    assert (await ask(client)).status_code == 200
    write_app(agents, APP, "root_agent = nothing_of_that_name")
    for _ in range(2):
        assert "the first" in (await ask(client)).text
    shown = (await client.get(f"/api/apps/{APP}")).json()
    assert "NameError" in shown["reloadError"]
    assert (shown["description"], shown["changed"], shown["reloads"]) == ("the first", False, 0)
    assert [report.kind for report in reports].count("app failed") == 1
    write(agents, "corrected")
    assert "corrected" in (await ask(client)).text
    shown = (await client.get(f"/api/apps/{APP}")).json()
    assert shown["description"] == "corrected"
    assert "reloadError" not in shown


async def test_the_old_code_finds_its_own_modules(client: httpx.AsyncClient, agents: Path) -> None:
    """What it imports only when it is used is not half of the new code."""
    write_app(agents, APP, CODE.replace("VERSION", "first"), **{"words.py": "WORD = 'old'"})
    late = "        from .words import WORD\n        part = types.Part(text=WORD)"
    code = CODE.replace('        part = types.Part(text="It is VERSION.")', late)
    write_app(agents, APP, "from . import words\n" + code, **{"words.py": "WORD = 'old'"})
    assert "old" in (await ask(client)).text
    write_app(agents, APP, "from . import words\ndef (", **{"words.py": "WORD = 'new'"})
    assert "old" in (await ask(client)).text


async def test_an_app_that_never_loaded_says_why(client: httpx.AsyncClient, agents: Path) -> None:
    """There is no code from before."""
    write_app(agents, APP, "def (")
    assert (await ask(client)).status_code >= 500
    assert "SyntaxError" in (await client.get(f"/api/apps/{APP}")).json()["error"]


async def test_files_that_are_not_code_do_not_matter(
    client: httpx.AsyncClient, agents: Path, reports: list[Diagnostic]
) -> None:
    """An app may write into its own folder while it runs."""
    await ask(client)
    (agents / APP / "notes.txt").write_text("x")
    await ask(client)
    assert reloaded(reports) == 0


async def test_a_new_folder_appears(client: httpx.AsyncClient, agents: Path) -> None:
    """Without a restart."""
    write(agents, "a new one", "prism_test_new")
    assert (await client.get("/list-apps")).json() == [APP, "prism_test_new"]


async def test_without_it_the_code_stays(agents: Path, settings: Settings) -> None:
    """What was imported is served until the server stops."""
    served = replace(settings, reload=False, auto_create_session=True)
    async with talking(create_app(agents, served)) as client:
        await ask(client)
        write(agents, "another one")
        assert "the first" in (await ask(client)).text


def test_it_is_on_where_a_developer_serves() -> None:
    """On loopback, by `adk-prism serve`; never unasked in another program or for others to reach."""
    assert Settings().reloads(listens=True)
    assert not Settings().reloads(listens=False)
    assert not Settings(public_url="https://a.example").reloads(listens=True)
    assert not Settings(host="10.0.0.1", insecure=True).reloads(listens=True)
    assert Settings(host="10.0.0.1", insecure=True, reload=True).reloads(listens=True)
    assert not Settings(reload=False).reloads(listens=True)
