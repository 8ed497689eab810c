"""Bad input on ADK's routes: a 4xx that says why, never a 5xx, nothing stored, nothing leaked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

SESSIONS = "/apps/helper/users/ada/sessions"
ARTIFACTS = SESSIONS + "/one/artifacts"


@dataclass(frozen=True)
class Bad:
    id: str
    method: str
    path: str
    status: int
    body: bytes | None = None
    type: str = "application/json"


def bad(id: str, method: str, path: str, status: int, body: Any = None) -> Bad:
    return Bad(id, method, path, status, None if body is None else json.dumps(body).encode())


def raw(id: str, path: str, status: int, body: bytes, type: str = "application/json") -> Bad:
    return Bad(id, "POST", path, status, body, type)


BAD = [
    raw("not JSON", SESSIONS, 400, b"{nope"),
    raw("NaN", SESSIONS, 400, b'{"state":{"a":NaN}}'),
    raw("half a surrogate pair", SESSIONS, 400, b'{"state":{"a":"\\ud800"}}'),
    raw("half a surrogate pair in an id", SESSIONS, 400, b'{"sessionId":"\\udfff"}'),
    raw("NUL", SESSIONS, 400, b'{"state":{"a":"\\u0000"}}'),
    raw("not UTF-8", SESSIONS, 400, b'{"state":{"a":"\xff"}}'),
    raw("deep", SESSIONS, 400, b'{"state":{"a":' + b"[" * 500 + b"]" * 500 + b"}}"),
    raw("deeper than any stack", SESSIONS, 400, b"[" * 1_000_000),
    raw("number past 64 bits", SESSIONS, 400, b'{"state":{"a":1' + b"0" * 400 + b"}}"),
    raw("text", SESSIONS, 415, b"{}", "text/plain"),
    raw("form", SESSIONS, 415, b"state=1", "application/x-www-form-urlencoded"),
    raw("multipart", SESSIONS, 415, b"--x--", "multipart/form-data; boundary=x"),
    raw("no type", SESSIONS, 415, b"{}", ""),
    raw("over the limit", SESSIONS, 413, b'{"state":{"a":"' + b"x" * 9_000_000 + b'"}}'),
    bad("string for an object", "POST", SESSIONS, 422, "x"),
    bad("id of the wrong type", "POST", SESSIONS, 422, {"sessionId": 1}),
    bad("id that climbs", "POST", SESSIONS, 400, {"sessionId": "../x"}),
    bad("id with a line break", "POST", SESSIONS, 400, {"sessionId": "a\r\nb"}),
    bad("id of JavaScript's", "POST", SESSIONS, 400, {"sessionId": "__proto__"}),
    bad("id too long", "POST", SESSIONS, 400, {"sessionId": "a" * 5000}),
    bad("app: state", "POST", SESSIONS, 403, {"state": {"app:admin": True}}),
    bad("user: state", "POST", SESSIONS, 403, {"state": {"user:plan": "gold"}}),
    bad("temp: state", "POST", SESSIONS, 403, {"state": {"temp:x": 1}}),
    bad("ADK's state", "POST", SESSIONS, 403, {"state": {"_adk_x": 1}}),
    bad("app: state with an id", "POST", SESSIONS + "/x", 403, {"app:admin": True}),
    bad("app: state later", "PATCH", SESSIONS + "/one", 403, {"stateDelta": {"app:admin": True}}),
    bad("far time", "POST", SESSIONS, 400, {"events": [{"timestamp": 1e300}]}),
    bad("negative time", "POST", SESSIONS, 400, {"events": [{"timestamp": -1e12}]}),
    bad("number for a word", "POST", SESSIONS, 422, {"events": [{"finishReason": 0}]}),
    bad("same id twice", "POST", SESSIONS, 400, {"events": [{"id": "a"}, {"id": "a"}]}),
    bad("long event id", "POST", SESSIONS, 400, {"events": [{"id": "a" * 200}]}),
    bad("unknown app", "GET", "/apps/nobody/users/ada/sessions", 404),
    bad("app that climbs", "GET", "/apps/%2e%2e%2fagents/users/ada/sessions", 404),
    bad("ADK's own app", "GET", "/apps/__adk_agent_builder_assistant/app-info", 404),
    bad("user that climbs", "GET", "/apps/helper/users/%2e%2e/sessions", 400),
    bad("user with a slash", "GET", "/apps/helper/users/a%2fb/sessions", 404),
    bad("user with NUL", "GET", "/apps/helper/users/%00/sessions", 400),
    bad("user with a line break", "GET", "/apps/helper/users/x%0d%0ay/sessions", 400),
    bad("user turned around", "GET", "/apps/helper/users/%E2%80%AEx/sessions", 400),
    bad("user of JavaScript's", "GET", "/apps/helper/users/constructor/sessions", 400),
    bad("user too long", "GET", f"/apps/helper/users/{'a' * 5000}/sessions", 400),
    bad("user not UTF-8", "GET", "/apps/helper/users/%ff/sessions", 400),
    bad("session that climbs", "GET", SESSIONS + "/%2e%2e%5cx", 400),
    bad("unknown session", "GET", SESSIONS + "/nobody", 404),
    bad("artifact that climbs", "GET", ARTIFACTS + "/%2e%2e/x", 400),
    bad("artifact with NUL", "GET", ARTIFACTS + "/%00", 400),
    bad("artifact of the root", "GET", ARTIFACTS + "/%2fetc%2fpasswd", 400),
    bad("saved above", "POST", ARTIFACTS, 400, {"filename": "../x", "artifact": {"text": "x"}}),
    bad("saved as a path", "POST", ARTIFACTS, 400, {"filename": "/x", "artifact": {"text": "x"}}),
    bad(
        "saved over metadata",
        "POST",
        ARTIFACTS,
        400,
        {"filename": "metadata.json", "artifact": {"text": "x"}},
    ),
    bad(
        "saved without content",
        "POST",
        ARTIFACTS,
        400,
        {"filename": "x", "artifact": {"inlineData": {}}},
    ),
    bad("saved nothing", "POST", ARTIFACTS, 400, {"filename": "x", "artifact": {}}),
    bad(
        "not base64",
        "POST",
        ARTIFACTS,
        422,
        {"filename": "x", "artifact": {"inlineData": {"data": "%"}}},
    ),
    bad(
        "another's artifact",
        "POST",
        ARTIFACTS,
        400,
        {
            "filename": "x",
            "artifact": {
                "fileData": {
                    "fileUri": "artifact://apps/helper/users/bob/sessions/s/artifacts/x/versions/0"
                }
            },
        },
    ),
    bad("version of the wrong type", "GET", ARTIFACTS + "/a/versions/1.5", 422),
    bad("version past any", "GET", ARTIFACTS + "/a/versions/" + "9" * 5000, 422),
    bad("version in the query past any", "GET", ARTIFACTS + "/a?version=" + "9" * 5000, 422),
    bad("remembered nobody", "PATCH", "/apps/helper/users/ada/memory", 404, {"sessionId": "no"}),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
async def test_bad_input_is_refused(
    case: Bad, client: httpx.AsyncClient, tmp_path: Path, reports: list[Any]
) -> None:
    """The right status, a problem, no path of this machine, nothing reported as a failure."""
    await client.post(SESSIONS + "/one")
    headers = {"content-type": case.type} if case.body is not None and case.type else {}
    answer = await client.request(case.method, case.path, content=case.body, headers=headers)
    assert answer.status_code == case.status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert str(tmp_path) not in answer.text
    assert reports == []
    sessions = (await client.get(SESSIONS)).json()
    assert [session["id"] for session in sessions] == ["one"]
    assert sessions[0]["state"] == {}


async def test_a_chunked_body_over_the_limit_is_refused(client: httpx.AsyncClient) -> None:
    """Nobody said how long it is; it is read up to the limit and no further."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"state":{"a":"'
        while sent < 100:
            sent += 1
            yield b"x" * 1_000_000

    answer = await client.post(
        SESSIONS, content=endless(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413
    assert sent < 12


async def test_json_types_that_clients_send_are_taken(client: httpx.AsyncClient) -> None:
    """A charset, another case, a structured suffix: all JSON."""
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"):
        answer = await client.post(SESSIONS, content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 200


async def test_state_of_other_scopes_is_taken_where_it_is_allowed(
    serve: Callable[..., Any],
) -> None:
    """The operator's word: this prefix, and no other."""
    async with serve(client_state=("user:", "app:theme")) as client:
        state = {"user:plan": "gold", "app:theme": "dark", "own": 1}
        made = await client.post(SESSIONS, json={"state": state})
        assert made.json()["state"] == state
        refused = await client.post(SESSIONS, json={"state": {"app:admin": True}})
        assert refused.status_code == 403


async def test_no_path_of_this_machine_is_told(client: httpx.AsyncClient, tmp_path: Path) -> None:
    """ADK shows where on the disk an artifact is; here it is ADK's own reference to it."""
    await client.post(SESSIONS + "/one")
    for name, scope in (("a.txt", "/sessions/one"), ("user:b.txt", "")):
        saved = await client.post(ARTIFACTS, json={"filename": name, "artifact": {"text": "x"}})
        uri = f"artifact://apps/helper/users/ada{scope}/artifacts/{name}/versions/0"
        assert saved.json()["canonicalUri"] == uri
        for path in ("/versions/0/metadata", "/versions/metadata"):
            answer = await client.get(f"{ARTIFACTS}/{name}{path}")
            assert uri in answer.text
            assert str(tmp_path) not in answer.text


async def test_a_broken_app_harms_nobody_else(
    client: httpx.AsyncClient, reports: list[Any]
) -> None:
    """It is listed, it fails when it is used, the cause is the operator's alone."""
    assert "broken" in (await client.get("/list-apps")).json()
    answer = await client.get("/apps/broken/app-info")
    assert answer.status_code == 500
    assert "secret-in-the-cause" not in answer.text
    assert any("secret-in-the-cause" in report.cause for report in reports)
    detailed = (await client.get("/list-apps?detailed=true")).json()["apps"]
    assert [app["name"] for app in detailed] == ["flow", "helper", "slow", "written"]
    assert [app["language"] for app in detailed] == ["python", "python", "python", "yaml"]
