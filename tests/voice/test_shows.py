"""A whole conversation from one end to the other, with each kind of model, and then from its recording."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.conformance.worker import Worker, running
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.loopback import certificate, serve_gemini_live
from tests.voice.served import Client, Served, served
from tests.voice.turns import chunks, streams

from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Entry
from adk_prism.models.scripted_live import tone
from adk_prism.protocols.registry import protocol

if TYPE_CHECKING:
    from tests.conftest import Node

# ADK 2.13 still calls google-genai's `session.send`.
pytestmark = pytest.mark.filterwarnings("ignore:The `session.send` method is deprecated")

MODELS = ("scripted", "2.5", "3.1")


@pytest.fixture(scope="module")
def studio(node: Node) -> Iterator[Worker]:
    """The client of the Studio protocol."""
    with running(node.binary, node.folder / "studio.mjs") as worker:
        yield worker


@asynccontextmanager
async def serving(
    model: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Served]:
    """Serve an agent with the offline model, or with ADK's Gemini and a loopback server."""
    if model == "scripted":
        async with served(runner_of(scripted_agent(script, TOOLS, delay=0.002))) as found:
            yield found
        return
    files = certificate(folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    monkeypatch.setenv("GOOGLE_API_KEY", "dummy")
    async with serve_gemini_live(files, model) as gemini:  # type: ignore[arg-type]  # a family
        real = Gemini(model=f"gemini-{model}-flash-live", base_url=gemini.url)
        agent = LlmAgent(name="voice", model=real, tools=list(TOOLS))
        async with served(runner_of(agent)) as found:
            yield found


async def talk(client: Client) -> None:
    """Write, and hear the answer."""
    await client.say("hello")
    finish = await client.until_chunk("finish")
    audio = finish["chunk"]["messageMetadata"]["audio"]
    assert client.text.rstrip() == "You said hello."
    assert (audio["chunks"], audio["bytes"]) == (3, sum(map(len, client.sound)))
    assert audio["duration"] == pytest.approx(audio["bytes"] / 2 / audio["sampleRate"], abs=0.01)


async def speak(client: Client) -> None:
    """Be heard, and written down."""
    await client.send("audio_control", action="start")
    sound = tone(440, 500, 16_000)
    for start in range(0, len(sound), 640):
        await client.connection.send(sound[start : start + 640])
    await client.send("audio_control", action="stop")
    await client.until_chunk("finish")
    heard = client.chunks("data-input-transcription")[-1]["data"]
    assert heard["final"]
    assert heard["text"] in ("voice: 0.5 seconds of sound near 440 Hz", "I heard 16000 bytes")


async def approve_and_deny(client: Client) -> None:
    """Of two calls at once, one runs and the other does not."""
    await client.say("pay twice")
    await client.until_chunk("tool-approval-request", 2)
    await client.send("approval", approvalId="approval-c2", approved=False, reason="too much")
    await client.send("approval", approvalId="approval-c1", approved=True)
    await client.until_chunk("finish")
    (paid,) = client.chunks("tool-output-available")
    assert (paid["toolCallId"], paid["output"]) == ("c1", {"paid": 1})
    assert [chunk["toolCallId"] for chunk in client.chunks("tool-output-denied")] == ["c2"]


async def answer(client: Client) -> None:
    """Run a tool of the client's."""
    await client.say("place")
    called = (await client.until_chunk("tool-input-available"))["chunk"]
    await client.send("tool_result", toolCallId=called["toolCallId"], result={"lat": 1})
    await client.until_chunk("finish")
    assert client.chunks("tool-output-available")[-1]["output"] == {"lat": 1}


async def interrupt(client: Client) -> None:
    """Cut it off in the middle of a word."""
    await client.say("talk")
    await client.until_chunk("text-delta", 3)
    await client.send("interrupt")
    finish = await client.until_chunk("finish")
    assert finish["chunk"]["messageMetadata"]["interrupted"] is True


async def begin_to_listen(client: Client) -> str:
    """Let it speak, and vanish; return how far it came."""
    await client.say("stop")  # a model that only speech interrupts is interrupted by this
    await client.say("talk")
    words = len(client.chunks("text-delta"))
    while len(client.chunks("text-delta")) < words + 20:
        seen = (await client.until_chunk("text-delta"))["position"]
    client.connection.transport.abort()
    return str(seen)


async def finish(client: Client) -> None:
    """Hear more of the same, and end it."""
    await client.until_chunk("text-delta", 3)
    await client.send("interrupt")
    await client.until_chunk("finish")
    await client.send("close")
    assert (await client.closed())[0] == 1000


@pytest.mark.parametrize("model", MODELS)
async def test_all_of_it(
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    judge: Judge,
    studio: Worker,
) -> None:
    """Talk, be transcribed, hear, approve and deny, run a tool, interrupt, drop, come back, replay."""
    async with serving(model, tmp_path, monkeypatch) as server:
        async with server.live("session=s1&audio=binary") as client:
            for step in (talk, speak, approve_and_deny, answer, interrupt):
                await step(client)
            seen = await begin_to_listen(client)
        async with server.live(f"session=s1&audio=binary&after={seen}") as back:
            await finish(back)
        run = client.frames[0]["run"]
        assert back.frames[0] == {"type": "session", "run": run, "session": "s1", "after": seen}
        recording = await fetch(server, f"/api/runs/{run}/recording?modelCalls=true")
        streamed = await fetch(server, f"/api/runs/{run}/stream?as=ai-sdk&dialect=7")
    entries = list(read_run(io.BytesIO(recording)))
    check_replays(entries, streamed, judge, studio)
    told = [c for c in client.chunks() if frame_is_kept(c)] + back.chunks()
    assert told == [c for c in chunks(entries) if frame_is_kept(c)]


def frame_is_kept(chunk: dict[str, Any]) -> bool:
    """Sound goes past the frames of the log."""
    return chunk["type"] != "data-pcm"


async def fetch(server: Served, path: str) -> bytes:
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        return (await http.get(path)).raise_for_status().content


def check_replays(entries: list[Entry], streamed: bytes, judge: Judge, studio: Worker) -> None:
    """What the recording gives is what was streamed, and the real clients of both protocols take it."""
    assert b"".join(replay(entries, protocol("ai-sdk").format("7"))) == streamed
    messages = streams(entries, "7")
    assert len(messages) >= 6
    for message in messages:
        verdict = judge(message, "ai-7")
        assert verdict.ok, f"{verdict.why}\n{message}"
    for message in streams(entries, "6"):
        verdict = judge(message, "ai-6")
        assert verdict.ok, f"{verdict.why}\n{message}"
    body = b"".join(replay(entries, protocol("studio").format()))
    state = studio.ask({"op": "reduce", "stream": base64.b64encode(body).decode()})["state"]
    assert state["sessionId"] == "s1"
    assert "You said hello." in state["text"]
    assert state["error"] is None
