"""What people think of an answer: given, replaced, taken back, found again; nonsense is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.scripted import Scripted
from tests.security.people import ANN, BOB, ROOT, headers, house
from tests.server.answering import chunks
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism.features.feedback.feedback import LONGEST_COMMENT


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    async with local_server(agent(Scripted.saying("One.", "Two.", "Three."))) as made:
        yield made


async def give(server: LocalServer, run: str, **body: Any) -> httpx.Response:
    return await server.client.post(f"/api/runs/{run}/feedback", json=body)


async def given(server: LocalServer, run: str) -> list[Any]:
    found = (await server.client.get(f"/api/runs/{run}/feedback")).json()
    return [(each["messageId"], each["score"], each["comment"], each["by"]) for each in found]


async def found(server: LocalServer, feedback: str) -> list[str]:
    answer = await server.client.get("/api/runs", params={"feedback": feedback})
    assert answer.status_code == 200, answer.text
    return [each["run"] for each in answer.json()]


async def test_feedback_is_kept_replaced_and_taken_back(server: LocalServer) -> None:
    """One for each message; thumbs in every spelling; a search knows at once."""
    one, two = await server.say("1"), await server.say("2", "other")
    assert await given(server, one) == []
    for score, kept in ((True, 1), ("up", 1), (1, 1), (0.25, 0.25), (0, 0), (False, -1)):
        answer = await give(server, one, score=score, messageId=one)
        assert (answer.status_code, answer.json()["score"]) == (200, kept), answer.text
    assert (await give(server, one, score="down", comment="Too short ✂")).json()["time"] > 0
    assert await given(server, one) == [(one, -1, "Too short ✂", "user")]
    assert (await found(server, "down"), await found(server, "none")) == ([one], [two])
    assert (await found(server, "any"), await found(server, "up")) == ([one], [])
    chat = await server.client.get(f"/api/chat/{APP}/{SESSION}/feedback")
    assert [(each["run"], each["score"]) for each in chat.json()] == [(one, -1)]
    for _ in range(2):
        assert (await give(server, one, score=None)).json()["score"] is None
    assert await given(server, one) == []
    assert await found(server, "none") == [two, one]


BAD: tuple[tuple[dict[str, Any], int, str], ...] = (
    ({}, 422, "score"),
    ({"score": 5}, 400, "from -1"),
    ({"score": "great"}, 400, "'great'"),
    ({"score": [1]}, 400, "a list"),
    ({"score": 1, "comment": "x" * (LONGEST_COMMENT + 1)}, 413, str(LONGEST_COMMENT)),
    ({"score": 1, "comment": {"x": 1}}, 422, "comment"),
    ({"score": 1, "messageId": "nobody's"}, 404, "nobody's"),
)


async def test_nonsense_is_refused_and_changes_nothing(server: LocalServer) -> None:
    """The answer says what was wrong."""
    run, other = await server.say("1"), await server.say("2", "other")
    for body, status, words in (*BAD, ({"score": 1, "messageId": other}, 404, other[:20])):
        answer = await give(server, run, **body)
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
    json = {"content-type": "application/json"}
    for content in (b'{"score": NaN}', b'{"score": 1e999}', b"[", b'{"score": "\\ud800"}'):
        url = f"/api/runs/{run}/feedback"
        assert (await server.client.post(url, content=content, headers=json)).status_code == 400
    assert (await give(server, "run-nobody", score=1)).status_code == 404
    assert (await server.client.get("/api/runs/run-nobody/feedback")).status_code == 404
    assert (await server.client.get("/api/runs?feedback=best")).status_code == 400
    assert await given(server, run) == []


async def test_the_ids_of_every_protocol_name_an_answer(server: LocalServer) -> None:
    """The id that a client was sent is taken, whichever protocol it speaks."""
    run = await server.say("1")
    for protocol in ("ai-sdk", "ag-ui"):
        stream = await server.client.get(f"/api/runs/{run}/stream", params={"as": protocol})
        ids = {frame["messageId"] for frame in chunks(stream) if "messageId" in frame}
        assert ids
        for name in ids:
            assert (await give(server, run, score=1, messageId=name)).status_code == 200, name


async def test_each_person_has_a_say(tmp_path: Path) -> None:
    """The user and an administrator do not replace each other's; only the latter sees both."""
    async with house(tmp_path) as made:
        url = f"/api/runs/{made.bobs.run}/feedback"
        for user, score in ((BOB, 1), (ROOT, -1)):
            sent = await made.client.post(url, json={"score": score}, headers=headers(user))
            assert sent.json()["by"] == user
        seen = {
            user: [
                each["by"] for each in (await made.client.get(url, headers=headers(user))).json()
            ]
            for user in (BOB, ROOT)
        }
        assert seen == {BOB: [BOB], ROOT: sorted([BOB, ROOT])}
        assert (await made.client.get(url, headers=headers(ANN))).status_code == 404
        recording = await made.client.get(
            f"/api/runs/{made.bobs.run}/recording", headers=headers(BOB)
        )
        assert "feedback" not in recording.text
