"""`WS /api/live/{app}` as its clients see it: a real server, real sockets."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Served, served
from websockets.exceptions import InvalidStatus

from adk_prism.models.scripted_live import tone


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served(runner_of(scripted_agent(script, TOOLS))) as found:
        yield found


def slow(**changes: Any) -> Any:
    """A server whose model takes its time between two words."""
    return served(runner_of(scripted_agent(script, TOOLS, delay=0.002)), **changes)


async def test_a_typed_conversation(server: Served) -> None:
    """Each turn is a message; each chunk has its place; the sound is heard, and counted."""
    async with server.live() as client:
        await client.say("hello")
        finish = await client.until_chunk("finish")
        assert client.text == "You said hello."
        told = client.chunks("data-pcm")
        assert {key: told[0]["data"][key] for key in ("sampleRate", "channels", "bitDepth")} == {
            "sampleRate": 24000,
            "channels": 1,
            "bitDepth": 16,
        }
        heard = b"".join(base64.b64decode(chunk["data"]["content"]) for chunk in told)
        audio = finish["chunk"]["messageMetadata"]["audio"]
        assert (audio["chunks"], audio["bytes"]) == (len(told), len(heard))
        assert all(chunk["transient"] for chunk in told)
        await client.say("again")
        await client.until_chunk("finish")
        starts = client.chunks("start")
        assert len({chunk["messageId"] for chunk in starts}) == 2
        positions = [frame["position"] for frame in client.frames if frame["type"] == "chunk"]
        assert all(positions)


async def test_each_spoken_answer_has_its_own_feedback(server: Served) -> None:
    """A live run has many answers: their ids are taken, the user's words are not answers."""
    async with server.live() as client:
        for text in ("hello", "again"):
            await client.say(text)
            await client.until_chunk("finish")
        run = next(f["run"] for f in client.frames if f["type"] == "session")
        ids = [chunk["messageId"] for chunk in client.chunks("start")]
    url = f"/api/runs/{run}/feedback"
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        for name, score in zip(ids, (1, -1), strict=True):
            given = await http.post(url, json={"messageId": name, "score": score})
            assert given.status_code == 200, given.text
        kept = (await http.get(url)).json()
        assert {each["messageId"]: each["score"] for each in kept} == dict(
            zip(ids, (1, -1), strict=True)
        )
        refused = await http.post(url, json={"messageId": f"{run}-user", "score": 1})
        assert refused.status_code == 404


async def test_binary_sound_both_ways(server: Served) -> None:
    """The efficient form: raw sound up and down, its format told before."""
    async with server.live("session=s1&audio=binary") as client:
        await client.send("audio_control", action="start")
        spoken = tone(440, 600, 16_000)
        for start in range(0, len(spoken), 640):
            await client.connection.send(spoken[start : start + 640])
        await client.send("audio_control", action="stop")
        finish = await client.until_chunk("finish")
        heard = client.chunks("data-input-transcription")[-1]["data"]
        assert heard == {"text": "voice: 0.6 seconds of sound near 440 Hz", "final": True}
        told = [frame for frame in client.frames if frame["type"] == "audio"]
        assert told == [{"type": "audio", "sampleRate": 24000, "channels": 1, "bitDepth": 16}]
        assert not client.chunks("data-pcm")
        total = finish["chunk"]["messageMetadata"]["audio"]["bytes"]
        assert sum(map(len, client.sound)) == total


async def test_speech_in_base64(server: Served) -> None:
    """The seeds' form: one JSON message for each piece."""
    async with server.live() as client:
        await client.send("audio_control", action="start")
        for start in range(0, 16_000, 640):
            piece = base64.b64encode(tone(300, 500, 16_000)[start : start + 640]).decode()
            form = {"sampleRate": 16000, "channels": 1, "bitDepth": 16}
            await client.send("audio_chunk", chunk=piece, **form)
        await client.send("audio_control", action="stop")
        await client.until_chunk("finish")
        assert "near 300 Hz" in client.text


async def test_push_to_talk(server: Served) -> None:
    """The client says when speech begins and ends; a pause in it ends nothing."""
    async with server.live("session=s1&turns=manual") as client:
        await client.send("audio_control", action="start")
        for piece in (tone(200, 300, 16_000), b"\0\0" * 16_000, tone(200, 300, 16_000)):
            await client.connection.send(piece)
        await client.send("audio_control", action="stop")
        await client.until_chunk("finish")
        assert "1.6 seconds" in client.text


