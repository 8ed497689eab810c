"""Save to see: a conversation is run again when the code of its app changes; nothing live is called."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import httpx
import pytest
from tests.adk.app_folders import restored, write_app
from tests.features.watch.saved_apps import APP, Strip, say, write
from tests.features.watch.saved_apps import agents as agents
from tests.features.watch.saved_apps import client as client
from tests.server.conftest import OF_ADK, talking

from adk_prism.adk.app_folder import bundled_folders
from adk_prism.features.watch.watcher import MOST_WATCHED
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

pytestmark = [pytest.mark.filterwarnings(rule) for rule in OF_ADK]


async def test_a_save_is_seen_within_a_second(client: httpx.AsyncClient, agents: Path) -> None:
    """Ten model calls: the one that differs is named; then all are the same. Nothing is asked or listed."""
    for text in ("milk", "bread", "an apple", "tea", "a very long word"):
        await say(client, text)
    runs = (await client.get("/api/runs")).json()
    assert len(runs) == 5
    strip = Strip(client)
    assert (await strip.next())["state"] == "unchanged"
    write(agents, "Be very brief.")
    await strip.next()  # the first one also waits for what is imported once
    write(agents, "Be long.")
    began = time.perf_counter()
    found = await strip.next()
    seconds = time.perf_counter() - began
    assert found["state"] == "differs"
    assert found["detail"] == "Call 1 of shop differs from the recording in: instruction."
    [message] = found["conversation"]["messages"]
    difference = message["difference"]
    assert (message["run"], difference["run"]) == (runs[0]["run"], runs[0]["run"])
    assert (difference["agent"], difference["call"]) == ("shop", 1)
    assert difference["parts"] == [
        {
            "part": "instruction",
            "before": 'Be brief.\n\nYou are an agent. Your internal name is "shop".',
            "after": 'Be long.\n\nYou are an agent. Your internal name is "shop".',
        }
    ]
    assert found["conversation"]["skipped"] == 4
    write(agents, "Be brief.")
    began = time.perf_counter()
    found = await strip.next()
    # The other may have waited for what else the machine does.
    assert min(seconds, time.perf_counter() - began) < 1.0
    assert found["state"] == "same"
    assert [each["calls"] for each in found["conversation"]["messages"]] == [2] * 5
    assert len((agents / APP / "asked.txt").read_text()) == 10
    assert len((agents / APP / "called.txt").read_text()) == 5
    assert (await client.get("/api/runs")).json() == runs
    assert len((await client.get(f"/apps/{APP}/users/user/sessions")).json()) == 1


async def test_what_follows_may_differ_although_requests_do_not(
    client: httpx.AsyncClient, agents: Path
) -> None:
    """As where a callback changes the last answer."""
    await say(client, "milk")
    strip = Strip(client)
    await strip.next()
    shout = (
        "if llm_response.content.parts[0].text:\n"
        "        llm_response.content.parts[0].text += ' Thank you.'\n"
        "    return llm_response"
    )
    write(agents, polite=shout)
    found = await strip.next()
    assert found["state"] == "differs"
    [message] = found["conversation"]["messages"]
    assert message["differs"] == ["answer"]
    assert "difference" not in message
    assert message["follows"] == [
        {"part": "answer", "before": "It costs 4.", "after": "It costs 4. Thank you."}
    ]
    assert found["detail"] == "Every model call is as recorded; what differs: answer."


async def test_code_that_does_not_load(client: httpx.AsyncClient, agents: Path) -> None:
    """It is said with file and line, also to who comes later; the old code answers until the next save."""
    await say(client, "milk")
    strip = Strip(client)
    await strip.next()
    write_app(agents, APP, "name = 1\ndef (")
    for each in (strip, Strip(client)):
        found = await each.next()
        assert found["state"] == "broken"
        assert "SyntaxError" in found["detail"]
        assert "agent.py, line 2" in found["detail"]
    await say(client, "bread")
    assert (await client.get("/api/runs")).json()[0]["outcome"] == "finished"
    write(agents)
    assert (await strip.next())["state"] == "same"


async def test_a_clock_in_the_instruction_can_be_ignored(
    client: httpx.AsyncClient, agents: Path
) -> None:
    """The rules are named; with them it is checked again, without a save, and stays so."""
    write(agents, "It is 9:05, id a0123456789b.")
    await say(client, "milk")
    strip = Strip(client)
    await strip.next()
    write(agents, "It is 9:06, id b0123456789a.")
    found = await strip.next()
    [message] = found["conversation"]["messages"]
    assert message["difference"]["rules"] == ["clock", "hex"]
    asking = Strip(client, ignore=["clock", "hex"])
    assert (await asking.next())["state"] == "differs"
    assert (await asking.next())["state"] == "same"
    assert (await strip.next())["state"] == "same"


async def test_ten_saves_in_a_second(client: httpx.AsyncClient, agents: Path) -> None:
    """One answer, of the last."""
    await say(client, "milk")
    strip = Strip(client)
    await strip.next()

    async def save() -> None:
        for number in range(10):
            write(agents, f"Version {number}.")
            await asyncio.sleep(0.08)
        write(agents, "Be last.")

    saving = asyncio.create_task(save())
    found = await strip.next()
    await saving
    [message] = found["conversation"]["messages"]
    [part] = message["difference"]["parts"]
    assert part["after"].startswith("Be last.")


async def test_many_conversations_are_watched(client: httpx.AsyncClient, agents: Path) -> None:
    """Those that were asked for last."""
    await say(client, "milk")
    for number in range(MOST_WATCHED + 5):
        answer = await client.get(f"/api/watch/{APP}/chat-{number}")
        assert answer.json() == {"number": 0, "state": "unchanged"}
    strip = Strip(client)
    await strip.next()
    write(agents, "Be long.")
    assert (await strip.next())["state"] == "differs"


async def test_where_it_is_not_offered(agents: Path, tmp_path: Path) -> None:
    """Without reloading, and for rules that are none, the answer says why."""
    settings = Settings(log="memory:", data_dir=str(tmp_path / "data"), reload=False)
    async with talking(create_app(agents, settings)) as client:
        answer = (await client.get(f"/api/watch/{APP}/s")).json()
        assert answer["state"] == "off"
        assert "loopback" in answer["detail"]
    async with talking(
        create_app(agents, Settings(log="memory:", data_dir=str(tmp_path / "data"), reload=True))
    ) as client:
        assert (await client.get(f"/api/watch/{APP}/s?ignore=(")).status_code == 400
        assert (await client.get("/api/watch/nothing/s")).status_code == 404
        unknown = await client.get(f"/api/watch/{APP}/no-such-chat")
        assert unknown.json() == {"number": 0, "state": "unchanged"}


CHANGES = {
    "tour": ("specialists.py", "Translate the request into Portuguese.", "Translate it."),
    "recovery": ("instructions.py", "You assess burn severity.", "You judge burn severity."),
    "research": ("agent.py", "instruction=instruction", 'instruction="Search."'),
}
MESSAGES = {
    "tour": (
        *("exception", "tool", "progress", "broken stream", "server-side tool", "artifact"),
        *("approval", "transfer", "parallel specialists", "workflow", "agent tool"),
    ),
    "recovery": ("Assess the damage of the Cedar Creek fire",),
    "research": ("Find papers about transformers",),
}


@pytest.mark.parametrize("app", CHANGES)
async def test_the_bundled_apps_after_a_change(app: str, tmp_path: Path) -> None:
    """Whatever happens, each is the same without a change; with one in an instruction, the call is named."""
    source = next(folder / app for folder in bundled_folders() if (folder / app).is_dir())
    agents = tmp_path / "agents"
    name = f"prism_test_{app}"
    shutil.copytree(source, agents / name)
    settings = Settings(
        log=f"sqlite:///{tmp_path}/runs.db",
        data_dir=str(tmp_path / "data"),
        reload=True,
        model_calls="full",
    )
    with restored():
        async with talking(create_app(agents, settings)) as client:
            for text in MESSAGES[app]:
                await say(client, text, name)
            strip = Strip(client, name)
            await strip.next()
            file, old, new = CHANGES[app]
            path = agents / name / file
            before = path.read_text()
            path.write_text(before.replace(old, new, 1))
            found = await strip.next()
            assert found["state"] == "differs", found
            *same, message = found["conversation"]["messages"]
            assert len(same) == len(MESSAGES[app]) - 1
            assert {each["status"] for each in same} <= {"same"}, found["detail"]
            assert [part["part"] for part in message["difference"]["parts"]] == ["instruction"]
            path.write_text(before)
            assert (await strip.next())["state"] == "same"
