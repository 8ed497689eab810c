"""Runs are found by what was said and done in them, as soon as they have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools import FunctionTool
from msgspec import structs
from tests.adk.scripted import Scripted, call
from tests.laws.events import entries, event, text
from tests.patience import PATIENCE
from tests.recordings.library import RECORDINGS, load
from tests.server.local_server import APP, LocalServer, agent, local_server

from adk_prism.features.search.digest import FoundRun, RunDigest, RunQuery
from adk_prism.features.search.fields import MOST_POINTS, trends
from adk_prism.features.search.index import (
    MOST_AT_ONCE,
    DigestFold,
    RunIndex,
    SearchIndex,
    index_of,
)
from adk_prism.features.search.stores import SqliteSearch
from adk_prism.log.contract import LogObserver, RunSummary
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunId, RunStarted, to_raw
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.runs.off_loop import LARGE
from adk_prism.runs.session_log import Deletions

RECORDING = Path(__file__).parent.parent.parent / "recordings" / "raw" / "tool.jsonl"


async def search(server: LocalServer, **fields: Any) -> list[dict[str, Any]]:
    answer = await server.client.get("/api/runs", params=fields)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    """Three runs: one that counts, one that fails, one that was uploaded."""
    model = Scripted.saying(
        call("count", "c1"), "There are 東京 two owls.", ValueError("the secret")
    )
    async with local_server(agent(model)) as made:
        yield made


async def test_a_run_is_found_by_every_field(server: LocalServer) -> None:
    """What a search says of a run is what happened in it; the newest comes first."""
    counted, failed = await server.say("How many Owls?", "one"), await server.say("Bears", "two")
    body = {"content": RECORDING.read_bytes(), "headers": {"content-type": "application/jsonl"}}
    uploaded = (await server.client.post("/api/recordings", **body)).json()["run"]
    expected = {
        ("text", "owls"): [counted],
        ("text", '"two owls"'): [counted],
        ("text", "京"): [counted],
        ("text", "bears"): [failed],
        ("text", "secret"): [],
        ("tool", "count"): [counted],
        ("agent", "agent"): [failed, counted],
        ("model", "script*"): [failed, counted],
        ("state", "count"): [counted],
        ("error", "ValueError"): [failed],
        ("error", "*"): [failed],
        ("outcome", "failed"): [failed],
        ("app", APP): [failed, counted],
        ("since", "2020-01-01"): [uploaded, failed, counted],
        ("until", "2020-01-01T00:00:00+02:00"): [],
        ("minTokens", "1000000"): [],
        ("maxDuration", "1e9"): [uploaded, failed, counted],
    }
    for (field, value), runs in expected.items():
        found = await search(server, limit=10, **{field: value})
        assert [each["run"] for each in found] == runs, (field, value)
    (found,) = await search(server, text="owls", tool="count")
    assert (found["title"], found["outcome"]) == ("How many Owls?", "finished")
    assert (found["tools"], found["state"], found["errors"]) == (["count"], ["count"], [])
    assert found["match"] == {"in": "user", "excerpt": "How many Owls?"}


def pay(amount: int) -> dict[str, int]:
    """Pay; a person has to approve it."""
    return {"paid": amount}


async def test_a_request_that_was_answered_waits_no_longer() -> None:
    """A run that waited for a person says so until its conversation goes on."""
    model = Scripted.saying(call("pay", "c1", amount=3), "Never mind, then.")
    tools = [FunctionTool(pay, require_confirmation=True)]
    async with local_server(agent(model, tools=tools)) as server:
        waiting = await server.say("Pay the bill", "one")
        [found] = await search(server, outcome="waiting")
        assert (found["run"], "answered" in found) == (waiting, False)
        await server.say("Never mind", "one")
        found = await search(server, outcome="waiting")
        assert [each["answered"] for each in found if each["run"] == waiting] == [True]


async def test_a_run_that_goes_on_with_a_message_names_it() -> None:
    """A continuation has nothing that the user said; what was asked is that of its message."""
    model = Scripted.saying(call("pay", "c1", amount=3), "It is paid.")
    tools = [FunctionTool(pay, require_confirmation=True)]
    async with local_server(agent(model, tools=tools)) as server:
        asked = await server.say("Pay the bill", "one")
        asking = next(
            part["functionCall"]
            for event in await server.events(asked)
            for part in event.get("content", {}).get("parts", [])
            if part.get("functionCall", {}).get("name") == "adk_request_confirmation"
        )
        response = {"id": asking["id"], "name": asking["name"], "response": {"confirmed": True}}
        parts = [{"functionResponse": response}]
        await server.post_run("one", newMessage={"role": "user", "parts": parts})
        later, first = await search(server, limit=10)
        assert (first["run"], "messageTitle" in first) == (asked, False)
        assert (later["message"], later["messageTitle"]) == (asked, "Pay the bill")
        assert (first["answered"], first["modelCalls"], later["modelCalls"]) == (True, 1, 1)


async def test_trends_count_what_a_search_finds(server: LocalServer) -> None:
    """The sum, equal spans of time and the names are those of the runs that fit; bad fields are refused."""
    await server.say("How many Owls?", "one")
    await server.say("Bears", "two")
    seen = (await server.client.get("/api/trends")).json()
    total = seen["total"]
    assert (total["runs"], total["failed"], seen["limited"]) == (2, 1, False)
    assert 0 < total["median"] <= total["p95"]
    assert "cost" not in total
    assert sum(point["runs"] for point in seen["points"]) == 2
    assert seen["names"]["tool"] == [["count", 1]]
    assert seen["names"]["app"] == [[APP, 2]]
    failed = (await server.client.get("/api/trends?outcome=failed&since=1h")).json()
    assert (failed["total"]["runs"], failed["names"]["tool"]) == (1, [])
    nothing = (await server.client.get("/api/trends?tool=nothing")).json()
    assert (nothing["points"], nothing["total"]["p95"]) == ([], None)
    for field, value in {
        "outcome": "won",
        "since": "2x",
        "minTokens": "-1",
        "sort": "best",
    }.items():
        answer = await server.client.get("/api/trends", params={field: value})
        assert (answer.status_code == 400) is (field != "sort"), (field, answer.text)
        answer = await server.client.get("/api/runs", params={field: value})
        assert answer.status_code == 400, (field, answer.text)
        assert field in answer.json()["detail"]


def _found(number: int, started: float, duration: float) -> FoundRun:
    origin = Origin(app=APP, user="user", session="s")
    run = RunId(f"r{number}")
    summary = RunSummary(
        run=run,
        origin=origin,
        invocation="",
        started=started,
        ended=started + duration,
        outcome="finished",
        cursor=2,
        bytes=0,
        message=run,
    )
    used = {"m": {"input": 10}}
    return FoundRun(summary, RunDigest(tokens=10, duration=duration, used=used), number)


def test_spans_of_time_are_equal_and_bounded() -> None:
    """However long the time is that the runs take, there are at most so many points, also empty ones."""
    day, year = 86_400, 365 * 86_400
    for length in (0, 59, 3600, day, 90 * day, 30 * year):
        runs = [_found(n, 1e9 + length * n / 9, float(n)) for n in range(10)]
        seen = trends(runs, lambda _: 0.5, has_prices=True)
        points = seen["points"]
        assert len(points) <= MOST_POINTS, length
        assert {b["at"] - a["at"] for a, b in pairwise(points)} <= {seen["step"]}
        assert sum(point["runs"] for point in points) == 10
        assert (seen["total"]["cost"], seen["total"]["median"], seen["total"]["p95"]) == (5, 4, 9)
    some = trends(runs, lambda used: None if used else 1.0, has_prices=True)["total"]
    assert (some["cost"], some["unpriced"]) == (None, 10)
    assert trends([], lambda _: None, has_prices=False)["points"] == []


async def test_pages_and_bad_questions(server: LocalServer) -> None:
    """An answer is bounded and names the next one; what makes no sense is refused with the field's name."""
    runs = [await server.say("owls", f"s{number}") for number in range(3)]
    url, seen = "/api/runs?text=owls&limit=2", []
    while url:
        answer = await server.client.get(url)
        seen += [each["run"] for each in answer.json()]
        assert "x-prism-search" not in answer.headers
        url = f"/api/runs{answer.links['next']['url']}" if answer.links else ""
    assert seen == runs[::-1]
    bad = {"outcome": "won", "since": "soon", "minTokens": "-1", "minDuration": "nan", "text": "?!"}
    bad |= {"until": "inf", "tool": "x" * 201}
    for field, value in bad.items():
        answer = await server.client.get("/api/runs", params={field: value})
        assert answer.status_code == 400, (field, answer.text)
        assert field in answer.json()["detail"]
    assert (await server.client.get("/api/runs?limit=1000")).status_code == 422


