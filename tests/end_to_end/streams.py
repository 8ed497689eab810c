"""Event streams as bytes: frames with their places, read whole, in part, or from a place on."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx
from tests.end_to_end.clients import chat_body, new_id
from tests.end_to_end.server import Server
from tests.patience import PATIENCE

_FRAME = re.compile(rb"id: (?P<id>\S+)\ndata: [^\n]*\n\n")
_COMMENT = re.compile(rb"^: [^\n]*\n\n", re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """One event of a stream, with where it ends."""

    id: str
    end: int

    @property
    def cursor(self) -> int:
        return int(self.id.rpartition(":")[2].partition(".")[0])


def frames(stream: bytes) -> list[Frame]:
    """Return the whole frames of a stream; a piece of one at its end is left out."""
    return [Frame(match["id"].decode(), match.end()) for match in _FRAME.finditer(stream)]


def without_comments(stream: bytes) -> bytes:
    """Return a stream without its keep-alive comments."""
    return _COMMENT.sub(b"", stream)


def connect(server: Server) -> httpx.AsyncClient:
    """Return a client of a server with as many connections as it needs."""
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, limits=limits)


async def run_chat(http: httpx.AsyncClient, text: str, app: str = "tour") -> tuple[str, bytes]:
    """Say something in a new chat; return the run and its stream, without comments."""
    answer = await http.post(f"/api/chat/{app}", json=chat_body(new_id(), text))
    answer.raise_for_status()
    return answer.headers["x-prism-run"], without_comments(answer.content)


async def start(http: httpx.AsyncClient, text: str, app: str = "tour") -> str:
    """Begin a run and leave it at once: it outlives its client. Return its id."""
    body = chat_body(new_id(), text)
    async with http.stream("POST", f"/api/chat/{app}", json=body) as answer:
        answer.raise_for_status()
    run: str = answer.headers["x-prism-run"]
    return run


async def read(http: httpx.AsyncClient, run: str, query: str = "as=ai-sdk") -> bytes:
    """Return a run's stream, from where the query says to its end."""
    answer = await http.get(f"/api/runs/{run}/stream?{query}")
    answer.raise_for_status()
    return answer.content


async def read_part(
    http: httpx.AsyncClient, run: str, size: int, query: str = "as=ai-sdk"
) -> bytes:
    """Read so many bytes of a run's stream and cut the connection; fewer where it ends before."""
    received = b""
    async with http.stream("GET", f"/api/runs/{run}/stream?{query}") as answer:
        answer.raise_for_status()
        async for piece in answer.aiter_raw():
            received += piece
            if len(received) >= size:
                break
    return received[:size]


async def open_gate(http: httpx.AsyncClient, gate: str) -> None:
    """Open a gate of the diary's."""
    await run_chat(http, f"open {gate}", "diary")
