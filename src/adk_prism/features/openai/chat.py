"""Facts to OpenAI's Chat Completions: the chunks of a stream, and the one object of a plain answer.

What the API has no word for is shown so that every client can do something with it:
- thoughts are `reasoning_content`, which clients show apart or pass over; in the dialect `tools` the
  agents' own tool calls and their results are lines of it, since a `tool_calls` would have the client run
  them;
- texts of several agents are paragraphs of one answer, one at a time (`Voices`); text that ADK did not
  store cannot be taken back, and what it stored follows;
- calls that the client has to run are `tool_calls`, when the run waits for nothing else;
- a question to the person (an approval, an input request) is the last paragraph of the answer
  (`question_of_approval`): the next message answers it (`matching.py`). The last chunk has it as `prism`,
  for programs;
- files are Markdown images and links, sources are `annotations`;
- a failure is an `error` object, which OpenAI's SDKs raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, with_reference
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import is_given, read_object, repair
from adk_prism.features.openai.grammar import ChatGrammar
from adk_prism.features.usage.usage import UseFold
from adk_prism.log.entry import Entry, RunStarted
from adk_prism.protocols import contract
from adk_prism.protocols.ai_sdk.frames import finish_reason
from adk_prism.protocols.studio.trace import Voices

DIALECTS = ("tools", "answer")
"""With the agents' own tool calls as reasoning, and without."""

LONGEST_RESULT = 500
"""Characters of a tool's result that the reasoning shows; the page has all of it."""

_FINISH = {"length": "length", "content-filter": "content_filter", "tool-calls": "tool_calls"}
"""The AI SDK's reasons for those that OpenAI has; any other is `stop`."""


class Delta(Struct, gc=False):
    """What a chunk adds to the message."""

    role: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[contract.Json] | UnsetType = UNSET
    annotations: list[contract.Json] | UnsetType = UNSET


class Choice(Struct, gc=False):
    """The only choice of a chunk."""

    delta: Delta
    finish_reason: str | None = None
    index: int = 0


class Chunk(Struct, gc=False):
    """One `chat.completion.chunk`."""

    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: contract.Json | UnsetType = UNSET
    prism: contract.Json | UnsetType = UNSET
    """What the message asks, for programs: `{"approvals": […]}`."""
    object: str = "chat.completion.chunk"


class Failed(Struct, gc=False):
    """The run failed."""

    error: contract.Json


class Done(Struct, gc=False):
    """The stream's end."""


Frame = Chunk | Failed | Done

_encode = msgspec.json.Encoder().encode
_DONE = contract.Payload(b"[DONE]")


def error_json(message: str, code: str, kind: str = "server_error") -> contract.Json:
    """Return an error in OpenAI's form."""
    return {"message": message, "type": kind, "param": None, "code": code or None}


