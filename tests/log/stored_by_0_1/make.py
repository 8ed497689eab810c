"""Makes the files of this folder: `python -m tests.log.stored_by_0_1.make`.

They were made once, by adk-prism 0.1 as it was before schema 5 of the SQLite log and the labels of
`RunStarted`, and are kept so that this form stays readable. Do not make them again with newer code: that
would test nothing. Everything comes through HTTP from the bundled tour and its offline model.

`runs.db.gz`        a SQLite log of schema 4
`redis.jsonl.gz`    every key of a Redis log: name, kind, value (bytes as Latin-1 text)
`*.jsonl`           recordings, as `GET /api/runs/{run}/recording` gives them
`expected.json.gz`  what the server answered about all of it when it was made
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import httpx
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from redis import Redis
from tests.redis_server import RedisServer

from adk_prism.apps.tour.agent import tour_app
from adk_prism.features.share.links import SharedLinks
from adk_prism.log.entry import RunId
from adk_prism.prism import Prism
from adk_prism.server.settings import Settings

HERE = Path(__file__).parent
APP, USER = "tour", "user"
Json = dict[str, Any]


def said(text: str, name: str) -> Json:
    """Return a user's message."""
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}


async def chat(client: httpx.AsyncClient, session: str, text: str, **more: Any) -> str:
    """Send a chat message, wait for its answer, return the run."""
    body = {"id": session, "messages": [said(text, f"m-{text[:4]}")], "trigger": "submit-message"}
    answer = await client.post(f"/api/chat/{APP}", json=body | more)
    assert answer.status_code == 200, answer.text
    run: str = answer.headers["x-prism-run"]
    return run


async def fill(client: httpx.AsyncClient) -> Json:
    """Make runs of every kind, and everything beside them; return their names."""
    runs = {
        "finished": await chat(client, "first", "text"),
        "tool": await chat(client, "first", "tool"),
        "waiting": await chat(client, "approve", "approval"),
        "failed": await chat(client, "broken", "exception"),
    }
    answer = await client.post(
        f"/api/chat/{APP}",
        json={
            "id": "first",
            "messages": [],
            "trigger": "regenerate-message",
            "messageId": runs["tool"],
        },
    )
    assert answer.status_code == 200, answer.text
    runs["regenerated"] = answer.headers["x-prism-run"]
    forked = await client.post(f"/api/runs/{runs['tool']}/fork", json={"at": 4})
    assert forked.status_code == 200, forked.text
    runs["forked"] = forked.json()["run"]
    recording = await client.get(f"/api/runs/{runs['tool']}/recording")
    sent = await client.post(
        "/api/recordings", content=recording.content, headers={"content-type": "application/jsonl"}
    )
    assert sent.status_code == 201, sent.text
    runs["uploaded"] = sent.json()["run"]
    keyed = await client.post(
        "/run_sse",
        json={
            "appName": APP,
            "userId": USER,
            "sessionId": "first",
            "streaming": True,
            "newMessage": {"role": "user", "parts": [{"text": "reasoning"}]},
        },
        headers={"idempotency-key": "once"},
    )
    assert keyed.status_code == 200, keyed.text
    runs["keyed"] = keyed.headers["x-prism-run"]
    thread = await client.post(
        f"/api/ag-ui/{APP}",
        json={
            "threadId": "ag-ui",
            "runId": "the-client's-own",
            "messages": [{"id": "u1", "role": "user", "content": "text"}],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        },
    )
    assert thread.status_code == 200, thread.text
    runs["ag_ui"] = thread.headers["x-prism-run"]
    await chat(client, "deleted", "text")
    for path, body in (
        (f"/api/runs/{runs['finished']}/feedback", {"score": "up", "comment": "Good."}),
        (f"/api/runs/{runs['failed']}/feedback", {"score": "down"}),
    ):
        assert (await client.post(path, json=body)).status_code == 200
    label = await client.patch(f"/api/chat/{APP}/first", json={"title": "Light", "pinned": True})
    assert label.status_code == 200, label.text
    assert (await client.delete(f"/api/chat/{APP}/deleted")).status_code == 200
    return runs


