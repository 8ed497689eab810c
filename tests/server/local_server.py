"""A server around Runners that a test builds: real agents on a scripted model, requests without a network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import ToolContext
from google.adk.workflow import BaseNode
from google.genai import types
from tests.adk.scripted import Scripted

from adk_prism.adk.sessions import Sessions
from adk_prism.adk.tools import DenialReasonPlugin
from adk_prism.errors import Diagnostic
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunId
from adk_prism.prism import Prism
from adk_prism.server.context import Context
from adk_prism.server.identity.methods import Authenticate
from adk_prism.server.settings import Settings

APP, USER, SESSION = "app", "user", "chat"
SETTINGS = Settings(log="memory:", keep_alive=1, grace=0.1)
Json = dict[str, Any]


def count(tool_context: ToolContext) -> Json:
    """Count one further."""
    number = tool_context.state.get("count", 0) + 1
    tool_context.state["count"] = number
    return {"count": number}


async def note(text: str, tool_context: ToolContext) -> Json:
    """Write a new version of the notes."""
    part = types.Part(inline_data=types.Blob(data=text.encode(), mime_type="text/plain"))
    return {"version": await tool_context.save_artifact("notes.txt", part)}


def share(text: str, tool_context: ToolContext) -> Json:
    """Tell every session of the user and of the app."""
    tool_context.state["user:told"] = text
    tool_context.state["app:told"] = text
    tool_context.state["told"] = text
    return {"told": text}


def agent(model: Scripted, **more: Any) -> LlmAgent:
    """Return an agent with the tools above."""
    return LlmAgent(
        name="agent", model=model, tools=[count, note, share, *more.pop("tools", [])], **more
    )


@dataclass
class LocalServer:
    """A running server with one app."""

    client: httpx.AsyncClient
    context: Context
    runner: Runner
    reports: list[Diagnostic] = field(default_factory=list)
    app: FastAPI | None = None
    """The application that the client talks to."""

    async def say(self, text: str, session: str = SESSION) -> str:
        """Say something, wait for the whole answer; return the run."""
        return await self.post_run(session, newMessage={"role": "user", "parts": [{"text": text}]})

    async def post_run(self, session: str = SESSION, **body: Any) -> str:
        """Run as ADK's clients ask, streamed; return the run when it is over."""
        where = {"appName": APP, "userId": USER, "sessionId": session, "streaming": True}
        await self.client.post(f"/apps/{APP}/users/{USER}/sessions/{session}")
        answer = await self.client.post("/run_sse", json=where | body)
        assert answer.status_code == 200, answer.text
        run: str = answer.headers["x-prism-run"]
        return run

    async def entries(self, run: str) -> list[Entry]:
        """Return a run's entries, when it is over."""
        found: list[Entry] = []
        async for batch in self.context.log.read(RunId(run), follow=True):
            found += batch
        return found

    async def reaches(self, run: str, words: bytes) -> None:
        """Wait until an event of a run has these words."""
        async with aclosing(self.context.log.read(RunId(run), follow=True)) as batches:
            async for batch in batches:
                if any(type(e.record) is AgentEvent and words in e.record.event for e in batch):
                    return
        raise AssertionError(f"the run ended without {words!r}")

    async def events(self, run: str) -> list[Json]:
        """Return a run's whole events, when it is over, as a stream gives them."""
        answer = await self.client.get(f"/api/runs/{run}/stream")
        assert answer.status_code == 200, answer.text
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
        return [event for event in map(json.loads, lines) if not event.get("partial")]

    async def session(self, session: str = SESSION) -> Json:
        """Return a session, as ADK's clients see it."""
        answer = await self.client.get(f"/apps/{APP}/users/{USER}/sessions/{session}")
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def stored(self, session: str = SESSION) -> Json:
        """Return a session with nothing redacted."""
        found = await Sessions(self.runner.session_service).get(
            Origin(app=APP, user=USER, session=session)
        )
        return found.model_dump(mode="json")

    async def messages(self, session: str = SESSION) -> list[Json]:
        """Return a chat's history, as a page loads it."""
        answer = await self.client.get(f"/api/chat/{APP}/{session}/messages")
        assert answer.status_code == 200, answer.text
        found: list[Json] = answer.json()
        return found

    async def fork(self, run: str, at: int, **body: Any) -> Json:
        """Fork a run and return the answer."""
        answer = await self.client.post(f"/api/runs/{run}/fork", json={"at": at, **body})
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        assert answer.headers["x-prism-run"] == found["run"]
        return found


@asynccontextmanager
async def local_server(
    root: BaseNode,
    *,
    resumable: bool = False,
    service: BaseSessionService | None = None,
    log: RunLog | str | None = None,
    authenticate: Authenticate | None = None,
    plugins: Sequence[BasePlugin] = (),
    memory: BaseMemoryService | None = None,
    artifacts: Callable[[], BaseArtifactService | None] = InMemoryArtifactService,
    **settings: Any,
) -> AsyncIterator[LocalServer]:
    """Serve one app; its log may be a URL."""
    if isinstance(log, str):
        settings["log"], log = log, None
    app = App(
        name=APP,
        root_agent=root,
        plugins=[DenialReasonPlugin(), *plugins],
        resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
    )
    runner = Runner(
        app=app,
        session_service=service or InMemorySessionService(),
        artifact_service=artifacts(),
        memory_service=memory,
    )
    reports: list[Diagnostic] = []
    prism = Prism(
        {APP: runner},
        replace(SETTINGS, **settings),
        log=log,
        report=reports.append,
        authenticate=authenticate,
    )
    app = prism.asgi()
    transport = httpx.ASGITransport(app)
    async with (
        prism.lifespan(None),
        httpx.AsyncClient(
            transport=transport,
            base_url="http://127.0.0.1:8000",
            headers={"accept": "application/json"},
        ) as client,
    ):
        yield LocalServer(client, prism.context, runner, reports, app)


def texts(message: Json) -> str:
    """Return what a UI message says, each text once: the scripted model streams a space too many."""
    said = (part["text"].strip() for part in message["parts"] if "text" in part)
    return " ".join(dict.fromkeys(said))
