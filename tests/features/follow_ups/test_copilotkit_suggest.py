"""CopilotKit's page asks for suggestions with the messages of its thread, and gets those that were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.adk.scripted import Scripted
from tests.security.people import ANN, BOB, headers, token_file
from tests.server.ag_ui.thread import events, run_input, user
from tests.server.local_server import APP, LocalServer, agent, local_server

from adk_prism import suggest_follow_ups

BASE = "/api/copilotkit"
MORE = suggest_follow_ups(lambda _: ["And then?", "Why?"])


def asked(*messages: Any) -> Any:
    """Return what `@copilotkit/core` 1.74 sends: the thread's messages, and what it wants."""
    wanted = {"id": "s1", "role": "user", "content": "Suggest what the user could say next."}
    choice = {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}}
    return run_input(*messages, wanted, run="r9", thread="s1", forwardedProps=choice)


async def answered(server: LocalServer, **more: Any) -> list[Any]:
    """Say something as the page does; return the messages of the thread."""
    body = run_input(user("Hi"), run="r1", protocolVersion=None)
    found = events(await server.client.post(f"{BASE}/agent/{APP}/run", json=body, **more))
    [name] = {event["messageId"] for event in found if event["type"] == "TEXT_MESSAGE_START"}
    return [user("Hi"), {"id": name, "role": "assistant", "content": "One."}]


async def suggestions(server: LocalServer, *messages: Any, **more: Any) -> list[str]:
    url = f"{BASE}/agent/{APP}/suggest"
    found = events(await server.client.post(url, json=asked(*messages), **more))
    assert [found[0]["type"], found[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
    given = "".join(event["delta"] for event in found if event["type"] == "TOOL_CALL_ARGS")
    return [each["message"] for each in json.loads(given)["suggestions"]] if given else []


async def test_a_page_gets_the_suggestions_of_the_last_answer() -> None:
    """No agent runs for them, and no session is made."""
    model = Scripted.saying("One.", "Two.")
    async with local_server(agent(model), plugins=[MORE]) as server:
        assert (await server.client.get(f"{BASE}/info")).json()["suggestions"] is True
        thread = await answered(server)
        assert await suggestions(server, *thread) == ["And then?", "Why?"]
        assert len(model.requests) == 1
        assert len(await server.context.log.list()) == 1
        await server.say("On")
        assert await suggestions(server, *thread) == []  # The page does not show the last answer.


async def test_what_names_no_answer_has_none() -> None:
    """Neither nonsense nor the answer of somebody else."""
    async with local_server(agent(Scripted.saying("One.")), plugins=[MORE]) as server:
        for name in ("", "x", "run-nobody-text-1.0", 7, None, "x" * 5000):
            message = {"id": name, "role": "assistant", "content": "One."}
            assert await suggestions(server, message) == []
        for body in ({}, {"threadId": 1, "runId": "r"}, {"threadId": "t"}):
            url = f"{BASE}/agent/{APP}/suggest"
            assert (await server.client.post(url, json=body)).status_code == 400


async def test_nobody_gets_those_of_others(tmp_path: Path) -> None:
    """Whose answer it is decides, not who knows its id."""
    made = agent(Scripted.saying("One."))
    async with local_server(made, plugins=[MORE], tokens=token_file(tmp_path)) as server:
        thread = await answered(server, headers=headers(BOB))
        assert await suggestions(server, *thread, headers=headers(BOB)) == ["And then?", "Why?"]
        assert await suggestions(server, *thread, headers=headers(ANN)) == []


async def test_without_the_feature_the_runtime_says_so() -> None:
    async with local_server(agent(Scripted.saying()), without=("follow_ups",)) as server:
        assert (await server.client.get(f"{BASE}/info")).json()["suggestions"] is False
        answer = await server.client.post(f"{BASE}/agent/{APP}/suggest", json=asked())
        assert answer.status_code in (404, 405)
