"""State that is not a session's own: no route lets a client write it."""

from __future__ import annotations

from typing import Any

from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

RESERVED = ("app:admin", "user:plan", "temp:now", "_adk_x")
Json = dict[str, Any]


async def written(server: LocalServer, run: str, key: str) -> dict[str, tuple[int, str]]:
    """Try to write a key by every route that takes state; return what each answered."""
    base = f"/apps/{APP}/users/{USER}/sessions"
    where = {"appName": APP, "userId": USER, "sessionId": SESSION}
    said = {"role": "user", "parts": [{"text": "hello"}]}
    delta = {key: "written"}
    requests: list[tuple[str, str, Json]] = [
        ("POST", base, {"state": delta}),
        ("POST", base, {"events": [{"author": "user", "actions": {"stateDelta": delta}}]}),
        ("POST", f"{base}/named-{abs(hash(key))}", delta),
        ("PATCH", f"{base}/{SESSION}", {"stateDelta": delta}),
        ("POST", "/run", {**where, "newMessage": said, "stateDelta": delta}),
        ("POST", "/run_sse", {**where, "newMessage": said, "stateDelta": delta}),
        ("POST", "/run_sse", {**where, "newMessage": {"parts": []}, "stateDelta": delta}),
        ("POST", f"/api/runs/{run}/fork", {"at": 1, "stateDelta": delta, "newMessage": said}),
    ]
    answers = {}
    for number, (method, path, body) in enumerate(requests):
        answer = await server.client.request(method, path, json=body)
        answers[f"{number} {method} {path}"] = (answer.status_code, answer.text)
    return answers


async def test_reserved_state_is_not_a_clients() -> None:
    """Refused by each, and there is nothing of it afterwards: not here, not for anybody else."""
    async with local_server(agent(Scripted())) as server:
        run = await server.say("hello")
        for key in RESERVED:
            for route, (status, text) in (await written(server, run, key)).items():
                assert status in (400, 403), (key, route, text)
            assert key not in (await server.session())["state"]
        other = await server.client.post(f"/apps/{APP}/users/other/sessions", json={})
        assert "written" not in other.text
