"""A stage on which a test lets a real ADK app run: real Runner, real services, no mocks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from google.adk.agents import RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService
from google.genai import types

USER = "user"
SESSION = "session"


@dataclass
class AppRun:
    """One run: the events in the order they came, each also as it was when it came."""

    events: list[Event] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    error: Exception | None = None

    def add(self, event: Event) -> None:
        """Keep an event. It is serialised now: ADK changes partial events afterwards."""
        self.events.append(event)
        self.lines.append(event.model_dump_json(exclude_none=True, by_alias=True))

    @property
    def whole(self) -> list[Event]:
        """The events that ADK also stores: all but the partial ones."""
        return [event for event in self.events if not event.partial]

    @property
    def calls(self) -> list[types.FunctionCall]:
        return [call for event in self.whole for call in event.get_function_calls()]

    @property
    def responses(self) -> list[types.FunctionResponse]:
        return [answer for event in self.whole for answer in event.get_function_responses()]

    @property
    def parts(self) -> list[types.Part]:
        contents = [event.content for event in self.whole if event.content]
        return [part for content in contents for part in content.parts or []]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if part.text and not part.thought)

    def call(self, name: str) -> types.FunctionCall:
        """Return the only call of that name."""
        (found,) = [call for call in self.calls if call.name == name]
        return found

    def response(self, name: str) -> dict[str, object]:
        """Return the last response of that name."""
        return [answer.response or {} for answer in self.responses if answer.name == name][-1]


class AppRunner:
    """One app with one session."""

    def __init__(
        self,
        app: App,
        sessions: BaseSessionService | None = None,
        streaming: StreamingMode = StreamingMode.SSE,
    ) -> None:
        self.sessions = sessions or InMemorySessionService()
        self.runner = Runner(
            app=app,
            session_service=self.sessions,
            artifact_service=InMemoryArtifactService(),
            auto_create_session=True,
        )
        self._config = RunConfig(streaming_mode=streaming)

    async def send(self, prompt: str, abort: asyncio.Event | None = None) -> AppRun:
        """Send a person's message and return the run; `abort` ends it when it is set."""
        return await self.run(types.UserContent(prompt), abort)

    async def answer(self, *responses: types.FunctionResponse) -> AppRun:
        """Answer open calls, all in one message, and return the run."""
        parts = [types.Part(function_response=response) for response in responses]
        return await self.run(types.Content(role="user", parts=parts))

    async def resume(self, invocation: str) -> AppRun:
        """Go on with an invocation that broke off."""
        return await self.run(None, invocation=invocation)

    async def run(
        self,
        message: types.Content | None,
        abort: asyncio.Event | None = None,
        invocation: str | None = None,
        take: AppRun | None = None,
    ) -> AppRun:
        """Run the app on a message; what the run raised is kept in the take.

        A caller that means to cancel the run brings the take, to have what came before.
        """
        take = take or AppRun()
        try:
            async for event in self.runner.run_async(
                user_id=USER,
                session_id=SESSION,
                new_message=message,
                run_config=self._config,
                abort_signal=abort,
                invocation_id=invocation,
            ):
                take.add(event)
        except Exception as error:
            take.error = error
        return take
