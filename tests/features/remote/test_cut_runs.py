"""Connections to a remote that break: what it stored is not lost, and the run ends with a type."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import pytest
from tests.features.remote.conftest import Fronted
from tests.features.remote.loopback import Loopback, Wire, event, listening

CALL = {"functionCall": {"id": "call-1", "name": "look", "args": {}}}
ANSWER = {"functionResponse": {"id": "call-1", "name": "look", "response": {"seen": "all"}}}
CONFIRM = {
    "functionCall": {
        "id": "ask-1",
        "name": "adk_request_confirmation",
        "args": {
            "originalFunctionCall": {"id": "call-1", "name": "look", "args": {}},
            "toolConfirmation": {"hint": "", "confirmed": False},
        },
    }
}


def content(part: dict[str, object], role: str = "model") -> dict[str, object]:
    return {"role": role, "parts": [part]}


USER = {**event("hi", id="u1"), "author": "user"}
CALLED = event(id="e1", content=content(CALL))
ANSWERED = event(id="e2", content=content(ANSWER, "user"))
DONE = event("All is well.", id="e3", finishReason="STOP")
ASKED = event(id="e4", content=content(CONFIRM), longRunningToolIds=["ask-1"])
OTHER = event("Draft.", id="e5", author="helper")


@pytest.mark.parametrize(
    ("sent", "stored", "ends"),
    [
        ([CALLED], [CALLED, ANSWERED, DONE], ("finished", "")),
        ([], [CALLED, ANSWERED, DONE], ("finished", "")),
        ([CALLED], [CALLED, ANSWERED], ("failed", "owner_lost")),
        ([CALLED], [CALLED], ("failed", "owner_lost")),
        ([], [], ("failed", "owner_lost")),
        ([CALLED], [CALLED, ASKED], ("waiting", "")),
        ([OTHER], [OTHER], ("failed", "owner_lost")),
        ([event("All is", partial=True, id="e3")], [DONE], ("finished", "")),
        ([event("All is", partial=True, id="e3")], [], ("failed", "owner_lost")),
    ],
)
@pytest.mark.parametrize("clean", [False, True], ids=["broken", "ended early"])
async def test_a_cut_run(
    far: Loopback,
    fronted: Fronted,
    sent: list[dict[str, object]],
    stored: list[dict[str, object]],
    ends: tuple[str, str],
    clean: bool,
) -> None:
    """Each event is in the log once; a run ends as it ended there, or as lost."""
    if clean and not (sent and sent[-1].get("partial")):
        return  # A stream that ends after a whole event is a run that ended.

    async def cut(wire: Wire) -> None:
        for each in sent:
            await wire.event(each)
        far.session["events"] = [USER, *stored]
        if clean:
            await wire.end()
        else:
            wire.cut()

    far.run = cut
    async with fronted(far.url) as chat:
        await chat.say()
        assert await chat.outcome() == ends
        run = (await chat.http.get("/api/runs")).json()[0]["run"]
        recording = (await chat.http.get(f"/api/runs/{run}/recording")).text
        events = [json.loads(line).get("event", {}) for line in recording.strip().split("\n")]
        whole = [found["id"] for found in events if found and not found.get("partial")]
        assert whole == [each["id"] for each in stored]
        messages = (await chat.http.get("/api/chat/far/c1/messages")).json()
        assert [m["role"] for m in messages] == ["user", "assistant"]
        if DONE in stored:
            assert "All is well." in str(messages[-1])


async def test_the_next_message_after_a_cut(far: Loopback, fronted: Fronted) -> None:
    """Events of an earlier run are not taken for those of the next."""

    async def whole(wire: Wire) -> None:
        await wire.event(DONE)
        far.session["events"] = [USER, DONE]
        await wire.end()

    async def cut(wire: Wire) -> None:
        far.session["events"] += [{**USER, "id": "u2", "invocationId": "i2"}]
        wire.cut()

    async with fronted(far.url) as chat:
        far.run = whole
        await chat.say()
        far.run = cut
        await chat.say("again", message="m2")
        assert await chat.outcome() == ("failed", "owner_lost")
        messages = (await chat.http.get("/api/chat/far/c1/messages")).json()
        assert str(messages).count("All is well.") == 1
        assert [m["role"] for m in messages] == ["user", "assistant"] * 2


async def test_nothing_is_followed_elsewhere(far: Loopback, fronted: Fronted) -> None:
    """The session is read from the remote with each run; a run is one request to it."""
    async with fronted(far.url) as chat:
        await chat.say()
        assert len(far.ran()) == 1
        sent = far.ran()[0].body
        assert sent["newMessage"] == {"parts": [{"text": "hi"}], "role": "user"}
        assert set(sent) == {"appName", "userId", "sessionId", "streaming", "newMessage"}


async def test_a_remote_that_restarts(fronted: Fronted) -> None:
    """It is asked until it is back; what it stored meanwhile is in the run, and viewers wait for it."""
    far = Loopback()
    cut = asyncio.Event()

    async def die(wire: Wire) -> None:
        await wire.event(event("All is", partial=True, id="e3"))
        wire.cut()
        cut.set()

    far.run = die
    async with AsyncExitStack() as first:
        await first.enter_async_context(listening(far))
        async with fronted(far.url) as chat:
            asked = asyncio.create_task(chat.say())
            await cut.wait()
            await first.aclose()
            far.session["events"] = [USER, DONE]
            async with listening(far, far.port):
                answer = await asked
            assert await chat.outcome() == ("finished", "")
            assert "well." in answer.text
