"""ADK's real `Gemini` live client, over TLS, against a loopback server of both families of models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS
from tests.voice.live_run import runner_of
from tests.voice.loopback import (
    HANDLE,
    Family,
    LoopbackLive,
    certificate,
    serve_gemini_live,
)
from tests.voice.served import Served, served
from tests.voice.turns import streams

from adk_prism.log.entry import RunId
from adk_prism.testing.laws import check_laws

# ADK 2.13 still calls google-genai's `session.send`.
pytestmark = pytest.mark.filterwarnings("ignore:The `session.send` method is deprecated")


@pytest.fixture(params=["2.5", "3.1"])
def family(request: pytest.FixtureRequest) -> Family:
    found: Family = request.param
    return found


@pytest.fixture
async def gemini(
    family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LoopbackLive]:
    files = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    monkeypatch.setenv("GOOGLE_API_KEY", "dummy")
    async with serve_gemini_live(files, family) as found:
        yield found


@pytest.fixture
async def server(gemini: LoopbackLive, family: Family) -> AsyncIterator[Served]:
    model = Gemini(model=f"gemini-{family}-flash-live", base_url=gemini.url)
    runner = runner_of(LlmAgent(name="voice", model=model, tools=list(TOOLS)))
    async with served(runner) as found:
        yield found


async def test_a_whole_conversation(
    server: Served, gemini: LoopbackLive, judge: Judge, family: Family
) -> None:
    """Talk, be heard, approve one call and deny another, interrupt, lose the model, go on."""
    async with server.live("session=s1&audio=binary") as client:
        await client.say("hello")
        finish = await client.until_chunk("finish")
        assert client.text == "You said hello. "
        assert finish["chunk"]["messageMetadata"]["usage"]["totalTokens"] == 9

        await client.send("audio_control", action="start")
        spoken = bytes(range(256)) * 5
        for start in range(0, len(spoken), 640):
            await client.connection.send(spoken[start : start + 640])
        await client.send("audio_control", action="stop")
        await client.until_chunk("finish")
        assert bytes(gemini.sound) == spoken
        heard = client.chunks("data-input-transcription")[-1]["data"]
        assert heard == {"text": "I heard 1280 bytes", "final": True}

        await client.say("pay twice")
        await client.until_chunk("tool-approval-request", 2)
        await client.send("approval", approvalId="approval-c1", approved=True)
        await client.send("approval", approvalId="approval-c2", approved=False)
        await client.until_chunk("finish")
        assert gemini.answers["c1"] == {"paid": 1}
        assert gemini.answers["c2"] == {"error": "This tool call is rejected."}
        assert client.text.endswith("One moment. Paid. ")

        await client.say("talk")
        await client.until_chunk("text-delta", 3)
        await client.send("interrupt")
        await client.until_chunk("finish")
        if family == "3.1":  # such a model is interrupted by what the person says next
            await client.say("stop")
        await client.say("hello again")
        await client.until_text("You said hello again. ")
        await client.until_chunk("finish")

        await client.say("go away")
        async with asyncio.timeout(PATIENCE):
            await gemini.reconnected.wait()
        await client.say("still there")
        await client.until_text("You said still there. ")
        assert gemini.connections[:2] == [None, HANDLE]
        await client.send("close")
        assert (await client.closed())[0] == 1000

    assert HANDLE not in str(client.frames)
    declared = gemini.setups[0]["tools"][0]["functionDeclarations"]
    assert all("behavior" not in tool for tool in declared)
    run = RunId(next(f["run"] for f in client.frames if f["type"] == "session"))
    batches = server.context.log.read(run)
    entries = [entry async for batch in batches for entry in batch]
    assert HANDLE.encode() not in b"".join(repr(entry).encode() for entry in entries)
    assert check_laws(entries) == []
    for stream in streams(entries, "7"):
        verdict = judge(stream, "ai-7")
        assert verdict.ok, f"{verdict.why}\n{stream}"


async def test_a_call_that_is_withdrawn(server: Served, gemini: LoopbackLive) -> None:
    """Whoever is asked about it need not answer any more, and the model is told nothing of it."""
    async with server.live() as client:
        await client.say("pay")
        asked = (await client.until_chunk("tool-approval-request"))["chunk"]
        await client.say("never mind")
        denied = await client.until_chunk("tool-output-denied")
        assert denied["chunk"]["toolCallId"] == asked["toolCallId"] == "c4"
        given = client.chunks("tool-approval-response")[-1]
        assert (given["approved"], given["reason"]) == (False, "The model withdrew the call.")
        await client.until_text("Fine. ")
        await client.send("approval", approvalId=asked["approvalId"], approved=True)
        assert (await client.error())["code"] == "conflict"

        await client.say("pay by mistake")
        await client.until_text("Sorry. ")
        await client.send("close")
        assert (await client.closed())[0] == 1000
    assert gemini.answers == {}
    run = RunId(next(f["run"] for f in client.frames if f["type"] == "session"))
    entries = [entry async for batch in server.context.log.read(run) for entry in batch]
    assert check_laws(entries) == []