async def test_deleted_sessions_are_not_found(server: LocalServer) -> None:
    """A digest goes with its run."""
    await server.say("owls", "one")
    assert len(await search(server, text="owls")) == 1
    await server.client.delete(f"/apps/{APP}/users/user/sessions/one")
    assert await search(server, text="owls") == []


def _run(run: str, text: str) -> list[Any]:
    origin = Origin(app=APP, user="user", session="old")
    message = to_raw({"role": "user", "parts": [{"text": text}]})
    return [RunStarted(run=run, origin=origin, message=message), RunEnded(outcome="finished")]


async def _all_indexed(search: SearchIndex) -> None:
    async with asyncio.timeout(PATIENCE):
        while await search.unindexed(1):  # noqa: ASYNC110 - a log tells nobody that a run was indexed
            await asyncio.sleep(0)


async def test_older_runs_are_indexed_after_the_start(tmp_path: Path) -> None:
    """Runs of a log that were never indexed can be found, once the server had a moment."""
    log = SqliteLog(tmp_path / "runs.db")
    await log.open()
    for number in range(30):
        run = RunId(f"old-{number}")
        await log.append(run, _run(run, f"owl {number}"))
        await log.commit(run)
    search = index_of(log)
    index = RunIndex(log, search, Deletions(log), lambda _: None)
    async with index.indexing():
        await _all_indexed(search)
    found = (await search.search(RunQuery(text='"owl 7"'), limit=10)).found
    assert [each.summary.run for each in found] == ["old-7"]
    await log.close()


