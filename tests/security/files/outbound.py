"""A server that notes every connection it makes while somebody asks for all of its files.

A process of its own: an audit hook cannot be taken out. Printed: what was connected to or looked up, and
the status of each file.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from google.genai import types
from tests.adk.scripted import Scripted
from tests.security.files.references import FOLDER, REFUSED
from tests.server.local_server import agent, local_server

WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")


def watch(allowed: str) -> list[list[Any]]:
    """Note where this process wants to go, and let it go nowhere but to one address."""
    seen: list[list[Any]] = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in WATCHED:
            return
        where = args[1] if event in ("socket.connect", "socket.sendto") else args[:2]
        if not isinstance(where, str | bytes):  # a path is a socket of this machine's own
            host = where[0].decode() if isinstance(where[0], bytes) else str(where[0])
            seen.append([event, host, where[1]])
            if f"{host}:{where[1]}" != allowed:
                raise OSError("not from here")

    sys.addaudithook(hook)
    return seen


async def ask(emulator: str, allowed: str) -> tuple[list[list[Any]], list[int]]:
    """Serve an agent that refers to everything; ask for each file."""
    uris = [f"{FOLDER}/a.png", *(case.uri for case in REFUSED)]
    parts = [types.Part(file_data=types.FileData(file_uri=uri)) for uri in uris]
    settings = {"files_from": (FOLDER,), "files_emulator": emulator}
    async with local_server(agent(Scripted.saying(parts)), **settings) as server:
        run = await server.say("show me")
        entries = await server.entries(run)
        [cursor] = [
            entry.cursor
            for entry in entries
            if b"fileData" in bytes(getattr(entry.record, "event", b""))
        ][-1:]
        seen = watch(allowed)
        answers = [
            await server.client.get(f"/api/runs/{run}/files/{cursor}/{part}")
            for part in range(len(uris))
        ]
        return seen, [answer.status_code for answer in answers]


if __name__ == "__main__":
    seen, statuses = asyncio.run(ask(*sys.argv[1:3]))
    print(json.dumps({"seen": seen, "statuses": statuses}))
