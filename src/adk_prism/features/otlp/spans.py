"""A run as the spans that OpenTelemetry would have collected of it, for viewers of traces.

Names and attributes are those of google-adk 2.13 (`telemetry/tracing.py`, `telemetry/node_tracing.py`), which
follow the semantic conventions for generative AI. They are computed from the log, so that they need no
collector and no memory, and are there for runs that are over. Differences to ADK's own:
- what was said is in attributes `gcp.vertex.agent.…`, where earlier versions of ADK put it, without media;
- what a tool runs is inside the tool's span; joining the results of parallel calls has none;
- without a record of it, a model call begins when its agent had nothing else to wait for;
- ids are derived, and small enough for JavaScript to read them exactly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from fastapi import APIRouter, Response
from msgspec import Raw, Struct

from adk_prism.errors import Gone, NotFound
from adk_prism.facts import model as fact_model
from adk_prism.facts.adk_event import REQUESTS, AdkEvent, read_event
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.model_calls import model_calls
from adk_prism.features.model_calls.calls import ANSWER_BYTES
from adk_prism.features.usage.usage import token_usage
from adk_prism.log import entry as records
from adk_prism.log.contract import RunSummary
from adk_prism.log.entry import Entry, ModelCalled
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Caller, listed_user, may_operate
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.request_bodies import AppName, SessionId

# ---------------------------------------------------------------------------
# A recorded model call as the attributes of its span, in the words of google-adk's telemetry.
#
# `gcp.vertex.agent.llm_request` and `…llm_response` are JSON, which ADK's page shows in its Trace
# tab: there as `model`, `config` (with instruction and tools) and `contents`. The bytes of media are
# left out, as ADK does.

REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"

_TOKEN_ATTRIBUTES = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
_FIRST = "gen_ai.response.time_to_first_chunk"
"""In seconds."""


def call_attributes(record: records.ModelCalled) -> dict[str, Any]:
    """Return what a model call says of its span; requests only where the record has them."""
    tokens = token_usage(record.usage)
    about: dict[str, Any] = {
        name: tokens[kind] for kind, name in _TOKEN_ATTRIBUTES.items() if kind in tokens
    }
    if record.model:
        about["gen_ai.request.model"] = record.model
    if record.first_token is not None:
        about[_FIRST] = record.first_token / 1000
    if record.finish:
        about["gen_ai.response.finish_reasons"] = [record.finish.lower()]
    if record.error:
        about["error.type"] = record.error
    if not records.is_absent(record.request):
        about[REQUEST] = _written_value(_request(record))
        about[RESPONSE] = _written_value(without_media(read_object(record.response)))
    return about


def _request(record: records.ModelCalled) -> dict[str, Any]:
    given = read_object(record.request)
    config, tools, contents = given.get("config"), given.get("tools"), given.get("contents")
    config = dict(config) if isinstance(config, dict) else {}
    return {
        "model": record.model,
        "config": config | ({"tools": tools} if tools else {}),
        "contents": [
            _without_bytes(each)
            for each in (contents if isinstance(contents, list) else ())
            if isinstance(each, dict)
        ],
    }


def without_media(response: dict[str, Any]) -> dict[str, Any]:
    """Return a model's response whose files have their types only."""
    content = response.get("content")
    return response | ({"content": _without_bytes(content)} if isinstance(content, dict) else {})


def _without_bytes(content: dict[str, Any]) -> dict[str, Any]:
    """Return a content whose files have their types only."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    return content | {"parts": [_named(part) if isinstance(part, dict) else part for part in parts]}


def _named(part: dict[str, Any]) -> dict[str, Any]:
    file = part.get("inlineData")
    if not isinstance(file, dict):
        return part
    return part | {"inlineData": {name: file[name] for name in file if name != "data"}}


def _written_value(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# ---------------------------------------------------------------------------

_MICROSECONDS = 1_000_000
_ID_BITS = 53
"""Of integers that JavaScript keeps exactly."""

_OPERATIONS: dict[records.NodeKind, str] = {
    "agent": "invoke_agent",
    "tool": "execute_tool",
    "workflow": "invoke_workflow",
}
"""What a node does, in ADK's words; other nodes: `invoke_node`."""

