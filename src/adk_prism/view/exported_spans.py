"""The spans of a run as they are exported to viewers of traces, with readable messages.

`spans.py` says what took how long. Here the run itself becomes the root, and what was said is written in
OpenTelemetry's conventions for generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`) and in those
of OpenInference, by which Phoenix and others choose how to draw a span. A model call has its request where
the entries contain it, as those of a file do.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from adk_prism.facts.json_value import read_object
from adk_prism.facts.run_digest import DigestFold
from adk_prism.runlog.entry import Entry, RunEnded, RunStarted
from adk_prism.view.call_attributes import REQUEST, RESPONSE
from adk_prism.view.exported_messages import (
    LONGEST,
    Attributes,
    input_attributes,
    message,
    output_attributes,
    to_json,
)
from adk_prism.view.spans import Span, spans_of

_KINDS = {"invoke_agent": "AGENT", "execute_tool": "TOOL", "generate_content": "LLM"}
"""OpenInference's kinds of spans; any other operation is a CHAIN."""

_TOKENS = {
    "gen_ai.usage.input_tokens": "llm.token_count.prompt",
    "gen_ai.usage.output_tokens": "llm.token_count.completion",
    "gen_ai.usage.cache_read.input_tokens": "llm.token_count.prompt_details.cache_read",
    "gen_ai.usage.reasoning.output_tokens": "llm.token_count.completion_details.reasoning",
}


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
    trace = blake2b(start.run.encode(), digest_size=16).digest()
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
            parts = [{"type": "text", "content": text}]
            about[f"gen_ai.{way}.messages"] = to_json([message(role, parts)])
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
        own |= _of_model_call(span, own)
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


def _of_model_call(span: Span, about: Attributes) -> Attributes:
    request, response = (
        read_object(str(span.attributes.get(name, "{}")).encode()) for name in (REQUEST, RESPONSE)
    )
    return {
        **(input_attributes(request) if request else {}),
        **output_attributes(response),
        "llm.model_name": about.get("gen_ai.request.model", ""),
        **{theirs: about[ours] for ours, theirs in _TOKENS.items() if ours in about},
    }
