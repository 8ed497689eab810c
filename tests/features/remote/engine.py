"""Agent Engine on a loopback socket: its methods over the sessions of the small server, one event to a line.

Written from ADK 2.13's own route (`cli/fast_api.py`) and google-cloud-aiplatform 2.6, as they answered: a
method that raises is a 500 without JSON, a created session is in snake case and one that is read is not, a
run that failed breaks the connection.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.features.remote.loopback import Loopback, Reply, Request, Wire

RAISED = Reply(b"Internal Server Error", 500, "text/plain; charset=utf-8")


class Engine(Loopback):
    """An app on Agent Engine. `place`: where it is, as its address ends; empty: on ADK's own server."""

    def __init__(self, place: str = "") -> None:
        super().__init__()
        self.place = place
        self.ask = f"{place}:query" if place else "/api/reasoning_engine"
        self.stream = f"{place}:streamQuery?alt=sse" if place else "/api/stream_reasoning_engine"
        self.sessions: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{super().url}{self.place}"

    def is_run(self, path: str) -> bool:
        """Whether a path runs the agent."""
        return path == self.stream

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        writer.write((head + "transfer-encoding: chunked\r\nconnection: close\r\n\r\n").encode())
        await self.run(Wire(reader, writer))

    def _usual(self, request: Request) -> Reply:
        if request.path != self.ask:
            return Reply(b'{"detail":"Not Found"}', 404)
        given = request.body["input"]
        name = given.get("session_id", "drawn")
        match request.body["class_method"]:
            case "async_create_session":
                if name in self.sessions:
                    return RAISED
                self.sessions[name] = {"state": given.get("state") or {}, "events": []}
                return _output({"id": name, "user_id": given["user_id"], **self.sessions[name]})
            case "async_get_session":
                found = self.sessions.get(name)
                return RAISED if found is None else _output({"id": name, **found})
            case "async_list_sessions":
                return _output({"sessions": [{"id": each, "events": []} for each in self.sessions]})
            case "async_delete_session":
                self.sessions.pop(name, None)
                return _output(None)
            case _:
                return Reply(b'{"detail":"not allowed"}', 400)


def _output(value: Any) -> Reply:
    return Reply(json.dumps({"output": value}).encode())
