"""The request with which ADK opens a live connection.

google-adk 2.13 gives it to no callback. Its live flow (`live/_live_llm_flow.py`) logs at DEBUG that it will
connect, and has the request in a local variable then. A filter (`debug_lines`) reads it there, so neither
the app's model nor its connection is touched. The model completes the request while it connects.

Without it (other log text, logging disabled) the model calls of live runs have times and tokens only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_prism.source.adk.debug_lines import WatchedLines

LOGGER = "google_adk.google.adk.live._live_llm_flow"
_CONNECTING = (
    "Establishing live connection for agent: %s, model: %s, contents: %s, response modalities: %s"
)
_FLOW, _REQUEST, _MODEL = "run_live_flow", "llm_request", "llm"

SeeRequest = Callable[[str, LlmRequest, Sequence[types.Content]], None]
"""Is given the name of an agent, the request with which it connects, and the history that is sent."""

SEE_REQUEST: ContextVar[SeeRequest | None] = ContextVar("adk_prism_live_request", default=None)
"""For the connections that are opened here; None in tools, which may have live runs of their own."""


class _ConnectionFilter(WatchedLines[SeeRequest]):
    """Reads the lines of ADK's live flow."""

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Report the request of the flow that logs."""
        see = self.watcher.get()
        if see is None or message != _CONNECTING:
            return
        names = _locals_of_flow()
        request = names.get(_REQUEST)
        if isinstance(request, LlmRequest):
            see(str(args[0]), request, _history(names.get(_MODEL), request))


def _locals_of_flow() -> dict[str, Any]:
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != _FLOW:
        frame = frame.f_back
    return dict(frame.f_locals) if frame is not None else {}


def _history(model: object, request: LlmRequest) -> Sequence[types.Content]:
    """Return the contents that are sent first. Gemini's connection leaves out audio, which is transcribed."""
    if not isinstance(model, Gemini):
        return request.contents
    from google.adk.utils import content_utils

    without_media = getattr(content_utils, "_filter_media_parts", None)
    if without_media is None:
        return request.contents
    return [kept for each in request.contents if (kept := without_media(each)) is not None]


_FILTER = _ConnectionFilter(LOGGER, SEE_REQUEST)


def watch_requests(see: SeeRequest) -> AbstractContextManager[None]:
    """Report the requests with which connections are opened in this context."""
    return _FILTER.watched_by(see)


def probe() -> str | None:
    """Return None if requests are seen, else why not."""
    from google.adk.live import _live_llm_flow as flow

    code = getattr(getattr(flow, _FLOW, None), "__code__", None)
    if code is None or flow.logger.name != LOGGER or not issubclass(Gemini, BaseLlm):
        return "ADK's live flow is not where it was."
    if not {_REQUEST, _MODEL} <= set(code.co_varnames) or _CONNECTING not in code.co_consts:
        return "ADK's live flow does not log that it connects, or has other names."
    return None
