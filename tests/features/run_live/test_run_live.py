"""`WS /run_live`: what ADK's own clients send and read, compared with ADK's own server."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.events.event import Event
from google.genai import types
from tests.adk.app_folders import restored, write_app
from tests.patience import PATIENCE
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from adk_prism.models.scripted_live import tone
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]"),
    pytest.mark.filterwarnings("ignore:Please use create_session instead"),
    pytest.mark.filterwarnings("ignore:.* is deprecated"),
]

APP = "prism_test_talker"
AGENT = """
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import scripted_agent
root_agent = scripted_agent(script, TOOLS)
"""
QUERY = f"app_name={APP}&user_id=user&session_id=s1"


class AdkClient:
    """A client as ADK's own are: LiveRequests up, events down."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.events: list[Event] = []

    async def send(self, request: LiveRequest) -> None:
        await self.connection.send(request.model_dump_json(exclude_none=True))

    async def say(self, text: str) -> None:
        await self.send(LiveRequest(content=types.UserContent(text)))

    async def until(self, wanted: Callable[[Event], object]) -> Event:
        while True:
            async with asyncio.timeout(PATIENCE):
                self.events.append(Event.model_validate_json(await self.connection.recv()))
            if wanted(self.events[-1]):
                return self.events[-1]

    async def turn(self) -> list[Event]:
        """Read to the end of the agent's turn; return what came."""
        before = len(self.events)
        await self.until(lambda event: event.turn_complete)
        return self.events[before:]

    async def closed(self) -> tuple[int | None, str | None]:
        with suppress(ConnectionClosed):
            while True:
                await self.until(lambda _: False)
        return self.connection.close_code, self.connection.close_reason


@asynccontextmanager
async def on_port(app: FastAPI) -> AsyncIterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, ws="websockets-sansio", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            made = await client.post(f"/apps/{APP}/users/user/sessions/s1")
            assert made.status_code == 200, made.text
        yield url
    finally:
        if (context := getattr(app.state, "context", None)) is not None:
            await context.lifecycle.drain(2.0)
        server.should_exit = True
        await serving


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    with restored():
        yield write_app(tmp_path, APP, AGENT).parent


@pytest.fixture
async def ours(folder: Path) -> AsyncIterator[str]:
    app = create_app(folder, Settings(log="memory:", sessions="memory://", artifacts="memory://"))
    async with on_port(app) as url:
        yield url


@asynccontextmanager
async def talking(url: str, query: str = QUERY, **options: Any) -> AsyncIterator[AdkClient]:
    async with connect(f"{url.replace('http', 'ws')}/run_live?{query}", **options) as connection:
        yield AdkClient(connection)


def _sound(events: list[Event]) -> bytes:
    return b"".join(
        part.inline_data.data or b""
        for event in events
        if event.content
        for part in event.content.parts or ()
        if part.inline_data
    )


def _words(events: list[Event]) -> list[Any]:
    """Return what is told, sound apart, which comes in pieces beside it."""
    told = []
    for event in events:
        parts = (event.content.parts if event.content else None) or []
        rest = [p.model_dump(exclude_none=True) for p in parts if not p.inline_data]
        heard = event.output_transcription or event.input_transcription
        words = heard.text if heard else None
        if rest or words or event.turn_complete or event.interrupted:
            told.append((event.author, event.partial, rest, words, event.turn_complete))
    return told


