"""Tool calls that a Gemini live session cancels (`toolCallCancellation`).

google-adk 2.13 receives these messages and ignores them. `GeminiLlmConnection.receive` logs every message
at DEBUG before it handles it, with the message itself as the argument. A filter (`debug_lines`) reads it
there, so neither the app's model nor its connection is touched.

Without it (other log text, logging disabled) a cancelled call stays open until it is answered or times out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.genai import types

from adk_prism.source.adk.debug_lines import WatchedLines

LOGGER = "google_adk.google.adk.models.gemini_llm_connection"
_RECEIVED = "Got LLM Live message: %s"

CancelCalls = Callable[[Sequence[str]], None]
"""Is given the ids of calls that the model has cancelled."""

CANCEL_CALLS: ContextVar[CancelCalls | None] = ContextVar("adk_prism_cancel_calls", default=None)
"""For the connections that are opened here; None in tools, which may have live runs of their own."""


class _MessageFilter(WatchedLines[CancelCalls]):
    """Reads the messages that ADK logs."""

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Report the calls that a message cancels."""
        cancel, received = self.watcher.get(), args[0] if message == _RECEIVED else None
        if cancel is None or not isinstance(received, types.LiveServerMessage):
            return
        cancelled = received.tool_call_cancellation
        if cancelled is not None and cancelled.ids:
            cancel(cancelled.ids)


_FILTER = _MessageFilter(LOGGER, CANCEL_CALLS)


def watch_cancellations(cancel: CancelCalls) -> AbstractContextManager[None]:
    """Report the calls that models cancel on connections opened in this context."""
    return _FILTER.watched_by(cancel)


class _ProbeSession:
    """A session that receives one cancellation."""

    session_id = "probe"

    async def receive(self) -> AsyncIterator[types.LiveServerMessage]:
        cancelled = types.LiveServerToolCallCancellation(ids=["probe"])
        yield types.LiveServerMessage(tool_call_cancellation=cancelled)


def probe() -> str | None:
    """Return None if cancelled calls are seen, else why not."""
    seen: list[str] = []
    session: Any = _ProbeSession()
    with watch_cancellations(seen.extend):
        try:
            GeminiLlmConnection(session).receive().asend(None).send(None)
        except (StopAsyncIteration, StopIteration):
            pass
        except Exception as error:  # whatever changed in ADK: it is not as we know it
            return f"GeminiLlmConnection.receive failed: {type(error).__name__}."
    if seen == ["probe"]:
        return None
    return "GeminiLlmConnection does not log the messages that it receives, or logging is disabled."