async def test_approve_deny_and_a_tool_of_the_client(server: Served) -> None:
    """At the same time, while the agent can be talked to."""
    async with server.live() as client:
        await client.say("pay twice")
        await client.until_chunk("tool-approval-request", 2)
        asked = {c["toolCallId"]: c["approvalId"] for c in client.chunks("tool-approval-request")}
        await client.send("approval", approvalId=asked["c1"], approved=True)
        await client.send("approval", approvalId=asked["c2"], approved=False, reason="no")
        await client.until_chunk("finish")
        (paid,) = client.chunks("tool-output-available")
        assert (paid["toolCallId"], paid["output"]) == ("c1", {"paid": 1})
        assert [c["toolCallId"] for c in client.chunks("tool-output-denied")] == ["c2"]
        await client.say("place")
        called = await client.until_chunk("tool-input-available")
        await client.send("tool_result", toolCallId=called["chunk"]["toolCallId"], result=0)
        await client.until_chunk("finish")
        assert client.chunks("tool-output-available")[-1]["output"] == {"result": 0}


async def test_approvals_for_an_older_client(server: Served, judge: Judge) -> None:
    """Dialect 6 has no answer in a stream: the question is a part of its own, which tells how it went."""
    async with server.live("session=s1&dialect=6") as client:
        await client.say("pay twice")
        await client.until_chunk("data-approval-request", 2)
        asked = {c["data"]["toolCallId"]: c["data"] for c in client.chunks("data-approval-request")}
        await client.send("approval", approvalId=asked["c1"]["approvalId"], approved=True)
        await client.send("approval", approvalId=asked["c2"]["approvalId"], approved=False)
        await client.until_chunk("finish")
        assert client.chunks("tool-approval-request", "tool-output-denied") == []
        (paid,) = client.chunks("tool-output-available")
        assert (paid["toolCallId"], paid["output"]) == ("c1", {"paid": 1})
        assert [c["toolCallId"] for c in client.chunks("tool-output-error")] == ["c2"]
        kept = [c for c in client.chunks() if c["type"] != "data-pcm"]  # which has a way of its own
        told = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in kept)
    verdict = judge(told + "data: [DONE]\n\n", "ai-6")
    assert verdict.ok, verdict.why


async def test_answers_in_a_message(server: Served) -> None:
    """What the stock client makes of an approval: the assistant's message, sent back."""
    async with server.live() as client:
        await client.say("pay")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        part = {
            "type": "tool-pay",
            "toolCallId": asked["toolCallId"],
            "state": "approval-responded",
            "input": {"amount": 1},
            "approval": {"id": asked["approvalId"], "approved": True},
        }
        message = {"id": "m", "role": "assistant", "parts": [part]}
        await client.send("message", id="s1", messages=[message], trigger="submit-message")
        done = await client.until_chunk("tool-output-available")
        assert done["chunk"]["output"] == {"paid": 1}


async def test_interrupt_interrupts() -> None:
    """The message ends at once, the sound stops, and the agent listens again."""
    async with slow() as server, server.live() as client:
        await client.say("talk")
        await client.until_chunk("text-delta", 5)
        await client.send("interrupt", reason="user_abort")
        finish = await client.until_chunk("finish")
        assert finish["chunk"]["messageMetadata"]["interrupted"] is True
        await client.say("hello")
        await client.until_chunk("start")
        words = len(client.text.split())
        assert words < 1000
        await client.until_chunk("finish")
        assert client.text.endswith("You said hello.")


async def test_drop_come_back_and_go_on() -> None:
    """The run waits, goes on, and gives back exactly what the client has not seen."""
    async with slow() as server:
        async with server.live() as client:
            await client.say("talk")
            seen = (await client.until_chunk("text-delta", 5))["position"]
            run = next(f["run"] for f in client.frames if f["type"] == "session")
            client.connection.transport.abort()
        before = client.text
        async with server.live(f"session=s1&after={seen}") as back:
            session = await back.until(lambda frame: frame["type"] == "session")
            assert (session["run"], session["after"]) == (run, seen)
            await back.until_chunk("text-delta", 5)
            await back.send("interrupt")
            await back.until_chunk("finish")
            words = (before + back.text).split()
            assert words == [f"word{n}" for n in range(len(words))]
            await back.send("close")
            assert (await back.closed())[0] == 1000
        shown = await _get(server, f"/api/runs/{run}")
        assert shown["outcome"] == "finished"
        for protocol in ("adk", "ai-sdk", "studio", "ag-ui"):
            assert await _stream(server, f"/api/runs/{run}/stream?as={protocol}")


