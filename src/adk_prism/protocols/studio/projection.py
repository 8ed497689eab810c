"""Facts to the Studio protocol (SSE Schema v2): the mapping, one function per fact.

Where the schema is silent, or the program that it was written for disagrees with it, this is what
holds:
- a run ends with exactly one of `end` and `error`, last. A failed run has no `done`, nor has a recording
  that was cut; one that was stopped, or waits for a person, has it, with `status`;
- a snapshot has what was asked and answered as `query` and `response`, where the state has no such keys:
  `overlay` distinguishes them from the state (`trace.lay`, `trace.Scopes`);
- `node_end.output`, `state.output` and `done.output` are the whole state so far; `done.input` is the
  state that the run began with;
- `chunk` is a piece to be appended, one voice at a time (`trace.Voices`), and only what is said to the user:
  an agent inside a tool (`AgentTool`) shows in the trace and by its own calls, marked `within`;
- tools and ADK's helper nodes are not nodes; a composite agent and a workflow are;
- text that ADK did not store cannot be removed: a `log` has all valid text, as `text` and `thinking`;
- "Calling …" is said when an agent with a model begins, and when its calls are answered: a model is asked
  next, unless a callback answers in its place. Where neither was seen, it is said with the first output;
- a tool that returned a plain value has that as its result, without ADK's `{"result": …}` around it;
- what the protocol has no word for is a `log`, or the call and result of a tool `code_execution`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, UNANSWERED, ending_text
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import NOTHING, Agent, Entry
from adk_prism.protocols.contract import fact_methods, progress_text
from adk_prism.protocols.studio import frames, trace
from adk_prism.protocols.studio.requests import Moment, ask_approval, ask_input, safe

CODE = "code_execution"
_NULL = Raw(b"null")
_EMPTY_OBJECT = Raw(b"{}")
_WRAPPED = b'{"result":'
_read_object = msgspec.json.Decoder(dict[str, Raw]).decode


_ENDS_TURN = frozenset({"transfer_to_agent", "exit_loop", "set_model_response", "finish_task"})
"""Tools of ADK's own after which their agent asks its model nothing more."""


def _place(speaker: fact.Speaker) -> tuple[str, str]:
    return speaker.path or speaker.author, speaker.branch


