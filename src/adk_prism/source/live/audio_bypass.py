"""The short way of sound: between whoever talks and the model's connection, past ADK's live flow.

google-adk 2.13 makes an event of each piece of sound that a model says, and a request of each that it is
told, and takes both through some ten generators and tasks. Nothing on that way looks at sound, unless the
app has put something there (`stock`). So where nothing has, sound is taken from the connection as it is
received, and given to it in the name of ADK's own sender. Plugins that want to be shown each event are shown
it, by ADK's Runner, as on the long way. All that is not sound goes the long way, and is not touched.

The order stays: a piece takes the short way only when all that the model said before it has come out at
the end of the long one; else it follows it there. What is heard and recorded is the same either way.

A connection is met where the model opens it. A model is given a class of its own for that, a child of its
class in which `connect` is the only difference; outside live runs of ours that changes nothing.
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
from adk_prism.source.live.audio_log import PcmChunk, audio_in
from adk_prism.source.live.call_cancellation import CancelCalls, watch_cancellations
from adk_prism.source.live.stock_flow import is_stock_agent, streams_input

Play = Callable[[str, LlmResponse, list[PcmChunk]], Iterable[Record]]
"""Takes sound of the agent of that name; returns what of it is to be recorded now."""
Show = Callable[[str, LlmResponse], Awaitable[None]]
"""Takes it as an event, which it shows to the app's plugins first."""
Write = Callable[[Record], Awaitable[None]]


class ConnectionOwner(NamedTuple):
    """Where a connection belongs."""

    audio_bypass: AudioBypass
    speaker: str
    """The agent that opens it."""


CONNECTION_OWNER: ContextVar[ConnectionOwner | None] = ContextVar(
    "adk_prism_connection_owner", default=None
)
"""Of the connections that are opened here; None in tools, which may have live runs of their own."""

DIRECT_CONNECTION: ContextVar[BaseLlmConnection | None] = ContextVar(
    "adk_prism_direct_connection", default=None
)
"""The connection to which ADK's sender, who runs here, may be told sound at once."""


class AudioBypass:
    """The short way of one live run."""

    def __init__(
        self,
        play: Play,
        write: Write,
        cancel_calls: CancelCalls,
        *,
        show: Show | None = None,
        is_open: bool = True,
    ) -> None:
        """Down it is used while it `is_open`, by agents of ADK's own kind; up always: nobody is shown
        what is said to a model, but tools that ask for it. `show` is for apps with such plugins."""
        self._play = play
        self._write = write
        self._cancel_calls = cancel_calls
        self._show = show
        self._is_open = is_open
        self._entered = 0
        self._left = 0

    def event_enters(self) -> None:
        """Note that an event is on the long way."""
        self._entered += 1

    def event_left(self) -> None:
        """Note that one has come out, and all of it has been done."""
        self._left += 1

    async def meet(self, agent: BaseAgent, context: InvocationContext) -> None:
        """Meet an agent that begins to run: the connections that it opens are looked at."""
        CONNECTION_OWNER.set(ConnectionOwner(self, agent.name))
        self._is_open = self._is_open and is_stock_agent(agent)
        if not isinstance(agent, LlmAgent):
            return
        # Whatever keeps the model from being found, ADK meets it next, and says it better.
        with suppress(Exception):
            intercept_connections(await agent.canonical_live_model_async(ReadonlyContext(context)))

    @asynccontextmanager
    async def through(
        self,
        opened: AbstractAsyncContextManager[BaseLlmConnection],
        request: LlmRequest,
        speaker: str,
    ) -> AsyncIterator[BaseLlmConnection]:
        """Open a connection and stand beside it."""
        async with opened as connection:
            watch_cancellations(connection, self._cancel_calls)
            DIRECT_CONNECTION.set(None if streams_input(request) else connection)
            with self._listening(connection, speaker):
                yield connection

    @contextmanager
    def _listening(self, connection: BaseLlmConnection, speaker: str) -> Iterator[None]:
        """Take the sound of a connection while it is open; of one that allows it."""
        own = getattr(connection, "__dict__", None)
        if not self._is_open or own is None:
            yield
            return
        receive, is_own = connection.receive, "receive" in own
        own["receive"] = self._receive(receive, speaker)
        try:
            yield
        finally:
            del own["receive"]
            if is_own:
                own["receive"] = receive

    def _receive(
        self, receive: Callable[[], AsyncGenerator[LlmResponse, None]], speaker: str
    ) -> Callable[[], AsyncGenerator[LlmResponse, None]]:
        async def short() -> AsyncGenerator[LlmResponse, None]:
            is_heard, is_told = True, False
            # ADK takes a connection that says nothing for one that is over: sound is not nothing.
            while is_heard and not is_told:
                is_heard = False
                async with aclosing(receive()) as responses:
                    async for response in responses:
                        pieces = audio_in(response) if self._left >= self._entered else None
                        if pieces is None:
                            is_told = True
                            yield response
                        else:
                            is_heard = True
                            await self._pass_on(speaker, response, pieces)
                await asyncio.sleep(0)

        return short

    async def _pass_on(self, speaker: str, response: LlmResponse, pieces: list[PcmChunk]) -> None:
        if self._show is not None:
            await self._show(speaker, response)
            return
        for due in self._play(speaker, response, pieces):
            await self._write(due)


class _InterceptedModel:
    """What a class of models has more when its connections are met."""

    __slots__ = ()

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a connection, and let the run that it belongs to stand beside it."""
        opened: AbstractAsyncContextManager[BaseLlmConnection] = super().connect(  # type: ignore[misc]  # of the model's class
            llm_request
        )
        route = CONNECTION_OWNER.get()
        if route is None:
            return opened
        return route.audio_bypass.through(opened, llm_request, route.speaker)


def intercept_connections(model: BaseLlm) -> None:
    """See to it that a model's connections are met; one whose class allows no child stays as it is."""
    if isinstance(model, _InterceptedModel):
        return
    with suppress(TypeError, RuntimeError):
        object.__setattr__(model, "__class__", _intercepted_class(type(model)))


@cache
def _intercepted_class(kind: type[BaseLlm]) -> type[BaseLlm]:
    """Return the child of a class of models whose connections are met. It goes by the same name."""
    same = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return new_class(
        kind.__name__, (_InterceptedModel, kind), exec_body=lambda names: names.update(same)
    )