async def _get(server: Served, path: str) -> Any:
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        return (await http.get(path)).raise_for_status().json()


async def _stream(server: Served, path: str) -> str:
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        return (await http.get(path)).raise_for_status().text


async def test_a_client_that_does_not_come_back() -> None:
    """The run ends by itself after the grace."""
    async with served(runner_of(scripted_agent(script, TOOLS)), live_grace=0.05) as server:
        async with server.live() as client:
            await client.say("hello")
            await client.until_chunk("finish")
            run = next(f["run"] for f in client.frames if f["type"] == "session")
        await server.context.runs.wait(run)
        assert (await _get(server, f"/api/runs/{run}"))["outcome"] == "finished"
        async with server.live() as again:
            await again.say("hello")
            await again.until_chunk("finish")
            assert next(f["run"] for f in again.frames if f["type"] == "session") != run


async def test_the_messages_are_kept(server: Served) -> None:
    """A page that is loaded later shows both sides, under the ids that were streamed."""
    async with server.live() as client:
        await client.say("hello")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()
    told = await _get(server, "/api/chat/app/s1/messages")
    assert [(m["id"], m["role"]) for m in told] == [
        ("m-hello", "user"),
        (client.chunks("start")[0]["messageId"], "assistant"),
    ]
    (spoken,) = [part for part in told[1]["parts"] if part["type"] == "text"]
    assert spoken["text"] == "You said hello."
    assert told[1]["metadata"]["audio"]["chunks"] == 3


@pytest.mark.parametrize(("second", "code"), [("takeover", 4001), ("refuse", 4009)])
async def test_one_client_a_session(second: str, code: int) -> None:
    """A second one takes the line, or is refused, as the operator has set."""
    async with (
        served(runner_of(scripted_agent(script, TOOLS)), live_busy=second) as server,
        server.live() as first,
        server.live("session=s2") as other,
    ):
        await first.say("hello")
        await first.until_chunk("finish")
        await other.say("hello", "s2")
        await other.until_chunk("finish")
        async with server.live() as late:
            loser, winner = (first, late) if second == "takeover" else (late, first)
            assert (await loser.closed())[0] == code
            await winner.say("still here")
            while not winner.text.endswith("You said still here."):
                await winner.until_chunk("text-delta")


@dataclass(frozen=True)
class Bad:
    """A message that no client means, and the code that it is answered with."""

    id: str
    sent: str | bytes
    code: str = "unprocessable"


