"""The spans of a run: a tree in time, whatever was recorded."""

from __future__ import annotations

import pytest
from tests.features.page.entries import Log
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.features.otlp.spans import Span, spans_of


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_spans_are_a_tree_in_time(name: str) -> None:
    """Each has an id of its own, ends after it began, and lies inside what it is part of."""
    spans = spans_of(load(name))
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    for span in spans:
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        outer = known.get(span.parent_span_id or 0)
        assert outer is None or outer.start_time <= span.start_time


def test_a_model_call_begins_when_its_agent_is_idle() -> None:
    """After the agent's own start, its tool, and its model call before."""
    log = Log("hello")
    log.start("a1")
    log.event("a", parts=[_call("c1")], finishReason="STOP")
    log.start("t1", "a1", "tool", call="c1")
    log.end("t1")
    log.event("a", parts=[{"functionResponse": {"id": "c1", "name": "t", "response": {"x": 1}}}])
    log.event("a", text="Done.", finishReason="STOP")
    log.end("a1")
    log.over()
    spans = {span.name: span for span in spans_of(log.entries)}
    first, tool, second = (s for s in spans_of(log.entries) if s.name != "invoke_agent a")
    assert first.start_time == spans["invoke_agent a"].start_time
    assert second.start_time == tool.end_time
    assert _about(tool, "tool_response") == '{"x":1}'
    assert _about(tool, "tool_call_args") == '{"n":1}'


def test_media_are_left_out() -> None:
    """A trace is for reading; the file is in the run."""
    log = Log("hello")
    log.start("a1")
    picture = {"inlineData": {"mimeType": "image/png", "data": "QUFB"}}
    log.event("a", parts=[picture], finishReason="STOP")
    (span,) = spans_of(log.entries)
    assert "QUFB" not in _about(span, "llm_response")
    assert "image/png" in _about(span, "llm_response")


def _call(call: str) -> dict[str, object]:
    return {"functionCall": {"id": call, "name": "t", "args": {"n": 1}}}


def _about(span: Span, name: str) -> str:
    text = span.attributes[f"gcp.vertex.agent.{name}"]
    assert isinstance(text, str)
    return text
