"""What is one user's is not there for another: every route, every way to name a thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.security.people import ANN, BOB, ROOT, SECRET, House, headers, house
from tests.security.route_table import (
    GUESTS,
    ROUTES,
    Common,
    Listed,
    Open,
    Operated,
    Owned,
    of_app,
    path_of,
)

from adk_prism.server.identity import methods as token_file

OWNED = [name for name, row in ROUTES.items() if isinstance(row, Owned)]
HTTP = [name for name in ROUTES if not name.startswith("WS ")]

_HARM = {"GET": 0, "PATCH": 1, "POST": 2, "DELETE": 3}


def harm(name: str) -> tuple[int, int, int]:
    """Order requests: what only looks first, then what takes away, the session itself last."""
    ends = [name.endswith(each) for each in ("{chat_id}", "{session_id}")]
    return _HARM[name.partition(" ")[0]], ends.index(True) + 1 if any(ends) else 0, -len(name)


async def ask(house: House, name: str, **more: Any) -> httpx.Response:
    """Send a route's request, which names Bob's things."""
    row, method = ROUTES[name], name.partition(" ")[0]
    given = dict(more.pop("headers", {}))
    body = None
    if isinstance(row, Owned):
        given |= row.headers(house.bobs)
        body = row.body(house.bobs) if row.body else None
    elif isinstance(row, Common):
        body = row.body
    return await house.client.request(
        method, path_of(row, house.bobs), headers=given, json=body, **more
    )


async def test_every_route_is_in_the_table(tmp_path: Path) -> None:
    """A new route has to say whose things it gives out."""
    async with house(tmp_path) as made:
        assert made.stage.app is not None
        assert sorted(of_app(made.stage.app)) == sorted(ROUTES)


async def test_nobody_gets_in_without_a_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """401 with a challenge, on all but the routes that tell nothing."""

    async def at_once(seconds: float) -> None:
        """Do not slow down whoever sends wrong tokens."""

    monkeypatch.setattr(token_file, "sleep", at_once)
    async with house(tmp_path) as made:
        for name in HTTP:
            answer = await ask(made, name)
            if isinstance(ROUTES[name], Open):
                assert answer.status_code in (200, 404), name
                continue
            assert answer.status_code == 401, name
            assert answer.headers["www-authenticate"].startswith("Bearer")
            form = "application/json" if " /v1/" in name else "application/problem+json"
            assert answer.headers["content-type"] == form
            wrong = await ask(made, name, headers={"authorization": "Bearer wrong"})
            assert wrong.status_code == 401, name


async def test_anothers_things_are_not_there(tmp_path: Path) -> None:
    """404 on every route, and nothing has happened."""
    async with house(tmp_path, limit_rate=10_000) as made:  # more requests than a person makes
        before = await everything(made)
        for name in OWNED:
            refused = await ask(made, name, headers=headers(ANN))
            assert refused.status_code == 404, (name, refused.text)
            assert SECRET not in refused.text, name
            assert await everything(made) == before, name


@pytest.mark.parametrize("user", [BOB, ROOT])
async def test_the_owner_and_an_administrator_reach_everything(user: str, tmp_path: Path) -> None:
    """The same requests, so that what is refused to others is known to be good."""
    async with house(tmp_path) as made:
        for name in sorted(OWNED, key=harm):
            row = ROUTES[name]
            assert isinstance(row, Owned)
            answer = await ask(made, name, headers=headers(user))
            assert answer.status_code in row.status, (name, answer.text)


@pytest.mark.parametrize("name", [n for n, row in ROUTES.items() if isinstance(row, Listed)])
async def test_lists_hold_the_callers_own(name: str, tmp_path: Path) -> None:
    """Bob's run, or what he said in it, is in his list and the administrator's; Ann cannot ask for his."""
    row = ROUTES[name]
    assert isinstance(row, Listed)
    async with house(tmp_path) as made:
        for user, sees in ((ANN, False), (BOB, True), (ROOT, True)):
            answer = await ask(made, name, headers=headers(user))
            assert answer.status_code == 200
            assert (made.bobs.run in answer.text or row.tells in answer.text) is sees, user
        if name == "GET /api/runs":
            asked = await made.client.get("/api/runs", headers=headers(ANN), params={"user": BOB})
            assert asked.status_code == 404
            for user, sees in ((ANN, False), (BOB, True), (ROOT, True)):
                found = await made.client.get(
                    "/api/runs", headers=headers(user), params={"text": SECRET}
                )
                assert (made.bobs.run in found.text) is sees, user


async def test_what_is_common_is_the_same_for_all(tmp_path: Path) -> None:
    """Apps, versions, pages: nothing of anybody's."""
    async with house(tmp_path) as made:
        for name, row in ROUTES.items():
            if not isinstance(row, Common):
                continue
            answer = await ask(made, name, headers=headers(ANN))
            assert answer.status_code == row.status, name
            assert SECRET not in answer.text, name


