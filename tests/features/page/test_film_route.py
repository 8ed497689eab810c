"""The film routes: a run's whole film, its growth, and single entries seen closely."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.adk.scripted import Scripted, call
from tests.features.page.test_document import grown
from tests.features.share.test_share_command import data_in
from tests.recordings.library import RECORDINGS, load
from tests.server.local_server import SESSION, agent, local_server

from adk_prism.features.captures.recording_file import write_run
from adk_prism.features.page import film_cache
from adk_prism.features.page.film import encode, fold
from adk_prism.features.page.film_cache import EntryDetailReader, EntryDetails, Films
from adk_prism.log.entry import Origin, RunEnded, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.registry import formats

Json = dict[str, Any]
ORIGIN = Origin(app="a", user="u", session="s")


async def test_a_whole_film_is_served_once() -> None:
    """Compressed for whoever reads that; whoever has it already is told so."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("count")
        answer = await server.client.get(f"/api/runs/{run}/film")
        assert answer.content == encode(fold(await server.entries(run)))
        assert answer.headers["content-encoding"] == "gzip"
        plain = await server.client.get(
            f"/api/runs/{run}/film", headers={"accept-encoding": "gzip;q=0"}
        )
        assert plain.content == answer.content
        assert "content-encoding" not in plain.headers
        again = await server.client.get(
            f"/api/runs/{run}/film", headers={"if-none-match": answer.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")


async def test_a_live_film_grows_under_whoever_waits() -> None:
    """Growth is answered when there is some, and whole and growth are the film."""
    held = asyncio.Event()
    async with local_server(agent(Scripted.saying(held))) as server:
        await server.client.post(f"/apps/app/users/user/sessions/{SESSION}")
        going = asyncio.create_task(server.say("hello"))
        await held.wait()
        [summary] = await server.context.log.list()
        await server.reaches(summary.run, b"Once")
        path = f"/api/runs/{summary.run}/film"
        film: Json = (await server.client.get(path)).json()
        waiting = asyncio.create_task(server.client.get(path, params={"after": film["last"]}))
        await server.client.post(f"/api/runs/{summary.run}/cancel")
        await going
        while film["ended"] is None:
            answer = await waiting
            assert answer.status_code == 200, answer.text
            film = grown(film, answer.json())
            waiting = asyncio.create_task(server.client.get(path, params={"after": film["last"]}))
        last = (await waiting).json()  # of a run that is over: at once, and nothing
        assert (last["after"], last["last"], last["times"]) == (film["last"], film["last"], [])
        assert film == msgspec.json.decode(encode(fold(await server.entries(summary.run))))


async def someone_waits(films: Films) -> None:
    for _ in range(100):
        await asyncio.sleep(0)
    assert films.waiting


async def test_waiting_ends_with_patience_and_with_the_server() -> None:
    """Nothing came: the film as it is."""
    log = MemoryLog()
    await log.open()
    run = RunId("run-1")
    await log.append(run, [RunStarted(run=run, origin=ORIGIN)])
    films = Films(log)
    assert (await films.past(run, 1, 0)).last == 1
    waiting = asyncio.create_task(films.past(run, 1, 3600))
    await someone_waits(films)
    films.leave_all()
    films.leave_all()
    assert (await waiting).last == 1
    waiting = asyncio.create_task(films.past(run, 1, 3600))
    await someone_waits(films)
    await log.append(run, [RunEnded(outcome="finished")])
    assert (await waiting).last == 2


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("film?after=99", 400),
        ("film?after=x", 400),
        ("film?after=2.1", 400),
        ("film?after=-1", 400),
        ("entries/0", 400),
        ("entries/99", 400),
        ("entries/-1", 400),
        ("entries/x", 422),
    ],
)
async def test_what_is_not_there_is_refused(path: str, status: int) -> None:
    """With a problem that says why."""
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        run = await server.say("hello")
        answer = await server.client.get(f"/api/runs/{run}/{path}")
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert (await server.client.get(f"/api/runs/nobody/{path}")).status_code in (404, status)


async def test_an_entry_is_seen_with_its_facts_and_frames() -> None:
    """In every protocol, each frame under its position."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("count")
        seen = [
            (await server.client.get(f"/api/runs/{run}/entries/{entry.cursor}")).json()
            for entry in await server.entries(run)
        ]
        assert seen[0]["type"] == "RunStarted"
        assert seen[0]["facts"][0]["fact"] == "RunBegan"
        assert seen[-1]["facts"][-1]["fact"] == "RunOver"
        assert seen[0]["frames"].keys() == {format.title for format in formats()}
        started = [frame for row in seen for frame in row["frames"]["ai-sdk 6"]]
        assert started[0] == {"position": "1.1", "data": started[0]["data"]}
        assert started[-1]["data"] == "[DONE]"
        assert {frame["event"] for row in seen for frame in row["frames"]["studio"]} >= {"end"}


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_entry_can_be_seen_closely(name: str) -> None:
    """Whatever it holds, what is written is JSON of a bounded size."""
    lens = EntryDetailReader()
    for entry in load(name):
        assert msgspec.json.decode(lens.feed(entry))["cursor"] == entry.cursor


async def test_what_is_kept_of_closeups_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was let go is read again."""
    monkeypatch.setattr(film_cache, "KEPT_ROW_BYTES", 10_000)
    log = MemoryLog()
    await log.open()
    for number in range(film_cache.KEPT_RUNS + 1):
        run = RunId(f"run-{number}")
        records = [entry.record for entry in load("long")[1:]]
        await log.append(run, [RunStarted(run=run, origin=ORIGIN), *records])
    entry_details, last = EntryDetails(log), len(load("long"))
    whole = {cursor: await EntryDetails(log).of(RunId("run-0"), cursor) for cursor in (1, 2, last)}
    for cursor in (last, 2, 1, last):
        assert await entry_details.of(RunId("run-0"), cursor) == whole[cursor]
    for number in range(1, film_cache.KEPT_RUNS + 1):
        await entry_details.of(RunId(f"run-{number}"), last)
    assert entry_details.runs == [f"run-{number}" for number in range(1, film_cache.KEPT_RUNS + 1)]


async def test_a_run_is_shared_as_one_file() -> None:
    """To be kept, with the graph of its app in it."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("count")
        answer = await server.client.get(f"/api/runs/{run}/share")
        named = answer.headers["content-disposition"]
        assert named.startswith(f"attachment; filename=\"{run}.html\"; filename*=UTF-8''")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        data = data_in(answer.text)
        assert data["film"]["run"] == run
        assert {node["name"] for node in data["graph"]["nodes"]} >= {"agent", "count"}
        assert (await server.client.get("/api/runs/nobody/share")).status_code == 404


async def test_a_recording_from_elsewhere_is_shared_without_a_graph() -> None:
    """An app of that name here need not be the one that ran."""
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        body = b"".join(write_run(load("state")))
        kind = {"content-type": "application/jsonl"}
        made = (await server.client.post("/api/recordings", content=body, headers=kind)).json()
        answer = await server.client.get(f"/api/runs/{made['run']}/share")
        assert data_in(answer.text)["graph"] is None
