"""A request as a span of OpenTelemetry, below the caller's own (`traceparent`), above the run that it starts.

Nothing happens without a tracer provider, or if the host application already has a span for the request.
Names are route templates; users, queries and texts are left out, because traces are stored elsewhere.
"""

from __future__ import annotations

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism.pipeline.run_span import is_traced
from adk_prism.server.observability.request_tracking import CURRENT_REQUEST, TrackedRequest
from adk_prism.version import VERSION


class Trace:
    """Gives every request and socket its span."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = CURRENT_REQUEST.get()
        if call is None or not is_traced() or trace.get_current_span().get_span_context().is_valid:
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        tracer = trace.get_tracer("adk_prism", VERSION)
        above = propagate.extract(headers)
        with tracer.start_as_current_span(call.method, above, SpanKind.SERVER) as span:
            try:
                await self._app(scope, receive, send)
            finally:
                _describe(span, call)


def _describe(span: Span, call: TrackedRequest) -> None:
    if call.route:
        span.update_name(f"{call.method} {call.route}")
        span.set_attribute("http.route", call.route)
    span.set_attribute("http.request.method", call.method)
    span.set_attribute("http.response.status_code", call.status)
    span.set_attribute("adk_prism.request", call.id)
    if call.run:
        span.set_attribute("adk_prism.run", call.run)
    if call.status >= 500:
        span.set_attribute("error.type", str(call.status))
        span.set_status(Status(StatusCode.ERROR))
