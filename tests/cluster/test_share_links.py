"""Share links that one replica made: good at the others, and revoked at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.redis_server import RedisServer
from tests.security.people import BOB, headers, said, token_file
from tests.server.local_server import agent

from adk_prism.errors import NotFound, TooMany
from adk_prism.features.share.links import MOST_NOTES_OF_A_RUN, SharedLinks, ShareLinks
from adk_prism.log.entry import Origin, RunId, RunStarted
from adk_prism.log.from_url import open_log
from adk_prism.prism import Prism
from adk_prism.server.settings import Settings
from adk_prism.testing.runlog_steps import END

RUN = RunId("run-1")


@asynccontextmanager
async def replica(
    redis: RedisServer, folder: Path, model: Scripted
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an app, over a log that others share."""
    runner = Runner(app_name="app", agent=agent(model), session_service=InMemorySessionService())
    settings = Settings(
        log=redis.url, tokens=token_file(folder), data_dir=str(folder / str(id(model)))
    )
    prism = Prism({"app": runner}, settings)
    transport = httpx.ASGITransport(prism.asgi())
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=transport, base_url="http://localhost", timeout=PATIENCE
        ) as client,
    ):
        yield client


async def test_a_link_is_good_at_every_replica(redis: RedisServer, tmp_path: Path) -> None:
    """It opens its run and no other; who revokes it, at either, revokes it at both."""
    async with (
        replica(redis, tmp_path, Scripted.saying("hello", "again")) as one,
        replica(redis, tmp_path, Scripted()) as other,
    ):
        await one.post(f"/apps/app/users/{BOB}/sessions/chat", headers=headers(BOB))
        runs = []
        for _ in range(2):
            answer = await one.post("/run_sse", json=said(BOB, "hello"), headers=headers(BOB))
            runs.append(answer.headers["x-prism-run"])
        link = (await one.post(f"/api/runs/{runs[0]}/links", headers=headers(BOB))).json()
        params = {"share": link["token"]}
        for client in (one, other):
            answer = await client.get(f"/api/runs/{runs[0]}", params=params)
            assert answer.status_code == 200, answer.text
            assert (await client.get(f"/api/runs/{runs[1]}", params=params)).status_code == 404
            listed = await client.get(f"/api/runs/{runs[0]}/links", headers=headers(BOB))
            assert [each["id"] for each in listed.json()] == [link["id"]]
        gone = await other.delete(f"/api/runs/{runs[0]}/links/{link['id']}", headers=headers(BOB))
        assert gone.status_code == 204
        for client in (one, other):
            assert (await client.get(f"/api/runs/{runs[0]}", params=params)).status_code == 404


async def test_links_of_before_stay_valid(redis: RedisServer, tmp_path: Path) -> None:
    """Those in a file of this process, until they expire; new ones are in the log, and end in time."""
    now, file = [1000.0], tmp_path / "links.db"
    before = ShareLinks(file, lambda: now[0])
    async with before.closing():
        old, old_token = await before.create(RUN, "ann", 60)
    log = open_log(redis.url)
    await log.open()
    try:
        origin = Origin(app="app", user="ann", session="s")
        await log.append(RUN, [RunStarted(run=RUN, origin=origin), END])
        links = SharedLinks(log, file, lambda: now[0])
        async with links.closing():
            new, token = await links.create(RUN, "ann", 120)
            assert {each.id for each in await links.of_run(RUN)} == {old.id, new.id}
            for each in (old_token, token):
                guest = await links.guest(each, RUN)
                assert guest is not None
                assert await links.is_valid(guest)
            assert await links.guest(token, RunId("run-2")) is None
            now[0] += 60
            assert await links.guest(old_token, RUN) is None
            assert await links.of_run(RUN) == [new]
            for _ in range(MOST_NOTES_OF_A_RUN - 1):
                await links.create(RUN, "ann", 60)
            with pytest.raises(TooMany):
                await links.create(RUN, "ann", 60)
            now[0] += 60
            assert await links.guest(token, RUN) is None
            await links.create(RUN, "ann", 60)
            assert len((await log.side.list([RUN]))[RUN]) == 1, "expired ones were removed"
            with pytest.raises(NotFound):
                await links.revoke(RUN, "none")
            with pytest.raises(NotFound):
                await links.create(RunId("none"), "ann", 60)
    finally:
        await asyncio.wait_for(log.close(), PATIENCE)
