"""Sessions in PostgreSQL: what a text or a number may be does not depend on the database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import ToolContext
from tests.adk.scripted import Scripted, call
from tests.cluster.replica import begin, ended, replica, said, vanish
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.adk.session_store import store_over

STRANGE: dict[str, Any] = {
    "nul": "a\x00b",
    "nan": float("nan"),
    "infinity": float("inf"),
    "surrogate": "a\ud800b",
    "surrogate in a key": {"\ud800": 1},
    "nul in a key": {"a\x00": 1},
    "line separator": "a\u2028b\u0085c",
    "large": 2**63 + 1,
    "minus zero": -0.0,
    "not in the basic plane": "\U0001f600",
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=list(STRANGE))
def strange(request: pytest.FixtureRequest) -> Any:
    return STRANGE[request.param]


async def told(service: BaseSessionService, value: Any, session: str) -> dict[str, Any]:
    """Put a value everywhere where one may come from; return all that is seen of it."""

    def odd(tool_context: ToolContext) -> Any:
        """Return something odd, and keep it."""
        tool_context.state["kept"] = value
        return {"odd": value}

    model = Scripted.saying(call("odd", "c1"), "Done. ")
    async with local_server(agent(model, tools=[odd]), service=store_over(service)) as stage:
        path = f"/apps/app/users/user/sessions/{session}"
        made = await stage.client.post(path)
        body = json.dumps({"stateDelta": {"odd": value}})
        headers = {"content-type": "application/json"}
        patched = await stage.client.patch(path, content=body, headers=headers)
        where = {"appName": "app", "userId": "user", "sessionId": session}

        async def run(text: str) -> Any:
            message = {"role": "user", "parts": [{"text": text}]}
            body = json.dumps(where | {"newMessage": message})
            return await stage.client.post("/run", content=body, headers=headers)

        ran = await run("hello")
        asked = await run(value if isinstance(value, str) else "hello")
        return {
            "asked": (asked.status_code, _problem(asked)),
            "made": made.status_code,
            "patched": (patched.status_code, _problem(patched)),
            "ran": (ran.status_code, _contents(ran.json()) if ran.is_success else _problem(ran)),
            "stored": await _stored(stage, session),
        }


def _problem(answer: Any) -> Any:
    return None if answer.is_success else answer.json().get("detail")


def _contents(events: list[dict[str, Any]]) -> list[Any]:
    return [event.get("content") for event in events]


async def _stored(stage: LocalServer, session: str) -> Any:
    found = await stage.session(session)
    return found["state"], _contents(found["events"])


async def test_strange_values(postgres: PostgresServer, tmp_path: Path, strange: Any) -> None:
    """State, messages and a tool's results: the same answers, the same history, and no failure."""
    sqlite = SqliteSessionService(str(tmp_path / "sessions.db"))
    database = DatabaseSessionService(postgres.uri)
    try:
        on_sqlite = await told(sqlite, strange, f"s-{tmp_path.name}")
        on_postgres = await told(database, strange, f"s-{tmp_path.name}")
    finally:
        await database.close()
    assert on_postgres == on_sqlite
    assert on_sqlite["patched"][0] < 500
    assert on_sqlite["asked"][0] < 500
    assert on_sqlite["ran"][0] == 200
    assert on_sqlite["ran"][1][-1]["parts"] == [{"text": "Done. "}], (
        "the tool's answer is no failure"
    )


async def test_a_takeover_with_sessions_in_postgres(
    postgres: PostgresServer, redis: RedisServer, tmp_path: Path
) -> None:
    """The replica that goes on finds the session as the other one left it."""
    dying, surviving = Scripted.saying(asyncio.Event()), Scripted.saying("Once upon a time. ")
    one_service, two_service = (DatabaseSessionService(postgres.uri) for _ in "ab")
    try:
        async with (
            replica(agent(dying), redis, tmp_path, service=one_service) as one,
            replica(agent(surviving), redis, tmp_path, service=two_service) as two,
        ):
            run = await begin(one)
            await one.reaches(run, b"Once")
            await vanish(one)
            assert await ended(two, run) == "finished"
            assert said((await two.messages())[-1]) == ["Once upon a time. "]
    finally:
        for service in (one_service, two_service):
            await service.close()