class ChatProjection:
    """One run as the chunks of a chat completion."""

    def __init__(self, options: contract.Options) -> None:
        self._shows_tools = options.dialect != DIALECTS[1]
        self._files = options.files
        self._reader = Reader(options.make_annotators())
        self._id, self._model, self._created, self._cursor = "chatcmpl", "", 0, 0
        self._run = ""
        self._voices = Voices()
        self._spoke = False
        """Something of the answer was sent: the next text is another paragraph."""
        self._fresh: set[str] = set()
        """Blocks that have not said anything."""
        self._calls: dict[str, fact.CallRequested] = {}
        """Without an answer, in order."""
        self._approvals: dict[str, fact.ApprovalRequested] = {}
        """Open ones, by call."""
        self._sources: dict[str, contract.Json] = {}
        self._use = UseFold()
        self._ended: fact.MessageEnded | None = None

    def feed(self, entry: Entry) -> list[Frame]:
        """Return the chunks that an entry causes."""
        self._cursor = entry.cursor
        if not self._created:
            self._created = max(0, int(entry.time))
        if isinstance(entry.record, RunStarted):
            self._run, self._model = entry.record.run, entry.record.origin.app
            self._id = f"chatcmpl-{self._run}"
        out: list[Frame] = []
        for item in self._reader.feed(entry):
            if type(item) is fact.BlockGrew:  # most facts are this one
                if item.kind == "reasoning":
                    out.append(self._chunk(Delta(reasoning_content=item.text)))
                elif text := self._voices.say(item.block, item.text):
                    self._say(item.block, text, out)
            else:
                self._use.feed(item)
                _SHOW[type(item)](self, item, out)
        return out

    def _chunk(self, delta: Delta, finish: str | None = None) -> Chunk:
        return Chunk(self._id, self._created, self._model, [Choice(delta, finish)])

    def _say(self, block: str, text: str, out: list[Frame]) -> None:
        if block in self._fresh:
            self._fresh.discard(block)
            text = f"\n\n{text}" if self._spoke else text
        self._spoke = True
        out.append(self._chunk(Delta(content=text)))

    def _say_paragraph(self, text: str, out: list[Frame]) -> None:
        if text:
            out.append(self._chunk(Delta(content=f"\n\n{text}" if self._spoke else text)))
            self._spoke = True

    def _note(self, text: str, out: list[Frame]) -> None:
        if self._shows_tools:
            out.append(self._chunk(Delta(reasoning_content=f"{text}\n")))

    # -------------------------------------------------------------- the message

    def _run_began(self, item: fact.RunBegan, out: list[Frame]) -> None:
        out.append(self._chunk(Delta(role="assistant", content="")))

    def _message_ended(self, item: fact.MessageEnded, out: list[Frame]) -> None:
        self._ended = item

    def _run_over(self, item: fact.RunOver, out: list[Frame]) -> None:
        if item.outcome in BROKEN:
            out.append(Failed(error_json(with_reference(item), item.code or item.outcome)))
        else:
            self._finish(item, out)
        out.append(Done())

    def _finish(self, item: fact.RunOver, out: list[Frame]) -> None:
        is_waiting = item.outcome == "waiting"
        for call, asked in self._approvals.items() if is_waiting else ():
            self._say_paragraph(question_of_approval(asked, self._calls.get(call)), out)
        open_calls = [call for name, call in self._calls.items() if name not in self._approvals]
        to_run = open_calls if is_waiting and not self._approvals else []
        if to_run:
            calls = [_tool_call(number, call) for number, call in enumerate(to_run)]
            out.append(self._chunk(Delta(tool_calls=calls)))
        if self._sources:
            out.append(self._chunk(Delta(annotations=list(self._sources.values()))))
        reason = finish_reason(self._ended.finish if self._ended else "", awaiting=bool(to_run))
        last = self._chunk(Delta(), _FINISH.get(reason, "stop"))
        last.usage = usage_json(self._use)
        if is_waiting and self._approvals:
            asked_of = ((each, self._calls.get(call)) for call, each in self._approvals.items())
            last.prism = {"approvals": [approval_json(*each) for each in asked_of]}
        out.append(last)

    # -------------------------------------------------------------- texts

    def _block_began(self, item: fact.BlockBegan, out: list[Frame]) -> None:
        if item.kind != "reasoning":
            self._fresh.add(item.block)

    def _block_ended(self, item: fact.BlockEnded, out: list[Frame]) -> None:
        if item.kind == "reasoning":
            out.append(self._chunk(Delta(reasoning_content="\n")))
            return
        self._fresh.discard(item.block)
        for text in self._voices.end(item.block):
            self._say_paragraph(text, out)

    def _blocks_replaced(self, item: fact.BlocksReplaced, out: list[Frame]) -> None:
        self._voices.drop(item.blocks)

    def _input_requested(self, item: fact.InputRequested, out: list[Frame]) -> None:
        self._say_paragraph(question_of_input(item), out)

    def _file_shown(self, item: fact.FileShown, out: list[Frame]) -> None:
        self._say_paragraph(linked_file(self._files, self._run, self._cursor, item), out)

    def _source_cited(self, item: fact.SourceCited, out: list[Frame]) -> None:
        if item.uri.startswith(("http://", "https://")):
            about = {"url": item.uri, "title": item.title, "start_index": 0, "end_index": 0}
            self._sources[item.uri] = {"type": "url_citation", "url_citation": about}

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested, out: list[Frame]) -> None:
        self._calls[item.call] = item
        if not item.long_running:
            self._note(f"→ {item.name}({arguments_of(item)})", out)

    def _call_answered(self, item: fact.CallAnswered, out: list[Frame]) -> None:
        self._settle(item.call)
        self._note(f"← {item.name}: {_shortened(result_of(item.output))}", out)

    def _call_failed(self, item: fact.CallFailed, out: list[Frame]) -> None:
        self._settle(item.call)
        self._note(f"← {item.name} failed: {_shortened(item.error)}", out)

    def _call_denied(self, item: fact.CallDenied, out: list[Frame]) -> None:
        self._settle(item.call)
        self._note(f"← {item.name} was denied", out)

    def _settled(self, item: fact.CallAbandoned | fact.CallDelegated, out: list[Frame]) -> None:
        self._settle(item.call)

    def _settle(self, call: str) -> None:
        self._calls.pop(call, None)
        self._approvals.pop(call, None)

    def _approval_requested(self, item: fact.ApprovalRequested, out: list[Frame]) -> None:
        self._approvals[item.call] = item

    def _approval_decided(self, item: fact.ApprovalDecided, out: list[Frame]) -> None:
        self._approvals.pop(item.call, None)

    def _code_shown(self, item: fact.CodeShown, out: list[Frame]) -> None:
        self._note(f"```\n{read_object(item.code).get('code') or ''}\n```", out)

    def _code_result_shown(self, item: fact.CodeResultShown, out: list[Frame]) -> None:
        self._note(
            f"```\n{_shortened(str(read_object(item.result).get('output') or ''))}\n```", out
        )

    def _nothing(self, item: fact.Fact, out: list[Frame]) -> None:
        """A chat completion has no place for it."""


