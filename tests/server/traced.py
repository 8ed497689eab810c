"""A process that collects its own spans: asks a server a few things, and prints the spans as JSON.

`python -m tests.server.traced`; a tracer provider is global to a process, so the test starts one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.types import ASGIApp, Message
from tests.adk.scripted import Scripted, call
from tests.server.local_server import agent, local_server

from adk_prism.runs.recorder import is_traced

ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def shown(span: ReadableSpan) -> dict[str, Any]:
    """Return what a test looks at."""
    assert span.context is not None
    return {
        "name": span.name,
        "kind": span.kind.name,
        "trace": f"{span.context.trace_id:032x}",
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else "",
        "status": span.status.status_code.name,
        "attributes": dict(span.attributes or {}),
    }


def chat(name: str) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    return {"id": name, "messages": [message]}


async def call_in(app: ASGIApp) -> None:
    """Open a socket and leave."""
    coming = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}])

    async def receive() -> Message:
        return next(coming)

    async def send(message: Message) -> None:
        assert message["type"] == "websocket.accept"

    scope = {"type": "websocket", "path": "/api/live/app", "query_string": b"ticket=secret"}
    scope |= {"headers": [(b"traceparent", ABOVE.encode())], "server": ("127.0.0.1", 8000)}
    await app({**scope, "subprotocols": [], "scheme": "ws"}, receive, send)


async def ask() -> None:
    """One run that calls a tool, for a caller who is traced; one that fails; one below a host's span."""
    model = Scripted.saying(call("count", "c1"), "Counted.", RuntimeError("broken"), "Well.")
    async with local_server(agent(model)) as server:
        headers = {"traceparent": ABOVE, "x-request-id": "req-1"}
        for name in ("good", "bad"):
            await server.client.post("/api/chat/app?x=secret", json=chat(name), headers=headers)
            headers = {}
        with trace.get_tracer("host").start_as_current_span("host"):
            await server.client.post("/api/chat/app", json=chat("hosted"))
        await server.client.get("/nowhere?ticket=secret")
        assert server.app is not None
        await call_in(server.app)


def main() -> None:
    """Ask while nobody collects, which leaves no spans; ask again, and print."""
    assert not is_traced()
    asyncio.run(ask())
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    asyncio.run(ask())
    json.dump([shown(span) for span in exporter.get_finished_spans()], sys.stdout, default=str)


if __name__ == "__main__":
    main()