async def test_what_tells_of_everybody_is_for_administrators(tmp_path: Path) -> None:
    """For others it is not there, and names nobody."""
    async with house(tmp_path) as made:
        for name, row in ROUTES.items():
            if isinstance(row, Operated):
                for user, status in ((ANN, 404), (ROOT, row.status)):
                    answer = await ask(made, name, headers=headers(user))
                    assert answer.status_code == status, (name, user)
                    assert SECRET not in answer.text
                    assert BOB not in answer.text


async def test_what_is_uploaded_is_the_callers(tmp_path: Path) -> None:
    """Whoever the file says it is of; and no upload finds out whether a run's id is taken."""
    async with house(tmp_path) as made:
        file = await made.client.get(f"/api/runs/{made.bobs.run}/recording", headers=headers(BOB))
        for _ in range(2):
            answer = await made.client.post(
                "/api/recordings",
                headers={**headers(ANN), "content-type": "application/jsonl"},
                content=file.content,
            )
            assert answer.status_code == 201, answer.text
            assert answer.json()["user"] == ANN
            assert answer.json()["run"] != made.bobs.run
        seen = await made.client.get(f"/api/runs/{answer.json()['run']}", headers=headers(BOB))
        assert seen.status_code == 404


async def test_a_chat_without_a_user_is_the_callers(tmp_path: Path) -> None:
    """What chat clients send by default is whoever the token says."""
    async with house(tmp_path) as made:
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
        body = {"id": made.bobs.session, "messages": [message]}
        answer = await made.client.post("/api/chat/app", headers=headers(ANN), json=body)
        run = (
            await made.client.get(
                f"/api/runs/{answer.headers['x-prism-run']}", headers=headers(ANN)
            )
        ).json()
        assert (run["user"], run["session"]) == (ANN, made.bobs.session)
        history = await made.client.get(
            f"/api/chat/app/{made.bobs.session}/messages", headers=headers(ANN)
        )
        assert SECRET not in history.text


async def test_idempotency_keys_are_each_users_own(tmp_path: Path) -> None:
    """Bob's key and body, sent by Ann, start a run of hers."""
    async with house(tmp_path) as made:
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
        body = {"id": "same", "messages": [message]}
        runs = set()
        for user in (BOB, ANN, BOB):
            given = {**headers(user), "idempotency-key": "one"}
            answer = await made.client.post("/api/chat/app", headers=given, json=body)
            runs.add(answer.headers["x-prism-run"])
        assert len(runs) == 2


async def test_a_share_link_opens_its_run_to_look_at(tmp_path: Path) -> None:
    """What shows the run, and nothing else, of anyone's, Bob's included."""
    async with house(tmp_path) as made:
        link = await made.client.post(
            f"/api/runs/{made.bobs.run}/links", headers=headers(BOB), json={}
        )
        for name in HTTP:
            row, query = ROUTES[name], {"share": link.json()["token"], **_query(name, made)}
            answer = await ask(made, name, params=query)
            if name in GUESTS:
                assert isinstance(row, Owned)
                assert answer.status_code in row.status, (name, answer.text)
            else:
                assert answer.status_code == 404, (name, answer.text)
                assert SECRET not in answer.text, name


def _query(name: str, made: House) -> dict[str, str]:
    query = path_of(ROUTES[name], made.bobs).partition("?")[2]
    return dict(httpx.QueryParams(query))


async def everything(made: House) -> Any:
    """Return what Bob has, as he sees it."""
    client, bob, run = made.client, headers(BOB), made.bobs.run
    base = f"/apps/app/users/{BOB}/sessions"
    paths = [base, f"{base}/chat", f"{base}/chat/artifacts", "/api/runs", f"/api/runs/{run}/links"]
    return [(await client.get(path, headers=bob)).json() for path in paths]
