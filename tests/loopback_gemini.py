"""A loopback server that answers like Gemini's REST API, for ADK's real `Gemini` class.

It gives the prepared replies in order, one per request: a list of chunks, or a refusal with a
status. It follows `v1beta/models/{model}:streamGenerateContent?alt=sse` and `:generateContent`.
Standard library only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

USAGE: Json = {
    "promptTokenCount": 7,
    "candidatesTokenCount": 9,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 19,
}


@dataclass(frozen=True)
class Refusal:
    """An HTTP error instead of an answer."""

    code: int
    status: str
    message: str = "Refused (synthetic)."


Reply = Sequence[Json] | Refusal


@dataclass
class LoopbackGemini:
    """The server's address, the replies still to give, and the requests that came."""

    replies: list[Reply]
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """The API key of each request."""


def chunk(*parts: Json, finish: str | None = None, message: str | None = None) -> Json:
    """Return one chunk of an answer; the last one has a finish reason and carries the usage."""
    candidate: Json = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if message:
        candidate["finishMessage"] = message
    if finish is None:
        return {"candidates": [candidate], "modelVersion": "gemini-loopback"}
    candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-loopback", "usageMetadata": USAGE}


@contextmanager
def serve_gemini(*replies: Reply) -> Iterator[LoopbackGemini]:
    """Serve the replies on 127.0.0.1 until the block ends."""
    state = LoopbackGemini(list(replies))

    class Handler(_Handler):
        loopback = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    loopback: LoopbackGemini

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test reads the requests."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.loopback.requests.append(json.loads(self.rfile.read(length)))
        self.loopback.keys.append(self.headers.get("x-goog-api-key") or "")
        left = self.loopback.replies
        reply = left.pop(0) if left else Refusal(500, "INTERNAL", "No reply is left.")
        if isinstance(reply, Refusal):
            error = {"code": reply.code, "message": reply.message, "status": reply.status}
            self._send(reply.code, "application/json", json.dumps({"error": error}))
        elif ":streamGenerateContent" in self.path:
            frames = "".join(f"data: {json.dumps(piece)}\r\n\r\n" for piece in reply)
            self._send(200, "text/event-stream", frames)
        else:
            self._send(200, "application/json", json.dumps(_whole(reply)))

    def _send(self, status: int, kind: str, body: str) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _whole(chunks: Sequence[Json]) -> Json:
    """Merge the chunks of an answer into the one response of a call that does not stream."""
    contents = [piece["candidates"][0].get("content", {"parts": []}) for piece in chunks]
    parts = [part for content in contents for part in content["parts"]]
    last = dict(chunks[-1])
    content = {"content": {"role": "model", "parts": parts}} if parts else {}
    last["candidates"] = [{**last["candidates"][0], **content}]
    return last
