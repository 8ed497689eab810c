"""Tool calls that a Gemini live session cancels (`toolCallCancellation`).

google-adk 2.13 receives these messages and ignores them. `GeminiLlmConnection.receive` logs every message
at DEBUG before it handles it, with the message itself as the argument. A filter on that logger reads it
there, so neither the app's model nor its connection is touched.

While a live run exists, the logger's level is one below DEBUG, a value that nobody else uses. The filter
drops the records that the operator's own level would have dropped, unformatted.

Without it (other log text, logging disabled) a cancelled call stays open until it is answered or times out.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.genai import types

LOGGER = "google_adk.google.adk.models.gemini_llm_connection"
LEVEL = logging.DEBUG - 1
_RECEIVED = "Got LLM Live message: %s"

CancelCalls = Callable[[Sequence[str]], None]
"""Is given the ids of calls that the model has cancelled."""

CANCEL_CALLS: ContextVar[CancelCalls | None] = ContextVar("adk_prism_cancel_calls", default=None)
"""For the connections that are opened here; None in tools, which may have live runs of their own."""


class _MessageFilter(logging.Filter):
    """Reads the messages that ADK logs. One for the process: the context variable tells the run."""

    def __init__(self) -> None:
        super().__init__()
        self._runs = 0
        self._level = logging.NOTSET
        """The operator's level."""

    def attach(self) -> None:
        logger = logging.getLogger(LOGGER)
        self._runs += 1
        if logger.level != LEVEL:
            self._level = logger.level
            logger.setLevel(LEVEL)
        if self not in logger.filters:
            logger.filters.insert(
                0, self
            )  # before a filter of the operator's that drops the record

    def detach(self) -> None:
        logger = logging.getLogger(LOGGER)
        self._runs -= 1
        if not self._runs:
            logger.removeFilter(self)
            if logger.level == LEVEL:
                logger.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Report cancelled calls; keep a record only if the operator's level does."""
        if record.msg == _RECEIVED and isinstance(record.args, tuple):
            _report(record.args[0])
        logger = logging.getLogger(LOGGER)
        if logger.level != LEVEL:  # the operator has set another one since
            return True
        parent = logger.parent
        wanted = self._level or (parent.getEffectiveLevel() if parent is not None else LEVEL)
        return record.levelno >= wanted


_FILTER = _MessageFilter()


def _report(message: object) -> None:
    cancel = CANCEL_CALLS.get()
    if cancel is None or not isinstance(message, types.LiveServerMessage):
        return
    cancelled = message.tool_call_cancellation
    if cancelled is not None and cancelled.ids:
        cancel(cancelled.ids)


@contextmanager
def watch_cancellations(cancel: CancelCalls) -> Iterator[None]:
    """Report the calls that models cancel on connections opened in this context."""
    token = CANCEL_CALLS.set(cancel)
    _FILTER.attach()
    try:
        yield
    finally:
        _FILTER.detach()
        CANCEL_CALLS.reset(token)


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