def frame(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


SOUND = base64.b64encode(b"\0\0" * 320).decode()
BAD = (
    Bad("not JSON", "{", "usage-error"),
    Bad("not an object", "[]"),
    Bad("no type", "{}"),
    Bad("an unknown type", frame("dance")),
    Bad("a message without text", frame("message", id="s1", messages=[])),
    Bad("a message of nobody", frame("message", id="s1", messages=[{"role": "system"}])),
    Bad("a forged result in a message", frame("message", id="../x", text="hi"), "usage-error"),
    Bad("a regeneration", frame("message", id="s1", trigger="regenerate-message")),
    Bad("wrong base64", frame("audio_chunk", chunk="?!")),
    Bad("half a sample", frame("audio_chunk", chunk="AAAA")),
    Bad("no sound at all", frame("audio_chunk", chunk="")),
    Bad("a wrong sample rate", frame("audio_chunk", chunk=SOUND, sampleRate=44100)),
    Bad("stereo", frame("audio_chunk", chunk=SOUND, channels=2)),
    Bad("sound before the start", frame("audio_chunk", chunk=SOUND)),
    Bad("binary sound before the start", b"\0\0"),
    Bad("odd binary sound", b"\0"),
    Bad("too much sound", b"\0" * 70_000, "too-large"),
    Bad("an unknown action", frame("audio_control", action="pause")),
    Bad("an answer to nothing", frame("approval", approvalId="a", approved=True)),
    Bad("an answer without a decision", frame("approval", approvalId="a")),
    Bad("a result of no call", frame("tool_result", toolCallId="c9", result=1)),
    Bad("an interruption of nobody", frame("interrupt")),
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
async def test_a_bad_message_ends_nothing(server: Served, bad: Bad) -> None:
    """It is answered with an error, and the conversation goes on."""
    async with server.live("") as client:
        await client.connection.send(bad.sent)
        assert (await client.error())["code"] == bad.code
        await client.say("hello")
        await client.until_chunk("finish")
        await client.connection.send(bad.sent)
        await client.send("ping", timestamp=7)
        assert await client.until(lambda f: f["type"] == "pong") == {"type": "pong", "timestamp": 7}


FORGED = (
    frame("approval", approvalId="approval-c9", approved=True),
    frame("tool_result", toolCallId="c9", result={"paid": 1}),
)


@pytest.mark.parametrize("sent", FORGED)
async def test_a_forged_answer_reaches_nobody(server: Served, sent: str) -> None:
    """Also while another call waits."""
    async with server.live() as client:
        await client.say("pay")
        await client.until_chunk("tool-approval-request")
        await client.connection.send(sent)
        assert (await client.error())["code"] == "not-found"
        await client.send("approval", approvalId="approval-c1", approved=True)
        await client.until_chunk("tool-output-available")
        await client.send("approval", approvalId="approval-c1", approved=False)
        assert (await client.error())["code"] == "conflict"


async def test_nothing_but_mistakes(server: Served) -> None:
    """Whoever does not listen to errors is not listened to."""
    async with server.live() as client:
        for _ in range(60):
            await client.connection.send("{")
        assert await client.closed() == (1008, "only invalid messages")


async def test_a_flood_of_pings(server: Served) -> None:
    """Is answered up to a point."""
    async with server.live() as client:

        async def flood() -> None:
            for number in range(5000):
                await client.send("ping", timestamp=number)

        flooding = asyncio.create_task(flood())
        assert await client.closed() == (1008, "too many messages")
        await asyncio.wait([flooding])
        flooding.exception()  # it may have noticed, or have been done


REFUSED = {
    "/api/live/nobody": 404,
    "/api/live/app?dialect=4": 400,
    "/api/live/app?after=x": 400,
    "/api/live/app?session=a/b": 400,
    "/api/live/app?modality=video": 403,
}


@pytest.mark.parametrize("path", REFUSED)
async def test_a_refused_handshake(server: Served, path: str) -> None:
    """What cannot be is said before the socket is open."""
    from websockets.asyncio.client import connect

    with pytest.raises(InvalidStatus) as refused:
        await connect(server.url.replace("http", "ws") + path, open_timeout=PATIENCE)
    assert refused.value.response.status_code == REFUSED[path]


async def test_going_down() -> None:
    """Clients are told to come back, and the runs are ended."""
    async with slow() as server:
        async with server.live() as client:
            await client.say("talk")
            await client.until_chunk("text-delta")
            run = next(f["run"] for f in client.frames if f["type"] == "session")
            await server.context.lifecycle.drain(2.0)
            assert (await client.closed())[0] == 1012
        summary = await server.context.log.summary(run)
        assert summary.outcome == "finished"


async def test_a_failed_run_is_told() -> None:
    """The client is told that it failed, the operator why."""

    def broken(_: Any) -> Any:
        raise RuntimeError("a secret")

    async with served(runner_of(scripted_agent(broken, []))) as server:
        async with server.live() as client:
            await client.say("hello")
            assert (await client.closed())[0] == 1011
            (error,) = client.chunks("error")
            assert error["errorText"].startswith("The run failed (RuntimeError).")
            assert "a secret" not in json.dumps(client.frames)
        assert any("a secret" in report.cause for report in server.reports)


async def test_a_message_is_said_once(server: Served) -> None:
    """A client that came back may send a message again, not knowing that it had arrived."""
    async with server.live() as client:
        await client.say("hello")
        await client.until_chunk("finish")
        await client.say("hello")
        await client.say("more")
        await client.until_chunk("finish")
        assert client.text == "You said hello.You said more."


async def test_what_was_said_has_names_of_its_own(server: Served) -> None:
    """In one chat, over several runs; and the chat is known by the first words."""
    for _ in range(2):
        async with server.live("session=s1&audio=binary") as client:
            await client.send("audio_control", action="start")
            await client.connection.send(tone(440, 600, 16_000))
            await client.send("audio_control", action="stop")
            await client.until_chunk("finish")
            await client.send("close")
            await client.closed()
    told = await _get(server, "/api/chat/app/s1/messages")
    names = [message["id"] for message in told]
    assert len(names) == len(set(names)) == 4
    [listed] = await _get(server, "/api/conversations")
    assert listed["title"] == "voice: 0.6 seconds of sound near 440 Hz"