_NAMED: dict[str, str] = {
    "invoke_agent": "gen_ai.agent.name",
    "execute_tool": "gen_ai.tool.name",
    "invoke_workflow": "gen_ai.workflow.name",
}
"""The attribute that has the node's name."""

_TOKENS = {
    "gen_ai.usage.input_tokens": "promptTokenCount",
    "gen_ai.usage.output_tokens": "candidatesTokenCount",
}

_RESPONSE = "content finishReason usageMetadata modelVersion errorCode errorMessage".split()
"""Fields of an event that are the model's response."""


class Span(Struct, kw_only=True):
    """One thing that took time."""

    name: str
    start_time: int
    """In nanoseconds since 1970, as `end_time`."""
    end_time: int | None = None
    trace_id: int
    span_id: int
    parent_span_id: int | None
    attributes: dict[str, Any]
    logs: list[Any] = []


def spans_of(entries: Iterable[records.Entry]) -> list[Span]:
    """Return the spans of a run that have ended, in the order of their ends."""
    return Spans().feed(entries)


class Spans:
    """Reads the spans of one run."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._run = self._session = self._invocation = ""
        self._models: dict[str, str] = {}
        """Agent → its model."""
        self._open: dict[str, tuple[fact_model.NodeBegan, Span]] = {}
        self._idle: dict[str, int] = {}
        """Node → since when it has waited for nothing but a model."""
        self._inputs: dict[str, Raw] = {}
        self._tools: dict[str, list[Span]] = {}
        """Call → spans without its answer, innermost last."""
        self._answers: list[tuple[str, Span]] = []
        """Node and span of what models answered, until a record says how the call was."""
        self._ended: list[Span] = []

    def feed(self, entries: Iterable[records.Entry]) -> list[Span]:
        """Read entries; return all spans that have ended so far."""
        for entry in entries:
            record = entry.record
            if isinstance(record, records.RunStarted):
                self._invocation = record.invocation
            event = _event_of(entry)
            now = round(entry.time * _MICROSECONDS) * 1000
            facts = [_unwrapped(fact) for fact in self._reader.feed(entry)]
            for fact in facts:
                self._read(fact, event, now)
            if event is not None:
                self._end_model_call(entry, event, facts, now)
            if isinstance(record, records.ModelCalled):
                self._describe_call(entry.cursor, record)
        return self._ended

    def _read(self, fact: fact_model.Fact, event: AdkEvent | None, now: int) -> None:
        match fact:
            case fact_model.RunBegan():
                self._run, self._session = fact.run, fact.origin.session
                self._models = {agent.name: agent.model for agent in fact.agents if agent.model}
            case fact_model.NodeBegan():
                self._begin(fact, now)
            case fact_model.NodeFinished():
                self._finish(fact, now)
            case fact_model.CallRequested():
                self._inputs[fact.call] = fact.input
            case fact_model.CallAnswered() | fact_model.CallFailed():
                self._answer(fact, event)
            case _:
                pass  # takes no time of its own

    def _begin(self, fact: fact_model.NodeBegan, now: int) -> None:
        operation = _OPERATIONS.get(fact.kind, "invoke_node")
        about = self._about(operation)
        if operation in _NAMED:
            about[_NAMED[operation]] = fact.name
        if fact.kind == "tool":
            about["gen_ai.tool.call.id"] = fact.call
            about["gcp.vertex.agent.tool_call_args"] = _text(self._inputs.pop(fact.call, None))
        span = self._span(f"{operation} {fact.name}", fact.node, fact.parent, now, about)
        if fact.kind == "tool":
            self._tools.setdefault(fact.call, []).append(span)
        self._open[fact.node] = fact, span
        self._idle[fact.node] = now

    def _about(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.conversation.id": self._session,
            "gcp.vertex.agent.invocation_id": self._invocation,
        }

    def _span(self, name: str, key: str, parent: str, start: int, about: dict[str, Any]) -> Span:
        return Span(
            name=name,
            start_time=start,
            trace_id=_id(self._run),
            span_id=_id(self._run, key),
            parent_span_id=_id(self._run, parent) if parent else None,
            attributes=about,
        )

    def _finish(self, fact: fact_model.NodeFinished, now: int) -> None:
        known = self._open.pop(fact.node, None)
        if known is None:
            return
        began, span = known
        span.end_time = now
        if fact.error:
            span.attributes["error.type"] = fact.error
        self._idle[began.parent] = now
        self._ended.append(span)

    def _answer(
        self, fact: fact_model.CallAnswered | fact_model.CallFailed, event: AdkEvent | None
    ) -> None:
        waiting = self._tools.get(fact.call)
        if waiting:
            span = waiting.pop()
            span.attributes["gcp.vertex.agent.tool_response"] = _text(fact.output)
            if event is not None:
                span.attributes["gcp.vertex.agent.event_id"] = event.id

    def _end_model_call(
        self, entry: records.Entry, event: AdkEvent, facts: list[fact_model.Fact], now: int
    ) -> None:
        ended = next((fact for fact in facts if isinstance(fact, fact_model.ModelCallEnded)), None)
        if event.partial or not (ended or self._is_answer(event)):
            return
        speaker = fact_model.Speaker(
            event.author, event.node_info.path if event.node_info else "", event.branch or ""
        )
        node = self._speaking(speaker)
        model = event.model_version or self._models.get(event.author, "")
        about = self._about("generate_content") | {
            "gen_ai.request.model": model,
            "gen_ai.agent.name": event.author,
            "gcp.vertex.agent.event_id": event.id,
            "gcp.vertex.agent.invocation_id": event.invocation_id,
            REQUEST: "{}",
            RESPONSE: _response(entry),
        }
        if event.finish_reason:
            about["gen_ai.response.finish_reasons"] = [event.finish_reason.lower()]
        if event.error_code:
            about["error.type"] = event.error_code
        usage = read_object(event.usage_metadata)
        about |= {
            name: usage[theirs]
            for name, theirs in _TOKENS.items()
            if isinstance(usage.get(theirs), int)
        }
        start = min(self._idle.get(node, now), now)
        span = self._span(f"generate_content {model}", f"model {entry.cursor}", node, start, about)
        span.end_time = self._idle[node] = now
        self._ended.append(span)
        self._answers.append((node, span))

    def _describe_call(self, cursor: int, call: records.ModelCalled) -> None:
        """Take times, tokens and texts from the record of a call: its answers are one span."""
        start = round(call.started * _MICROSECONDS) * 1000
        since = [(node, span) for node, span in self._answers if (span.end_time or 0) >= start]
        mine = [span for node, span in since if node == call.node] or [
            span for _, span in since if span.attributes["gen_ai.agent.name"] == call.agent
        ]
        if not mine:  # It failed before it answered.
            about = self._about("generate_content") | {"gen_ai.agent.name": call.agent}
            mine = [self._span("", f"model {cursor}", call.node, start, about)]
            self._ended.append(mine[0])
        ids = {span.span_id for span in mine}
        self._answers = [each for each in self._answers if each[1].span_id not in ids]
        *others, span = mine
        gone = {other.span_id for other in others}
        self._ended = [each for each in self._ended if each.span_id not in gone]
        span.name = f"generate_content {call.model}"
        span.start_time, span.end_time = start, start + call.duration * 1_000_000
        span.attributes |= call_attributes(call)

    def _is_answer(self, event: AdkEvent) -> bool:
        """Return whether a model wrote an event that does not say so: an agent's words or calls."""
        if event.author not in self._models or event.content is None:
            return False
        written = [part for part in event.content.parts or () if part.function_response is None]
        return any(
            part.function_call is None or part.function_call.name not in REQUESTS
            for part in written
        )

    def _speaking(self, speaker: fact_model.Speaker) -> str:
        """Return the open node of a speaker: by path and branch, else by name."""
        nodes = [began for began, _ in self._open.values() if began.kind != "tool"]
        exact = (n for n in nodes if (n.path, n.branch) == (speaker.path, speaker.branch))
        named = (n for n in reversed(nodes) if n.name == speaker.author)
        found = next(exact, None) or next(named, None)
        return found.node if found is not None else ""


