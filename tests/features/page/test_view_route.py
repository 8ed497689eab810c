"""The view route: the film of a run at a playhead, live or over."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted, call
from tests.server.local_server import SESSION, LocalServer, agent, local_server

from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.page.film import fold
from adk_prism.features.page.film_cache import Films
from adk_prism.log.entry import Origin, RunEnded, RunId, RunStarted
from adk_prism.log.memory import MemoryLog

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"
Json = dict[str, Any]


async def view(server: LocalServer, run: str, **query: Any) -> Json:
    answer = await server.client.get(f"/api/runs/{run}/view", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_a_run_is_seen_at_every_cursor() -> None:
    """All panels, or one; the same as the film of its entries."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("count")
        film = fold(await server.entries(run))
        for cursor in range(1, film.last + 1):
            seen = await view(server, run, at=cursor)
            assert seen.keys() >= {"timeline", "state", "graph", "conversation"}
            assert seen["conversation"] == film.at(cursor)["conversation"]
            assert (seen["at"], seen["last"]) == (cursor, film.last)
        assert (await view(server, run))["at"] == film.last
        only = await view(server, run, panel="state")
        assert only["state"]["snapshot"]["session"] == {"count": 1}
        assert "graph" not in only


async def test_differences_and_histories_are_asked_for() -> None:
    """`from` compares the state with any cursor, `key` lists the writes of one key."""
    async with local_server(agent(Scripted.saying(call("count", "c1"), "One."))) as server:
        run = await server.say("count")
        state = (await view(server, run, panel="state", **{"from": 1, "key": "count"}))["state"]
        assert [(c["key"], c["kind"]) for c in state["difference"]] == [("count", "added")]
        assert [write["value"] for write in state["history"]] == [1]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("at=0", 400),
        ("at=99", 400),
        ("at=-1", 400),
        ("at=x", 400),
        ("at=2.1", 400),
        ("at=other:2", 400),
        ("at=" + "9" * 5000, 400),
        ("panel=weather", 400),
        ("panel=state&from=99", 400),
        ("panel=graph&key=count", 400),
    ],
)
async def test_what_cannot_be_seen_is_refused(query: str, status: int) -> None:
    """A cursor that is not there, a panel that is not known."""
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        run = await server.say("hello")
        answer = await server.client.get(f"/api/runs/{run}/view?{query}")
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


async def test_an_unknown_run_and_a_deleted_one() -> None:
    """404, and 410 for one that was there, also right after it was looked at."""
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        assert (await server.client.get("/api/runs/nobody/view")).status_code == 404
        run = await server.say("hello")
        await view(server, run)
        await server.client.delete(f"/apps/app/users/user/sessions/{SESSION}")
        assert (await server.client.get(f"/api/runs/{run}/view")).status_code == 410


async def test_a_live_run_s_film_grows() -> None:
    """A look while it runs, and another one after more was said; nothing is folded twice."""
    held = asyncio.Event()
    async with local_server(agent(Scripted.saying(held))) as server:
        await server.client.post(f"/apps/app/users/user/sessions/{SESSION}")
        going = asyncio.create_task(server.say("hello"))
        await held.wait()
        [summary] = await server.context.log.list()
        await server.reaches(summary.run, b"Once")
        first = await view(server, summary.run)
        assert first["outcome"] is None
        assert first["conversation"][-1]["text"] == "Once "
        await server.client.post(f"/api/runs/{summary.run}/cancel")
        await going
        after = await view(server, summary.run)
        assert after["outcome"] == "cancelled"
        assert after["last"] > first["last"]
        film = fold(await server.entries(summary.run))
        assert after["conversation"] == film.at()["conversation"]
        again = await view(server, summary.run, at=first["last"])
        assert again["conversation"] == first["conversation"]


async def test_films_are_bounded_and_shared() -> None:
    """The least recently seen goes; looks at the same time feed one film once."""
    log = MemoryLog()
    await log.open()
    entries = list(read_run(RECORDINGS / "long.jsonl", end=CaptureEnding()))
    for number in range(4):
        run = RunId(f"run-{number}")
        started = RunStarted(run=run, origin=Origin(app="a", user="u", session="s"))
        rest = [entry.record for entry in entries[1:]]
        await log.append(run, [started, *rest])
    films = Films(log, films=2)
    first, same = await asyncio.gather(*(films.of(RunId("run-0")) for _ in range(2)))
    assert first is same
    assert first.last == len(entries)
    assert await films.of(RunId("run-0")) is first
    for number in (1, 2):
        await films.of(RunId(f"run-{number}"))
    assert await films.of(RunId("run-0")) is not first
    small = Films(log, size=1)
    kept = await small.of(RunId("run-0"))
    assert await small.of(RunId("run-0")) is kept  # one always stays
    await small.of(RunId("run-1"))
    assert await small.of(RunId("run-0")) is not kept


async def test_a_film_that_could_not_be_folded_is_not_kept() -> None:
    """An entry that no reader understands is an error each time, not a film that ends in the middle."""
    log = MemoryLog()
    await log.open()
    run = RunId("run-1")
    await log.append(run, [RunStarted(run=run, origin=Origin(app="a", user="u", session="s"))])
    films = Films(log)
    film = await films.of(run)

    def broken(_: object) -> None:
        raise ValueError("cannot")

    film.feed = broken  # type: ignore[method-assign]
    await log.append(run, [RunEnded(outcome="finished")])
    with pytest.raises(ValueError, match="cannot"):
        await films.of(run)
    assert (await films.of(run)).last == 2
