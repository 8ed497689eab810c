"""The audio bypass (`--live-shortcut auto`): audio goes directly between client and model connection.

google-adk 2.13 makes an event of each chunk of audio that a model sends, and a request of each chunk that
it is sent, and passes both through some ten generators and tasks. Nothing in ADK's own code reads the audio
on the way. With the bypass on, audio is taken from the connection as it is received, and sent to it in
place of ADK's sender. Plugins with `on_event_callback` are still called for each event. Everything that is
not audio goes through ADK's flow, unchanged.

It is off by default, because it changes objects of the app: the model's class is replaced by a subclass that
overrides `connect`, and `receive` of an open connection is replaced. Where `source.adk.live_stock_flow` finds
that code of the app would see the audio, it is not used.

Order: a chunk is taken directly only when everything that the model sent before has passed through ADK's
flow; otherwise it follows the same way. The audio and the recording are the same with and without the bypass.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from contextvars import ContextVar
from functools import cache
from types import new_class
from typing import NamedTuple

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from adk_prism.runlog.entry import Record
from adk_prism.source.adk.live_stock_flow import has_streaming_tool, is_stock_agent
from adk_prism.source.adk.request_rewriting import swap_class
from adk_prism.source.live.audio_log import PcmChunk, audio_in

Play = Callable[[str, LlmResponse, list[PcmChunk]], Iterable[Record]]
"""Takes audio of the agent of that name; returns what of it is to be recorded now."""
NotifyPlugins = Callable[[str, LlmResponse], Awaitable[None]]
"""Takes audio as an event that the app's plugins see first."""
Write = Callable[[Record], Awaitable[None]]
Receive = Callable[[], AsyncGenerator[LlmResponse, None]]


class ConnectionOwner(NamedTuple):
    """The run and the agent that open a connection."""

    bypass: AudioBypass
    agent: str


CONNECTION_OWNER: ContextVar[ConnectionOwner | None] = ContextVar(
    "adk_prism_connection_owner", default=None
)
"""Of the connections that are opened here; None in tools, which may have live runs of their own."""

DIRECT_CONNECTION: ContextVar[BaseLlmConnection | None] = ContextVar(
    "adk_prism_direct_connection", default=None
)
"""The connection to which audio may be sent in place of ADK's sender, which runs in this context."""


class AudioBypass:
    """The audio bypass of one live run."""

    def __init__(
        self, play: Play, write: Write, *, notify: NotifyPlugins | None, is_stock_runner: bool
    ) -> None:
        """From the model it is used with ADK's own Runner and agents; to the model always, except with
        streaming tools, which are the only code that sees a copy. `notify` is for apps with event plugins."""
        self._play = play
        self._write = write
        self._notify = notify
        self._is_stock = is_stock_runner
        self._entered = 0
        self._left = 0

    def event_enters(self) -> None:
        """Note that an event is in ADK's flow."""
        self._entered += 1

    def event_left(self) -> None:
        """Note that an event has left ADK's flow and is recorded."""
        self._left += 1

    async def enter_agent(self, agent: BaseAgent, context: InvocationContext) -> None:
        """Intercept the connections of an agent that starts to run."""
        CONNECTION_OWNER.set(ConnectionOwner(self, agent.name))
        self._is_stock = self._is_stock and is_stock_agent(agent)
        if not isinstance(agent, LlmAgent):
            return
        # An error in finding the model is raised by ADK itself, right after this.
        with suppress(Exception):
            intercept_connections(await agent.canonical_live_model_async(ReadonlyContext(context)))

    @asynccontextmanager
    async def open(
        self,
        opened: AbstractAsyncContextManager[BaseLlmConnection],
        request: LlmRequest,
        agent: str,
    ) -> AsyncIterator[BaseLlmConnection]:
        """Open a connection with the bypass in place."""
        async with opened as connection:
            DIRECT_CONNECTION.set(None if has_streaming_tool(request) else connection)
            with self._receiving(connection, agent):
                yield connection

    @contextmanager
    def _receiving(self, connection: BaseLlmConnection, agent: str) -> Iterator[None]:
        """Replace `receive` of an open connection, if its object allows it."""
        own = getattr(connection, "__dict__", None)
        if not self._is_stock or own is None:
            yield
            return
        receive, is_own = connection.receive, "receive" in own
        own["receive"] = self._without_audio(receive, agent)
        try:
            yield
        finally:
            del own["receive"]
            if is_own:
                own["receive"] = receive

    def _without_audio(self, receive: Receive, agent: str) -> Receive:
        async def responses_for_adk() -> AsyncGenerator[LlmResponse, None]:
            has_audio, has_other = True, False
            # ADK takes a connection that gives no response for a closed one: audio is a response, too.
            while has_audio and not has_other:
                has_audio = False
                async with aclosing(receive()) as responses:
                    async for response in responses:
                        chunks = audio_in(response) if self._left >= self._entered else None
                        if chunks is None:
                            has_other = True
                            yield response
                        else:
                            has_audio = True
                            await self._take(agent, response, chunks)
                await asyncio.sleep(0)

        return responses_for_adk

    async def _take(self, agent: str, response: LlmResponse, chunks: list[PcmChunk]) -> None:
        if self._notify is not None:
            await self._notify(agent, response)
            return
        for due in self._play(agent, response, chunks):
            await self._write(due)


class _InterceptedModel:
    """Overrides `connect` of the model class that it is mixed into."""

    __slots__ = ()

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a connection; in a live run with the audio bypass, put the bypass in place."""
        opened: AbstractAsyncContextManager[BaseLlmConnection] = super().connect(  # type: ignore[misc]  # of the model's class
            llm_request
        )
        owner = CONNECTION_OWNER.get()
        return opened if owner is None else owner.bypass.open(opened, llm_request, owner.agent)


def intercept_connections(model: BaseLlm) -> None:
    """Give a model a class that overrides `connect`; a class that cannot be subclassed stays as it is."""
    if not isinstance(model, _InterceptedModel):
        with suppress(TypeError, RuntimeError):
            swap_class(model, _intercepted_class(type(model)))


@cache
def _intercepted_class(kind: type[BaseLlm]) -> type[BaseLlm]:
    """Return a subclass of a model class that overrides `connect`, under the same name."""
    same = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    bases = (_InterceptedModel, kind)
    return new_class(kind.__name__, bases, exec_body=lambda names: names.update(same))
