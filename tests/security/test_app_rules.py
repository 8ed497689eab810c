"""An app that a caller may not use is not there, on every route and socket: as one that does not exist."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.people import ANN, BOB, ROOT, SECRET, House, headers, house, token_file
from tests.security.route_table import (
    ROUTES,
    Common,
    Listed,
    Open,
    Operated,
    Owned,
    Socket,
    Taken,
    path_of,
)
from tests.security.test_isolation import harm
from tests.server.local_server import APP
from tests.voice.served import served
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from adk_prism.features.app_rules.rules import read_rules

NOWHERE = "nowhere"
"""An app that does not exist."""


@asynccontextmanager
async def ruled(folder: Path, user: str = ANN) -> AsyncIterator[House]:
    """Serve Bob's conversation with an app that is for one user, from now on."""
    file = folder / "rules.toml"
    file.write_text(f'[apps.{APP}]\nusers = ["{user}"]\n')
    async with house(folder, limit_rate=10_000) as made:
        made.stage.context.identity.hides = read_rules(str(file), made.stage.context.apps).hides
        yield made


def _body(row: Any, made: House) -> Any:
    if isinstance(row, Owned):
        return row.body(made.bobs) if row.body else None
    return row.body if isinstance(row, Common) else None


async def _ask(made: House, name: str, user: str, *, app: str = APP) -> Any:
    """Send the request of a route, of Bob's things in an app."""
    row, method = ROUTES[name], name.partition(" ")[0]
    path, body = path_of(row, made.bobs), json.dumps(_body(row, made))
    path = re.sub(rf"(?<=[/=]){APP}(?=[/?&]|$)", app, path)
    body = body.replace(f'"{APP}"', f'"{app}"')
    given = headers(user) | (row.headers(made.bobs) if isinstance(row, Owned) else {})
    content = None if body == "null" else body
    if content is not None:
        given["content-type"] = "application/json"
    return await made.client.request(method, path, headers=given, content=content)


OF_NO_APP = "/v1/files"
"""Files that their user can use in every app: no rule hides them."""

_OWNED = (name for name, row in ROUTES.items() if isinstance(row, Owned) and OF_NO_APP not in name)
OWNED = sorted(_OWNED, key=harm)


async def test_what_one_has_in_it_is_not_there(tmp_path: Path) -> None:
    """The caller's own sessions, runs, files and chats: 404, and nothing has happened."""
    async with ruled(tmp_path) as made:
        before = await _everything(made)
        wrong = {}
        for name in OWNED:
            answer = await _ask(made, name, BOB)
            assert SECRET not in answer.text, name
            if answer.status_code != 404:
                wrong[name] = (answer.status_code, answer.text[:100])
        assert not wrong, "\n".join(map(repr, wrong.items()))
        assert await _everything(made) == before


NAMED = [
    name
    for name, row in ROUTES.items()
    if isinstance(row, Owned | Common)
    and not name.startswith("WS ")
    and (
        "{app_name}" in name
        or "{model}" in name
        or "{agent_id}" in name
        or name in ("POST /run", "POST /run_sse")
    )
]
"""Routes that name an app."""

OTHER_WORDS = {
    "GET /dev/apps/{app_name}/debug/trace/{event_id}",
    "GET /a2a/{app_name}/.well-known/agent-card.json",
    "POST /a2a/{app_name}",
    "GET /api/chat/{app_name}/{chat_id}/versions",
    "PATCH /api/chat/{app_name}/{chat_id}",
    "DELETE /api/chat/{app_name}/{chat_id}",
    "POST /api/chat/{app_name}/{chat_id}/restore",
    "GET /api/watch/{app_name}/{chat_id}",
}
"""Routes that say of an app that does not exist what they say of a conversation that does not, since a
recording may name any app: of this one they say that it is not there."""


async def test_it_answers_as_an_app_that_does_not_exist(tmp_path: Path) -> None:
    """In status and words, where a route knows of an app whether it exists."""
    async with ruled(tmp_path) as made:
        wrong = {}
        for name in NAMED:
            hidden = await _ask(made, name, BOB)
            nowhere = await _ask(made, name, BOB, app=NOWHERE)
            one, other = (_told(each) for each in (hidden, nowhere))
            if name in OTHER_WORDS:
                assert (hidden.status_code, one[:20]) == (404, "There is no app 'app"), name
                continue
            if (hidden.status_code, one) != (nowhere.status_code, other.replace(NOWHERE, APP)):
                wrong[name] = (hidden.status_code, one, nowhere.status_code, other)
        assert not wrong, "\n".join(map(repr, wrong.items()))


