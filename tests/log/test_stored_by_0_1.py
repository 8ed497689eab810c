"""Logs and recordings of adk-prism 0.1 (`stored_by_0_1/make.py`): everything in them is read back."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from redis import Redis
from tests.log.stored_by_0_1.make import APP, HERE, USER, ask, dump
from tests.redis_server import RedisServer

from adk_prism.apps.tour.agent import tour_app
from adk_prism.features.share.links import SharedLinks
from adk_prism.log.entry import RunId
from adk_prism.log.from_url import open_log
from adk_prism.prism import Prism
from adk_prism.runs.session_log import Deletions
from adk_prism.server.settings import Settings

EXPECTED = json.loads(gzip.decompress((HERE / "expected.json.gz").read_bytes()))


@asynccontextmanager
async def served(log: str) -> AsyncIterator[tuple[Prism, httpx.AsyncClient]]:
    """Serve a log with the tour; nothing in it is too old."""
    runner = Runner(
        app=tour_app(0),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    prism = Prism({APP: runner}, Settings(log=log, keep_alive=1, retention_age=1e10))
    application = prism.asgi()
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(application),
            base_url="http://127.0.0.1:8000",
            headers={"accept": "application/json"},
            timeout=60,
        ) as client,
    ):
        yield prism, client


def sqlite_file(folder: Path) -> str:
    file = folder / "runs.db"
    file.write_bytes(gzip.decompress((HERE / "runs.db.gz").read_bytes()))
    return f"sqlite:///{file}"


def load(redis: Redis) -> None:
    """Write every key of the dump into an empty Redis."""

    def raw(text: str) -> bytes:
        return text.encode("latin-1")

    for line in gzip.decompress((HERE / "redis.jsonl.gz").read_bytes()).splitlines():
        key, kind, value = json.loads(line)
        name = raw(key)
        match kind:
            case "string":
                redis.set(name, raw(value))
            case "hash":
                redis.hset(name, mapping={raw(a): raw(b) for a, b in value.items()})
            case "zset":
                redis.zadd(name, {raw(a): b for a, b in value})
            case "set":
                redis.sadd(name, *map(raw, value))
            case "stream":
                for at, fields in value:
                    redis.xadd(name, {raw(a): raw(b) for a, b in fields.items()}, id=raw(at))


@pytest.fixture(params=["sqlite", "redis"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Give the kind of a log, and its address."""
    if request.param == "sqlite":
        yield "sqlite", sqlite_file(tmp_path)
        return
    server = RedisServer(tmp_path)
    load(Redis.from_url(server.url))
    yield "redis", server.url
    server.kill()


@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
async def test_everything_in_an_old_log_is_read(stored: tuple[str, str]) -> None:
    """Runs, histories, versions, feedback, search, model calls, share links: twice, the log being migrated
    once."""
    kind, address = stored
    expected = EXPECTED[kind]
    for _ in range(2):
        async with served(address) as (prism, client):
            answers = await ask(client, expected["runs"])
            for name, answer in expected["answers"].items():
                assert answers[name] == answer, name
            link, run = expected["link"], RunId(expected["runs"]["finished"])
            created = link["created"]
            links = SharedLinks(prism.context.log, None, clock=lambda at=created: at + 1)
            guest = await links.guest(link["token"], run)
            assert guest is not None
            assert [each.id for each in await links.of_run(run)] == [link["id"]]


async def test_a_deletion_in_an_old_log_is_known(stored: tuple[str, str]) -> None:
    """A conversation that was deleted stays so; a server removes it, since it cannot be restored any more."""
    log = open_log(stored[1])
    await log.open()
    hidden = await Deletions(log).current()
    await log.close()
    assert [(each.user, each.session) for each in hidden] == [(USER, "deleted")]


@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
async def test_an_old_session_is_removed_completely(stored: tuple[str, str]) -> None:
    """What older code stored beside a session's runs goes with them."""
    kind, address = stored
    async with served(address) as (_, client):
        for session in ("first", "approve", "broken", "ag-ui"):
            answer = await client.delete(f"/apps/{APP}/users/{USER}/sessions/{session}")
            assert answer.status_code in (200, 404), answer.text
    if kind == "redis":
        names = [row[0] for row in dump(Redis.from_url(address))]
        gone = EXPECTED[kind]["runs"]["finished"]
        assert [name for name in names if gone in name and not name.endswith(":gone")] == []


@pytest.mark.parametrize("name", sorted(each.stem for each in HERE.glob("*.jsonl")))
@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")
async def test_old_recordings_are_read(name: str) -> None:
    """Uploaded, and as long as the run that they recorded."""
    lines = (HERE / f"{name}.jsonl").read_bytes()
    async with served("memory:") as (_, client):
        sent = await client.post(
            "/api/recordings", content=lines, headers={"content-type": "application/jsonl"}
        )
        assert sent.status_code == 201, sent.text
        again = await client.get(f"/api/runs/{sent.json()['run']}/stream")
        assert again.text.count("data: ") == EXPECTED["sqlite"]["answers"][f"events {name}"]
