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

from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import UNSET, Raw, structs

from adk_prism.facts import model as fact
from adk_prism.facts.model import BlockGrew
from adk_prism.facts.outcome import UNANSWERED
from adk_prism.facts.run_reader import Reader
from adk_prism.log import entry as log
from adk_prism.log.entry import AgentEvent, Entry
from adk_prism.protocols.ag_ui import frames, notices
from adk_prism.protocols.ag_ui.calls import Calls
from adk_prism.protocols.ag_ui.notices import (
    Ending,
    Owners,
    Questions,
    SharedState,
    Sources,
    Tag,
    Usage,
    Utterances,
    ending,
    spoken_by,
    user_text,
)
from adk_prism.protocols.ag_ui.requests import parent_run, run_id, run_input
from adk_prism.protocols.contract import (
    FactMethods,
    Options,
    denial_text,
    fact_methods,
    milliseconds,
)

CODE = "code_execution"
SOURCE = "google-adk"
WITHDRAWN = "The model did not make this call."
_NOTHING = Raw(b"{}")

_ANSWERS = (fact.CallAnswered, fact.CallFailed, fact.CallDenied, fact.CallAbandoned)


class _OpenMessage(NamedTuple):
    """A message that is being written."""

    kind: Literal["text", "reasoning"]
    tag: Tag
    """Whose it is."""


