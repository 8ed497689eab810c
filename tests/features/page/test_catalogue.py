"""What a person can open: apps are listed without importing them, and loaded when they are used."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.app_folders import AGENT, GATED, NOTED, restored, seen, write_app
from tests.server.conftest import talking

from adk_prism.adk.app_folder import bundled_folders
from adk_prism.errors import Diagnostic
from adk_prism.log.entry import UPLOADED, Origin, RunId, RunStarted, labels
from adk_prism.log.from_url import open_log
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

OFFLINE = """
from google.adk.agents import LlmAgent
from adk_prism.models import ScriptedModel, say
root_agent = LlmAgent(name="parrot", description="Repeats.", model=ScriptedModel(
    model="parrot-offline", script=lambda request: say("hello")))
"""

UNKNOWN = ("agents", "models", "offline", "live")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with restored():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of many apps, each of which leaves a file behind when it is imported."""
    folder = tmp_path / "agents"
    folder.mkdir()
    for number in range(100):
        write_app(folder, f"prism_test_{number:03}", NOTED + AGENT)
    write_app(folder, "prism_test_parrot", NOTED + OFFLINE)
    write_app(folder, "prism_test_broken", NOTED + "raise RuntimeError('hunter2')")
    write_app(folder, "my-agent", NOTED + AGENT)
    return folder


@pytest.fixture
async def client(
    folder: Path, settings: Settings, reports: list[Diagnostic]
) -> AsyncIterator[httpx.AsyncClient]:
    async with talking(create_app(folder, settings, report=reports.append)) as client:
        yield client


def _imported(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.rglob("*.imported"))


async def _apps(client: httpx.AsyncClient) -> dict[str, dict[str, Any]]:
    return {app["name"]: app for app in (await client.get("/api/apps")).json()}


def _message(text: str, chat: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"id": chat, "messages": [{"id": chat, "role": "user", "parts": parts}]}


async def test_listing_imports_nothing(client: httpx.AsyncClient, folder: Path) -> None:
    """Not the list, not ADK's list, not the page, not sessions, chats and artifacts that are read."""
    before = set(sys.modules)
    apps = await _apps(client)
    assert len(apps) == 103
    assert apps["prism_test_000"]["description"] is None
    assert [apps["prism_test_parrot"][key] for key in UNKNOWN] == [None] * 4
    listed = (await client.get("/list-apps")).json()
    assert listed == [name for name in apps if name != "my-agent"]
    app = "/apps/prism_test_000/users/user/sessions"
    for path in (
        "/",
        "/api/conversations",
        "/api/chat/prism_test_000/c1/messages",
        "/api/chat/prism_test_000/c1/stream",
        app,
        f"{app}/s1",
        f"{app}/s1/artifacts",
    ):
        assert (await client.get(path)).status_code in (200, 204, 404)
    assert (await client.post(f"{app}/s1")).status_code == 200
    assert _imported(folder) == []
    assert not [name for name in set(sys.modules) - before if name.startswith("prism_test_")]


async def test_an_app_that_was_used_is_known(client: httpx.AsyncClient, folder: Path) -> None:
    """By a chat, or by asking for it; the others stay as they were."""
    answer = await client.post("/api/chat/prism_test_parrot", json=_message("hi", "c1"))
    assert "hello" in answer.text
    apps = await _apps(client)
    assert apps["prism_test_parrot"] == {
        "name": "prism_test_parrot",
        "title": None,
        "description": "Repeats.",
        "agents": ["parrot"],
        "models": ["parrot-offline"],
        "offline": True,
        "live": True,
        "lacks": {
            "client tools": 'The app does not have the plugin accept_client_tools("request").',
            "resume": "The app has no ResumabilityConfig.",
        },
        "bundled": False,
        "remote": False,
        "reloads": 0,
        "changed": False,
        "prompts": [],
    }
    known = (await client.get("/api/apps/prism_test_000")).json()
    assert (known["description"], known["models"]) == ("Says hello.", ["gemini-2.5-flash"])
    assert _imported(folder) == ["prism_test_000", "prism_test_parrot"]
    assert (await _apps(client))["prism_test_001"]["models"] is None
    assert (await client.get("/api/apps/nobody")).status_code == 404


async def test_what_cannot_be_an_app_is_listed_with_the_reason(client: httpx.AsyncClient) -> None:
    """And cannot be used."""
    entry = (await _apps(client))["my-agent"]
    assert entry.keys() == {"name", "problem"}
    assert "not a Python module name" in entry["problem"]
    assert "my-agent" not in (await client.get("/list-apps")).json()
    for path in ("/api/apps/my-agent", "/api/chat/my-agent/c/messages"):
        assert (await client.get(path)).status_code == 404


