"""An ADK server that costs nearly nothing: `N every S` streams N deltas, one each S seconds, at a fixed pace.

The text of each delta is the time at which it was sent, so that whoever gets it knows how long it took. All
processes of a machine share that clock.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

_EVENT = {"author": "speaker", "invocationId": "i1", "id": "e1", "actions": {"stateDelta": {}}}
_KNOWN = {
    "/version": {"version": "2.13.0", "language": "python"},
    "/list-apps": ["speaker"],
    "/apps/speaker/app-info": {"rootAgentName": "speaker", "description": "", "agents": {}},
}


async def serve_loopback(port: int) -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(_connection, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            method, path, body = await _request(reader)
            if path == "/run_sse":
                await _stream(writer, body["newMessage"]["parts"][0]["text"])
            else:
                writer.write(_answer(method, path, body))
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    _, _, after = head.partition("content-length:")
    body = await reader.readexactly(int(after.split("\r\n")[0] or 0))
    method, path, _ = head.split("\r\n")[0].split(" ")
    return method, path, json.loads(body) if body else None


def _answer(method: str, path: str, body: Any) -> bytes:
    found = _KNOWN.get(path)
    if method == "post":
        found = {"id": body["sessionId"], "appName": "speaker", "state": {}, "events": []}
    status = "404 Not Found" if found is None else "200 OK"
    data = json.dumps(found or {}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    return f"{head}\r\n\r\n".encode() + data


async def _stream(writer: asyncio.StreamWriter, asked: str) -> None:
    count, _, interval = asked.split()
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked"
    writer.write(f"{head}\r\n\r\n".encode())
    began, said = time.monotonic(), ""
    for number in range(int(count)):
        await asyncio.sleep(max(0.0, began + number * float(interval) - time.monotonic()))
        text = f"{time.monotonic():.6f} "
        said += text
        _send(writer, text, partial=True)
    _send(writer, said, finishReason="STOP")
    writer.write(b"0\r\n\r\n")


def _send(writer: asyncio.StreamWriter, text: str, **more: Any) -> None:
    content = {"parts": [{"text": text}], "role": "model"}
    event = {"content": content, **more, **_EVENT, "timestamp": time.time()}
    data = f"data: {json.dumps(event, separators=(',', ':'))}\n\n"
    writer.write(f"{len(data):x}\r\n{data}\r\n".encode())
