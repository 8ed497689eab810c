"""Facts to the AI SDK's UI message stream: the mapping, one function per fact.

Owns only the AI SDK's ideas: message id, steps, data parts, finish reasons. A run gives one message, or
goes on with one: then it opens with the answers to the calls that were left open, before its first step,
as the SDK's own server does. `Scope` says which part of a whole message's replay a run is.

Live runs hold many messages: `LiveAiSdkProjection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Raw, UnsetType, json, structs

from adk_prism.facts import model as fact
from adk_prism.facts.model import BlockGrew
from adk_prism.facts.outcome import BROKEN, UNANSWERED, with_reference
from adk_prism.facts.pending import payload_schema
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import repair, sound
from adk_prism.log.entry import Entry, RunEnded, is_absent
from adk_prism.protocols import contract
from adk_prism.protocols.ai_sdk import frames
from adk_prism.protocols.ai_sdk.message_state import Metadata, StepParts, Steps
from adk_prism.protocols.contract import FactMethods, Options, fact_methods

_NULL = Raw(b"null")
_EMPTY_OBJECT = Raw(b"{}")
EXPIRED = "Expired: the conversation went on before this was answered."
WITHDRAWN = "The model did not make this call."
REPLACED: frames.ProviderMetadata = {"prism": {"replaced": True}}
"""Marks a part that ADK did not store: what it stored is sent as well."""


class AiSdkProjection:
    """One run as a UI message stream."""

    SHOW: ClassVar[FactMethods]

    def __init__(
        self, options: Options | None = None, speaks: frames.Dialect | None = None
    ) -> None:
        """`speaks` is a dialect other than that of the options."""
        options = options or Options()
        self._dialect = speaks or frames.DIALECTS[options.dialect or frames.DEFAULT]
        self._files = options.files
        self._scope = options.scope
        self._reader = Reader(options.make_annotators())
        self._steps = Steps()
        self._metadata = Metadata()
        self._run = ""
        self._cursor = 0
        self._time = 0.0
        self._streamed: set[str] = set()
        self._made: set[str] = set()
        """Calls of this run."""
        self._open: dict[str, frames.ToolInputAvailable] = {}
        """Those whose tool may say how far it is: nobody else is to answer them."""
        self._progressed: set[str] = set()
        """Those with a preliminary output."""
        self._delegated: dict[str, None] = {}
        """Calls that run an agent and have no answer yet, in order."""
        self._continued = False
        self._captured = False
        self._questions: dict[str, fact.ApprovalRequested] = {}
        """By call: of a capture, until it is known whether it holds the answer as well."""
        self._ended: fact.MessageEnded | None = None
        """The message that ends with the run."""
        self._parts = StepParts()
        self._kept = 0
        """Frames of this entry that `_parts` has taken."""
        self._spoken: dict[str, frames.ProviderMetadata] = {}
        """Blocks that are open, and what their start said of them."""

    def feed(self, entry: Entry) -> list[frames.Frame]:
        """Return the frames that an entry causes."""
        self._cursor, self._kept = entry.cursor, 0
        self._time = entry.time
        out: list[frames.Frame] = []
        for item in self._reader.feed(entry):
            if type(item) is BlockGrew:  # most facts are this one
                delta = frames.ReasoningDelta if item.kind == "reasoning" else frames.TextDelta
                out.append(delta(item.block, item.text))
            else:
                self._show(item, out)
        if self._dialect.resets:
            self._parts.feed(out[self._kept :] if self._kept else out)
        return out

    def _show(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        self.SHOW[type(item)](self, item, out)

    # -------------------------------------------------------------- runs and messages

    def _run_began(self, item: fact.RunBegan, out: list[frames.Frame]) -> None:
        self._run = item.run
        self._captured = item.captured

    def _message_began(self, item: fact.MessageBegan, out: list[frames.Frame]) -> None:
        self._continued = item.continued
        if self._scope.opens:
            data = {"runId": item.run, **self._created(item)}
            out.append(
                frames.Start(item.message, data | ({"derived": True} if self._captured else {}))
            )
        else:
            out.append(frames.MessageMetadata({"runId": item.run}))
        if item.rewound:
            out.append(data_part("rewound", {"messageIds": item.rewound}))
        out.extend(data_part("warning", {"code": w.code, "message": w.text}) for w in item.warnings)
        if self._asks_beside or self._scope.replayed:
            for call, given in item.decisions.items():
                self._decide(given.approval, call, given.approved, given.reason, out)

    def _created(self, item: fact.MessageBegan) -> dict[str, Any]:
        """Return when a message began; whoever goes on with one knows it."""
        is_known = item.continued or self._time <= 0
        return {} if is_known else {"createdAt": contract.milliseconds(self._time)}

    def _message_ended(self, item: fact.MessageEnded, out: list[frames.Frame]) -> None:
        self._ended = item

    def _finish(self, reason: str) -> frames.Finish:
        data: str | UnsetType = reason if self._dialect.finish_reasons else UNSET
        return frames.Finish(data, self._metadata.collected())

    def _taken_over(self, item: fact.TakenOver, out: list[frames.Frame]) -> None:
        data = contract.takeover_json(item)
        out.append(data_part("prism-takeover", data, part=f"takeover-{item.epoch}"))

    def _run_over(self, item: fact.RunOver, out: list[frames.Frame]) -> None:
        ended = self._ended
        assert ended is not None, "the reader ends the message before the run"
        asks = ended.asks and self._scope.closes
        waits = ended.awaiting and not asks and item.outcome != "cancelled"
        if item.outcome == "finished" or (self._scope.resumed and self._scope.closes):
            # An agent that asks back (ADK's task mode, or a request for input): its call is answered
            # in a later message. A request for input that is open leaves it without an output.
            out.extend(frames.ToolOutputAvailable(call, _NULL) for call in self._delegated)
        elif self._scope.left and self._scope.closes:
            out.extend(frames.ToolOutputError(call, EXPIRED) for call in self._delegated)
        for question in self._questions.values():
            self._ask(question, out)
        self._steps.close(out, seal=not waits, first=not self._continued)
        if item.outcome in BROKEN:
            why = with_reference(item)
            self._metadata.failure = why
            # An error is not kept in the message, and what is loaded later would seem whole. A stock
            # client takes notice of the sealing step only with metadata.
            out.append(frames.MessageMetadata(self._metadata.collected()))
            out.append(frames.Error(why))
        elif item.outcome == "cancelled":
            out.append(frames.MessageMetadata(self._metadata.collected()))
            out.append(frames.Abort())
        elif self._scope.closes:
            out.append(self._finish(frames.finish_reason(ended.finish, awaiting=ended.awaiting)))
        else:
            out.append(frames.MessageMetadata(self._metadata.collected()))
        if self._scope.closes:
            out.append(frames.Done())

    # -------------------------------------------------------------- blocks

    def _block_began(self, item: fact.BlockBegan, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        self._steps.block_began()
        start = frames.ReasoningStart if item.kind == "reasoning" else frames.TextStart
        about = self._spoken[item.block] = _spoken_by(item.speaker, item.signature)
        out.append(start(item.block, about))

    def _block_ended(self, item: fact.BlockEnded, out: list[frames.Frame]) -> None:
        self._steps.block_ended()
        end = frames.ReasoningEnd if item.kind == "reasoning" else frames.TextEnd
        about = self._spoken.pop(item.block, None) or _spoken_by(item.speaker, "")
        prism: dict[str, Any] = {"trimmed": item.trimmed} if item.trimmed else {}
        if item.replaced:
            prism |= REPLACED["prism"]
        elif item.provisional:
            # A part of a message has no id: by this one `data-prism-replaced` can name it later.
            prism["block"] = item.block
        # What an end carries replaces what the start did, so it is said whole or not at all.
        signed: frames.ProviderMetadata = (
            {"google": {"thoughtSignature": item.signature}} if item.signature else {}
        )
        data: frames.ProviderMetadata = signed | ({"prism": prism} if prism else {})
        out.append(end(item.block, about | data if data else UNSET))

    def _blocks_replaced(self, item: fact.BlocksReplaced, out: list[frames.Frame]) -> None:
        back: list[frames.Frame] = []
        if self._dialect.resets:
            self._parts.feed(out[self._kept :])
            self._kept = len(out)
            back = self._parts.taken_back(item.blocks)
        name = f"replaced-{self._cursor}"
        out.extend(back or [data_part("prism-replaced", {"blocks": item.blocks}, part=name)])

    # -------------------------------------------------------------- calls

    def _call_input_grew(self, item: fact.CallInputGrew, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        if item.call not in self._streamed:
            self._steps.call_began(item.call)
            self._streamed.add(item.call)
            out.append(frames.ToolInputStart(item.call, item.name))
        if item.json_fragment:
            out.append(frames.ToolInputDelta(item.call, item.json_fragment))

    def _call_requested(self, item: fact.CallRequested, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        self._made.add(item.call)
        if not (item.provider_executed and self._dialect.provider_calls_apart):
            self._steps.call_began(item.call)
        made = frames.ToolInputAvailable(
            item.call,
            item.name,
            sound(item.input),
            item.provider_executed or UNSET,
            _spoken_by(item.speaker, item.signature),
        )
        self._open[item.call] = made
        out.append(made)

    def _wait(self, call: str, out: list[frames.Frame]) -> None:
        """Note that a call waits for others than its tool: a preliminary output would count as its answer."""
        made = self._open.pop(call, None)
        if made is not None and call in self._progressed:
            out.append(made)  # takes the output back

    def _call_delegated(self, item: fact.CallDelegated, out: list[frames.Frame]) -> None:
        self._wait(item.call, out)
        self._steps.call_settled(item.call)
        self._delegated[item.call] = None

    def _settle(self, call: str) -> None:
        self._steps.call_settled(call)
        self._delegated.pop(call, None)
        self._open.pop(call, None)
        self._questions.pop(call, None)

    def _is_known(self, call: str) -> bool:
        """Return whether an answer need not be sent: an output is sent once.

        What came with the request that began the run the client that sent it shows already; a replay
        tells it, and not what the call's tool had said before.
        """
        if self._scope.replayed:
            return call in self._scope.answered
        return self._cursor == 1

    def _call_progressed(self, item: fact.CallProgressed, out: list[frames.Frame]) -> None:
        data = contract.progress_json(item)
        if item.call in self._open and self._dialect.approvals:  # v5 knows no preliminary output
            self._progressed.add(item.call)
            output = Raw(json.encode(data))
            out.append(frames.ToolOutputAvailable(item.call, output, preliminary=True))
        else:
            named = {"toolCallId": item.call, "toolName": item.name}
            out.append(data_part("progress", named | data, part=f"progress-{item.call}"))

    def _call_answered(self, item: fact.CallAnswered, out: list[frames.Frame]) -> None:
        self._settle(item.call)
        if self._is_known(item.call):
            return
        output = _NULL if is_absent(item.output) else sound(item.output)
        out.append(frames.ToolOutputAvailable(item.call, output, item.provider_executed or UNSET))

    def _call_failed(self, item: fact.CallFailed, out: list[frames.Frame]) -> None:
        self._settle(item.call)
        if self._is_known(item.call):
            return
        out.append(frames.ToolOutputError(item.call, item.error, item.provider_executed or UNSET))

    def _call_denied(self, item: fact.CallDenied, out: list[frames.Frame]) -> None:
        self._settle(item.call)
        if not self._dialect.approvals or (
            self._is_replayed() and not self._dialect.approval_responses
        ):
            out.append(frames.ToolOutputError(item.call, contract.denial_text(item.reason)))
        else:
            out.append(frames.ToolOutputDenied(item.call))

    def _is_replayed(self) -> bool:
        """Return whether the client was not shown the question that is answered."""
        return self._scope.replayed or self._captured

    @property
    def _asks_beside(self) -> bool:
        """Whether approvals are data parts: a v5 client knows no other."""
        return not self._dialect.approvals

    def _call_abandoned(self, item: fact.CallAbandoned, out: list[frames.Frame]) -> None:
        self._settle(item.call)
        if item.input_known:
            out.append(frames.ToolOutputError(item.call, UNANSWERED))
            return
        # Not for the client to run: it hands every call that is made to its own tools, but for a provider's.
        marked = REPLACED if item.withdrawn else UNSET
        out.append(frames.ToolInputAvailable(item.call, item.name, _EMPTY_OBJECT, True, marked))
        why = WITHDRAWN if item.withdrawn else UNANSWERED
        out.append(frames.ToolOutputError(item.call, why, True))

    def _call_pending(self, item: fact.CallPending, out: list[frames.Frame]) -> None:
        self._wait(item.call, out)
        data = {"toolCallId": item.call, "toolName": item.name}
        if item.call in self._scope.answered:
            data["status"] = "answered"
        out.append(data_part("long-running", data))

    def _approval_requested(self, item: fact.ApprovalRequested, out: list[frames.Frame]) -> None:
        self._wait(item.call, out)
        if not self._scope.asks(item):
            self._close_question(item, out)
        elif self._dialect.approval_responses or self._asks_beside:
            self._ask(item, out)
        elif self._captured:
            self._questions[item.call] = item
        elif item.call not in self._scope.decided:
            self._ask(item, out)

    def _approval_decided(self, item: fact.ApprovalDecided, out: list[frames.Frame]) -> None:
        self._questions.pop(item.call, None)
        self._decide(item.approval, item.call, item.approved, item.reason, out)

    def _decide(
        self, approval: str, call: str, approved: bool, reason: str, out: list[frames.Frame]
    ) -> None:
        """Say how an approval was decided, where the dialect can."""
        if self._dialect.approval_responses:
            out.append(frames.ToolApprovalResponse(approval, approved, reason or UNSET))
        elif self._asks_beside:
            self._show_approval(approval, call, "approved" if approved else "denied", reason, out)

    def _show_approval(
        self, approval: str, call: str, state: str, reason: str, out: list[frames.Frame]
    ) -> None:
        data = {"approvalId": approval, "toolCallId": call, "state": state}
        data |= {"reason": reason} if reason else {}
        out.append(data_part("approval-request", data, part=approval))

    def _ask(self, item: fact.ApprovalRequested, out: list[frames.Frame], status: str = "") -> None:
        """Ask for an approval; say what it is about, and what is to be given with it."""
        hint = item.hint
        if self._asks_beside:
            self._show_approval(item.approval, item.call, "requested", hint, out)
        else:
            reason: str | UnsetType = hint if hint and self._dialect.approval_reasons else UNSET
            out.append(frames.ToolApprovalRequest(item.approval, item.call, reason))
        if hint or bytes(item.payload) or status:
            data: dict[str, Any] = {"approvalId": item.approval, "toolCallId": item.call}
            if hint:
                data["hint"] = hint
            if bytes(item.payload):
                data["payload"] = sound(item.payload)
                data["schema"] = sound(Raw(json.encode(payload_schema(item.payload))))
            if status:
                data["status"] = status
            out.append(data_part("approval", data, part=item.approval))

    def _close_question(self, item: fact.ApprovalRequested, out: list[frames.Frame]) -> None:
        """Show a question that the conversation has left behind: answered by a later message, or expired.

        A client that has no frame for decisions is sent the end alone.
        """
        given = self._scope.elsewhere.get(item.approval)
        decision = given.decision if given is not None else None
        status = "" if decision else "expired"
        approved, reason = (decision.approved, decision.reason) if decision else (False, EXPIRED)
        if self._dialect.approval_responses or self._asks_beside:
            self._ask(item, out, status)
            self._decide(item.approval, item.call, approved, reason, out)
        if approved:  # the later message has the result
            out.append(frames.ToolOutputAvailable(item.call, _NULL))
        elif self._dialect.approval_responses:
            out.append(frames.ToolOutputDenied(item.call))
        else:
            out.append(
                frames.ToolOutputError(
                    item.call, contract.denial_text(reason) if decision else EXPIRED
                )
            )
        self._settle(item.call)

    def _input_requested(self, item: fact.InputRequested, out: list[frames.Frame]) -> None:
        self._wait(item.for_call, out)
        data: dict[str, Any] = {"id": item.call}
        if item.for_call:
            data["toolCallId"] = item.for_call
        data["request"] = sound(item.request) if bytes(item.request) else _EMPTY_OBJECT
        status = self._scope.status(item.call)
        if status:
            data["status"] = status
        out.append(data_part(f"{item.kind}-request", data, part=item.call))
        if self._scope.left and item.for_call in self._made:
            # Its call is answered in a later message, or never.
            self._settle(item.for_call)
            is_answered = status == "answered"
            ended = frames.ToolOutputAvailable(item.for_call, _NULL)
            out.append(ended if is_answered else frames.ToolOutputError(item.for_call, EXPIRED))

    # -------------------------------------------------------------- what is shown

    def _file_shown(self, item: fact.FileShown, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        url = self._files.url(
            self._run, self._cursor, item.part, item.media_type, item.data, item.uri
        )
        if url:
            about = _spoken_by(item.speaker, "", filename=item.name)
            out.append(frames.File(url, item.media_type, about))
        else:
            named = {"filename": item.name} if item.name else {}
            data = {"uri": item.uri, "mediaType": item.media_type} | named
            out.append(data_part("file-reference", data))

    def _audio_heard(self, item: fact.AudioHeard, out: list[frames.Frame]) -> None:
        self._metadata.audio(item)
        if not item.data:
            return  # the log did not keep it
        # Transient: kept in the message it would come back with every later request.
        out.append(frames.Data("data-pcm", contract.audio_json(item), transient=True))

    def _code_shown(self, item: fact.CodeShown, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        out.append(data_part("executable-code", sound(item.code)))

    def _code_result_shown(self, item: fact.CodeResultShown, out: list[frames.Frame]) -> None:
        self._steps.output(item.model_call, out)
        out.append(data_part("code-execution-result", sound(item.result)))

    def _input_transcribed(self, item: fact.InputTranscribed, out: list[frames.Frame]) -> None:
        data = {"text": item.text, "final": item.final}
        out.append(data_part("input-transcription", data, part=item.utterance))

    def _interrupted(self, item: fact.Interrupted, out: list[frames.Frame]) -> None:
        out.append(data_part("interrupted", {"author": item.speaker.author}))

    # -------------------------------------------------------------- what it rests on

    def _source_cited(self, item: fact.SourceCited, out: list[frames.Frame]) -> None:
        self._steps.beside(out)
        if item.document:
            filename = item.uri.rpartition("/")[2] or UNSET
            out.append(
                frames.SourceDocument(item.source, "application/octet-stream", item.title, filename)
            )
        else:
            out.append(frames.SourceUrl(item.source, item.uri, item.title or UNSET))

    def _sources_linked(self, item: fact.SourcesLinked, out: list[frames.Frame]) -> None:
        self._metadata.grounding(item)

    def _citations_given(self, item: fact.CitationsGiven, out: list[frames.Frame]) -> None:
        self._metadata.citations(item)

    def _annotated(self, item: fact.Annotated, out: list[frames.Frame]) -> None:
        if item.place == "usage":
            self._metadata.usage |= item.value
        elif item.place == "part":
            out.append(data_part(item.name, sound(Raw(json.encode(item.value))), part=item.id))

    def _metadata_given(self, item: fact.MetadataGiven, out: list[frames.Frame]) -> None:
        self._metadata.custom(item)

    def _model_call_ended(self, item: fact.ModelCallEnded, out: list[frames.Frame]) -> None:
        self._metadata.model_call(item)

    # -------------------------------------------------------------- what changes

    def _state_changed(self, item: fact.StateChanged, out: list[frames.Frame]) -> None:
        out.append(data_part("state", _safe_object(item.delta)))

    def _artifact_saved(self, item: fact.ArtifactSaved, out: list[frames.Frame]) -> None:
        url = self._files.artifact(self._run, self._cursor, item.part)
        data = {"filename": item.filename, "version": item.version}
        out.append(data_part("artifact", data | ({"url": url} if url else {})))

    def _agent_transferred(self, item: fact.AgentTransferred, out: list[frames.Frame]) -> None:
        out.append(data_part("transfer", contract.transfer_json(item)))

    def _node_output(self, item: fact.NodeOutput, out: list[frames.Frame]) -> None:
        speaker = item.speaker
        data = {"author": speaker.author, "path": speaker.path, "output": sound(item.output)}
        out.append(data_part("output", data))

    def _error_raised(self, item: fact.ErrorRaised, out: list[frames.Frame]) -> None:
        out.append(data_part("error", contract.error_json(item)))

    def _unrecognised(self, item: fact.Unrecognised, out: list[frames.Frame]) -> None:
        out.append(data_part("unrecognised", {"kind": item.kind, "raw": sound(item.raw)}))

    def _nothing(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        """The user's own words, which no frame can put into an assistant's message, and the bounds of
        nodes, which are for views."""


# --------------------------------------------------------------------------- pieces


def data_part(name: str, data: Any, part: str = "") -> frames.Data:
    return frames.Data(f"data-{name}", data, part or UNSET)


def _spoken_by(
    speaker: fact.Speaker, signature: str, filename: str = ""
) -> frames.ProviderMetadata:
    adk = speaker.described() | ({"filename": filename} if filename else {})
    return {"adk": adk, "google": {"thoughtSignature": signature}} if signature else {"adk": adk}


def _safe_object(values: Mapping[str, Raw]) -> Raw:
    """Write a delta as one JSON object: its keys are a client's too, and may need the same repair."""
    return Raw(repair(json.encode(values), parsed=True))


