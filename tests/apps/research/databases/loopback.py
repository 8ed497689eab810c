"""A loopback server with real sockets: it gives prepared answers in order and keeps what was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.apps.research.databases.recordings import Recording


@dataclass(frozen=True)
class Answer:
    """What the server says. `says` is how long the body claims to be; None is the truth."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    says: int | None = None
    silent: bool = False
    """Whether the server takes the request and never answers."""


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire."""

    path: str
    headers: dict[str, str]

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters, each once."""
        found = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[-1] for name, values in found.items()}


Give = Callable[[Asked], Answer]


@dataclass
class Loopback:
    """The server's address and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


def recorded(recording: Recording) -> Answer:
    """Return a recorded answer to be given again."""
    return Answer(recording.status, recording.body, recording.headers)


def synthetic(status: int = 200, value: object = None, **headers: str) -> Answer:
    """Return an answer that was made up: JSON, or bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    named = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    return Answer(status, body, named or (("content-type", "application/json"),))


@asynccontextmanager
async def loopback(answers: Sequence[Answer] | Give) -> AsyncIterator[Loopback]:
    """Serve answers in order (the last again and again), or whatever the function gives."""
    served = Loopback("")
    done = asyncio.Event()

    def answer(asked: Asked) -> Answer:
        if callable(answers):
            return answers(asked)
        return answers[min(len(served.asked) - 1, len(answers) - 1)]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request, *lines = head.strip().split("\r\n")
            pairs = (line.partition(":") for line in lines)
            asked = Asked(
                request.split(" ")[1], {name.lower(): text.strip() for name, _, text in pairs}
            )
            served.asked.append(asked)
            given = answer(asked)
            if given.silent:
                await done.wait()
            else:
                writer.write(_bytes(given))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        done.set()
        server.close()
        await server.wait_closed()


def _bytes(given: Answer) -> bytes:
    size = len(given.body) if given.says is None else given.says
    lines = [f"HTTP/1.1 {given.status} OK", f"content-length: {size}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in given.headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace") + given.body
