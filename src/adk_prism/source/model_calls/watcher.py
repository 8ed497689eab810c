"""Watches the calls of models in one run: from the request to the last response.

ADK reports requests and responses, and not when a call is over: a model may give several whole responses.
So a call is over when its agent goes on: with a tool, another request, or its end. A request that a callback
answered never reached the model and is not a call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from msgspec import Raw

from adk_prism.runlog.entry import ModelCalled
from adk_prism.source.model_calls.seen_call import CallTexts, Detail, SeenCall
from adk_prism.source.model_calls.texts import RequestTexts, ResponseTexts, call_texts
from adk_prism.source.redaction import safe_code

if TYPE_CHECKING:
    from adk_prism.source.nodes.tree import Node

CANCELLED = "cancelled"
"""The error of a call that was cancelled before the model had answered."""

COMPACTION = "compaction"
"""Stands for the agent in the call that ADK makes to summarise a long session."""

MOST_CUTS = 100
"""Names of parts that were cut; a request with more has been reported well enough."""


Lane = tuple[str, str, str, str]
"""Invocation, branch, agent and node, which has one request at a time: the same agent may run several times
at once in one branch (`asyncio.gather` over `ctx.run_node`)."""


class OpenCall:
    """A request that was made."""

    __slots__ = ("_request", "answers", "began", "first", "lane", "last", "node", "sent")

    def __init__(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        self.lane = lane
        self.node = node
        self._request = request
        self.began = time.time(), time.perf_counter()
        self.first = self.last = 0.0
        self.answers = ResponseTexts()
        self.sent: RequestTexts | None = None

    def take(self, response: LlmResponse, *, full: bool) -> None:
        """Read a whole response, and with the first one the request."""
        self.last = time.perf_counter()
        if full and self.sent is None:
            self.sent = RequestTexts(self._request)
        self.answers.add(response, full=full)

    def over(self, detail: Detail, error: str) -> SeenCall:
        """Return the call, now that it is over."""
        clock, ticks = self.began
        last = self.last or time.perf_counter()
        texts: CallTexts | None = None
        cut: list[str] = []
        if detail == "full":
            texts, cut = call_texts(self.sent or RequestTexts(self._request), self.answers)
        record = ModelCalled(
            agent=self.lane[2],
            node=self.node.id if self.node is not None else "",
            model=self._request.model or "",
            started=round(clock, 3),
            first_token=_ms(self.first - ticks) if self.first else None,
            duration=_ms(last - ticks),
            usage=self.answers.usage,
            finish=self.answers.finish,
            error=safe_code(error or self.answers.error) if error or self.answers.error else "",
            responses=self.answers.count,
            cut=cut[:MOST_CUTS],
        )
        return SeenCall(record, texts)


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


class CallWatcher:
    """The calls of one run that are not over."""

    def __init__(self, detail: Detail, put: Callable[[SeenCall], None]) -> None:
        self.detail = detail
        self._put = put
        self._open: dict[Lane, OpenCall] = {}
        self._unanswered: set[Lane] = set()
        """Those without any response, whole or partial."""

    def begin(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        """Note a request."""
        self.end(lane)
        self._open[lane] = OpenCall(lane, node, request)
        self._unanswered.add(lane)

    def wants(self, response: LlmResponse) -> bool:
        """Return whether a response is to be received: of thousands of partial ones only the first is."""
        return self.detail != "off" and (bool(self._unanswered) or not response.partial)

    def receive(self, lane: Lane, response: LlmResponse) -> None:
        """Note a response."""
        call = self._open.get(lane)
        self._unanswered.discard(lane)
        if call is None:
            return
        call.first = call.first or time.perf_counter()
        if not response.partial:
            call.take(response, full=self.detail == "full")

    def end(self, lane: Lane, error: str = "") -> None:
        """Note that a call is over. Without a response and an error, it never reached the model."""
        call = self._open.pop(lane, None)
        self._unanswered.discard(lane)
        if call is not None and (error or call.first):
            self._put(call.over(self.detail, error))

    def add_compaction(self, event: Event) -> None:
        """Note the call that summarised earlier events, which no callback sees: what its event says of it."""
        if self.detail != "off" and event.usage_metadata is not None:
            usage = event.usage_metadata.model_dump_json(by_alias=True, exclude_none=True)
            record = ModelCalled(
                agent=COMPACTION,
                model=event.model_version or "",
                started=round(event.timestamp, 3),
                usage=Raw(usage.encode()),
                responses=1,
            )
            self._put(SeenCall(record, None))

    def end_in(self, node: Node, *, cancelled: bool = False) -> None:
        """Note that the calls of a node are over."""
        for call in [call for call in self._open.values() if call.node is node]:
            self.end(call.lane, CANCELLED if cancelled and not call.answers.count else "")

    def end_all(self) -> None:
        """Note that all calls are over: the run is, and what has no response was cancelled."""
        for call in list(self._open.values()):
            self.end(call.lane, "" if call.answers.count else CANCELLED)
