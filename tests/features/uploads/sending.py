"""Servers that take files, and a client of tus by hand."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, LocalServer, agent, local_server

PIECE = "application/offset+octet-stream"
TUS = {"tus-resumable": "1.0.0"}


def uploading(
    folder: Path, model: Scripted | None = None, tools: Sequence[Any] = (), **settings: Any
) -> AbstractAsyncContextManager[LocalServer]:
    """Serve an app, and keep uploaded files in a folder."""
    return local_server(
        agent(model or Scripted.saying(), tools=[*tools]),
        uploads_dir=str(folder / "up"),
        **settings,
    )


def metadata(**values: str) -> str:
    """Return `Upload-Metadata`."""
    pairs = (f"{name} {base64.b64encode(text.encode()).decode()}" for name, text in values.items())
    return ",".join(pairs)


async def begin(
    client: httpx.AsyncClient, size: int, more: dict[str, str] | None = None
) -> httpx.Response:
    """Ask for a file of a size."""
    sent = {**TUS, "upload-length": str(size), **(more or {})}
    return await client.post(f"/api/uploads/{APP}", headers=sent)


async def begun(client: httpx.AsyncClient, size: int, **values: str) -> str:
    """Begin a file; return its address."""
    answer = await begin(client, size, {"upload-metadata": metadata(**values)} if values else None)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


async def piece(
    client: httpx.AsyncClient,
    url: str,
    offset: int,
    data: bytes,
    more: dict[str, str] | None = None,
) -> httpx.Response:
    """Send a piece of a file."""
    sent = {**TUS, "upload-offset": str(offset), "content-type": PIECE, **(more or {})}
    return await client.patch(url, content=data, headers=sent)


async def send(
    client: httpx.AsyncClient,
    data: bytes,
    more: dict[str, str] | None = None,
    *,
    name: str = "file.txt",
    **values: str,
) -> str:
    """Send a whole file with one request; return its address."""
    sent = {
        **TUS,
        "upload-length": str(len(data)),
        "content-type": PIECE,
        "upload-metadata": metadata(filename=name, **values),
        **(more or {}),
    }
    answer = await client.post(f"/api/uploads/{APP}", content=data, headers=sent)
    assert answer.status_code == 201, answer.text
    assert answer.headers["upload-offset"] == str(len(data))
    return str(answer.headers["location"])