# --------------------------------------------------------------------------- shared with Responses


def arguments_of(call: fact.CallRequested) -> str:
    """Return a call's arguments as JSON text."""
    return repair(bytes(call.input)).decode() if is_given(call.input) else "{}"


def result_of(output: Raw) -> str:
    """Return a tool's result as text: a plain text without ADK's object around it, else JSON."""
    if not is_given(output):
        return ""
    value = read_object(output)
    bare = value["result"] if value.keys() == {"result"} else None
    return bare if isinstance(bare, str) else repair(bytes(output)).decode()


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}…"


def _tool_call(index: int, call: fact.CallRequested) -> contract.Json:
    function = {"name": call.name, "arguments": arguments_of(call)}
    return {"index": index, "id": call.call, "type": "function", "function": function}


def question_of_approval(item: fact.ApprovalRequested, call: fact.CallRequested | None) -> str:
    """Return what a person is asked, who can only answer with words."""
    about = f"`{call.name}({arguments_of(call)})`" if call is not None else "A tool"
    hint = f" {item.hint.strip()}" if item.hint else ""
    return f"{about} waits for your approval.{hint} Reply `approve`, or `deny` with a reason."


def approval_json(item: fact.ApprovalRequested, call: fact.CallRequested | None) -> contract.Json:
    """Return the same for a program."""
    about = {"id": item.approval, "call": item.call, "hint": item.hint}
    return about | ({"name": call.name, "arguments": arguments_of(call)} if call else {})


def question_of_input(item: fact.InputRequested) -> str:
    """Return a question that the person's next message answers."""
    if item.kind == "credential":
        return (
            "A sign-in is needed, which this client cannot show. Open the conversation in the page."
        )
    asked = read_object(item.request).get("message")
    return asked if isinstance(asked, str) and asked else "An answer is needed."


