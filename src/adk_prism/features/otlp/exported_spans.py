"""The spans of a run as they are exported to viewers of traces, with readable messages.

`spans.py` says what took how long. Here the run itself becomes the root, and what was said is written in
OpenTelemetry's conventions for generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`) and in those
of OpenInference, by which Phoenix and others choose how to draw a span. A model call has its request where
the entries contain it, as those of a file do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.facts.state import read_object
from adk_prism.features.otlp.spans import REQUEST, RESPONSE, Span, spans_of
from adk_prism.features.search.index import DigestFold
from adk_prism.log.entry import Entry, RunEnded, RunStarted

# ---------------------------------------------------------------------------
# What was said to a model and by it, as attributes of an exported span.
#
# In two conventions: OpenTelemetry's for generative AI (`gen_ai.…`, JSON), and OpenInference's
# (`llm.…`, one attribute for each value), by which Phoenix and others draw messages.

LONGEST = 32_000
"""Characters of one attribute: collectors refuse requests of some megabytes."""

MOST_TOOLS = 100

Attributes = dict[str, Any]
Json = dict[str, Any]

_ROLES = {"model": "assistant"}


def input_attributes(request: Json) -> Attributes:
    """Return what a model was sent: `model`, `config` and `contents`. Of too much, the latest messages."""
    config = request.get("config")
    config = dict(config) if isinstance(config, dict) else {}
    tools, instruction = config.pop("tools", None), _said(config.pop("systemInstruction", None))
    contents = request.get("contents")
    messages = [_message(each) for each in contents or () if isinstance(each, dict)]
    shown = _latest(messages)
    out: Attributes = {"gen_ai.input.messages": to_json(shown)}
    if shown:
        out["input.value"] = _text(shown[-1]["parts"])
    if instruction:
        out["gen_ai.system_instructions"] = to_json([{"type": "text", "content": instruction}])
        shown = [message("system", [{"type": "text", "content": instruction}]), *shown]
    for number, each in enumerate(shown):
        out |= _drawn(f"llm.input_messages.{number}.message", each)
    if config:
        out["llm.invocation_parameters"] = to_json(config)
    return out | _tools(tools)


def output_attributes(response: Json) -> Attributes:
    """Return what a model answered."""
    content = response.get("content")
    said = _message(content if isinstance(content, dict) else {})
    said["role"] = "assistant"
    (said,) = _latest([said])
    text = _text(said["parts"])
    out = {"gen_ai.output.messages": to_json([said])}
    return (
        out
        | _drawn("llm.output_messages.0.message", said)
        | ({"output.value": text} if text else {})
    )


def message(role: str, parts: Sequence[Json]) -> Json:
    """Return a message in OpenTelemetry's form."""
    return {"role": role, "parts": list(parts)}


def to_json(value: Any) -> str:
    """Return a value as the text of an attribute."""
    return msgspec.json.encode(value).decode()[:LONGEST]


def _message(content: Json) -> Json:
    given = content.get("parts")
    parts = [_part(part) for part in given or () if isinstance(part, dict)]
    role = str(content.get("role") or "user")
    answers = bool(parts) and all(part["type"] == "tool_call_response" for part in parts)
    return message("tool" if answers else _ROLES.get(role, role), parts)


def _part(part: Json) -> Json:
    """Return a part of a message in OpenTelemetry's form."""
    if isinstance(call := part.get("functionCall"), dict):
        name, given = str(call.get("name", "")), call.get("args")
        return {"type": "tool_call", "id": call.get("id"), "name": name, "arguments": given}
    if isinstance(answer := part.get("functionResponse"), dict):
        given = answer.get("response")
        return {"type": "tool_call_response", "id": answer.get("id"), "response": given}
    if isinstance(text := part.get("text"), str):
        return {"type": "reasoning" if part.get("thought") else "text", "content": text}
    if isinstance(file := part.get("inlineData"), dict):
        return {"type": "blob", "mime_type": file.get("mimeType")}
    if isinstance(file := part.get("fileData"), dict):
        return {"type": "uri", "mime_type": file.get("mimeType"), "uri": file.get("fileUri")}
    return {"type": next(iter(part), "unknown")}


def _latest(messages: Sequence[Json]) -> list[Json]:
    """Return the last messages that fit into one attribute, and one that says how many are missing."""
    room, kept = LONGEST - 200, list[Json]()
    for each in reversed(messages):
        size = len(msgspec.json.encode(each).decode())
        if size > room and not kept:
            each = message(each["role"], [{"type": "text", "content": _shortened(each, room)}])
            size = room
        if size > room:
            break
        room -= size + 1
        kept.insert(0, each)
    missing = len(messages) - len(kept)
    note = f"[{missing} earlier messages are not in this trace]"
    return [message("user", [{"type": "text", "content": note}]), *kept] if missing else kept


def _shortened(said: Json, room: int) -> str:
    text = _text(said["parts"]) or to_json(said["parts"])
    # A character takes up to six in JSON.
    return f"{text[: room // 6]}… [cut]"


def _drawn(name: str, said: Json) -> Attributes:
    """Return a message in OpenInference's form."""
    out: Attributes = {f"{name}.role": said["role"]}
    text = _text(said["parts"])
    if text:
        out[f"{name}.content"] = text
    calls = [part for part in said["parts"] if part["type"] == "tool_call"]
    for number, call in enumerate(calls):
        function = f"{name}.tool_calls.{number}.tool_call.function"
        out[f"{function}.name"] = call["name"]
        out[f"{function}.arguments"] = to_json(call["arguments"])
    return out


def _text(parts: Iterable[Json]) -> str:
    """Return the words of a message, and what tools answered."""
    said = (
        part["content"] if part["type"] == "text" else to_json(part["response"])
        for part in parts
        if part["type"] in ("text", "tool_call_response")
    )
    return "".join(said)[:LONGEST]


def _said(instruction: Any) -> str:
    """Return the text of an instruction: a string, a content, or a list of parts."""
    match instruction:
        case str():
            return instruction[:LONGEST]
        case dict():
            return _text(
                _message(instruction)["parts"] or _message({"parts": [instruction]})["parts"]
            )
        case list():
            return "\n".join(map(_said, instruction))[:LONGEST]
        case _:
            return ""


def _tools(tools: Any) -> Attributes:
    declared = [
        function
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
        for function in tool.get("functionDeclarations") or [tool]
    ][:MOST_TOOLS]
    if not declared:
        return {}
    drawn = {
        f"llm.tools.{number}.tool.json_schema": to_json(each)
        for number, each in enumerate(declared)
    }
    return {"gen_ai.tool.definitions": to_json(declared), **drawn}


# ---------------------------------------------------------------------------

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
