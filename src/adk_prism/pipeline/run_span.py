"""A run as a span of OpenTelemetry: what ADK does in it is below it, the request that started it above.

Nothing happens without a tracer provider. A run continues when its request is over, so its span
may end after its parent's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

from adk_prism.pipeline.record import RunRecorder
from adk_prism.runlog.entry import RunId
from adk_prism.version import VERSION

NAME = "adk_prism.run"


def is_traced() -> bool:
    """Return whether there is a tracer provider: until then OpenTelemetry returns a proxy."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def run_span(run: RunId, recorder: RunRecorder) -> Iterator[None]:
    """Record what happens in the block as the span of a run."""
    if not is_traced():
        yield
        return
    tracer = trace.get_tracer("adk_prism", VERSION)
    with tracer.start_as_current_span(NAME, attributes={"adk_prism.run": run}) as span:
        try:
            yield
        finally:
            _describe(span, recorder)


def _describe(span: Span, recorder: RunRecorder) -> None:
    """Say what run it was and how it ended. Users and texts stay out: traces are kept by others."""
    if recorder.head is not None:
        span.set_attribute("adk_prism.app", recorder.head.origin.app)
        span.set_attribute("gen_ai.conversation.id", recorder.head.origin.session)
        span.set_attribute("adk_prism.invocation", recorder.head.invocation)
    if recorder.ended is not None:
        span.set_attribute("adk_prism.outcome", recorder.ended.outcome)
        if recorder.ended.outcome == "failed":
            span.set_attribute("error.type", recorder.ended.code)
            span.set_attribute("adk_prism.correlation", recorder.ended.correlation)
            span.set_status(Status(StatusCode.ERROR, recorder.ended.code))
