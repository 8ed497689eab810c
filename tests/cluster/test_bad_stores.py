"""Stores that cannot be used: one line at the start, a typed answer later, and nothing that is lost."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import begin, ended, replica
from tests.patience import PATIENCE
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.server.local_server import agent

from adk_prism.adk.services import ServiceUris, check_services, close_services, open_services
from adk_prism.adk.session_store import SessionStore, store_over
from adk_prism.errors import NoSessions
from adk_prism.log.entry import RunEnded


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    for statement in (
        "CREATE DATABASE reading",
        "ALTER DATABASE reading SET default_transaction_read_only = on",
        "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0",
        "CREATE ROLE weak LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM public",
        "CREATE DATABASE closed",
        "REVOKE CONNECT ON DATABASE closed FROM public",
    ):
        server.query(statement)
    yield server
    server.close()


@dataclass(frozen=True)
class Case:
    id: str
    place: str
    says: str


CASES = [
    Case("absent", "prism:hunter2@127.0.0.1:1/sessions", "no connection"),
    Case("no such host", "prism:hunter2@no-such-host.invalid/sessions", "no connection"),
    Case("no such database", "prism:hunter2@127.0.0.1:{port}/hunter2", "no such database"),
    Case("no such user", "hunter2@127.0.0.1:{port}/sessions", "does not accept"),
    Case("read-only", "prism:hunter2@127.0.0.1:{port}/reading", "read-only"),
    Case("full", "crowded:hunter2@127.0.0.1:{port}/sessions", "no connection left"),
    Case("not allowed", "weak:hunter2@127.0.0.1:{port}/postgres", "schema|does not allow"),
    Case("closed", "weak:hunter2@127.0.0.1:{port}/closed", "does not allow"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_database_at_the_start(
    postgres: PostgresServer, tmp_path: Path, case: Case
) -> None:
    """It is asked before a request is taken; what is said repeats nothing of the URI."""
    uri = f"postgresql+asyncpg://{case.place.format(port=postgres.port)}"
    services = open_services(ServiceUris(sessions=uri), data_dir=tmp_path)
    try:
        with pytest.raises(NoSessions, match=case.says) as refused:
            await check_services(services)
    finally:
        await close_services(services)
    assert "hunter2" not in refused.value.detail


async def test_replicas_that_start_together(postgres: PostgresServer, tmp_path: Path) -> None:
    """All of them find an empty database, one makes the tables, and none fails."""
    for number in range(3):
        postgres.query(f"CREATE DATABASE new{number}")
        uri = f"postgresql+asyncpg://prism@127.0.0.1:{postgres.port}/new{number}"
        uris = ServiceUris(sessions=uri)
        several = [open_services(uris, data_dir=tmp_path) for _ in range(4)]
        try:
            await asyncio.gather(*map(check_services, several))
        finally:
            for services in several:
                await close_services(services)


async def test_a_database_that_goes_away(redis: RedisServer, tmp_path: Path) -> None:
    """A run that writes just then fails with a code; requests are answered with 503, and so is `/ready`;
    when it is back, the conversation goes on."""
    postgres, reached, goes_on = PostgresServer(), asyncio.Event(), asyncio.Event()

    async def hold() -> dict[str, bool]:
        """Wait."""
        reached.set()
        await goes_on.wait()
        return {"held": True}

    model = Scripted.saying(call("hold", "c1"), "Never said.", "Here I am.")
    service = store_over(DatabaseSessionService(postgres.uri))
    try:
        async with replica(agent(model, tools=[hold]), redis, tmp_path, service=service) as stage:
            run = await begin(stage)
            await asyncio.wait_for(reached.wait(), PATIENCE)
            assert (await stage.client.get("/ready")).status_code == 200
            postgres.kill()
            goes_on.set()
            assert await ended(stage, run) == "failed"
            last = (await stage.entries(run))[-1].record
            assert isinstance(last, RunEnded)
            assert last.code == "no-sessions"
            for path in ("/ready", "/apps/app/users/user/sessions/chat"):
                async with asyncio.timeout(PATIENCE):
                    while (  # noqa: ASYNC110 - what `/ready` found is its answer for a while
                        answer := await stage.client.get(path)
                    ).status_code == 200:
                        await asyncio.sleep(0.05)
                assert answer.status_code == 503
                assert answer.json()["title"] == "Session store unavailable"
            postgres.restart()
            assert await ended(stage, await begin(stage)) == "finished"
    finally:
        await service.close()  # type: ignore[attr-defined] # a service that keeps hot has one
        postgres.close()


def test_redis_without_its_package(tmp_path: Path) -> None:
    """What to install."""
    hide = (
        "import importlib.util as util, sys\n"
        "find, sys.modules['redis'] = util.find_spec, None\n"
        "util.find_spec = lambda name, *more: None if name == 'redis' else find(name, *more)\n"
        "from adk_prism.cli import main; sys.exit(main())\n"
    )
    words = ["serve", "--port", "0", "--log", "redis://:hunter2@127.0.0.1:1/0"]
    done = subprocess.run(
        [sys.executable, "-c", hide, *words],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'adk-prism[redis]'" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("comes", [True, False], ids=["made meanwhile", "never made"])
async def test_tables_without_their_version(comes: bool, tmp_path: Path) -> None:
    """As a replica finds them that starts while another one makes them: it asks again, for a while."""
    file = tmp_path / "sessions.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("CREATE TABLE adk_internal_metadata (key TEXT PRIMARY KEY, value TEXT)")
        store = SessionStore(DatabaseSessionService(f"sqlite+aiosqlite:///{file}"))
        try:
            checking = asyncio.create_task(store.check())
            if comes:
                for _ in range(2):  # the second look comes after the other's first
                    with pytest.raises(ValueError, match="Schema version"):
                        await store.list_sessions(app_name="-", user_id="-")
                database.execute("INSERT INTO adk_internal_metadata VALUES ('schema_version', '1')")
                await checking
            else:
                with pytest.raises(NoSessions, match="incomplete"):
                    await checking
        finally:
            await store.close()
