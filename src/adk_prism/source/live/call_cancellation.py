"""Calls that a model has made and withdraws (`toolCallCancellation`), which ADK passes over.

google-adk 2.13 reads each message of a live session and drops this one. google-genai 2.34 receives them one
by one in `AsyncSession._receive`: that is where they are seen, of this one session. The name is not public;
where it is missing, a withdrawn call waits for its answer or its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.genai import types
from google.genai.live import AsyncSession

CancelCalls = Callable[[Sequence[str]], None]
"""Is told the ids of calls that the model no longer wants."""


def watch_cancellations(connection: BaseLlmConnection, cancel_calls: CancelCalls) -> None:
    """See the calls that a Gemini session withdraws."""
    if not isinstance(connection, GeminiLlmConnection):
        return
    session: object = connection._gemini_session
    if not isinstance(session, AsyncSession) or not hasattr(session, "_receive"):
        return
    receive = session._receive

    async def seen() -> types.LiveServerMessage:
        message = await receive()
        cancelled = message.tool_call_cancellation
        if cancelled is not None and cancelled.ids:
            cancel_calls(cancelled.ids)
        return message

    session._receive = seen  # type: ignore[method-assign]  # of this session alone