class StudioProjection:
    """One run as a Studio stream."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._snapshots = trace.Snapshots()
        self._nodes = trace.Nodes()
        self._now = Moment("", "", 0, 0.0)
        self._began = trace.NOTHING_YET
        self._agents: dict[str, Agent] = {}
        self._voices = trace.Voices()
        self._thinking: dict[str, str] = {}
        """Open blocks of thought → who thinks."""
        self._thoughts: dict[str, list[str]] = {}
        """What was thought, by block."""
        self._calling: dict[fact.Speaker, str] = {}
        """The last model call of each speaker that was sent."""
        self._calls: dict[str, fact.CallRequested] = {}
        """Calls without an answer."""
        self._unmade: set[str] = set()
        """Calls that were streamed and never made: nothing was shown of them."""
        self._codes = 0
        self._running: dict[fact.Speaker, str] = {}
        """The code whose result is not there yet."""
        self._tools: set[str] = set()
        """Nodes of tools: what an agent says inside one comes with its nested facts."""
        self._announced: set[tuple[str, str]] = set()
        """Where "Calling …" was said before the first output of that call."""
        self._answers = trace.Replies(self._nodes.find)
        self._asked: dict[str, trace.Asked] = {}
        """What open calls ask, by their ids: of the agents that they run."""
        self._within = ""
        """The call inside which all this happens, while a nested fact is shown."""
        self._tool = ""
        """The node of that call."""

    def feed(self, entry: Entry) -> list[frames.Frame]:
        """Return the frames that an entry causes."""
        now = self._now
        self._now = Moment(now.run, now.session, entry.cursor, entry.time)
        out: list[frames.Frame] = []
        for item in self._reader.feed(entry):
            if type(item) is fact.BlockGrew:  # most facts are this one
                if item.kind == "reasoning":
                    node = self._thinking.get(item.block, UNSET)
                    self._thoughts.setdefault(item.block, []).append(item.text)
                    out.append(frames.Thinking(content=item.text, node=node))
                else:
                    self._answers.grow(item.block, item.text)
                    if text := self._voices.say(item.block, item.text):
                        out.append(frames.Chunk(text))
            else:
                _SHOW[type(item)](self, item, out)
        return out

    # -------------------------------------------------------------- the run

    def _run_began(self, item: fact.RunBegan, out: list[frames.Frame]) -> None:
        now = self._now
        self._now = Moment(item.run, item.origin.session, now.cursor, now.time)
        self._agents = {agent.name: agent for agent in reversed(item.agents)}
        self._began = self._snapshots.change(item.state)
        self._nodes.run.query = trace.said_as_query(item.query)
        out.append(frames.Session(item.origin.session))

    def _message_began(self, item: fact.MessageBegan, out: list[frames.Frame]) -> None:
        at = self._now.milliseconds
        out.extend(frames.Resume(node_id=node, timestamp=at) for node in item.resumes)

    def _run_over(self, item: fact.RunOver, out: list[frames.Frame]) -> None:
        if item.outcome in BROKEN:
            code = item.outcome if item.outcome == "incomplete" else item.code or "error"
            correlation = item.correlation or UNSET
            out.append(frames.Error(message=ending_text(item), code=code, correlation=correlation))
            return
        run = self._nodes.run
        left = trace.lay(self._snapshots.take(), run.query, run.answer.text)
        snapshot, overlay = trace.between(trace.lay(self._began, run.query), left)
        out.append(
            frames.Done(
                total_steps=self._nodes.steps,
                state_snapshot=snapshot,
                state_keys=left.keys,
                timestamp=self._now.milliseconds,
                overlay=overlay,
                status=trace.STATUS[item.outcome],
            )
        )
        out.append(frames.End())

    def _user_spoke(self, item: fact.UserSpoke, out: list[frames.Frame]) -> None:
        """Note what the agents that begin from here on are asked."""
        self._nodes.run.query = trace.said_as_query(item.text)

    # -------------------------------------------------------------- nodes and state

    def _node_began(self, item: fact.NodeBegan, out: list[frames.Frame]) -> None:
        found = self._snapshots.change(item.state, item.gone)
        asked = self._asked.get(item.call) or trace.Asked(item.call, NOTHING)
        frame = self._nodes.begin(item, self._now.time, found, asked)
        if frame is not None:
            out.append(frame)
        if item.kind == "tool":
            self._tools.add(item.node)
        elif item.kind == "agent" and item.parent not in self._tools:
            self._announce(fact.Speaker(item.name, item.path, item.branch), out)

    def _node_finished(self, item: fact.NodeFinished, out: list[frames.Frame]) -> None:
        left = self._snapshots.change(item.state, item.gone)
        frame = self._nodes.end(item, self._now.time, left)
        if frame is not None:
            out.append(frame)

    def _node_output(self, item: fact.NodeOutput, out: list[frames.Frame]) -> None:
        self._nodes.give(item.speaker, trace.cut(item.output))

    def _state_changed(self, item: fact.StateChanged, out: list[frames.Frame]) -> None:
        now = self._snapshots.change(item.delta)
        out.append(
            frames.State(
                state_snapshot=frames.StateSnapshot(trace.NOTHING_YET.state, now.state),
                state_keys=now.keys,
                timestamp=self._now.milliseconds,
                changed=list(item.delta),
            )
        )

    # -------------------------------------------------------------- models

    def _block_began(self, item: fact.BlockBegan, out: list[frames.Frame]) -> None:
        self._call_model(item.speaker, item.model_call, out)
        if item.kind != "reasoning":
            self._answers.begin(self._id(item.block), item.speaker, self._tool, item.model_call)
        elif not self._within:
            self._thinking[item.block] = item.speaker.node

    def _block_ended(self, item: fact.BlockEnded, out: list[frames.Frame]) -> None:
        if item.kind == "reasoning":
            self._thinking.pop(item.block, None)
        else:
            self._answers.end(self._id(item.block), item.trimmed)
            out.extend(map(frames.Chunk, self._voices.end(item.block)))

    def _blocks_replaced(self, item: fact.BlocksReplaced, out: list[frames.Frame]) -> None:
        self._answers.drop(map(self._id, item.blocks))
        thought = [self._thoughts.pop(block, None) for block in item.blocks]
        if self._voices.drop(item.blocks) or any(thought):
            out.append(
                frames.Log(
                    message="What was said is replaced by what follows.",
                    text=self._voices.text,
                    thinking="".join(map("".join, self._thoughts.values())),
                )
            )

    def _model_call_ended(self, item: fact.ModelCallEnded, out: list[frames.Frame]) -> None:
        self._call_model(item.speaker, item.model_call, out)

    def _call_input_grew(self, item: fact.CallInputGrew, out: list[frames.Frame]) -> None:
        self._call_model(item.speaker, item.model_call, out)

    def _call_model(self, speaker: fact.Speaker, model_call: str, out: list[frames.Frame]) -> None:
        """Tell once that a model is called."""
        if self._calling.get(speaker) == model_call:
            return
        self._calling[speaker] = model_call
        if _place(speaker) in self._announced:
            self._announced.discard(_place(speaker))
        else:
            self._tell_calling(speaker, out)

    def _announce(self, speaker: fact.Speaker, out: list[frames.Frame]) -> None:
        """Tell that a model is about to be called; its first output does not say so again."""
        if _place(speaker) not in self._announced and self._tell_calling(speaker, out):
            self._announced.add(_place(speaker))

    def _tell_calling(self, speaker: fact.Speaker, out: list[frames.Frame]) -> bool:
        agent = self._agents.get(speaker.node) or self._agents.get(speaker.author)
        if agent is None or not agent.model:
            return False
        self._log(f"Calling {agent.model} (tools: {agent.tools})", speaker, out)
        return True

    def _log(
        self,
        message: str,
        speaker: fact.Speaker | None,
        out: list[frames.Frame],
        level: frames.Level | None = None,
    ) -> None:
        node = speaker.node if speaker is not None else UNSET
        within = self._within or UNSET
        out.append(frames.Log(message=message, node=node, level=level or UNSET, within=within))

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested, out: list[frames.Frame]) -> None:
        self._call_model(item.speaker, item.model_call, out)
        call = self._id(item.call)
        self._calls[call] = item
        self._asked[item.call] = self._asked[item.adk_id] = trace.Asked(
            call, trace.asked_with(item.input)
        )
        out.append(
            frames.ToolCall(
                name=item.name,
                args=safe(item.input),
                id=call,
                node=item.speaker.node,
                within=self._within or UNSET,
            )
        )

    def _result(self, item: Any, result: Raw, out: list[frames.Frame], **about: Any) -> None:
        call, within = self._id(item.call), self._within or UNSET
        if known := self._calls.pop(call, None):
            self._asked.pop(known.call, None)
            self._asked.pop(known.adk_id, None)
        if call in self._unmade:  # answered all the same
            self._unmade.discard(call)
            out.append(frames.ToolCall(name=item.name, args=_EMPTY_OBJECT, id=call, within=within))
        out.append(
            frames.ToolResult(name=item.name, result=result, id=call, within=within, **about)
        )
        goes_on = item.name not in _ENDS_TURN and about.get("status") != "abandoned"
        if known is not None and goes_on and not self._is_waiting(known.speaker):
            self._announce(known.speaker, out)

    def _is_waiting(self, speaker: fact.Speaker) -> bool:
        return any(call.speaker == speaker for call in self._calls.values())

    def _id(self, call: str) -> str:
        """Return a call's id: models that count their calls begin again inside a tool."""
        return f"{self._within}/{call}" if self._within else call

    def _call_answered(self, item: fact.CallAnswered, out: list[frames.Frame]) -> None:
        self._result(item, safe(_bare(item.output)), out)

    def _call_failed(self, item: fact.CallFailed, out: list[frames.Frame]) -> None:
        self._result(item, safe(item.output), out, status="error", error=item.error)

    def _call_denied(self, item: fact.CallDenied, out: list[frames.Frame]) -> None:
        self._result(item, _NULL, out, status="denied", error=item.reason or UNSET)

    def _call_abandoned(self, item: fact.CallAbandoned, out: list[frames.Frame]) -> None:
        if item.input_known:
            self._result(item, _NULL, out, status="abandoned", error=UNANSWERED)
        else:
            self._unmade.add(self._id(item.call))

    def _call_pending(self, item: fact.CallPending, out: list[frames.Frame]) -> None:
        self._log(f"{item.name} may take long: its result comes when it is there.", None, out)

    def _call_progressed(self, item: fact.CallProgressed, out: list[frames.Frame]) -> None:
        call = self._calls.get(self._id(item.call))
        self._log(progress_text(item), call.speaker if call is not None else None, out)

    def _approval_requested(self, item: fact.ApprovalRequested, out: list[frames.Frame]) -> None:
        call = self._calls.get(item.call)
        node = call.speaker.node if call is not None else self._root
        out.append(ask_approval(item, call, node, self._now))

    def _input_requested(self, item: fact.InputRequested, out: list[frames.Frame]) -> None:
        out.append(ask_input(item, self._now))

    @property
    def _root(self) -> str:
        return next(reversed(self._agents), "")

    def _code_shown(self, item: fact.CodeShown, out: list[frames.Frame]) -> None:
        self._call_model(item.speaker, item.model_call, out)
        self._run_code(item.speaker, safe(item.code), out)

    def _run_code(self, speaker: fact.Speaker, code: Raw, out: list[frames.Frame]) -> None:
        self._codes += 1
        call = self._running[speaker] = f"code-{self._codes}"
        out.append(frames.ToolCall(name=CODE, args=code, id=call, node=speaker.node))

    def _code_result_shown(self, item: fact.CodeResultShown, out: list[frames.Frame]) -> None:
        if item.speaker not in self._running:
            self._run_code(item.speaker, _EMPTY_OBJECT, out)  # it was not shown what ran
        call = self._running.pop(item.speaker)
        out.append(frames.ToolResult(name=CODE, result=safe(item.result), id=call))

    # -------------------------------------------------------------- no word of its own

    def _file_shown(self, item: fact.FileShown, out: list[frames.Frame]) -> None:
        self._log(
            f"File: {' '.join(filter(None, (item.media_type, item.name, item.uri)))}",
            item.speaker,
            out,
        )

    def _source_cited(self, item: fact.SourceCited, out: list[frames.Frame]) -> None:
        self._log(f"Source: {' '.join(filter(None, (item.title, item.uri)))}", None, out)

    def _artifact_saved(self, item: fact.ArtifactSaved, out: list[frames.Frame]) -> None:
        self._log(f"Saved {item.filename} (version {item.version})", item.speaker, out)

    def _agent_transferred(self, item: fact.AgentTransferred, out: list[frames.Frame]) -> None:
        self._log(f"Transfer to {item.to}", None, out)

    def _interrupted(self, item: fact.Interrupted, out: list[frames.Frame]) -> None:
        self._log("Interrupted by the user", item.speaker, out)

    def _error_raised(self, item: fact.ErrorRaised, out: list[frames.Frame]) -> None:
        text = ": ".join(filter(None, (item.code, item.message)))
        self._log(text or "error", item.speaker, out, "error")

    def _taken_over(self, item: fact.TakenOver, out: list[frames.Frame]) -> None:
        doubt = f" In doubt: {', '.join(item.in_doubt)}." if item.in_doubt else ""
        self._log(f"Another process goes on with the run.{doubt}", None, out, "warn")

    def _unrecognised(self, item: fact.Unrecognised, out: list[frames.Frame]) -> None:
        self._log(f"Unrecognised {item.kind}", None, out, "warn")

    # -------------------------------------------------------------- inside a tool

    def _nested(self, item: fact.Nested, out: list[frames.Frame]) -> None:
        """Show what an agent inside a tool does. Its words are not the answer's, its state is its own."""
        self._within, self._tool = item.call, item.node
        if type(item.fact) is fact.BlockGrew:
            self._answers.grow(self._id(item.fact.block), item.fact.text)
        elif isinstance(item.fact, _NESTED):
            _SHOW[type(item.fact)](self, item.fact, out)
        self._within = self._tool = ""

    def _nothing(self, item: fact.Fact, out: list[frames.Frame]) -> None:
        """The protocol has no place for it: sound, the user's own words, what a client may look up."""


def _bare(output: Raw) -> Raw:
    """Return a tool's value without the object that ADK puts around what is none."""
    raw = bytes(output)
    if not raw.startswith(_WRAPPED):
        return output
    try:
        members = _read_object(raw)
    except msgspec.MsgspecError:
        return output
    return members["result"] if len(members) == 1 else output


_NESTED = (
    fact.BlockBegan,
    fact.BlockEnded,
    fact.BlocksReplaced,
    fact.ModelCallEnded,
    fact.CallRequested,
    fact.CallAnswered,
    fact.CallFailed,
    fact.CallDenied,
    fact.CallAbandoned,
    fact.ErrorRaised,
    fact.Unrecognised,
)
"""What of an agent inside a tool is shown."""

_SHOWS_NOTHING = (
    fact.MessageEnded,
    fact.InputTranscribed,
    fact.CallDelegated,
    fact.ApprovalDecided,
    fact.AudioHeard,
    fact.SourcesLinked,
    fact.CitationsGiven,
    fact.Annotated,
    fact.MetadataGiven,
    fact.ModelCalled,
)

_SHOW = fact_methods(StudioProjection, dict.fromkeys(_SHOWS_NOTHING, StudioProjection._nothing))