async def test_a_failed_app_is_tried_again_when_it_is_corrected(
    client: httpx.AsyncClient, folder: Path
) -> None:
    """Its error is listed until its files change, and nothing of the exception's text with it."""
    failed = await client.post("/api/chat/prism_test_broken", json=_message("hi", "c1"))
    assert failed.status_code == 500
    entry = (await client.get("/api/apps/prism_test_broken")).json()
    assert entry == (await _apps(client))["prism_test_broken"]
    assert entry.keys() == {"name", "error"}
    assert entry["error"] == failed.text
    assert "hunter2" not in failed.text
    write_app(folder, "prism_test_broken", OFFLINE)
    assert (await _apps(client))["prism_test_broken"]["models"] is None
    answer = await client.post("/api/chat/prism_test_broken", json=_message("hi", "c2"))
    assert "hello" in answer.text


async def test_streams_go_on_while_an_app_is_imported(
    client: httpx.AsyncClient, folder: Path
) -> None:
    """A whole run of one app, from its import to its end, while another's import has not ended."""
    await client.get("/api/apps/prism_test_parrot")
    slow = write_app(folder, "prism_test_slow", GATED + AGENT)
    doors = [
        client.get("/api/apps/prism_test_slow"),
        client.get("/apps/prism_test_slow/app-info"),
        client.get("/api/studio/prism_test_slow/graph"),
        client.post("/apps/prism_test_slow/users/u/sessions/s", json={"a": 1}),
    ]
    asking = [asyncio.create_task(door) for door in doors]
    await seen(slow / "begun")
    for chat in ("c1", "c2", "c3"):
        answer = await client.post("/api/chat/prism_test_parrot", json=_message("hi", chat))
        assert "hello" in answer.text
        assert answer.text.endswith("data: [DONE]\n\n")
    assert not any(task.done() for task in asking)
    (slow / "go").touch()
    assert [(await task).status_code for task in asking] == [200] * 4
    assert (slow / "begun").read_text() == "x"


async def test_an_app_may_say_what_it_is_before_it_is_loaded(
    client: httpx.AsyncClient, folder: Path
) -> None:
    """In `prompts.json`, in either form; one that cannot be read says nothing."""
    forms: dict[str, Any] = {
        "000": ["hi", {"prompt": "ho", "shows": "a thing"}, 7, {"shows": "no prompt"}],
        "001": {"title": "Things", "description": "Does things.", "prompts": ["hi"]},
        "002": {"title": [], "description": 7, "prompts": "hi"},
        "003": "nonsense",
    }
    for number, form in forms.items():
        (folder / f"prism_test_{number}" / "prompts.json").write_text(json.dumps(form))
    (folder / "prism_test_004" / "prompts.json").write_text("{")
    apps = await _apps(client)
    shown = [apps[f"prism_test_{number:03}"] for number in range(5)]
    hi = {"prompt": "hi", "shows": ""}
    assert [app["prompts"] for app in shown] == [
        [hi, {"prompt": "ho", "shows": "a thing"}],
        [hi],
        [],
        [],
        [],
    ]
    assert [app["description"] for app in shown] == [None, "Does things.", None, None, None]
    assert [app["title"] for app in shown] == [None, "Things", None, None, None]
    assert _imported(folder) == []


async def test_the_bundled_apps_say_what_they_are(settings: Settings) -> None:
    """The same before they are loaded and after."""
    async with talking(create_app(None, settings)) as client:
        for name, app in (await _apps(client)).items():
            assert app["bundled"]
            assert app["prompts"]
            loaded = (await client.get(f"/api/apps/{name}")).json()
            assert loaded["description"] == app["description"]
            prompts = [each / name / "prompts.json" for each in bundled_folders()]
            assert any(path.is_file() for path in prompts)


async def test_a_start_imports_only_the_apps_of_runs_that_were_left(
    folder: Path, settings: Settings, tmp_path: Path
) -> None:
    """A turn that another process has begun; not a recording, not what was said aloud."""
    url = f"sqlite:///{tmp_path}/runs.db"
    log = open_log(url)
    await log.open()
    left = {
        "run-turn": ("prism_test_001", {}),
        "run-live": ("prism_test_002", {"live": True}),
        "run-uploaded": ("prism_test_003", {"labels": labels(UPLOADED(True))}),
        "run-state": ("prism_test_004", {"kind": "state"}),
        "run-gone": ("no_such_app", {}),
    }
    for run, (app, about) in left.items():
        origin = Origin(app=app, user="u", session=run)
        started = RunStarted(run=RunId(run), origin=origin, invocation=f"e-{run}", **about)
        await log.append(RunId(run), [started])
        await log.commit(RunId(run))
    await log.close()
    async with talking(create_app(folder, replace(settings, log=url))) as client:
        for run in left:
            await client.get(f"/api/runs/{run}/stream?as=adk")  # to its end
            assert (await client.get(f"/api/runs/{run}")).json()["outcome"] == "failed"
    assert _imported(folder) == ["prism_test_001"]
