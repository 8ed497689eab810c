"""Sends every run that has ended to an OpenTelemetry collector (`--otlp`), as `adk-prism export` does.

One task, a run after the other; what it computes, it computes in a thread. A collector that is away costs the
traces of that time, and a line for the operator; no run waits for it.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Struct

from adk_prism.errors import Diagnostic, Gone, NotFound, Report, UsageError, cause_of
from adk_prism.facts.state import read_object
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.otlp.spans import REQUEST, RESPONSE, Span, spans_of
from adk_prism.features.search.index import DigestFold
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, RunEnded, RunId, RunStarted
from adk_prism.log.private_files import cancel_task
from adk_prism.version import VERSION

# ---------------------------------------------------------------------- exported spans
#
# The spans of a run as they are exported to viewers of traces, with readable messages.
#
# `spans.py` says what took how long. Here the run itself becomes the root, and what was said is written in
# OpenTelemetry's conventions for generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`) and in
# those of OpenInference, by which Phoenix and others choose how to draw a span. A model call has its request
# where the entries contain it, as those of a file do.


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
        out["input.value"] = _words_of(shown[-1]["parts"])
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
    text = _words_of(said["parts"])
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
    text = _words_of(said["parts"]) or to_json(said["parts"])
    # A character takes up to six in JSON.
    return f"{text[: room // 6]}… [cut]"


def _drawn(name: str, said: Json) -> Attributes:
    """Return a message in OpenInference's form."""
    out: Attributes = {f"{name}.role": said["role"]}
    text = _words_of(said["parts"])
    if text:
        out[f"{name}.content"] = text
    calls = [part for part in said["parts"] if part["type"] == "tool_call"]
    for number, call in enumerate(calls):
        function = f"{name}.tool_calls.{number}.tool_call.function"
        out[f"{function}.name"] = call["name"]
        out[f"{function}.arguments"] = to_json(call["arguments"])
    return out


def _words_of(parts: Iterable[Json]) -> str:
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
            return _words_of(
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


# ---------------------------------------------------------------------------
# Spans as the body of an OTLP/HTTP request: protobuf, which every collector takes (opentelemetry-proto
# 1.x).
#
# The few messages of a trace are written by hand: a field is a number, a wire type and a value. Not
# opentelemetry's exporter: it needs five more packages, and hides how the collector answered
# (`docs/decisions/0060-kept-by-hand.md`).

_INTERNAL, _ERROR = 1, 2


def trace_request(spans: Iterable[ExportedSpan], service: str, version: str) -> bytes:
    """Return an `ExportTraceServiceRequest`."""
    scope = _text(1, "adk-prism") + _text(2, version)
    scoped = _field(1, scope) + b"".join(_field(2, _span(span)) for span in spans)
    resource = _attributes(1, {"service.name": service})
    return _field(1, _field(1, resource) + _field(2, scoped))


def _span(span: ExportedSpan) -> bytes:
    return b"".join(
        (
            _field(1, span.trace),
            _field(2, span.id),
            _field(4, span.parent) if span.parent else b"",
            _text(5, span.name),
            _number(6, _INTERNAL),
            _fixed(7, span.start),
            _fixed(8, span.end),
            _attributes(9, span.attributes),
            _field(15, _text(2, span.error) + _number(3, _ERROR))
            if span.error is not None
            else b"",
        )
    )


def _attributes(number: int, attributes: Mapping[str, Any]) -> bytes:
    return b"".join(
        _field(number, _text(1, name) + _field(2, _value(value)))
        for name, value in attributes.items()
    )


def _value(value: Any) -> bytes:
    match value:
        case str():
            return _text(1, value)
        case bool():
            return _number(2, int(value))
        case int():
            return _number(3, value)
        case float():
            return _key(4, 1) + struct.pack("<d", value)
        case list():
            return _field(5, b"".join(_field(1, _value(each)) for each in value))
        case _:
            return _text(1, str(value))


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written in two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, payload: bytes) -> bytes:
    return _key(number, 2) + _varint(len(payload)) + payload


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode(errors="replace"))


def _number(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


def _fixed(number: int, value: int) -> bytes:
    return _key(number, 1) + struct.pack("<Q", value)


# ---------------------------------------------------------------------------

MOST_WAITING = 1000
"""Runs that wait to be sent; what ends beyond that is not sent."""

LARGEST = 64 * 1024**2
"""Bytes of a run that is sent: a larger one would have to be held in memory."""

PATIENCE = 30.0
"""Seconds for the collector to answer."""


def otlp_address(url: str) -> str:
    """Return where traces are posted to; `/v1/traces` is added to a bare address. Raise `UsageError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--otlp must be a URL such as http://127.0.0.1:4318, got {url[:80]!r}.")
    bare = not parts.path.strip("/")
    return parts._replace(path="/v1/traces").geturl() if bare else url


class TraceExport:
    """Exports the runs of a log."""

    def __init__(self, log: RunLog, url: str, report: Report) -> None:
        self._log = log
        self._calls = ModelCalls(log)
        self._url = otlp_address(url)
        self._report = report
        self._waiting: asyncio.Queue[RunId] = asyncio.Queue(MOST_WAITING)

    def ended(self, run: RunId) -> None:
        """Note that a run has ended."""
        if self._waiting.full():
            self._report_failure("Too many runs wait for the collector.", run)
        else:
            self._waiting.put_nowait(run)

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Do nothing: a trace is sent when its run has ended."""

    def changed(self, run: RunId) -> None:
        """Do nothing: a trace has nothing of what is stored beside its run."""

    @asynccontextmanager
    async def exporting(self) -> AsyncIterator[None]:
        """Export runs while the block runs."""
        task = asyncio.create_task(self._work())
        try:
            yield
        finally:
            await cancel_task(task)

    async def _work(self) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            while True:
                run = await self._waiting.get()
                try:
                    await self._export(client, run)
                except (NotFound, Gone):
                    pass  # Removed since.
                except Exception as error:  # Whatever it is, the next run is exported.
                    self._report_failure("", run, cause_of(error))

    async def _export(self, client: httpx.AsyncClient, run: RunId) -> None:
        if (await self._log.summary(run)).bytes > LARGEST:
            self._report_failure("The run is too large.", run)
            return
        async with aclosing(self._log.read(run)) as batches:
            entries = [entry async for batch in batches for entry in batch]
        body = await asyncio.to_thread(_body, await self._calls.filled(run, entries))
        if body:
            headers = {"content-type": "application/x-protobuf"}
            answer = await client.post(self._url, content=body, headers=headers)
            if not answer.is_success:
                self._report_failure(f"The collector answered {answer.status_code}.", run)

    def _report_failure(self, detail: str, run: RunId, cause: str = "") -> None:
        self._report(Diagnostic(kind="trace not exported", detail=detail, run=run, cause=cause))


def _body(entries: list[Entry]) -> bytes:
    spans = exported_spans(entries)
    if not spans:
        return b""
    return trace_request(spans, str(spans[0].attributes["gen_ai.agent.name"]), VERSION)