class AgUiProjection:
    """One run as AG-UI events."""

    SHOW: ClassVar[FactMethods]

    def __init__(self, options: Options, head: log.RunStarted) -> None:
        self._dialect = frames.dialect(options.dialect)
        self._files = options.files
        self._scope = options.scope
        self._raw = options.raw
        self._head = head
        self._run = head.run
        self._message = head.continues.message if head.continues else head.run
        self._reader = Reader(options.make_annotators())
        self._owners = Owners()
        self._owners.message = self._message
        self._calls = Calls(self._run, self._message)
        self._questions = Questions()
        self._state = SharedState()
        self._usage = Usage()
        self._sources = Sources()
        self._cursor = 0
        self._open: dict[str, _OpenMessage] = {}
        self._within = ""
        """The tool inside which all this happens, while a nested fact is shown."""
        self._unseen: set[str] = set()
        """Calls of this entry that nobody saw made: only their answers are in the run."""
        self._rests_on: frames.Json = {}
        """What the text of this entry rests on."""
        self._codes = 0
        self._running: dict[tuple[str, fact.Speaker], str] = {}
        """The code whose result is not there yet."""
        self._heard = Utterances(self._run)
        self._user_messages: set[str] = set()
        """Ids of what the user typed: a client would add a second text of one id to the first."""
        self._awaits = False
        """The message that ended last waits for somebody."""

    def feed(self, entry: Entry) -> list[frames.Frame]:
        """Return the frames that an entry causes."""
        self._cursor = entry.cursor
        facts = self._reader.feed(entry)
        now = milliseconds(entry.time) or UNSET  # a capture may have no time
        if len(facts) == 1 and type(item := facts[0]) is BlockGrew and not self._raw:
            if item.kind == "text" and len(item.text) <= frames.PIECE:  # most entries are this
                name = f"{self._run}-{item.block}"
                return [frames.TextMessageContent(name, item.text, now, self._tag_of(name))]
        elif facts:
            self._look_ahead(facts)
        out: list[frames.Frame] = []
        for item in facts:
            if type(item) is BlockGrew:  # most facts are this one
                self._block_grew(item, out)
            else:
                self.SHOW[type(item)](self, item, out)
        if self._raw and type(entry.record) is AgentEvent:
            # Last, so that positions are the same without it.
            out.append(frames.RawEvent(notices.upstream(entry.record.event), SOURCE))
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

    def _id(self, *names: str) -> str:
        """Return an id of this run's own."""
        return "-".join(filter(None, (self._run, self._within, *names)))

    def _tag(self, speaker: fact.Speaker) -> Tag:
        return self._owners.of(speaker, self._within)

    def _tag_of(self, message: str) -> Tag:
        """Return whose an open message is. A node may have begun since then: it stays its opener's."""
        opened = self._open.get(message)
        return opened.tag if opened is not None else UNSET

    # -------------------------------------------------------------- runs and messages

    def _run_began(self, item: fact.RunBegan, out: list[frames.Frame]) -> None:
        out.append(
            frames.RunStarted(
                item.origin.session,
                run_id(self._head),
                self._dialect.protocol_version or UNSET,
                parent_run(self._head) or UNSET,
                run_input(self._head, self._files),
            )
        )
        out.extend(self._state.begin(item))

    def _message_began(self, item: fact.MessageBegan, out: list[frames.Frame]) -> None:
        out.extend(self._heard.answer())
        self._calls.resume(item.open_calls)
        if item.rewound:
            out.append(frames.Custom("prism.rewound", {"messageIds": item.rewound}))
        out.extend(
            frames.Custom("prism.warning", {"code": warned.code, "message": warned.text})
            for warned in item.warnings
        )

    def _message_ended(self, item: fact.MessageEnded, out: list[frames.Frame]) -> None:
        self._awaits = item.awaiting

    def _run_over(self, item: fact.RunOver, out: list[frames.Frame]) -> None:
        self._calls.close(out)
        for _, call in sorted(self._running.items(), key=lambda each: each[1]):
            self._calls.answer(call, CODE, UNANSWERED, "abandoned", out=out)
        for name in list(self._open):
            self._end_message(name, {}, out)
        out.extend(self._heard.end())
        asked = self._questions
        interrupts = asked.interrupts() if self._awaits else []
        pending = self._calls.pending(asked.calls)
        thread = self._head.origin.session
        how = Ending(thread, run_id(self._head), interrupts, pending, self._usage.listed())
        out.append(ending(item, how, self._dialect))

    # -------------------------------------------------------------- what is said

    def _block_began(self, item: fact.BlockBegan, out: list[frames.Frame]) -> None:
        out.extend(self._heard.answer())
        name, tag, data = self._id(item.block), self._tag(item.speaker), spoken_by(item.speaker)
        if item.kind == "reasoning":
            self._open[name] = _OpenMessage("reasoning", tag)
            out.append(frames.ReasoningStart(name, subagent_run_id=tag))
            out.append(
                frames.ReasoningMessageStart(name, "reasoning", subagent_run_id=tag, metadata=data)
            )
        else:
            self._open[name] = _OpenMessage("text", tag)
            author = item.speaker.author
            out.append(
                frames.TextMessageStart(
                    name, "assistant", author, subagent_run_id=tag, metadata=data
                )
            )
        self._sign(name, item.signature, tag, out)

    def _block_grew(self, item: BlockGrew, out: list[frames.Frame]) -> None:
        grown = (
            frames.ReasoningMessageContent
            if item.kind == "reasoning"
            else frames.TextMessageContent
        )
        name = f"{self._run}-{item.block}" if not self._within else self._id(item.block)
        tag = self._tag_of(name)
        if len(item.text) <= frames.PIECE:
            out.append(grown(name, item.text, subagent_run_id=tag))
        else:
            out.extend(
                grown(name, piece, subagent_run_id=tag) for piece in frames.pieces(item.text)
            )

    def _block_ended(self, item: fact.BlockEnded, out: list[frames.Frame]) -> None:
        name = self._id(item.block)
        data: frames.Json = {"prism": {"trimmed": item.trimmed}} if item.trimmed else {}
        if self._rests_on and item.kind != "reasoning":
            data |= {key: value for key, value in self._rests_on.items() if key != "grounding"}
        opened = self._open.get(name)
        self._end_message(name, data, out)
        tag = opened.tag if opened is not None else self._tag(item.speaker)
        self._sign(name, item.signature, tag, out)

    def _end_message(self, name: str, about: frames.Json, out: list[frames.Frame]) -> None:
        message, data = self._open.pop(name, None), about or UNSET
        if message is None:
            return
        if message.kind == "reasoning":
            out.append(frames.ReasoningMessageEnd(name, subagent_run_id=message.tag, metadata=data))
            out.append(frames.ReasoningEnd(name, subagent_run_id=message.tag))
        else:
            out.append(frames.TextMessageEnd(name, subagent_run_id=message.tag, metadata=data))

    def _sign(self, name: str, signature: str, tag: Tag, out: list[frames.Frame]) -> None:
        if signature:
            out.append(
                frames.ReasoningEncryptedValue("message", name, signature, subagent_run_id=tag)
            )

    def _blocks_replaced(self, item: fact.BlocksReplaced, out: list[frames.Frame]) -> None:
        for block in item.blocks:
            name = self._id(block)
            tag = self._tag_of(name)
            self._end_message(name, {}, out)
            kind = {"kind": block.partition("-")[0]}
            out.append(notices.activity(name, notices.REPLACED, kind, tag))

    def _user_spoke(self, item: fact.UserSpoke, out: list[frames.Frame]) -> None:
        name = item.message
        if not name or name in self._user_messages:
            name = self._id("user", str(self._cursor))
        self._user_messages.add(name)
        out.extend(user_text(name, item.text))

    def _input_transcribed(self, item: fact.InputTranscribed, out: list[frames.Frame]) -> None:
        out.extend(self._heard.hear(item))

    # -------------------------------------------------------------- calls

    def _call_input_grew(self, item: fact.CallInputGrew, out: list[frames.Frame]) -> None:
        self._calls.grow(item, self._tag(item.speaker), self._within, out)

    def _call_requested(self, item: fact.CallRequested, out: list[frames.Frame]) -> None:
        # A provider gives its own calls and their answers in one event.
        seen = item.provider_executed or item.call not in self._unseen
        self._calls.request(item, self._tag(item.speaker), self._within, seen, out)

    def _call_delegated(self, item: fact.CallDelegated, out: list[frames.Frame]) -> None:
        self._calls.delegate(item.call)

    def _call_pending(self, item: fact.CallPending, out: list[frames.Frame]) -> None:
        self._calls.expect(item.call)

    def _call_answered(self, item: fact.CallAnswered, out: list[frames.Frame]) -> None:
        self._answer(item, frames.text_of(item.output) or "null", "ok", out)

    def _call_failed(self, item: fact.CallFailed, out: list[frames.Frame]) -> None:
        self._answer(item, frames.text_of(item.output) or item.error, "error", out, item.error)

    def _call_denied(self, item: fact.CallDenied, out: list[frames.Frame]) -> None:
        text = denial_text(item.reason)
        self._answer(item, text, "denied", out, text)

    def _call_abandoned(self, item: fact.CallAbandoned, out: list[frames.Frame]) -> None:
        if item.withdrawn:
            self._answer(item, WITHDRAWN, "withdrawn", out, WITHDRAWN)
        else:
            self._answer(item, UNANSWERED, "abandoned", out, UNANSWERED)

    def _answer(
        self, item: Any, output: str, status: Any, out: list[frames.Frame], error: str = ""
    ) -> None:
        if not self._within:
            self._questions.settle(item.call)
        # What came with the request that began the run its client has sent itself.
        known = self._cursor == 1 and not self._scope.replayed
        self._calls.answer(
            item.call,
            item.name,
            output,
            status,
            error=error,
            within=self._within,
            known=known,
            out=out,
        )

    def _code_shown(self, item: fact.CodeShown, out: list[frames.Frame]) -> None:
        self._run_code(item, item.code, out)

    def _run_code(
        self, item: fact.CodeShown | fact.CodeResultShown, code: Raw, out: list[frames.Frame]
    ) -> None:
        self._codes += 1
        name = self._running[self._within, item.speaker] = f"code:{self._codes}"
        call = fact.CallRequested(
            name, CODE, code, item.speaker, item.model_call, False, True, "", ""
        )
        self._calls.request(call, self._tag(item.speaker), self._within, True, out)

    def _code_result_shown(self, item: fact.CodeResultShown, out: list[frames.Frame]) -> None:
        if (self._within, item.speaker) not in self._running:
            self._run_code(item, _NOTHING, out)  # it was not shown what ran
        call = self._running.pop((self._within, item.speaker))
        self._calls.answer(
            call, CODE, frames.text_of(item.result), "ok", within=self._within, out=out
        )

    # -------------------------------------------------------------- what a person is asked

    def _approval_requested(self, item: fact.ApprovalRequested, out: list[frames.Frame]) -> None:
        calls = self._calls
        interrupt = self._questions.ask_approval(
            item, calls.name_of(item.call), calls.id_of(item.call), calls.tag_of(item.call)
        )
        if self._head.live:  # it is answered in the run itself
            self._show_approval(item.approval, {"state": "requested", "interrupt": interrupt}, out)

    def _approval_decided(self, item: fact.ApprovalDecided, out: list[frames.Frame]) -> None:
        self._questions.decide(item.approval)
        if self._head.live:
            state = "approved" if item.approved else "denied"
            data = {"state": state, "toolCallId": self._calls.id_of(item.call)}
            self._show_approval(
                item.approval, data | ({"reason": item.reason} if item.reason else {}), out
            )

    def _show_approval(self, approval: str, data: frames.Json, out: list[frames.Frame]) -> None:
        out.append(notices.activity(self._id("approval", approval), notices.APPROVAL, data))

    def _input_requested(self, item: fact.InputRequested, out: list[frames.Frame]) -> None:
        tool_call = self._calls.id_of(item.for_call) if item.for_call else ""
        self._questions.ask_input(item, tool_call, self._tag(item.speaker))

    # -------------------------------------------------------------- what is shown

    def _file_shown(self, item: fact.FileShown, out: list[frames.Frame]) -> None:
        url = self._files.url(
            self._run, self._cursor, item.part, item.media_type, item.data, item.uri
        )
        data: frames.Json = {"mediaType": item.media_type, **spoken_by(item.speaker)["adk"]}
        data |= {"filename": item.name} if item.name else {}
        if not frames.fits(len(url)):
            data["size"] = len(item.data) * 3 // 4  # too large for an event, and there is no server
        elif url:
            data["url"] = url
        else:
            data["uri"] = item.uri
        name = self._id("file", f"{self._cursor}.{item.part}")
        out.append(notices.activity(name, notices.FILE, data, self._tag(item.speaker)))

    def _artifact_saved(self, item: fact.ArtifactSaved, out: list[frames.Frame]) -> None:
        url = self._files.artifact(self._run, self._cursor, item.part)
        data: frames.Json = {"filename": item.filename, "version": item.version}
        data |= {"url": url} if url else {}
        name = self._id("artifact", f"{self._cursor}.{item.part}")
        out.append(notices.activity(name, notices.ARTIFACT, data, self._tag(item.speaker)))

    def _sources_linked(self, item: fact.SourcesLinked, out: list[frames.Frame]) -> None:
        self._show_sources(out)

    def _citations_given(self, item: fact.CitationsGiven, out: list[frames.Frame]) -> None:
        if "sources" not in self._rests_on:  # else they are shown together
            self._show_sources(out)

    def _show_sources(self, out: list[frames.Frame]) -> None:
        name = self._id("sources", str(self._cursor))
        out.append(notices.activity(name, notices.SOURCES, self._rests_on))

    def _nothing(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        """A source, which is shown with the grounding that it is read from."""

    def _annotated(self, item: fact.Annotated, out: list[frames.Frame]) -> None:
        if item.shown:
            content = notices.annotation_content(item)
            out.append(notices.activity(self._id(item.id), f"adk.{item.name}", content))

    def _audio_heard(self, item: fact.AudioHeard, out: list[frames.Frame]) -> None:
        if item.data:  # else the log did not keep it
            out.append(notices.custom(item, self._tag(item.speaker)))

    def _model_call_ended(self, item: fact.ModelCallEnded, out: list[frames.Frame]) -> None:
        self._usage.add(item)
        out.append(notices.custom(item, self._tag(item.speaker)))

    def _spoken_notice(self, item: Any, out: list[frames.Frame]) -> None:
        out.append(notices.custom(item, self._tag(item.speaker)))

    def _error_raised(self, item: fact.ErrorRaised, out: list[frames.Frame]) -> None:
        if not self._within:
            self._owners.fail(item)
        self._spoken_notice(item, out)

    def _notice(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        out.append(notices.custom(item))

    # -------------------------------------------------------------- nodes and state

    def _node_began(self, item: fact.NodeBegan, out: list[frames.Frame]) -> None:
        if item.kind == "tool":
            self._calls.claim(item.call, self._owners.around(item))
        if item.call:
            item = structs.replace(item, call=self._calls.id_at(item.call))
        frame = self._owners.begin(item)
        if frame is not None:
            out.append(frame)
        out.extend(self._state.change(item))

    def _node_finished(self, item: fact.NodeFinished, out: list[frames.Frame]) -> None:
        out.extend(self._state.change(item))
        frame = self._owners.end(item, self._questions.owners)
        if frame is not None:
            out.append(frame)

    def _node_output(self, item: fact.NodeOutput, out: list[frames.Frame]) -> None:
        if not self._owners.give(item):
            self._spoken_notice(item, out)

    def _state_changed(self, item: fact.StateChanged, out: list[frames.Frame]) -> None:
        out.extend(self._state.change(item))

    def _nested(self, item: fact.Nested, out: list[frames.Frame]) -> None:
        """Show what happens inside a tool; its state and its questions are not the run's."""
        if isinstance(item.fact, _OUTSIDE):
            return
        self._within = item.node or item.call
        if type(item.fact) is BlockGrew:
            self._block_grew(item.fact, out)
        else:
            self.SHOW[type(item.fact)](self, item.fact, out)
        self._within = ""


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
)
"""What of an agent inside a tool stays inside it."""

_P = AgUiProjection
_P.SHOW = fact_methods(
    _P,
    {
        fact.TakenOver: _P._notice,
        fact.MetadataGiven: _P._notice,
        fact.AgentTransferred: _P._notice,
        fact.Unrecognised: _P._notice,
        fact.Interrupted: _P._spoken_notice,
        fact.SourceCited: _P._nothing,
        fact.ModelCalled: _P._nothing,
    },
)
