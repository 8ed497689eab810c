"""Facts to AG-UI events: the mapping, one function per fact.

Owns only AG-UI's ideas: messages with ids of their own, calls and results, sub-agents and steps, interrupts,
activities. One run of the log is one AG-UI run, also where it goes on with an earlier one. Ids are derived
from the log, so that a stream that is read again builds the same messages.

Where the protocol leaves a choice:
- a block of text is a message, and so are all calls of one model call together;
- text that ADK did not store is taken back: its message becomes an activity, which no chat shows as said;
- what an agent inside a tool says and calls is shown too, as its sub-agent's own.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import UNSET, Raw, json, structs

from adk_prism.facts import model as fact
from adk_prism.facts.model import BlockGrew
from adk_prism.facts.outcome import UNANSWERED
from adk_prism.facts.run_reader import Reader
from adk_prism.log import entry as log
from adk_prism.log.entry import AgentEvent, Entry
from adk_prism.protocols import contract
from adk_prism.protocols.ag_ui import frames, notices
from adk_prism.protocols.ag_ui.calls import Calls, Status
from adk_prism.protocols.ag_ui.notices import Tag, spoken_by
from adk_prism.protocols.ag_ui.requests import parent_run, run_id, run_input

CODE = "code_execution"
SOURCE = "google-adk"
WITHDRAWN = "The model did not make this call."
_NOTHING = Raw(b"{}")

_ANSWERS = (fact.CallAnswered, fact.CallFailed, fact.CallDenied, fact.CallAbandoned)
_Answer = fact.CallAnswered | fact.CallFailed | fact.CallDenied | fact.CallAbandoned


class _OpenMessage(NamedTuple):
    """A message that is being written."""

    kind: Literal["text", "reasoning"]
    tag: Tag
    """Whose it is."""


class AgUiProjection:
    """One run as AG-UI events."""

    def __init__(self, options: contract.Options, head: log.RunStarted) -> None:
        self._dialect = frames.DIALECTS[options.dialect or frames.DEFAULT]
        self._files = options.files
        self._raw = options.raw
        self._head = head
        self._reader = Reader(options.make_annotators())
        self._stream = notices.Stream(head)
        self._owners = self._stream.owners
        self._calls = Calls(self._stream, is_replayed=options.scope.replayed)
        self._questions = notices.Questions()
        self._state = notices.SharedState()
        self._usage = notices.Usage()
        self._sources = notices.Sources()
        self._open: dict[str, _OpenMessage] = {}
        self._unseen: set[str] = set()
        """Calls of this entry that nobody saw made: only their answers are in the run."""
        self._rests_on: frames.Json = {}
        """What the text of this entry rests on."""
        self._codes = 0
        self._running: dict[tuple[str, fact.Speaker], str] = {}
        """The code whose result is not there yet."""
        self._heard = notices.Utterances(self._stream)
        self._user_messages: set[str] = set()
        """Ids of what the user typed: a client would add a second text of one id to the first."""
        self._awaits = False
        """The message that ended last waits for somebody."""
        self.methods = contract.fact_methods(
            self,
            {
                fact.InputTranscribed: self._heard.hear,
                fact.CallInputGrew: self._calls.grow,
                fact.CallDelegated: self._calls.delegate,
                fact.CallPending: self._calls.expect,
                fact.TakenOver: self._notice,
                fact.MetadataGiven: self._notice,
                fact.AgentTransferred: self._notice,
                fact.Unrecognised: self._notice,
                fact.Interrupted: self._spoken_notice,
                fact.SourceCited: self._nothing,
                fact.ModelCalled: self._nothing,
            },
        )

    def feed(self, entry: Entry) -> list[frames.Frame]:
        """Return the frames that an entry causes."""
        stream = self._stream
        stream.cursor, out = entry.cursor, list[frames.Frame]()
        stream.out = out
        facts = self._reader.feed(entry)
        if len(facts) != 1 or type(facts[0]) is not BlockGrew:
            self._look_ahead(facts)
        for item in facts:
            if type(item) is BlockGrew:  # most facts are this one
                self._block_grew(item)
            else:
                self.methods[type(item)](item)
        if self._raw and type(entry.record) is AgentEvent:
            # Last, so that positions are the same without it.
            out.append(frames.RawEvent(notices.upstream(entry.record.event), SOURCE))
        now = contract.milliseconds(entry.time) or UNSET  # a capture may have no time
        for frame in out:
            frame.timestamp = now
        return out

    def _look_ahead(self, facts: list[fact.Fact]) -> None:
        """Note what of an entry has to be known before any of it is shown."""
        data = [item.fact if isinstance(item, fact.Nested) else item for item in facts]
        asked = {item.call for item in data if isinstance(item, fact.CallRequested)}
        answered = (item.call for item in data if isinstance(item, _ANSWERS))
        self._unseen = asked.intersection(answered) if asked else set()
        self._rests_on = self._sources.read(data)

    # -------------------------------------------------------------- runs and messages

    def _run_began(self, item: fact.RunBegan) -> None:
        self._stream.show(
            frames.RunStarted(
                item.origin.session,
                run_id(self._head),
                self._dialect.protocol_version or UNSET,
                parent_run(self._head) or UNSET,
                run_input(self._head, self._files),
            ),
            *self._state.begin(item),
        )

    def _message_began(self, item: fact.MessageBegan) -> None:
        self._heard.end(final=True)
        self._calls.resume(item.open_calls)
        if item.rewound:
            self._stream.show(frames.Custom("prism.rewound", {"messageIds": item.rewound}))
        for warned in item.warnings:
            about = {"code": warned.code, "message": warned.text}
            self._stream.show(frames.Custom("prism.warning", about))

    def _message_ended(self, item: fact.MessageEnded) -> None:
        self._awaits = item.awaiting

    def _run_over(self, item: fact.RunOver) -> None:
        self._calls.close()
        for call in sorted(self._running.values()):
            self._calls.answer(call, CODE, UNANSWERED, "abandoned")
        for name in list(self._open):
            self._end_message(name)
        self._heard.end()
        asked = self._questions
        how = notices.Ending(
            self._head.origin.session,
            run_id(self._head),
            asked.interrupts() if self._awaits else [],
            self._calls.pending(asked.calls),
            self._usage.listed(),
        )
        last = structs.replace(how.frame(item, self._dialect), metadata=self._usage.metadata)
        self._stream.show(last)

    # -------------------------------------------------------------- what is said

    def _block_began(self, item: fact.BlockBegan) -> None:
        self._heard.end(final=True)
        stream, data = self._stream, spoken_by(item.speaker)
        name, tag = stream.id(item.block), stream.tag(item.speaker)
        self._open[name] = _OpenMessage("reasoning" if item.kind == "reasoning" else "text", tag)
        if item.kind == "reasoning":
            role: Literal["reasoning"] = "reasoning"
            stream.show(
                frames.ReasoningStart(name, subagent_run_id=tag),
                frames.ReasoningMessageStart(name, role, subagent_run_id=tag, metadata=data),
            )
        else:
            who = item.speaker.author
            stream.show(
                frames.TextMessageStart(name, "assistant", who, subagent_run_id=tag, metadata=data)
            )
        stream.sign("message", name, item.signature, tag)

    def _block_grew(self, item: BlockGrew) -> None:
        is_reasoning = item.kind == "reasoning"
        grown = frames.ReasoningMessageContent if is_reasoning else frames.TextMessageContent
        stream = self._stream
        name = stream.id(item.block) if stream.within else f"{stream.run}-{item.block}"
        tag = self._tag_of(name)
        for piece in frames.pieces(item.text):
            stream.out.append(grown(name, piece, subagent_run_id=tag))

    def _tag_of(self, message: str) -> Tag:
        """Return whose an open message is. A node may have begun since then: it stays its opener's."""
        opened = self._open.get(message)
        return opened.tag if opened is not None else UNSET

    def _block_ended(self, item: fact.BlockEnded) -> None:
        name = self._stream.id(item.block)
        data: frames.Json = {"prism": {"trimmed": item.trimmed}} if item.trimmed else {}
        if self._rests_on and item.kind != "reasoning":
            data |= {key: value for key, value in self._rests_on.items() if key != "grounding"}
        opened = self._open.get(name)
        self._end_message(name, data)
        tag = opened.tag if opened is not None else self._stream.tag(item.speaker)
        self._stream.sign("message", name, item.signature, tag)

    def _end_message(self, name: str, about: frames.Json | None = None) -> None:
        message, data = self._open.pop(name, None), about or UNSET
        if message is None:
            return
        tag = message.tag
        if message.kind == "reasoning":
            self._stream.show(
                frames.ReasoningMessageEnd(name, subagent_run_id=tag, metadata=data),
                frames.ReasoningEnd(name, subagent_run_id=tag),
            )
        else:
            self._stream.show(frames.TextMessageEnd(name, subagent_run_id=tag, metadata=data))

    def _blocks_replaced(self, item: fact.BlocksReplaced) -> None:
        for block in item.blocks:
            name = self._stream.id(block)
            tag = self._tag_of(name)
            self._end_message(name)
            self._stream.activity(name, notices.REPLACED, {"kind": block.partition("-")[0]}, tag)

    def _user_spoke(self, item: fact.UserSpoke) -> None:
        name = item.message
        if not name or name in self._user_messages:
            name = self._stream.id("user", str(self._stream.cursor))
        self._user_messages.add(name)
        self._stream.say_as_user(name, item.text)

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested) -> None:
        # A provider gives its own calls and their answers in one event.
        self._calls.request(item, seen=item.provider_executed or item.call not in self._unseen)

    def _call_answered(self, item: fact.CallAnswered) -> None:
        self._answer(item, frames.text_of(item.output) or "null", "ok")

    def _call_failed(self, item: fact.CallFailed) -> None:
        self._answer(item, frames.text_of(item.output) or item.error, "error", item.error)

    def _call_denied(self, item: fact.CallDenied) -> None:
        text = contract.denial_text(item.reason)
        self._answer(item, text, "denied", text)

    def _call_abandoned(self, item: fact.CallAbandoned) -> None:
        if item.withdrawn:
            self._answer(item, WITHDRAWN, "withdrawn", WITHDRAWN)
        else:
            self._answer(item, UNANSWERED, "abandoned", UNANSWERED)

    def _answer(self, item: _Answer, output: str, status: Status, error: str = "") -> None:
        if not self._stream.within:
            self._questions.settle(item.call)
        self._calls.answer(item.call, item.name, output, status, error)

    def _code_shown(self, item: fact.CodeShown) -> None:
        self._run_code(item, item.code)

    def _run_code(self, item: fact.CodeShown | fact.CodeResultShown, code: Raw) -> str:
        self._codes += 1
        name = self._running[self._stream.within, item.speaker] = f"code:{self._codes}"
        self._calls.request(
            fact.CallRequested(name, CODE, code, item.speaker, item.model_call, False, True, "", "")
        )
        return name

    def _code_result_shown(self, item: fact.CodeResultShown) -> None:
        place = self._stream.within, item.speaker
        call = self._running.get(place) or self._run_code(item, _NOTHING)  # not shown what ran
        del self._running[place]
        self._calls.answer(call, CODE, frames.text_of(item.result), "ok")

    # -------------------------------------------------------------- what a person is asked

    def _approval_requested(self, item: fact.ApprovalRequested) -> None:
        call = self._calls.get(item.call)
        interrupt = self._questions.ask_approval(item, call.name, call.id, call.tag)
        if self._head.live:  # it is answered in the run itself
            self._show_approval(item.approval, {"state": "requested", "interrupt": interrupt})

    def _approval_decided(self, item: fact.ApprovalDecided) -> None:
        self._questions.decide(item.approval)
        if self._head.live:
            state = "approved" if item.approved else "denied"
            data = {"state": state, "toolCallId": self._calls.get(item.call).id}
            data |= {"reason": item.reason} if item.reason else {}
            self._show_approval(item.approval, data)

    def _show_approval(self, approval: str, data: frames.Json) -> None:
        name = self._stream.id("approval", approval)
        self._stream.activity(name, notices.APPROVAL, data)

    def _input_requested(self, item: fact.InputRequested) -> None:
        tool_call = self._calls.get(item.for_call).id if item.for_call else ""
        self._questions.ask_input(item, tool_call, self._stream.tag(item.speaker))

    # -------------------------------------------------------------- what is shown

    def _file_shown(self, item: fact.FileShown) -> None:
        stream = self._stream
        url = self._files.url(
            stream.run, stream.cursor, item.part, item.media_type, item.data, item.uri
        )
        data: frames.Json = {"mediaType": item.media_type, **spoken_by(item.speaker)["adk"]}
        data |= {"filename": item.name} if item.name else {}
        if not frames.fits(len(url)):
            data["size"] = len(item.data) * 3 // 4  # too large for an event, and there is no server
        elif url:
            data["url"] = url
        else:
            data["uri"] = item.uri
        name = stream.id("file", f"{stream.cursor}.{item.part}")
        stream.activity(name, notices.FILE, data, stream.tag(item.speaker))

    def _artifact_saved(self, item: fact.ArtifactSaved) -> None:
        stream = self._stream
        url = self._files.artifact(stream.run, stream.cursor, item.part)
        data: frames.Json = {"filename": item.filename, "version": item.version}
        data |= {"url": url} if url else {}
        name = stream.id("artifact", f"{stream.cursor}.{item.part}")
        stream.activity(name, notices.ARTIFACT, data, stream.tag(item.speaker))

    def _sources_linked(self, item: fact.SourcesLinked | fact.CitationsGiven) -> None:
        name = self._stream.id("sources", str(self._stream.cursor))
        self._stream.activity(name, notices.SOURCES, self._rests_on)

    def _citations_given(self, item: fact.CitationsGiven) -> None:
        if "sources" not in self._rests_on:  # else they are shown together
            self._sources_linked(item)

    def _nothing(self, item: fact.Fact) -> None:
        """A source, which is shown with the grounding that it is read from."""

    def _annotated(self, item: fact.Annotated) -> None:
        if item.place == "usage":
            self._usage.metadata = {"usage": item.value}
        elif item.place == "part":
            content = frames.safe(Raw(json.encode(item.value)))
            self._stream.activity(self._stream.id(item.id), f"adk.{item.name}", content)

    def _call_progressed(self, item: fact.CallProgressed) -> None:
        named = {"toolCallId": self._calls.get(item.call).id, "toolName": item.name}
        shown = frames.safe(Raw(json.encode(named | contract.progress_json(item))))
        self._stream.activity(self._stream.id("progress", item.call), "adk.progress", shown)

    def _audio_heard(self, item: fact.AudioHeard) -> None:
        if item.data:  # else the log did not keep it
            self._spoken_notice(item)

    def _model_call_ended(self, item: fact.ModelCallEnded) -> None:
        self._usage.add(item)
        self._spoken_notice(item)

    def _error_raised(self, item: fact.ErrorRaised) -> None:
        if not self._stream.within:
            self._owners.fail(item)
        self._spoken_notice(item)

    def _spoken_notice(self, item: Any) -> None:
        self._stream.show(notices.custom(item, self._stream.tag(item.speaker)))

    def _notice(self, item: fact.Fact) -> None:
        self._stream.show(notices.custom(item))

    # -------------------------------------------------------------- nodes and state

    def _node_began(self, item: fact.NodeBegan) -> None:
        call = self._calls.get_adk(item.call)
        if item.kind == "tool" and call.tag is UNSET:
            # Whose a call of an earlier run is, is known when its tool begins to run.
            call.tag = self._owners.around(item)
        if item.call:
            item = structs.replace(item, call=call.id)
        self._stream.show(self._owners.begin(item), *self._state.change(item))

    def _node_finished(self, item: fact.NodeFinished) -> None:
        changes = self._state.change(item)
        self._stream.show(*changes, self._owners.end(item, self._questions.owners))

    def _node_output(self, item: fact.NodeOutput) -> None:
        if not self._owners.give(item):
            self._spoken_notice(item)

    def _state_changed(self, item: fact.StateChanged) -> None:
        self._stream.show(*self._state.change(item))

    def _nested(self, item: fact.Nested) -> None:
        """Show what happens inside a tool; its state and its questions are not the run's."""
        if isinstance(item.fact, _OUTSIDE):
            return
        self._stream.within = item.node or item.call
        if type(item.fact) is BlockGrew:
            self._block_grew(item.fact)
        else:
            self.methods[type(item.fact)](item.fact)
        self._stream.within = ""


_OUTSIDE = (
    fact.StateChanged,
    fact.ApprovalRequested,
    fact.ApprovalDecided,
    fact.InputRequested,
    fact.InputTranscribed,
    fact.UserSpoke,
    fact.Annotated,
    fact.CallDelegated,
    fact.CallPending,
    fact.CallProgressed,
)
"""What of an agent inside a tool stays inside it."""
