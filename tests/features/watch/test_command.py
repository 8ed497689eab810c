"""`adk-prism watch`: a table of conversations, once or after each save."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import httpx
import pytest
from tests.adk.app_folders import write_app
from tests.features.watch.saved_apps import APP, say, write
from tests.features.watch.saved_apps import agents as agents
from tests.features.watch.saved_apps import client as client
from tests.patience import PATIENCE
from tests.server.conftest import OF_ADK

from adk_prism.cli import main

pytestmark = [pytest.mark.filterwarnings(rule) for rule in OF_ADK]


def words_for(tmp_path: Path, *words: str, app: str = APP) -> list[str]:
    log = f"sqlite:///{tmp_path}/runs.db"
    return ["watch", app, "--dir", str(tmp_path / "agents"), "--log", log, *words]


async def started(tmp_path: Path, *words: str) -> asyncio.subprocess.Process:
    """Start the command in a process of its own: this one has imported the app already."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-u", "-m", "adk_prism.cli", *words_for(tmp_path, *words)]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def watched(tmp_path: Path, *words: str) -> tuple[int | None, str, str]:
    """Run the command to its end; return its exit code and what it printed."""
    process = await started(tmp_path, *words)
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode, out.decode(), err.decode()


async def test_a_table_of_conversations(
    client: httpx.AsyncClient, agents: Path, tmp_path: Path
) -> None:
    """Exit codes for CI; JSON has everything."""
    await say(client, "milk")
    await say(client, "bread")
    code, shown, _ = await watched(tmp_path, "--once")
    assert code == 0
    assert shown.splitlines()[2].split() == ["s", "2", "4", "same"]
    write(agents, "Be long.")
    code, shown, _ = await watched(tmp_path, "--once")
    assert code == 1
    assert "differs from call 1 of shop, and 1 more messages" in shown
    assert "    +Be long." in shown
    code, shown, _ = await watched(tmp_path, "--once", "--json")
    assert code == 1
    [found] = json.loads(shown)
    assert [message["status"] for message in found["messages"]] == ["differs", "differs"]
    assert (await watched(tmp_path, "--once", "--ignore", "Be [a-z]+"))[0] == 0
    write_app(agents, APP, "def (")
    code, _, said = await watched(tmp_path, "--once")
    assert code == 2
    assert "SyntaxError" in said


REFUSED: dict[str, tuple[list[str], str]] = {
    "no app": (
        ["nothing", "--once"],
        "There is no app 'nothing'. Available apps: prism_test_shop.",
    ),
    "a rule": ([APP, "--ignore", "("], "is not a regular expression"),
    "a number": ([APP, "--last", "0"], "--last must be from 1 to 100"),
    "json": ([APP, "--json"], "--json needs --once."),
}


@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    """In one line."""
    from adk_prism.log.sqlite.store import SqliteLog

    async def make() -> None:
        log = SqliteLog(tmp_path / "runs.db")
        await log.open()
        await log.close()

    asyncio.run(make())
    app, *others = words
    assert main(words_for(tmp_path, *others, app=app)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert text in shown.err


async def test_it_goes_on_until_it_is_stopped(
    client: httpx.AsyncClient, agents: Path, tmp_path: Path
) -> None:
    """A table for each save."""
    await say(client, "milk")
    process = await started(tmp_path)
    assert process.stdout is not None

    async def until(text: str) -> None:
        assert process.stdout is not None
        while text not in (line := (await process.stdout.readline()).decode()):
            assert line, f"it ended without {text!r}"

    try:
        async with asyncio.timeout(PATIENCE):
            await until("same")
            write(agents, "Be long.")
            await until("differs from call 1 of shop")
            write(agents)
            await until("same")
    finally:
        process.kill()
        await process.communicate()
