"""Sessions: removed after a time if the operator says so, and listed without holding anybody up."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted, call
from tests.patience import PATIENCE
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.adk.services import ServiceUris, check_services, close_services, open_services
from adk_prism.adk.session_store import store_over
from adk_prism.features.run_retention.runs import RetentionGuard
from adk_prism.features.session_retention.sessions import SessionRetention
from adk_prism.log.entry import Origin
from adk_prism.log.from_url import open_log

DAY = 24 * 3600.0
ORIGIN = Origin(app=APP, user=USER, session=SESSION)


class Looks:
    """Looks at the sessions of a server, with a clock that a test moves."""

    def __init__(self, server: LocalServer, max_age: float) -> None:
        self.steady = 0.0
        guard = RetentionGuard(max_age, lambda: time.time() + self.steady, lambda: self.steady)
        context = server.context
        self._look = SessionRetention(
            context.apps, context.runs.locks, context.log, max_age, context.report, guard
        )

    async def after(self, seconds: float) -> None:
        self.steady += seconds
        await self._look()


async def test_a_session_that_nobody_uses_goes_with_all_of_it(tmp_path: Path) -> None:
    """Its artifacts and runs too, what is the user's stays; not at the first look, and not while in use."""
    service = store_over(SqliteSessionService(str(tmp_path / "sessions.db")))
    model = Scripted.saying(call("note", "c1", text="old"), "Noted.")
    log = open_log(f"sqlite:///{tmp_path}/runs.db")
    async with local_server(agent(model), service=service, log=log) as server:
        run = await server.say("hello")
        artifacts = server.runner.artifact_service
        assert artifacts is not None
        where: dict[str, Any] = {"app_name": APP, "user_id": USER, "session_id": SESSION}
        [note] = await artifacts.list_artifact_keys(**where)
        part = await artifacts.load_artifact(**where, filename=note)
        assert part is not None
        await artifacts.save_artifact(**where, filename="user:mine", artifact=part)
        looks = Looks(server, DAY)
        await looks.after(2 * DAY)
        async with server.context.runs.locks.held(ORIGIN):
            await looks.after(600)
        assert (await server.client.get(f"/api/runs/{run}")).status_code == 200
        await looks.after(600)
        assert (await server.client.get(f"/api/runs/{run}")).status_code == 410
        path = f"/apps/{APP}/users/{USER}/sessions"
        assert (await server.client.get(path)).json() == []
        assert await artifacts.list_artifact_keys(**where) == ["user:mine"]
        [told] = [each for each in server.reports if each.kind == "retention"]
        assert "1 of 1 sessions" in told.detail


async def test_one_that_was_used_stays(tmp_path: Path) -> None:
    """However long it is there."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        await server.say("hello")
        looks = Looks(server, 30 * DAY)
        for _ in range(3):
            await looks.after(DAY)
        assert await server.session()


MANY = 20_000
TURNS = 500
"""Of the event loop: far more than the steps of one request, all that work on the loop would leave it."""


async def test_a_long_list_holds_nobody_up(tmp_path: Path) -> None:
    """While it is read and written, the event loop goes on: it gets many turns, not those of one request."""
    file = tmp_path / "sessions.db"
    service = store_over(SqliteSessionService(str(file)))
    async with local_server(agent(Scripted.saying()), service=service) as server:
        path = f"/apps/{APP}/users/{USER}/sessions"
        await server.client.post(f"{path}/first")
        with closing(sqlite3.connect(file)) as database, database:
            database.executemany(
                "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(APP, USER, f"s{n}", '{"a": 1}', 1.0, 1.0) for n in range(MANY)],
            )
        turns = 0
        listing = asyncio.create_task(server.client.get(path, timeout=PATIENCE))
        while not listing.done():
            await asyncio.sleep(0)
            turns += 1
        assert len(listing.result().json()) == MANY + 1
        assert turns > TURNS


@pytest.mark.parametrize("kind", ["runs", "sessions"])
async def test_files_shrink(kind: str, tmp_path: Path) -> None:
    """What was deleted is given back to the file system."""
    services = open_services(ServiceUris(), data_dir=tmp_path)
    await check_services(services)
    await close_services(services)
    log = open_log(f"sqlite:///{tmp_path}/runs.db")
    await log.open()
    await log.close()
    with closing(sqlite3.connect(tmp_path / f"{kind}.db")) as database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,)
