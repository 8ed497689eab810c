"""A chat server of canned answers on the loopback interface, to try the chat driver with.

It knows no protocol: each POST to the chat gets the next body, `/stream` the one to resume, and
`/messages` the history. What came in is not kept, because the driver reports what it sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

CHAT = "/api/chat/canned"


@dataclass
class Canned:
    """What to answer. A body is SSE text, or a status with the text of a refusal."""

    posts: Sequence[str | tuple[int, str]] = ()
    stream: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    #: Set when the test is over: until then a response whose body has no [DONE] stays open.
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._posts = iter(self.posts)

    def answer(self, method: str, path: str) -> tuple[int, str, str]:
        """Return status, content type and body."""
        if path.endswith("/messages"):
            return 200, "application/json", json.dumps(self.messages)
        if path.endswith("/stream"):
            return (204, "", "") if self.stream is None else (200, SSE, self.stream)
        if method == "POST" and path == CHAT:
            body = next(self._posts, (500, "no more answers"))
            return (200, SSE, body) if isinstance(body, str) else (body[0], "text/plain", body[1])
        return 200, "text/plain", path


SSE = "text/event-stream"


class _Handler(BaseHTTPRequestHandler):
    canned: ClassVar[Canned]

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer("POST")

    def _answer(self, method: str) -> None:
        status, content_type, body = self.canned.answer(method, self.path.partition("?")[0])
        try:
            self.send_response(status)
            if content_type:
                self.send_header("content-type", content_type)
            self.end_headers()
            self.wfile.write(body.encode())
        except ConnectionError:
            return  # the client cut the connection, as some tests ask it to
        if content_type == SSE and "[DONE]" not in body:
            self.canned.closing.wait()

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@contextmanager
def serving(canned: Canned) -> Iterator[str]:
    """Serve `canned` and yield the URL of its chat."""
    handler = type("Handler", (_Handler,), {"canned": canned})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{CHAT}"
        finally:
            canned.closing.set()
            server.shutdown()
            thread.join()
