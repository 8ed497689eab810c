"""What a browser or a CDN may keep of a run that has ended: tags, 304, who may keep it, byte ranges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.adk.scripted import Scripted, call
from tests.security.people import ANN, BOB, headers, house
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism.features.caching.reads import made_by

REVALIDATED = "max-age=0, must-revalidate"
FILE = "0123456789"


@asynccontextmanager
async def ended() -> AsyncIterator[tuple[LocalServer, str]]:
    """Give a server and the path of a run that has ended, and saved a file."""
    model = Scripted.saying(call("note", "c1", text=FILE), "Done.")
    async with local_server(agent(model)) as server:
        run = await server.say("go")
        yield server, f"/api/runs/{run}"


async def saved(server: LocalServer, run: str) -> str:
    """Return the path of the file that the run saved."""
    name = run.rpartition("/")[2]
    for entry in await server.entries(name):
        for part in ("artifact-0", "0"):
            path = f"{run}/files/{entry.cursor}/{part}"
            if (await server.client.get(path)).status_code == 200:
                return path
    raise AssertionError("the run saved no file")


@pytest.mark.parametrize("path", ["stream?as=adk", "stream?as=ai-sdk&after=2", "view", "recording"])
async def test_an_ended_run_is_sent_once(path: str) -> None:
    """The second time a client asks with the tag it has, and gets 304; another address has another tag."""
    async with ended() as (server, run):
        first = await server.client.get(f"{run}/{path}")
        tag = first.headers["etag"]
        assert tag.startswith('"')
        assert first.headers["cache-control"].startswith(f"private, {REVALIDATED}")
        assert {"authorization", "cookie", "last-event-id"} <= set(
            first.headers["vary"].replace(" ", "").split(",")
        )
        for known in (tag, f'"other", W/{tag}', "*"):
            again = await server.client.get(f"{run}/{path}", headers={"if-none-match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
            assert again.headers["cache-control"].startswith("private")
        changed = await server.client.get(f"{run}/{path}", headers={"if-none-match": '"other"'})
        assert (changed.status_code, changed.content) == (200, first.content)
        others = [f"{run}/stream?as=studio", f"{run}/stream?as=adk&after=1"]
        tags = [(await server.client.get(other)).headers["etag"] for other in others]
        assert len({tag, *tags}) == 3


async def test_a_browser_that_comes_back_is_not_given_the_whole() -> None:
    """The same address with another Last-Event-ID has another tag."""
    async with ended() as (server, run):
        whole = await server.client.get(f"{run}/stream")
        known = {"if-none-match": whole.headers["etag"], "last-event-id": "3"}
        rest = await server.client.get(f"{run}/stream", headers=known)
        assert rest.status_code == 200
        assert whole.text.endswith(rest.text)
        assert rest.text != whole.text


async def test_a_run_that_goes_on_is_not_stored() -> None:
    """Nor an error, nor what has no bytes."""
    began = asyncio.Event()
    async with local_server(agent(Scripted.saying(began))) as server:
        saying = asyncio.create_task(server.say("go"))
        await began.wait()
        (about,) = (await server.client.get("/api/runs")).json()
        run = f"/api/runs/{about['run']}"
        for path in ("view", "recording"):
            live = await server.client.get(f"{run}/{path}")
            assert live.headers["cache-control"] == "no-store"
            assert "etag" not in live.headers
        await server.client.post(f"{run}/cancel")
        await saying
        last = (await server.client.get(run)).json()["cursor"]
        at_end = await server.client.get(f"{run}/stream?after={last}")
        assert (at_end.status_code, at_end.headers["cache-control"]) == (204, "no-store")
        bad = await server.client.get(f"{run}/stream?as=none", headers={"if-none-match": '"x"'})
        assert bad.status_code in (400, 404)
        assert "etag" not in bad.headers
        calls = await server.client.get(f"{run}/recording?model_calls=true")
        assert calls.headers["cache-control"] == "no-store"


async def test_a_deleted_run_is_gone_for_who_has_its_tag() -> None:
    """What was kept is asked for again, and is not there."""
    async with ended() as (server, run):
        tag = (await server.client.get(f"{run}/view")).headers["etag"]
        user = (await server.client.get(run)).json()["user"]
        await server.client.delete(f"/apps/{APP}/users/{user}/sessions/{SESSION}")
        answer = await server.client.get(f"{run}/view", headers={"if-none-match": tag})
        assert answer.status_code in (404, 410)


def test_what_makes_answers_is_in_their_tag(tmp_path: Path) -> None:
    """Another set of features, or another list of prices under the same name."""
    prices = tmp_path / "prices.json"
    prices.write_text("{}")
    first = made_by(["proof"], str(prices))
    assert first == made_by(["proof"], str(prices))
    assert first != made_by([], str(prices))
    prices.write_text('{"model": {}}')
    assert first != made_by(["proof"], str(prices))


RANGES = {
    "bytes=2-4": (206, 2, 5),
    "bytes=7-": (206, 7, None),
    "bytes=-3": (206, -3, None),
    "bytes=0-999999999": (206, 0, None),
    "bytes=999999999-": (416, 0, 0),
    "bytes=-0": (416, 0, 0),
    "bytes=5-2": (416, 0, 0),
    "bytes=0-1,4-5": (200, 0, None),
    "bytes=-": (200, 0, None),
    "pages=1-2": (200, 0, None),
}


@pytest.mark.parametrize("kind", ["recording", "file"])
async def test_a_part_of_a_file(kind: str) -> None:
    """206 with where it is, 416 with how long the file is; what is no range gives the whole."""
    async with ended() as (server, run):
        path = f"{run}/recording" if kind == "recording" else await saved(server, run)
        whole = await server.client.get(path)
        size = len(whole.content)
        assert whole.headers["accept-ranges"] == "bytes"
        for asked, (status, first, last) in RANGES.items():
            part = await server.client.get(path, headers={"range": asked})
            assert part.status_code == status, asked
            if status == 416:
                assert part.headers["content-range"] == f"bytes */{size}"
                continue
            assert part.content == whole.content[slice(first, last)], asked
            assert part.headers["etag"] == whole.headers["etag"]
            if status == 206:
                start = first % size
                end = start + len(part.content) - 1
                assert part.headers["content-range"] == f"bytes {start}-{end}/{size}"
                assert part.headers["content-length"] == str(len(part.content))
        for condition, status in ((whole.headers["etag"], 206), ('"old"', 200)):
            sent = {"range": "bytes=1-1", "if-range": condition}
            assert (await server.client.get(path, headers=sent)).status_code == status
        known = {"if-none-match": whole.headers["etag"], "range": "bytes=1-1"}
        assert (await server.client.get(path, headers=known)).status_code == 304


async def test_who_may_keep_what(tmp_path: Path) -> None:
    """What a share link opens a CDN may keep, and must ask again: a revoked link opens nothing."""
    async with house(tmp_path) as home:
        client, bob = home.client, headers(BOB)
        run = f"/api/runs/{home.bobs.run}"
        link = (await client.post(f"{run}/links", headers=bob, json={})).json()
        for path in ("view", "recording", "stream"):
            own = await client.get(f"{run}/{path}", headers=bob)
            assert own.headers["cache-control"].startswith(f"private, {REVALIDATED}")
            shared = await client.get(f"{run}/{path}?share={link['token']}")
            assert shared.headers["cache-control"].startswith(f"public, {REVALIDATED}")
            known = {"if-none-match": own.headers["etag"]}
            assert (await client.get(f"{run}/{path}", headers=bob | known)).status_code == 304
            other = await client.get(f"{run}/{path}", headers=headers(ANN) | known)
            assert other.status_code == 404
        tag = shared.headers["etag"]
        await client.delete(f"{run}/links/{link['id']}", headers=bob)
        gone = await client.get(
            f"{run}/stream?share={link['token']}", headers={"if-none-match": tag}
        )
        assert gone.status_code == 404