async def test_the_same_conversation_as_with_adk(folder: Path) -> None:
    """Typed, spoken, with a tool: the same words, calls and answers, and the same sound."""
    adk = get_fast_api_app(
        agents_dir=str(folder),
        web=False,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    settings = Settings(log="memory:", sessions="memory://", artifacts="memory://")
    told = []
    for app in (adk, create_app(folder, settings)):
        async with on_port(app) as url, talking(url) as client:
            await client.say("hello")
            turns = [await client.turn()]
            spoken = tone(440, 600, 16_000)
            for start in range(0, len(spoken), 3200):
                piece = types.Blob(
                    data=spoken[start : start + 3200], mime_type="audio/pcm;rate=16000"
                )
                await client.send(LiveRequest(blob=piece))
            await client.send(LiveRequest(audio_stream_end=True))
            turns.append(await client.turn())
            told.append([(_words(turn), _sound(turn)) for turn in turns])
    theirs, ours = told
    assert [words for words, _ in ours] == [words for words, _ in theirs]
    assert [len(sound) for _, sound in ours] == [len(sound) for _, sound in theirs]
    assert ours == theirs
    assert "voice: 0.6 seconds of sound near 440 Hz" in str(ours[1][0])


async def test_the_run_is_recorded_like_any_other(ours: str) -> None:
    """And can be watched in every protocol; a client that comes back goes on with it."""
    async with talking(ours) as client:
        await client.say("hello")
        await client.turn()
    async with talking(ours) as client:
        await client.say("again")
        again = await client.turn()
        assert not any("hello" in str(event) for event in again)
    async with httpx.AsyncClient(base_url=ours, timeout=PATIENCE) as http:
        (run,) = (await http.get(f"/api/runs?app={APP}")).json()
        messages = (await http.get(f"/api/chat/{APP}/s1/messages")).json()
        assert [message["role"] for message in messages] == ["user", "assistant"] * 2
        assert run["session"] == "s1"


async def test_an_approval_is_asked_and_answered_in_adks_form(ours: str) -> None:
    """The question is ADK's own call; its answer a function response; so is a client tool's result."""
    async with talking(ours) as client:
        await client.say("pay")
        asked = await client.until(lambda event: event.long_running_tool_ids)
        (call,) = asked.get_function_calls()
        assert call.name == "adk_request_confirmation"
        assert call.args["originalFunctionCall"]["name"] == "pay"
        assert call.args["originalFunctionCall"]["args"] == {"amount": 1}
        await client.send(_answer(call.id, call.name, {"confirmed": True}))
        await client.until(lambda event: "paid" in str(event.get_function_responses()))
        await client.turn()
        await client.say("place")
        placed = await client.until(
            lambda event: any(c.name == "place" for c in event.get_function_calls())
        )
        (place,) = placed.get_function_calls()
        await client.send(_answer(place.id, "place", {"at": "home"}))
        await client.until(lambda event: "home" in str(event.get_function_responses()))


def _answer(call: str | None, name: str, response: dict[str, Any]) -> LiveRequest:
    answer = types.FunctionResponse(id=call, name=name, response=response)
    part = types.Part(function_response=answer)
    return LiveRequest(content=types.Content(role="user", parts=[part]))


MISTAKES = {
    "no JSON": "nonsense",
    "not an object": "[]",
    "empty": "{}",
    "wrong type": json.dumps({"content": 7}),
    "odd sound": json.dumps({"blob": {"mime_type": "audio/pcm", "data": "AAAA"}}),
    "another blob": json.dumps({"blob": {"mime_type": "text/html", "data": "AAAA"}}),
    "no parts": json.dumps({"content": {"role": "user", "parts": []}}),
    "a call": json.dumps({"content": {"parts": [{"functionCall": {"name": "pay"}}]}}),
    "a forged answer": _answer("approval-x", "adk_request_confirmation", {}).model_dump_json(),
    "a reserved key": json.dumps({"state_delta": {"app:x": 1}}),
    "a lone surrogate": '{"content": {"parts": [{"text": "\\ud800"}]}}',
    "bytes": b"\xff\xfe",
}


@pytest.mark.parametrize("sent", MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_is_told_as_an_event_and_ends_nothing(ours: str, sent: str | bytes) -> None:
    """ADK's clients know events that carry an error."""
    async with talking(ours) as client:
        await client.connection.send(sent)
        told = await client.until(lambda event: event.error_code)
        assert told.error_message
        await client.say("hello")
        await client.turn()


async def test_state_and_signals_reach_the_session(ours: str) -> None:
    """Activity that the client finds itself, a change of state, and the end."""
    async with talking(ours) as client:
        await client.send(LiveRequest(state_delta={"mood": "good"}))
        await client.send(LiveRequest(activity_start=types.ActivityStart()))
        blob = types.Blob(data=tone(300, 400, 16_000), mime_type="audio/pcm")
        await client.send(LiveRequest(blob=blob))
        await client.send(LiveRequest(activity_end=types.ActivityEnd()))
        assert "near 300 Hz" in str(await client.turn())
        await client.send(LiveRequest(close=True))
        assert (await client.closed())[0] == 1000
    async with httpx.AsyncClient(base_url=ours, timeout=PATIENCE) as http:
        session = (await http.get(f"/apps/{APP}/users/user/sessions/s1")).json()
        assert session["state"]["mood"] == "good"


async def test_text_answers(ours: str) -> None:
    """As `modalities` asks."""
    async with talking(ours, QUERY + "&modalities=TEXT") as client:
        await client.say("hello")
        turn = await client.turn()
        assert _sound(turn) == b""
        assert "You said hello." in "".join(p.text or "" for e in turn for p in _parts(e))


def _parts(event: Event) -> list[types.Part]:
    return (event.content.parts if event.content else None) or []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("user_id=user", 403),  # what FastAPI answers on a socket, and so ADK's server
        (QUERY + "&modalities=SMELL", 403),
        (QUERY + "&modalities=VIDEO", 422),
        ("app_name=nobody&user_id=user&session_id=s1", 404),
        (f"app_name={APP}&user_id=..&session_id=s1", 400),
    ],
)
async def test_a_handshake_that_cannot_be_is_refused(ours: str, query: str, status: int) -> None:
    """With the status and the reason that any route gives."""
    with pytest.raises(InvalidStatus) as refused:
        async with talking(ours, query):
            pass
    assert refused.value.response.status_code == status


async def test_sessions_and_origins_are_checked(ours: str) -> None:
    """A session that is not there closes the socket with ADK's code; a foreign page gets none."""
    async with talking(ours, f"app_name={APP}&user_id=user&session_id=none") as client:
        assert await client.closed() == (1002, "Session not found")
    with pytest.raises(InvalidStatus) as refused:
        async with talking(ours, additional_headers={"origin": "https://evil.example"}):
            pass
    assert refused.value.response.status_code == 403
    async with talking(ours, QUERY.replace(f"app_name={APP}&", "")) as client:
        await client.say("hello")
        await client.turn()


def test_sound_is_written_as_pydantic_writes_it() -> None:
    """Clients of ADK read the alphabet that is safe in URLs."""
    blob = types.Blob(data=b"\xfb\xff", mime_type="audio/pcm")
    written = json.loads(blob.model_dump_json(by_alias=True))["data"]
    assert written == base64.urlsafe_b64encode(b"\xfb\xff").decode()
