"""What a recorded request held of ADK's memory, given again: `preload_memory` searches before each request.

It is no tool that a model calls, so there is no recorded answer; what it found is in the request itself. Only
requests that were recorded whole say so (`--model-calls full`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

_FOUND = re.compile(r"<PAST_CONVERSATIONS>\n(.*)\n</PAST_CONVERSATIONS>", re.S)
"""How google-adk 2.13 writes what `preload_memory` found (`tools/preload_memory_tool.py`)."""


def recorded_memory(calls: Iterable[Mapping[str, Any]]) -> RecordedMemory | None:
    """Return the memory that some model calls were given; None if no request was recorded whole."""
    is_known = False
    for call in calls:
        contents = (call.get("request") or {}).get("contents")
        is_known = is_known or contents is not None
        for content in contents or ():
            for part in content.get("parts") or ():
                if found := _FOUND.search(part.get("text") or ""):
                    return RecordedMemory(found[1])
    return RecordedMemory("") if is_known else None


class RecordedMemory(BaseMemoryService):
    """Finds what was found before, and keeps nothing: a message that is run again is not remembered."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the recorded memories as one entry, whose text is as ADK wrote it."""
        del app_name, user_id, query  # The recording has one answer.
        if not self._text:
            return SearchMemoryResponse()
        content = types.Content(role="user", parts=[types.Part(text=self._text)])
        return SearchMemoryResponse(memories=[MemoryEntry(content=content)])

    async def add_session_to_memory(self, session: Session) -> None:
        """Do nothing."""