def _unwrapped(fact: fact_model.Fact) -> fact_model.Fact:
    while isinstance(fact, fact_model.Nested):
        fact = fact.fact
    return fact


def _event_of(entry: records.Entry) -> AdkEvent | None:
    written = _written(entry)
    if written is None:
        return None
    try:
        return read_event(written)
    except msgspec.MsgspecError:  # The reader of facts reports it.
        return None


def _written(entry: records.Entry) -> bytes | None:
    match entry.record:
        case records.AgentEvent() | records.ChildEvent():
            return bytes(entry.record.event)
        case _:
            return None


def _response(entry: records.Entry) -> str:
    """Return what the model answered, as JSON, without the bytes of media."""
    tree = read_object(_written(entry) or b"{}")
    response = {key: tree[key] for key in _RESPONSE if tree.get(key) is not None}
    return msgspec.json.encode(without_media(response)).decode()


def _text(value: Raw | None) -> str:
    """Return a JSON value as text; an absent one is an empty object, as ADK writes it."""
    if value is None or not bytes(value):
        return "{}"
    return msgspec.json.encode(read_value(value)).decode()


def _id(*names: str) -> int:
    digest = blake2b("\n".join(names).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> (64 - _ID_BITS)) or 1


# ---------------------------------------------------------------------- adk trace
#
# Traces for ADK's page: what a session did, or one event of it, as spans.
#
# Follows google-adk 2.13 `cli/dev_server.py` and `telemetry/_web_ui.py`: the same addresses and shapes. ADK
# keeps all spans of all sessions in memory until it stops. Here they are computed from the run log
# (`features.otlp.spans`): they survive a restart, cost nothing until somebody asks, and are for those who may
# see the runs.