QUESTIONS = {
    "list": "/api/runs",
    "search": "/api/runs?text=text",
    "up": "/api/runs?feedback=up",
    "chat": f"/api/chat/{APP}/first/messages",
    "versions": f"/api/chat/{APP}/first/versions",
    "feedback": f"/api/chat/{APP}/first/feedback",
    "fork": f"/api/chat/{APP}/approve/messages",
}
"""What a test asks again."""


async def ask(client: httpx.AsyncClient, runs: Json) -> Json:
    """Return the answers about everything."""
    answers: Json = {}
    for name, path in QUESTIONS.items():
        answers[name] = (await client.get(path)).json()
    for name, run in runs.items():
        if not isinstance(run, str) or not run:
            continue
        answers[f"run {name}"] = (await client.get(f"/api/runs/{run}")).json()
        answers[f"calls {name}"] = (await client.get(f"/api/runs/{run}/model-calls")).json()
        stream = await client.get(f"/api/runs/{run}/stream")
        answers[f"events {name}"] = stream.text.count("data: ")
    return answers


async def serve(url: str, name: str, made: dict[str, Any]) -> None:
    """Serve the tour on a log and fill it."""
    runner = Runner(
        app=tour_app(0),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    prism = Prism({APP: runner}, Settings(log=url, keep_alive=1, model_calls="full"))
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
        runs = await fill(client)
        # The route needs authentication, which the rest of this file does without.
        links = SharedLinks(prism.context.log, None)
        link, token = await links.create(RunId(runs["finished"]), USER, 3600)
        made[name] = {
            "runs": runs,
            "answers": await ask(client, runs),
            "link": {"id": link.id, "token": token, "created": link.created},
        }
        if name == "sqlite":
            for kind in ("regenerated", "forked", "uploaded", "waiting", "failed"):
                recording = await client.get(f"/api/runs/{runs[kind]}/recording")
                (HERE / f"{kind}.jsonl").write_bytes(recording.content)


def dump(redis: Redis) -> list[Any]:
    """Return every key that does not expire soon."""

    def text(value: bytes) -> str:
        return value.decode("latin-1")

    rows: list[Any] = []
    for key in sorted(redis.keys("*")):
        kind = redis.type(key).decode()
        if 0 < redis.ttl(key) < 3600:
            continue
        value: Any
        if kind == "string":
            value = text(redis.get(key))
        elif kind == "hash":
            value = {text(a): text(b) for a, b in redis.hgetall(key).items()}
        elif kind == "zset":
            value = [[text(a), b] for a, b in redis.zrange(key, 0, -1, withscores=True)]
        elif kind == "set":
            value = sorted(map(text, redis.smembers(key)))
        else:
            assert kind == "stream", kind
            value = [
                [text(name), {text(a): text(b) for a, b in fields.items()}]
                for name, fields in redis.xrange(key)
            ]
        rows.append([text(key), kind, value])
    return rows


async def main() -> None:
    """Make everything."""
    made: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        await serve(f"sqlite:///{file}", "sqlite", made)
        connection = sqlite3.connect(file)
        connection.execute("VACUUM INTO ?", (f"{file}.small",))
        connection.close()
        (HERE / "runs.db.gz").write_bytes(gzip.compress(Path(f"{file}.small").read_bytes()))
        server = RedisServer(Path(folder))
        try:
            await serve(server.url, "redis", made)
            rows = dump(Redis.from_url(server.url))
        finally:
            server.kill()
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (HERE / "redis.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    text = json.dumps(made, indent=1, sort_keys=True)
    (HERE / "expected.json.gz").write_bytes(gzip.compress(text.encode()))


if __name__ == "__main__":
    asyncio.run(main())
