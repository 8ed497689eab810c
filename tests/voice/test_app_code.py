"""Code of an app in a live run: plugins, streaming tools, and live runs that a tool starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import answers, live, runner_of, scripted_agent

from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say
from adk_prism.voice.conversation import audio_in


class Watcher(BasePlugin):
    """Handles each event, and makes all audio short."""

    def __init__(self) -> None:
        super().__init__(name="watcher")
        self.shown = 0
        self.invocations: set[str] = set()

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        self.invocations.add(invocation_context.invocation_id)
        if audio_in(event) is None:
            return None
        self.shown += 1
        blob = types.Blob(data=b"\1\0", mime_type="audio/pcm;rate=24000")
        said = types.Content(role="model", parts=[types.Part(inline_data=blob)])
        return event.model_copy(update={"content": said})


async def test_event_plugins_are_called_for_each_event() -> None:
    """And what they return counts."""
    watcher = Watcher()
    runner = Runner(
        app=App(name="app", root_agent=scripted_agent(script, TOOLS), plugins=[watcher]),
        artifact_service=InMemoryArtifactService(),
        session_service=InMemorySessionService(),
    )
    async with live(runner) as run:
        await run.say("hello")
        await run.until_done()
        await run.say("again")
        await run.until_done(2)
        assert watcher.shown == 6
        assert run.sound == b"\1\0" * 6
        assert watcher.invocations == {"e-1"}


async def test_streaming_tools_get_what_is_sent() -> None:
    """A tool that takes a copy of what is sent to the model gets it."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(input_stream: LiveRequestQueue) -> AsyncGenerator[str, None]:
        """Listen to the user."""
        while True:
            request = await input_stream.get()
            if request.blob is not None:
                heard.put_nowait(request.blob.data or b"")
                yield "heard"

    def plan(request: LlmRequest) -> Turn:
        found = read_conversation(request)
        asked = found.prompt == "listen" and not found.answers
        return Turn((Call("listen", {}, id="c1"),)) if asked else say("Yes.")

    async with live(runner_of(scripted_agent(plan, [listen]))) as run:
        await run.say("listen")
        await run.until_done()
        assert run.source.send_audio(b"\1\0" * 320)
        async with asyncio.timeout(PATIENCE):
            assert await heard.get() == b"\1\0" * 320


async def test_a_live_run_inside_a_tool_is_apart() -> None:
    """Its audio is not played to the client."""
    model = ScriptedModel(model="scripted", script=script)
    inner = runner_of(LlmAgent(name="inner", model=model))

    async def ask() -> str:
        """Ask another agent, aloud."""
        await inner.session_service.create_session(app_name="app", user_id="u", session_id="s")
        queue = LiveRequestQueue()
        queue.send_content(types.UserContent("hello"))
        heard = 0
        async with asyncio.timeout(PATIENCE):
            async for event in inner.run_live(
                user_id="u", session_id="s", live_request_queue=queue
            ):
                heard += audio_in(event) is not None
                if event.turn_complete:
                    queue.close()
        return f"{heard} pieces"

    def plan(request: LlmRequest) -> Turn:
        found = read_conversation(request)
        if found.answers:
            return say(str(found.answers[0].response["result"]))
        return Turn((Call("ask", {}, id="c1"),)) if found.prompt == "ask" else script(request)

    model.script = plan
    async with live(runner_of(LlmAgent(name="voice", model=model, tools=[ask]))) as run:
        await run.say("ask")
        await run.until_done()
        assert answers(await run.events())["c1"] == {"result": "3 pieces"}
        assert len(run.sound) == 2 * 3840
