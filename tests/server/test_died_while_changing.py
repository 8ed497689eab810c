"""A process that died while it changed the branch of a session: the next one is right, from any version."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.server.cut_off import KILLED, Chat
from tests.server.local_server import agent, local_server
from tests.server.test_cut_off_changes import check_next
from tests.server.test_versions import versions

from adk_prism.log.sqlite.store import SqliteLog

ROOT = Path(__file__).parents[2]


async def test_processes_that_died(tmp_path: Path) -> None:
    """A new one, over the same log and sessions, goes on from either version."""
    dead = await asyncio.gather(_die(tmp_path, "restore", "4"), _die(tmp_path, "edit", "start"))
    for folder in dead:
        copy = shutil.copytree(folder, folder.with_suffix(".copy"))
        await _check_folder(folder, "Three.")
        await _check_folder(copy, "Two.")


async def _die(folder: Path, change: str, after: str) -> Path:
    """Let a process die in the middle of a change; return where it left its files."""
    files = folder / change
    files.mkdir()
    command = [sys.executable, "-m", "tests.server.cut_off", str(files), change, after]
    dying = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    assert await asyncio.wait_for(dying.wait(), PATIENCE) == KILLED
    return files


async def _check_folder(folder: Path, version: str) -> None:
    service, model = SqliteSessionService(f"{folder}/sessions.db"), Scripted()
    log = SqliteLog(folder / "runs.db")
    async with local_server(agent(model), service=service, log=log) as server:
        ((two, three),) = await versions(server)
        chat = Chat("", two["messageId"], three["messageId"])
        await check_next(server, model, chat, version)
