"""A session service as a user might register it."""

from __future__ import annotations

from typing import Any

from google.adk.sessions.in_memory_session_service import InMemorySessionService


class OwnSessionService(InMemorySessionService):
    """Takes what ADK's registry gives it."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