def _told(answer: Any) -> str:
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        return str(answer.text)
    body = answer.json() if answer.content else {}
    if isinstance(body, dict) and "error" in body:
        return str(body["error"]["message"])
    return str(body.get("detail", body) if isinstance(body, dict) else body)


async def test_lists_do_not_name_it(tmp_path: Path) -> None:
    """Apps, models, agents, runs, conversations, trends, threads."""
    async with ruled(tmp_path) as made:
        for name, row in ROUTES.items():
            if isinstance(row, Listed) and row.path != OF_NO_APP:
                answer = await _ask(made, name, BOB)
                assert answer.status_code in (200, 404), name
                assert made.bobs.run not in answer.text, name
                assert row.tells not in answer.text, name
        for name in (
            "GET /list-apps",
            "GET /api/apps",
            "GET /v1/models",
            "GET /api/copilotkit/info",
        ):
            for user, sees in ((ANN, True), (BOB, False), (ROOT, True)):
                answer = await _ask(made, name, user)
                assert answer.status_code == 200
                assert (f'"{APP}"' in answer.text) is sees, (name, user)
        found = await made.client.get("/api/runs", headers=headers(BOB), params={"text": SECRET})
        assert found.json() == []
        listed = await made.client.get("/api/runs", headers=headers(BOB), params={"app": APP})
        assert listed.json() == []


async def test_others_use_it_as_before(tmp_path: Path) -> None:
    """Whom the rule names, and an administrator."""
    async with ruled(tmp_path, BOB) as made:
        for name in OWNED:
            row = ROUTES[name]
            assert isinstance(row, Owned)
            answer = await _ask(made, name, BOB)
            assert answer.status_code in row.status, (name, answer.text)
    async with ruled(tmp_path) as made:
        for name in OWNED:
            row = ROUTES[name]
            assert isinstance(row, Owned)
            answer = await _ask(made, name, ROOT)
            assert answer.status_code in row.status, (name, answer.text)


def test_every_route_is_tried() -> None:
    """What is of a user, names an app or lists is above; sockets are below; the rest names no app."""
    rest = [
        name
        for name, row in ROUTES.items()
        if name not in NAMED
        and not isinstance(row, Owned | Listed | Socket | Operated | Open | Taken)
    ]
    for name in rest:
        row = ROUTES[name]
        assert isinstance(row, Common)
        assert f"/{APP}/" not in row.path
        assert f'"{APP}"' not in json.dumps(row.body)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/chat/{app}/socket", {"type": "resume", "requestId": "r", "id": "c"}),
        ("/api/live/{app}?session=s", {"type": "ping", "version": "1.0"}),
        ("/run_live?app_name={app}&user_id=bob&session_id=s", None),
    ],
)
async def test_sockets_do_not_know_it(path: str, message: Any, tmp_path: Path) -> None:
    """They answer as for an app that does not exist."""
    runner = Runner(
        app_name=APP,
        agent=LlmAgent(name="agent", model=Scripted()),
        session_service=InMemorySessionService(),
    )
    file = tmp_path / "rules.toml"
    file.write_text(f'[apps.{APP}]\nusers = ["{ANN}"]\n')
    async with served(runner, tokens=token_file(tmp_path), rules=str(file)) as server:
        url = server.url.replace("http", "ws")
        hidden, nowhere = [
            await _opened(url + path.format(app=app), message) for app in (APP, NOWHERE)
        ]
        assert hidden.replace(f"'{APP}'", f"'{NOWHERE}'") == nowhere
        assert NOWHERE in nowhere


async def _opened(url: str, message: Any) -> str:
    """Open a socket as Bob; return how it is refused, or what it says before it closes."""
    received = ""
    try:
        async with connect(url, additional_headers=headers(BOB), open_timeout=PATIENCE) as socket:
            try:
                if message is not None:
                    await socket.send(json.dumps(message))
                while "no app" not in received:
                    received += str(await asyncio.wait_for(socket.recv(), PATIENCE))
            except ConnectionClosed:
                received += str(socket.close_reason)
    except InvalidStatus as refused:
        text = (refused.response.body or b"").decode()
        return f"{refused.response.status_code} {text}".partition('"request"')[0]
    return received


async def _everything(made: House) -> Any:
    """Return what Bob has, as an administrator sees it."""
    root, run = headers(ROOT), made.bobs.run
    base = f"/apps/{APP}/users/{BOB}/sessions"
    paths = [
        base,
        f"{base}/chat",
        f"{base}/chat/artifacts",
        f"/api/runs?user={BOB}",
        f"/api/runs/{run}/links",
    ]
    return [(await made.client.get(path, headers=root)).json() for path in paths]
