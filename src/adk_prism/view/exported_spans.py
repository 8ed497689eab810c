"""The spans of a run as they are exported to viewers of traces, with readable messages.

`spans.py` says what took how long. Here the run itself becomes the root, and what was said is written in
OpenTelemetry's conventions for generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`) and in those
of OpenInference, by which Phoenix and others choose how to draw a span. Of a model call, events tell the
answer and not the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.facts.json_value import read_object
from adk_prism.facts.run_digest import DigestFold
from adk_prism.runlog.entry import Entry, RunEnded, RunStarted
from adk_prism.view.spans import Span, spans_of

LONGEST = 32_000
"""Characters of one attribute: collectors refuse requests of some megabytes."""

_KINDS = {"invoke_agent": "AGENT", "execute_tool": "TOOL", "generate_content": "LLM"}
"""OpenInference's kinds of spans; any other operation is a CHAIN."""

_TOKENS = {
    "gen_ai.usage.input_tokens": "llm.token_count.prompt",
    "gen_ai.usage.output_tokens": "llm.token_count.completion",
}

_OUTPUT = "llm.output_messages.0.message"

Attributes = dict[str, Any]


class ExportedSpan(Struct, frozen=True, kw_only=True):
    """One span, as OTLP has it."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    start: int
    end: int
    attributes: Attributes
    error: str | None
    """Why it failed; None: it did not."""


def exported_spans(entries: Sequence[Entry]) -> list[ExportedSpan]:
    """Return the spans of a run, the run first; none for a run whose entries have no times."""
    times = [round(entry.time * 1_000_000) * 1000 for entry in entries if entry.time]
    start = entries[0].record if entries else None
    if not times or not isinstance(start, RunStarted):
        return []
    spans = spans_of(entries)
    ids = {span.span_id for span in spans}
    trace = spans[0].trace_id.to_bytes(16) if spans else start.run.encode()[-16:].rjust(16, b"\0")
    root = ExportedSpan(
        trace=trace,
        id=trace[-8:],
        parent=b"",
        name=f"invoke_agent {start.origin.app}",
        start=times[0],
        end=times[-1],
        attributes=_of_run(entries, start),
        error=_failure(entries[-1]),
    )
    inside = (_exported(span, root, span.parent_span_id in ids) for span in spans)
    return [root, *inside]


def _of_run(entries: Sequence[Entry], start: RunStarted) -> Attributes:
    fold = DigestFold()
    for entry in entries:
        fold.feed(entry)
    digest, origin = fold.digest(), start.origin
    about: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": origin.app,
        "gen_ai.conversation.id": origin.session,
        "session.id": origin.session,
        "user.id": origin.user,
        "adk_prism.run": start.run,
        "openinference.span.kind": "CHAIN",
    }
    said = {"input": ("user", digest.user), "output": ("assistant", digest.agent)}
    for way, (role, text) in said.items():
        if text:
            about[f"{way}.value"] = text
            about[f"gen_ai.{way}.messages"] = _messages(role, [{"type": "text", "content": text}])
    return about


def _failure(last: Entry) -> str | None:
    record = last.record
    failed = isinstance(record, RunEnded) and record.outcome == "failed"
    return record.code or "failed" if isinstance(record, RunEnded) and failed else None


def _exported(span: Span, root: ExportedSpan, has_parent: bool) -> ExportedSpan:
    operation = span.attributes["gen_ai.operation.name"]
    own = {k: v for k, v in span.attributes.items() if v and not k.startswith("gcp.vertex.agent.")}
    own["openinference.span.kind"] = _KINDS.get(operation, "CHAIN")
    error = own.get("error.type")
    if operation == "execute_tool":
        own |= _of_tool(span.attributes)
    elif operation == "generate_content":
        response = read_object(span.attributes["gcp.vertex.agent.llm_response"].encode())
        own |= _of_model_call(own, response)
        error = response.get("errorCode") or error
    start = span.start_time or root.start
    return ExportedSpan(
        trace=root.trace,
        id=span.span_id.to_bytes(8),
        parent=(span.parent_span_id or 0).to_bytes(8) if has_parent else root.id,
        name=span.name,
        start=start,
        end=max(span.end_time or root.end, start),
        attributes=own,
        error=str(error) if error else None,
    )


def _of_tool(about: Attributes) -> Attributes:
    given = str(about.get("gcp.vertex.agent.tool_call_args", ""))[:LONGEST]
    result = str(about.get("gcp.vertex.agent.tool_response", ""))[:LONGEST]
    return {
        "tool.name": about.get("gen_ai.tool.name", ""),
        "gen_ai.tool.call.arguments": given,
        "input.value": given,
        "gen_ai.tool.call.result": result,
        "output.value": result,
    }


def _of_model_call(about: Attributes, response: dict[str, Any]) -> Attributes:
    content = response.get("content")
    given = content.get("parts") if isinstance(content, dict) else None
    parts = [_part(part) for part in given or () if isinstance(part, dict)]
    text = "".join(part["content"] for part in parts if part["type"] == "text")[:LONGEST]
    out: Attributes = {
        "gen_ai.output.messages": _messages("assistant", parts),
        f"{_OUTPUT}.role": "assistant",
        "llm.model_name": about.get("gen_ai.request.model", ""),
        **{theirs: about[ours] for ours, theirs in _TOKENS.items() if ours in about},
    }
    if text:
        out |= {"output.value": text, f"{_OUTPUT}.content": text}
    calls = [part for part in parts if part["type"] == "tool_call"]
    for number, call in enumerate(calls):
        function = f"{_OUTPUT}.tool_calls.{number}.tool_call.function"
        out[f"{function}.name"] = call["name"]
        out[f"{function}.arguments"] = _json(call["arguments"])
    return out


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a message in OpenTelemetry's form."""
    if isinstance(call := part.get("functionCall"), dict):
        name, given = str(call.get("name", "")), call.get("args")
        return {"type": "tool_call", "id": call.get("id"), "name": name, "arguments": given}
    if isinstance(text := part.get("text"), str):
        return {"type": "reasoning" if part.get("thought") else "text", "content": text}
    return {"type": next(iter(part), "unknown")}


def _messages(role: str, parts: list[dict[str, Any]]) -> str:
    return _json([{"role": role, "parts": parts}])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:LONGEST]
