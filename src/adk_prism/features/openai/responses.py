"""Facts to OpenAI's Responses: the events of a stream, and the `response` object that they add up to.

A run is one response; its output items, in the order in which they began:
- `message` for each text of an agent, `reasoning` with a summary for its thoughts;
- `mcp_call` for a tool that the server runs: the API's own word for a tool call that is done elsewhere, with
  its result. `server_label` is the app;
- `function_call` for a call that the client has to run; `mcp_approval_request` for one that waits for a
  person's approval, which `mcp_approval_response` in the next input gives;
- `code_interpreter_call` for code that the model runs.

`sequence_number` is the place of an event in the log: `cursor * 10000 + number among the entry's events`. So
`starting_after` goes on anywhere, in any process. What ADK replaced stays in the stream, which cannot take it
back, and is not in the final `output`. Items may be open at the same time, so agents that speak at once need
no queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, UNANSWERED, with_reference
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import read_object
from adk_prism.features.openai import chat
from adk_prism.features.openai.chat import arguments_of, result_of
from adk_prism.features.openai.grammar import ResponsesGrammar
from adk_prism.features.usage.usage import UseFold
from adk_prism.log.entry import Entry, Position, RunStarted
from adk_prism.protocols import contract
from adk_prism.protocols.ai_sdk.frames import finish_reason

STEP = 10_000
"""Events of one entry that have numbers of their own."""

PREFIX = "resp_"
"""What the id of a response has before that of its run."""

_INCOMPLETE = {"length": "max_output_tokens", "content-filter": "content_filter"}

_encode = msgspec.json.Encoder().encode


def sequence_number(cursor: int, part: int) -> int:
    """Return the number of an event of an entry, counted from 1."""
    return cursor * STEP + min(part, STEP - 1)


def position_of(number: int) -> Position:
    """Return the place of the event with a sequence number."""
    cursor, part = divmod(number, STEP)
    return Position(cursor, part or None) if cursor else Position(0)


class Event(Struct, gc=False):
    """One event of the stream."""

    type: str
    fields: contract.Json
    number: int = 0


class _Item(Struct):
    """An output item, as far as it is known."""

    index: int
    shown: contract.Json
    text: list[str] = []
    is_open: bool = True
    citations: list[contract.Json] = []


class ResponsesProjection:
    """One run as the events of a response."""

    def __init__(self, options: contract.Options) -> None:
        self._files = options.files
        self._reader = Reader(options.make_annotators())
        self._response: contract.Json = {}
        self._run = self._app = ""
        self._cursor = 0
        self._items: list[_Item] = []
        self._blocks: dict[str, _Item] = {}
        self._replaced: set[int] = set()
        """Indices of items that do not count."""
        self._calls: dict[str, fact.CallRequested] = {}
        """Without an answer."""
        self._shown_calls: dict[str, _Item] = {}
        self._names: dict[str, str] = {}
        """Of the calls that an earlier run of the message left open."""
        self._approved: dict[str, str] = {}
        """Approvals of calls."""
        self._code: _Item | None = None
        self._last_text: _Item | None = None
        self._use = UseFold()
        self._finish = ""

    def feed(self, entry: Entry) -> list[Event]:
        """Return the events that an entry causes."""
        self._cursor = entry.cursor
        if isinstance(entry.record, RunStarted):
            self._begin(entry.record, entry.time)
        out: list[Event] = []
        for item in _sources_before_ends(self._reader.feed(entry)):
            if type(item) is fact.BlockGrew:  # most facts are this one
                self._grow(item, out)
            else:
                self._use.feed(item)
                _SHOW[type(item)](self, item, out)
        for part, event in enumerate(out, 1):
            event.number = sequence_number(entry.cursor, part)
        return out

    # -------------------------------------------------------------- the response

    def _begin(self, head: RunStarted, time: float) -> None:
        self._run, self._app = head.run, head.origin.app
        self._response = response_json(head, time)

    def _run_began(self, item: fact.RunBegan, out: list[Event]) -> None:
        kinds = ("response.created", "response.in_progress")
        out.extend(Event(kind, {"response": self._response}) for kind in kinds)

    def _message_began(self, item: fact.MessageBegan, out: list[Event]) -> None:
        self._names |= item.open_calls
        self._approved |= {call: given.approval for call, given in item.decisions.items()}

    def _message_ended(self, item: fact.MessageEnded, out: list[Event]) -> None:
        self._finish = item.finish

    def _run_over(self, item: fact.RunOver, out: list[Event]) -> None:
        is_waiting = item.outcome == "waiting"
        for name, call in self._calls.items():
            if name in self._shown_calls:
                self._close(self._shown_calls[name], {"status": "incomplete"}, out)
                self._replaced.add(self._shown_calls[name].index)
            elif is_waiting:
                self._ask_client(call, out)
        for open_item in [each for each in self._items if each.is_open]:
            self._close(open_item, {"status": "incomplete"}, out)
        kind, about = self._outcome(item)
        output = [each.shown for each in self._items if each.index not in self._replaced]
        whole = self._response | {"output": output, "usage": usage_json(self._use)} | about
        out.append(Event(kind, {"response": whole}))

    def _outcome(self, item: fact.RunOver) -> tuple[str, contract.Json]:
        if item.outcome in BROKEN:
            error = {"code": "server_error", "message": with_reference(item)}
            return "response.failed", {"status": "failed", "error": error}
        if item.outcome == "cancelled":
            return "response.incomplete", {"status": "cancelled"}
        reason = _INCOMPLETE.get(finish_reason(self._finish, awaiting=False))
        if reason is not None and item.outcome == "finished":
            about = {"status": "incomplete", "incomplete_details": {"reason": reason}}
            return "response.incomplete", about
        return "response.completed", {"status": "completed"}

    # -------------------------------------------------------------- items

    def _add(self, kind: str, shown: contract.Json, out: list[Event]) -> _Item:
        """Begin an item; `kind` is what its id begins with."""
        index = len(self._items)
        name = shown.get("id") or f"{kind}_{self._run}_{index}"
        item = _Item(index, {"id": name, **shown}, [])
        self._items.append(item)
        out.append(_event("response.output_item.added", index, item=dict(item.shown)))
        return item

    def _close(self, item: _Item, changes: contract.Json, out: list[Event]) -> None:
        item.shown = item.shown | changes
        item.is_open = False
        out.append(_event("response.output_item.done", item.index, item=item.shown))

    def _of(self, item: _Item, kind: str, **fields: Any) -> Event:
        """Return an event about an item."""
        return _event(kind, item.index, item_id=item.shown["id"], **fields)

    # -------------------------------------------------------------- texts

    def _block_began(self, item: fact.BlockBegan, out: list[Event]) -> None:
        if item.kind == "reasoning":
            shown = self._add("rs", {"type": "reasoning", "summary": []}, out)
            part = {"type": "summary_text", "text": ""}
            out.append(
                self._of(shown, "response.reasoning_summary_part.added", summary_index=0, part=part)
            )
        else:
            shown = self._begin_message(out)
        self._blocks[item.block] = shown

    def _begin_message(self, out: list[Event]) -> _Item:
        about = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
        shown = self._last_text = self._add("msg", about, out)
        part = output_text("")
        out.append(self._of(shown, "response.content_part.added", content_index=0, part=part))
        return shown

    def _grow(self, item: fact.BlockGrew, out: list[Event]) -> None:
        shown = self._blocks[item.block]
        shown.text.append(item.text)
        if item.kind == "reasoning":
            kind = "response.reasoning_summary_text.delta"
            out.append(self._of(shown, kind, summary_index=0, delta=item.text))
        else:
            kind = "response.output_text.delta"
            out.append(self._of(shown, kind, content_index=0, delta=item.text, logprobs=[]))

    def _block_ended(self, item: fact.BlockEnded, out: list[Event]) -> None:
        shown = self._blocks[item.block]
        if item.replaced:
            shown.text.clear()  # it does not count, so its end says nothing
        if item.kind != "reasoning":
            self._end_message(shown, out)
            return
        text = "".join(shown.text)
        part = {"type": "summary_text", "text": text}
        kind = "response.reasoning_summary"
        out.append(self._of(shown, f"{kind}_text.done", summary_index=0, text=text))
        out.append(self._of(shown, f"{kind}_part.done", summary_index=0, part=part))
        self._close(shown, {"summary": [part]}, out)

    def _end_message(self, shown: _Item, out: list[Event]) -> None:
        text = "".join(shown.text)
        part, kind = output_text(text, shown.citations), "response.output_text.done"
        out.append(self._of(shown, kind, content_index=0, text=text, logprobs=[]))
        out.append(self._of(shown, "response.content_part.done", content_index=0, part=part))
        self._close(shown, {"status": "completed", "content": [part]}, out)

    def _say(self, text: str, out: list[Event]) -> None:
        """Add a message of its own."""
        if text:
            shown = self._begin_message(out)
            shown.text.append(text)
            kind = "response.output_text.delta"
            out.append(self._of(shown, kind, content_index=0, delta=text, logprobs=[]))
            self._end_message(shown, out)

    def _blocks_replaced(self, item: fact.BlocksReplaced, out: list[Event]) -> None:
        """Leave what ADK did not store out of the final output."""
        self._replaced |= {
            self._blocks[block].index for block in item.blocks if block in self._blocks
        }

    def _input_requested(self, item: fact.InputRequested, out: list[Event]) -> None:
        self._say(chat.question_of_input(item), out)

    def _file_shown(self, item: fact.FileShown, out: list[Event]) -> None:
        self._say(chat.linked_file(self._files, self._run, self._cursor, item), out)

    def _source_cited(self, item: fact.SourceCited, out: list[Event]) -> None:
        shown = self._last_text
        if shown is None or not item.uri.startswith(("http://", "https://")):
            return
        about = {"url": item.uri, "title": item.title, "start_index": 0, "end_index": 0}
        note = {"type": "url_citation", **about}
        number = len(shown.citations)
        shown.citations.append(note)
        if shown.is_open:
            kind, at = "response.output_text.annotation.added", {"annotation_index": number}
            out.append(self._of(shown, kind, content_index=0, **at, annotation=note))

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested, out: list[Event]) -> None:
        self._calls[item.call] = item
        if not item.long_running:
            self._show_call(item.call, item.name, arguments_of(item), out)

    def _show_call(self, call: str, name: str, arguments: str, out: list[Event]) -> _Item:
        about: contract.Json = {"type": "mcp_call", "server_label": self._app, "name": name}
        asked = {"approval_request_id": self._approved[call]} if call in self._approved else {}
        shown = self._add(
            "mcp", {**about, "arguments": arguments, "status": "in_progress", **asked}, out
        )
        self._shown_calls[call] = shown
        out.append(self._of(shown, "response.mcp_call.in_progress"))
        out.append(self._of(shown, "response.mcp_call_arguments.done", arguments=arguments))
        return shown

    def _settle(self, call: str, name: str, output: str, error: str, out: list[Event]) -> None:
        asked = self._calls.pop(call, None)
        shown = self._shown_calls.pop(call, None)
        if shown is None:  # of an earlier run, or a long-running one that was answered here
            arguments = arguments_of(asked) if asked is not None else "{}"
            shown = self._show_call(call, name or self._names.get(call, ""), arguments, out)
            del self._shown_calls[call]
        kind = "failed" if error else "completed"
        out.append(self._of(shown, f"response.mcp_call.{kind}"))
        failed = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": error}]}
        result: contract.Json = {"error": failed} if error else {"output": output}
        self._close(shown, {"status": kind, **result}, out)

    def _call_answered(self, item: fact.CallAnswered, out: list[Event]) -> None:
        self._settle(item.call, item.name, result_of(item.output), "", out)

    def _call_failed(self, item: fact.CallFailed, out: list[Event]) -> None:
        self._settle(item.call, item.name, "", item.error or UNANSWERED, out)

    def _call_denied(self, item: fact.CallDenied, out: list[Event]) -> None:
        self._settle(item.call, item.name, "", contract.denial_text(item.reason), out)

    def _call_abandoned(self, item: fact.CallAbandoned, out: list[Event]) -> None:
        if item.call in self._shown_calls:
            self._settle(item.call, item.name, "", UNANSWERED, out)
        self._calls.pop(item.call, None)

    def _call_delegated(self, item: fact.CallDelegated, out: list[Event]) -> None:
        if item.call in self._shown_calls:
            self._settle(item.call, "", "", "", out)

    def _ask_client(self, call: fact.CallRequested, out: list[Event]) -> None:
        arguments = arguments_of(call)
        about: contract.Json = {"type": "function_call", "call_id": call.call, "name": call.name}
        shown = self._add("fc", {**about, "arguments": "", "status": "in_progress"}, out)
        kind = "response.function_call_arguments"
        out.append(self._of(shown, f"{kind}.delta", delta=arguments))
        out.append(self._of(shown, f"{kind}.done", name=call.name, arguments=arguments))
        self._close(shown, {"arguments": arguments, "status": "completed"}, out)

    def _approval_requested(self, item: fact.ApprovalRequested, out: list[Event]) -> None:
        call = self._calls.get(item.call)
        about: contract.Json = {"type": "mcp_approval_request", "server_label": self._app}
        named = {"name": call.name if call else "", "arguments": arguments_of(call) if call else ""}
        shown = self._add("mcpr", {"id": item.approval, **about, **named}, out)
        self._close(shown, {}, out)

    def _code_shown(self, item: fact.CodeShown, out: list[Event]) -> None:
        code = str(read_object(item.code).get("code") or "")
        about = {"type": "code_interpreter_call", "container_id": self._app, "outputs": None}
        self._code = self._add("ci", {**about, "code": "", "status": "in_progress"}, out)
        self._code.shown["code"] = code
        kind = "response.code_interpreter_call"
        out.append(self._of(self._code, f"{kind}.in_progress"))
        out.append(self._of(self._code, f"{kind}_code.delta", delta=code))
        out.append(self._of(self._code, f"{kind}_code.done", code=code))
        out.append(self._of(self._code, f"{kind}.interpreting"))

    def _code_result_shown(self, item: fact.CodeResultShown, out: list[Event]) -> None:
        shown, self._code = self._code, None
        if shown is not None:
            logs = str(read_object(item.result).get("output") or "")
            outputs = [{"type": "logs", "logs": logs}]
            out.append(self._of(shown, "response.code_interpreter_call.completed"))
            self._close(shown, {"status": "completed", "outputs": outputs}, out)

    def _nothing(self, item: fact.Fact, out: list[Event]) -> None:
        """A response has no place for it."""


def _event(kind: str, index: int, **fields: Any) -> Event:
    return Event(kind, {"output_index": index, **fields})


def _sources_before_ends(items: list[fact.Fact]) -> list[fact.Fact]:
    """Put the sources that an entry has before the end of its text: clients take them while it is open."""
    if not any(type(each) is fact.SourceCited for each in items):
        return items
    ends = (place for place, each in enumerate(items) if _ends_text(each))
    end = next(ends, len(items))
    cited = [each for each in items[end:] if type(each) is fact.SourceCited]
    return [*items[:end], *cited, *(each for each in items[end:] if each not in cited)]


def _ends_text(item: fact.Fact) -> bool:
    return isinstance(item, fact.BlockEnded) and item.kind != "reasoning"


def output_text(text: str, citations: Sequence[contract.Json] = ()) -> contract.Json:
    """Return the content of a message item."""
    return {"type": "output_text", "text": text, "annotations": citations, "logprobs": []}


def response_json(head: RunStarted, time: float) -> contract.Json:
    """Return a response that has just begun."""
    about: contract.Json = {
        "id": f"{PREFIX}{head.run}",
        "object": "response",
        "created_at": max(0, int(time)),
        "status": "in_progress",
        "model": head.origin.app,
        "output": [],
        "conversation": {"id": head.origin.session},
    }
    absent = ("error", "incomplete_details", "instructions", "temperature", "top_p", "usage")
    fixed = {"metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return about | dict.fromkeys(absent) | fixed


def usage_json(use: UseFold) -> contract.Json:
    """Return the tokens of a run in the names of Responses."""
    found = chat.usage_json(use)
    return {
        "input_tokens": found["prompt_tokens"],
        "input_tokens_details": {**found["prompt_tokens_details"], "cache_write_tokens": 0},
        "output_tokens": found["completion_tokens"],
        "output_tokens_details": found["completion_tokens_details"],
        "total_tokens": found["total_tokens"],
        **use.said,
    }


_P = ResponsesProjection
_SHOW: contract.FactMethods = contract.fact_methods(
    ResponsesProjection,
    dict.fromkeys(
        [kind for kind in chat.NOT_SHOWN if kind is not fact.MessageBegan] + [fact.ApprovalDecided],
        _P._nothing,
    ),
)


def _payload(event: Event) -> contract.Payload:
    data = {"type": event.type, **event.fields, "sequence_number": event.number}
    return contract.Payload(_encode(data), event.type)


def _failure(text: str) -> list[contract.Payload]:
    return [_payload(Event("error", {"code": "stream_broken", "message": text, "param": None}))]


def _completed(event: Event, complete: contract.Complete) -> Event:
    if event.type != "response.failed":
        return event
    response = event.fields["response"]
    error = {**response["error"], "message": complete(response["error"]["message"])}
    return Event(event.type, {"response": {**response, "error": error}}, event.number)


SPEC = contract.ProtocolSpec(
    name="openai-responses",
    summary="OpenAI's Responses, as a stream of events",
    grammar=ResponsesGrammar(),
    make=lambda options, first: ResponsesProjection(options),
    payload=_payload,
    failure=_failure,
    completed=_completed,
)