def linked_file(files: contract.FileLinks, run: str, cursor: int, item: fact.FileShown) -> str:
    """Return a file as Markdown; empty for one that nobody can fetch."""
    url = files.url(run, cursor, item.part, item.media_type, item.data, item.uri)
    name = item.name or item.media_type
    mark = "!" if item.media_type.startswith("image/") else ""
    return f"{mark}[{name}]({url})" if url else ""


def usage_json(use: UseFold) -> contract.Json:
    """Return the tokens of a run in the names of Chat Completions."""
    tokens = _sums(call.tokens for call in use.calls)
    prompt, thought = tokens["input"] + tokens["tool"], tokens["reasoning"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": tokens["output"] + thought,
        "total_tokens": prompt + tokens["output"] + thought,
        "prompt_tokens_details": {"cached_tokens": tokens["cached"]},
        "completion_tokens_details": {"reasoning_tokens": thought},
        **use.said,
    }


def _sums(found: Iterable[Any]) -> dict[str, int]:
    total = dict.fromkeys(("input", "output", "cached", "reasoning", "tool"), 0)
    for tokens in found:
        for kind in total:
            total[kind] += tokens.get(kind, 0)
    return total


# --------------------------------------------------------------------------- the protocol

_P = ChatProjection
NOT_SHOWN = (
    *(fact.MessageBegan, fact.TakenOver, fact.InputTranscribed, fact.UserSpoke, fact.CallInputGrew),
    *(
        fact.CallPending,
        fact.CallProgressed,
        fact.AudioHeard,
        fact.Interrupted,
        fact.SourcesLinked,
        fact.CitationsGiven,
    ),
    *(fact.Annotated, fact.ModelCallEnded, fact.ModelCalled, fact.MetadataGiven, fact.StateChanged),
    *(fact.ArtifactSaved, fact.AgentTransferred, fact.NodeOutput, fact.NodeBegan),
    *(fact.NodeFinished, fact.Nested, fact.ErrorRaised, fact.Unrecognised),
)
_SHOW: contract.FactMethods = contract.fact_methods(
    ChatProjection,
    dict.fromkeys(NOT_SHOWN, _P._nothing)
    | dict.fromkeys((fact.CallAbandoned, fact.CallDelegated), _P._settled),
)


def _payload(frame: Frame) -> contract.Payload:
    return _DONE if type(frame) is Done else contract.Payload(_encode(frame))


def _completed(frame: Frame, complete: contract.Complete) -> Frame:
    if not isinstance(frame, Failed):
        return frame
    return Failed({**frame.error, "message": complete(frame.error["message"])})


SPEC = contract.ProtocolSpec(
    name="openai-chat",
    summary="OpenAI's Chat Completions, as a stream of chunks",
    make=lambda options, first: ChatProjection(options),
    payload=_payload,
    failure=lambda text: [_payload(Failed(error_json(text, "stream_broken"))), _DONE],
    completed=_completed,
    dialects=DIALECTS,
    grammar=ChatGrammar(),
)


def completion(chunks: Iterable[contract.Json]) -> contract.Json:
    """Return the `chat.completion` that a stream of chunks adds up to."""
    whole: contract.Json = {}
    parts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    message: contract.Json = {"role": "assistant", "content": None, "refusal": None}
    finish = "stop"
    for chunk in chunks:
        choice = chunk["choices"][0]
        delta, finish = choice["delta"], choice["finish_reason"] or finish
        for name, texts in parts.items():
            texts.append(delta.get(name) or "")
        for name in ("tool_calls", "annotations"):
            if name in delta:
                message[name] = [_without_index(each) for each in delta[name]]
        whole |= {name: chunk[name] for name in ("usage", "prism") if name in chunk}
        whole |= {name: chunk[name] for name in ("id", "created", "model")}
    said = {name: text for name, texts in parts.items() if (text := "".join(texts))}
    choice = {"index": 0, "message": message | said, "finish_reason": finish, "logprobs": None}
    return {**whole, "object": "chat.completion", "choices": [choice]}


def _without_index(call: contract.Json) -> contract.Json:
    return {name: value for name, value in call.items() if name != "index"}