_SHOWS_NOTHING = (fact.UserSpoke, fact.ModelCalled, fact.NodeBegan, fact.NodeFinished, fact.Nested)

OTHERS: FactMethods = dict.fromkeys(_SHOWS_NOTHING, AiSdkProjection._nothing)
AiSdkProjection.SHOW = fact_methods(AiSdkProjection, OTHERS)


# ---------------------------------------------------------------------------
# A live run: a message for each turn, all of them in one stream.
#
# `start` to `finish`, again and again, the terminator last. Between messages there are only transient
# parts. What the user says is always transient, since it is not part of the assistant's message.


class LiveAiSdkProjection(AiSdkProjection):
    """One live run as UI messages."""

    def __init__(
        self, options: Options | None = None, speaks: frames.Dialect | None = None
    ) -> None:
        super().__init__(options, speaks)
        self._state: Literal["between messages", "in a message"] = "between messages"
        self._message = ""
        """The last message that began."""
        self._is_end = False
        """The entry is the run's end."""

    def feed(self, entry: Entry) -> list[frames.Frame]:
        """Return the frames that an entry causes."""
        self._is_end = type(entry.record) is RunEnded
        return super().feed(entry)

    def _show(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        before = len(out)
        super()._show(item, out)
        if self._state == "between messages" or type(item) is fact.InputTranscribed:
            out[before:] = [_transient(frame) for frame in out[before:]]

    def _message_began(self, item: fact.MessageBegan, out: list[frames.Frame]) -> None:
        self._state, self._message = "in a message", item.message
        self._steps, self._metadata = Steps(), Metadata()
        super()._message_began(item, out)

    def _message_ended(self, item: fact.MessageEnded, out: list[frames.Frame]) -> None:
        if self._is_end:
            super()._message_ended(item, out)
            return
        self._steps.close(out, seal=True, first=True)
        out.append(self._finish(frames.finish_reason(item.finish, awaiting=False)))
        self._state = "between messages"

    def _run_over(self, item: fact.RunOver, out: list[frames.Frame]) -> None:
        if self._ended is not None:
            super()._run_over(item, out)
            return
        if item.outcome in BROKEN:
            out.append(frames.Error(with_reference(item)))
        out.append(frames.Done())

    def _is_replayed(self) -> bool:
        return True

    @property
    def _asks_beside(self) -> bool:
        # A v6 client cannot hold a question and its answer in one stream.
        return not self._dialect.approval_responses

    def _interrupted(self, item: fact.Interrupted, out: list[frames.Frame]) -> None:
        if self._state == "in a message":
            self._metadata.is_interrupted = True
        super()._interrupted(item, out)

    def _model_call_ended(self, item: fact.ModelCallEnded, out: list[frames.Frame]) -> None:
        if self._state == "in a message":
            super()._model_call_ended(item, out)
            return
        late = Metadata()
        late.model_call(item)
        usage = {"messageId": self._message, "usage": late.collected()["usage"]}
        out.append(data_part("usage", usage))


LiveAiSdkProjection.SHOW = fact_methods(LiveAiSdkProjection, OTHERS)


def _transient(frame: frames.Frame) -> frames.Frame:
    return structs.replace(frame, transient=True) if isinstance(frame, frames.Data) else frame