MOST_BYTES = 32 * 1024**2
"""Of the runs that one answer reads, newest first: an hour of conversation, or some seconds of work."""

MOST_RUNS = 200
"""Runs that one answer reads."""

_JSON = "application/json"


class TraceRoutes:
    """The routes of traces."""

    def __init__(self, context: Context) -> None:
        self.log = context.log
        self.chats = context.chats
        self.calls = model_calls(context)

    def router(self) -> APIRouter:
        """Return the router of traces."""
        router = APIRouter(prefix="/dev/apps/{app_name}/debug/trace", tags=["ADK: debug"])
        router.get("/session/{session_id}", response_class=Response)(self.session)
        router.get("/{event_id}", response_class=Response)(self.event)
        return router

    async def session(self, caller: CallerOf, app_name: AppName, session_id: SessionId) -> Response:
        """Return the spans of a session's latest runs, oldest first; none of a session that is not there."""
        user = listed_user(caller, "")
        runs = _latest(await self.log.list(app=app_name, user=user, session=session_id))
        found: list[Any] = []
        left = ANSWER_BYTES
        for run in runs:
            entries = await self._entries(caller, run, left)
            left -= sum(len(e.record.request) for e in entries if isinstance(e.record, ModelCalled))
            found = await asyncio.to_thread(spans_of, entries) + found
        return Response(msgspec.json.encode(found), media_type=_JSON)

    async def event(self, caller: CallerOf, app_name: AppName, event_id: str) -> Response:
        """Return the attributes of the model call or tool that an event of the latest runs is of."""
        user = listed_user(caller, "")
        sought = msgspec.json.encode(event_id)
        for run in _latest(await self.log.list(app=app_name, user=user)):
            entries = await self._entries(caller, run)
            if not any(sought in (_written(entry) or b"") for entry in entries):
                continue
            for span in reversed(await asyncio.to_thread(spans_of, entries)):
                about = span.attributes
                if about.get("gcp.vertex.agent.event_id") == event_id:
                    about |= {"trace_id": span.trace_id, "span_id": span.span_id}
                    return Response(msgspec.json.encode(about), media_type=_JSON)
        raise NotFound("Trace not found")

    async def _entries(
        self, caller: Caller, run: RunSummary, most: int = ANSWER_BYTES
    ) -> list[Entry]:
        # Instructions are the app's, not the user's.
        most = most if may_operate(caller) else 0
        try:
            entries = [entry async for entry in self.chats.entries(run.run)]
            return await self.calls.filled(run.run, entries, most)
        except (NotFound, Gone):  # Deleted since it was listed.
            return []


def _latest(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return as many runs as one answer may read, newest first; at least the last one."""
    read, size = list[RunSummary](), 0
    for run in reversed(runs[-MOST_RUNS:]):
        size += run.bytes
        if read and size > MOST_BYTES:
            break
        read.append(run)
    return read
