"""Model calls, as far as the kernel knows them: what it tells about them, and to whom.

`features/model_calls` watches the calls of runs, and stores what was sent and answered. Without it runs have
no records of model calls: the classes here watch nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types
from msgspec import Struct

from adk_prism.errors import Report
from adk_prism.log.entry import ModelCalled, Origin, RunId

if TYPE_CHECKING:
    from adk_prism.adk.run_observer import Node

_Described = TypeVar("_Described")

Detail = Literal["off", "summary", "full"]
"""What of model calls is recorded: nothing, times and tokens, or also request and response."""

Lane = tuple[str, str, str, str]
"""Invocation, branch, agent and node, which has one request at a time: the same agent may run several times
at once in one branch (`asyncio.gather` over `ctx.run_node`)."""


class SeenCall(Struct, frozen=True):
    """A call of a model that is over."""

    record: ModelCalled
    """Without pieces."""
    texts: Any = None
    """What was sent and answered, as the one who watched it keeps it; None: only a summary is wanted."""


class CallWatcher:
    """Watches the model calls of one run; this one watches none."""

    def begin(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        """Note a request, which is sent if no callback answers it."""

    def wants(self, response: LlmResponse) -> bool:
        """Return whether a response is to be received. Called for every delta."""
        del response
        return False

    def receive(self, lane: Lane, response: LlmResponse) -> None:
        """Note a response."""

    def end(self, lane: Lane, error: str = "") -> None:
        """Note that a call is over."""

    def end_in(self, node: Node, *, cancelled: bool = False) -> None:
        """Note that the calls of a node are over."""

    def end_all(self) -> None:
        """Note that the run is over."""

    def add_compaction(self, event: Event) -> None:
        """Note an event in which ADK has summarised earlier ones."""


class LiveCallWatcher:
    """Watches the model calls of one live run; this one watches none."""

    def enter_agent(self) -> None:
        """Note that an agent starts."""

    def send(self, request: LiveRequest) -> None:
        """Note what ADK sends to the model."""

    def play(self, agent: str) -> None:
        """Note audio of the model. Called for every chunk."""

    def read(self, event: Event) -> None:
        """Read an event that has been recorded, unless it is all audio."""

    def take(self) -> Sequence[SeenCall]:
        """Return the calls that are over since the last time."""
        return ()

    def close(self) -> None:
        """Note that the run is over."""


WatchCalls = Callable[[Callable[[SeenCall], None]], CallWatcher]
"""Returns what watches the calls of a run, and passes each that is over to a function."""


class CallRecorder(Protocol):
    """Watches and stores the model calls of all runs of a process."""

    detail: Detail

    def watch(self, put: Callable[[SeenCall], None]) -> CallWatcher:
        """Return what watches the calls of a run, and passes each that is over to `put`."""

    def watch_live(
        self,
        runner: Runner,
        agent: Callable[[], BaseAgent | None],
        model_name: Callable[[], str],
        report: Report,
    ) -> LiveCallWatcher:
        """Return what watches the calls of a live run; `agent` returns the one that runs now."""

    async def store(self, run: RunId, origin: Origin, call: SeenCall) -> ModelCalled:
        """Store the texts of a call; return its record. Raise `Gone` or `Fenced`."""


CALLS: ContextVar[CallRecorder | None] = ContextVar("adk_prism_model_calls", default=None)
"""Set by whoever records a run; None: model calls are not recorded."""


class Placeholder(types.Content):
    """A content in a request in the place of others, which the model gets instead of it."""

    @property
    def sent(self) -> LlmRequest | None:
        """The request that the model got."""
        raise NotImplementedError

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content that the model got in its place."""
        raise NotImplementedError
