"""What the diary app has noted (`agents/diary`), and what the server tells of its chats."""

from __future__ import annotations

import json
from typing import Any

from tests.end_to_end.server import Server

Json = dict[str, Any]


def ran(server: Server, chat: str) -> list[str]:
    """Return the tools of the diary that ran in a chat."""
    return [" ".join(entry.values()) for entry in notes(server, "ran", chat)]


def notes(server: Server, kind: str, chat: str) -> list[Json]:
    """Return what the diary has noted of a chat."""
    file = server.folder / f"{kind}-{chat}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def session(server: Server, chat: str) -> Json:
    """Return a chat's ADK session."""
    found: Json = server.http.get(f"/apps/diary/users/user/sessions/{chat}").json()
    return found


def last_run(server: Server, chat: str) -> Json:
    """Return the newest run of a chat."""
    runs: list[Json] = server.http.get(f"/api/runs?app=diary&session={chat}").json()
    return runs[-1]