async def test_a_run_that_cannot_be_read_is_passed_over() -> None:
    """An event of nonsense does not keep other runs from being found, and is not tried for ever."""
    log = MemoryLog()
    await log.open()
    for run, odd in (("a", b"["), ("b", b'{"content":{"parts":[{"text":7}]}}')):
        start, end = _run(run, f"owl {run}")
        await log.append(RunId(run), [start, AgentEvent(odd), end])
    search = index_of(log)
    index = RunIndex(log, search, Deletions(log), lambda _: None)
    index.ended(RunId("gone"))
    async with index.indexing():
        await index.settled()
        await _all_indexed(search)
    assert (await search.search(RunQuery(), limit=10)).complete
    await log.close()


class _CountingLog(SqliteLog):
    """Counts how often it is read."""

    reads = 0

    def read(
        self, run: RunId, after: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self.reads += 1
        return super().read(run, after, follow=follow)


class _CountingSearch(SqliteSearch):
    """Counts how often it is asked for runs without a digest."""

    looks = 0

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        found = await super().unindexed(limit)
        self.looks += 1
        return found

    async def first_look(self) -> None:
        """Wait for the look at the start: it would find what ends meanwhile."""
        async with asyncio.timeout(PATIENCE):
            while not self.looks:  # noqa: ASYNC110 - nobody tells that it is over
                await asyncio.sleep(0)


async def test_a_run_is_read_while_it_goes_on(tmp_path: Path) -> None:
    """The digest is that of the stored run; neither the run nor the list of all is read again at its end."""
    log = _CountingLog(tmp_path / "runs.db")
    search = _CountingSearch(log.store)
    index = RunIndex(log, search, Deletions(log), lambda _: None)
    log.attach(observer=LogObserver(stored=index.stored, ended=index.ended))
    await log.open()
    async with index.indexing():
        await search.first_look()
        for number, name in enumerate(RECORDINGS):
            run = RunId(f"run-{number}")
            first, *rest = (entry.record for entry in load(name))
            assert isinstance(first, RunStarted)
            for record in (structs.replace(first, run=run), *rest):
                await log.append(run, [record])
            await log.commit(run)
            await index.settled(PATIENCE)
        assert (log.reads, search.looks) == (0, 1)
        found = (await search.search(RunQuery(), limit=len(RECORDINGS))).found
    assert len(found) == len(RECORDINGS)
    for each in found:
        fold = DigestFold()
        async with aclosing(log.read(each.summary.run)) as batches:
            async for batch in batches:
                for entry in batch:
                    fold.feed(entry)
        assert each.digest == fold.digest()
    await log.close()


@pytest.mark.parametrize(
    "events", [[AgentEvent(b"{}")] * MOST_AT_ONCE, [AgentEvent(b'{"id":"%b"}' % (b"x" * LARGE))]]
)
async def test_what_comes_in_large_pieces_is_read_in_small_steps(
    tmp_path: Path, events: list[AgentEvent]
) -> None:
    """An upload must not hold up the streams of others."""
    log = _CountingLog(tmp_path / "runs.db")
    search = _CountingSearch(log.store)
    index = RunIndex(log, search, Deletions(log), lambda _: None)
    log.attach(observer=LogObserver(stored=index.stored, ended=index.ended))
    await log.open()
    start, end = _run("big", "owl")
    async with index.indexing():
        await search.first_look()
        await log.append(RunId("big"), [start, *events, end])
        await log.commit(RunId("big"))
        await index.settled(PATIENCE)
    assert log.reads == 1
    assert (await search.search(RunQuery(text="owl"), limit=1)).found
    await log.close()


def test_texts_of_parallel_agents_are_joined_by_block() -> None:
    """Their pieces come in turns; what each says is found as it was said."""
    fold = DigestFold()
    said = {"a": ["a ", "look", "s"], "b": ["b ", "wait", "s"]}
    events = [
        event(text(said[name][at]), author=name, branch=name, partial=True)
        for at in range(3)
        for name in said
    ]
    for entry in entries(events):
        fold.feed(entry)
    found = fold.digest().agent
    assert "a looks" in found
    assert "b waits" in found
