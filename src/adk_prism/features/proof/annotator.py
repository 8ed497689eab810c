"""The proof behind each answer: the annotator that adds proofs to a run.

Decides whose proof it is, when it is complete, and what the proof of the whole answer is. Subjects are
- **specialists**: agents that a call runs, whether their own output streams (their last text counts)
  or only the call's response is visible; and agents of a workflow that state a proof. Where an app's
  agents are not known, a call that looks like ADK's `AgentTool` (`request` in, text out) counts as one. A
  specialist's proof holds everything given by the specialist and by the tools that it called;
- **tools** with a `proof_layer` that belong to no specialist, in an app with one agent. In an app with
  several agents, the root's own tools count for the whole answer. A capture shows which case it is only
  at its end;
- **the answer**: the last text without a call, at the end of a finished message.

A proof is added when its subject answers, again when a later answer adds to it, and at the end of the run
if the subject never answered. A specialist that gave none gets a proof with the origin *absent*; where
nobody gave any, no proof is added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Raw, Struct

from adk_prism.facts import model as fact
from adk_prism.facts.event_actions import AgentText
from adk_prism.facts.model import Annotated, Fact, Speaker
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.proof.answer_proof import WholeProof, answer_text, read_answer, split_text
from adk_prism.features.proof.model import Citation, Proof, Step
from adk_prism.features.proof.proof_layer_reader import Pieces, find_layer, read_layer
from adk_prism.features.proof.prose.markdown_line import NOT_ABBREVIATED
from adk_prism.features.proof.subject_proof import SUMMARY, SubjectProof

# ---------------------------------------------------------------------------
# What was asked of a tool or agent, and what it found, in one line each: the links of a chain of
# reasoning.
#
# A chain that says "burn_analyst answered" tells a reader nothing that the timeline does not. The
# line is taken from the call's arguments and from the first words of the response that are about the
# subject.

_LONGEST = 160
"""Characters of a line: what fits beside a step."""
_MOST_VALUES = 4
_REQUEST = "request"
"""The only argument of ADK's `AgentTool`."""
_RESULT = "result"
"""The key under which ADK puts what a function returns, unless that is an object."""
_LAYERS = frozenset(("proof_layer", "proofLayer"))
"""Keys of a proof, which is shown by itself."""
_MARKS = re.compile(r"[*_`#>|]+|\[(?=[^\]]*\]\()|\]\([^)]*\)")
_ABOUT_ITSELF = re.compile(
    r"\s*(?:overall\s+)?(?:confidence|certainty|sources?|references?|factors)\b", re.I
)
_SENTENCE_END = re.compile(rf"{NOT_ABBREVIATED}[.!?](?=\s)")
_FEWEST_WORDS = 3
"""A shorter line is a heading."""


def asked(verb: str, arguments: bytes | Raw) -> str:
    """Return what was asked, after a verb: `Called search (query: malaria)`."""
    value = read_value(bytes(arguments)) if bytes(arguments) else None
    if isinstance(value, dict) and isinstance(value.get(_REQUEST), str):
        request = _one_line(value[_REQUEST])
        return f"{verb}: {request}" if request else verb
    listed = _listed(value) if isinstance(value, dict) else ""
    return f"{verb} ({listed})" if listed else verb


def found(verb: str, output: Raw) -> str:
    """Return what was found, after a verb: `search answered: 45 papers`."""
    text, _ = answer_text(output)
    line = _first_statement(text)
    if not line:
        value = read_value(output)
        line = _listed(value) if isinstance(value, dict) else ""
    return f"{verb}: {line}" if line else verb


def _first_statement(text: str) -> str:
    """Return the first sentence that is about the subject: no heading, no confidence, no source."""
    for raw in text.splitlines():
        line = _MARKS.sub("", raw).strip(" -–—•\t")
        if len(line.split()) >= _FEWEST_WORDS and not _ABOUT_ITSELF.match(line):
            end = _SENTENCE_END.search(line)
            return _one_line(line[: end.end()] if end else line)
    return ""


def _listed(values: Mapping[str, Any]) -> str:
    """Return the plain values of an object; lists and objects are counted."""
    values = {name: value for name, value in values.items() if name not in _LAYERS}
    if values.keys() == {_RESULT}:
        return _one_line(_plain(values[_RESULT]))
    shown = [
        f"{name}: {_plain(value)}" for name, value in values.items() if value not in (None, "")
    ]
    return _one_line(", ".join(shown[:_MOST_VALUES]))


def _plain(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{len(value)} {'items' if isinstance(value, list) else 'values'}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"


_KEPT = 64 * 1024
"""Bytes of a call or response that are kept until a proof is made; a larger one is described at once."""


def _step(
    describe: Callable[[str, Any], str],
    verb: str,
    data: bytes | Raw,
    kind: Literal["call", "answer"],
    cursor: int,
    call: str = "",
) -> Callable[[], Step]:
    """Return what writes a step, when a proof is made: most runs need none."""
    if len(data) > _KEPT:
        text = describe(verb, data)
        return lambda: Step(text, kind, cursor, "computed", call)
    return lambda: Step(describe(verb, data), kind, cursor, "computed", call)


# ---------------------------------------------------------------------------

_AGENT_INPUT = b'{"request":'
"""How the input of ADK's `AgentTool` begins."""
_AGENT_OUTPUT = frozenset(("result", "proof_layer", "proofLayer"))


class _Call(Struct, eq=False):
    """A call without a response."""

    cursor: int
    """The entry that requested it."""
    id: str
    adk_id: str
    name: str
    input: bytes = b""
    caller: SubjectProof | None = None
    """The specialist that made the call; None for the root."""
    within: str = ""
    """The call that runs that specialist."""
    specialist: SubjectProof | None = None
    """The specialist that this call runs."""

    def looks_like_agent(self, output: Raw) -> bool:
        """Recognise ADK's `AgentTool`: a request in; out comes a text, or an object with a proof."""
        if not self.input.startswith(_AGENT_INPUT):
            return False
        if read_object(self.input).keys() != {"request"}:
            return False
        answer = read_object(output)
        is_text = isinstance(answer.get("result"), str) and answer.keys() <= _AGENT_OUTPUT
        return is_text or bool(answer_text(output)[1])


class _Lane(NamedTuple):
    """The specialist that a speaker belongs to, and the call that runs it."""

    specialist: SubjectProof
    call: str


class ProofAnnotator:
    """Adds the proofs of one run."""

    def __init__(self, *, prose: bool = True) -> None:
        """Without `prose`, texts are read only once the app asked for it: an agent runs another one, or
        something returned a `proof_layer`. The stream of an ordinary chat costs nothing then."""
        self._reads_prose = prose
        self._agents: frozenset[str] = frozenset()
        self._calls: dict[str, _Call] = {}
        self._by_adk_id: dict[str, _Call] = {}
        self._specialists: dict[str, SubjectProof] = {}
        """By name."""
        self._lanes: dict[Speaker, _Lane | None] = {}
        self._texts: dict[str, str] = {}
        """The text that a specialist streamed itself, by its call: the call's response repeats it."""
        self._answer = WholeProof()
        self._undecided: dict[str, tuple[SubjectProof, Pieces]] = {}
        """The root's tools, while it is not known whether the app has other agents."""
        self._due: dict[str, SubjectProof] = {}
        self._ready: list[Fact] = []
        """Proofs of a turn that has ended; they are added with this entry."""

    def feed(self, cursor: int, facts: Sequence[Fact], text: AgentText | None) -> list[Fact]:
        """Return the proofs that an entry completes."""
        for item in facts:
            handle = _HANDLERS.get(type(item))
            if handle is not None:
                handle(self, cursor, item)
        if text is not None and text.is_final:
            self._read_text(cursor, text)
        if not self._due and not self._ready:
            return []
        ready, self._ready = self._ready, []
        return [*ready, *self._take_due()]

    def end(
        self, cursor: int, facts: Sequence[Fact], cut_off: Sequence[AgentText], *, answered: bool
    ) -> list[Fact]:
        """Return the proofs that the end of the run completes."""
        out = self.feed(cursor, facts, None)
        for text in cut_off:
            self._read_text(cursor, text)
        for specialist in self._specialists.values():
            if not specialist.is_empty:
                self._schedule(specialist)
        self._decide()
        out += self._take_due()
        proof = self._answer.proof() if answered and self._reads_prose else None
        if proof is not None:
            out.append(_annotated("proof", proof))
        return out

    def _schedule(self, subject: SubjectProof, key: str = "") -> None:
        """Add the subject's proof once, after the whole entry has been read."""
        if not subject.is_reported:
            self._due[key or subject.name] = subject

    def _take_due(self) -> list[Fact]:
        out: list[Fact] = []
        for key, subject in self._due.items():
            subject.is_reported = True
            self._answer.add_source(key, subject)
            out.append(_annotated(f"proof-{key}", subject.proof()))
        self._due.clear()
        return out

    # -------------------------------------------------------------- specialists

    def _specialist(self, name: str) -> SubjectProof:
        known = self._specialists.get(name)
        if known is None:
            known = self._specialists[name] = SubjectProof("specialist", name)
        return known

    def _runs_agent(self, call: _Call) -> SubjectProof:
        """Note that a call runs an agent; return the agent's proof."""
        if call.specialist is None:
            self._reads_prose = True
            call.specialist = self._specialist(call.name)
            call.specialist.add_call(call.id)
            call.specialist.add_step(
                _step(asked, "Was asked", call.input, "call", call.cursor, call.id)
            )
        return call.specialist

    def _lane_of(self, speaker: Speaker) -> _Lane | None:
        try:
            return self._lanes[speaker]
        except KeyError:
            lane = self._lanes[speaker] = self._find_lane(speaker)
            return lane

    def _find_lane(self, speaker: Speaker) -> _Lane | None:
        """Find the specialist of a speaker: the innermost call in its branch or path."""
        for step in reversed((*speaker.path.split("/"), *speaker.branch.split("."))):
            call = self._by_adk_id.get(step.rpartition("@")[2]) if "@" in step else None
            if call is not None:
                return self._lane(self._runs_agent(call), call.id, speaker)
        return None

    def _lane(self, specialist: SubjectProof, call: str, speaker: Speaker) -> _Lane:
        specialist.path = specialist.path or speaker.path
        return _Lane(specialist, call)

    def _workflow_lane(self, speaker: Speaker) -> _Lane | None:
        """Return the lane of an agent that no call runs; None for the root."""
        if "/" not in speaker.path and not speaker.branch:
            return None
        return self._lane(self._specialist(speaker.node), "", speaker)

    # -------------------------------------------------------------- calls

    def _run_began(self, _: int, item: fact.RunBegan) -> None:
        self._agents = frozenset(agent.name for agent in item.agents)

    def _requested(self, cursor: int, item: fact.CallRequested) -> None:
        lane = self._lane_of(item.speaker)
        adk_id = item.adk_id or item.call
        call = self._open(_Call(cursor, item.call, adk_id, item.name, bytes(item.input)))
        if lane is not None:
            call.caller, call.within = lane
        step = _step(asked, f"Called {item.name}", item.input, "call", cursor, item.call)
        self._subject_of(call).add_step(step)

    def _open(self, call: _Call) -> _Call:
        self._calls[call.id] = self._by_adk_id[call.adk_id] = call
        if call.name in self._agents:
            self._runs_agent(call)
        return call

    def _message_began(self, cursor: int, item: fact.MessageBegan) -> None:
        """Take the calls that an earlier run of the message left open."""
        for call, name in item.open_calls.items():
            self._open(_Call(cursor, call, call, name))

    def _subject_of(self, call: _Call) -> SubjectProof:
        """Return whose chain of reasoning a call is part of."""
        return call.caller or self._answer.own

    def _close(self, cursor: int, item: Any, verb: str) -> _Call | None:
        """End a call; return it, unless an earlier run of the message made it."""
        call = self._calls.pop(item.call, None)
        if call is not None:
            self._by_adk_id.pop(call.adk_id, None)
            text = f"{item.name} {verb}"
            is_answered = isinstance(item, fact.CallAnswered)
            describe, data = (found, item.output) if is_answered else (asked, b"")
            step = _step(describe, text, data, "answer", cursor, item.call)
            self._subject_of(call).add_step(step)
        return call

    def _delegated(self, _: int, item: fact.CallDelegated) -> None:
        call = self._calls.get(item.call)
        if call is not None:
            self._runs_agent(call)

    def _answered(self, cursor: int, item: fact.CallAnswered) -> None:
        call = self._close(cursor, item, "answered")
        if call is not None and (call.specialist is not None or call.looks_like_agent(item.output)):
            self._agent_answered(cursor, call, item)
            return
        layer = find_layer(item.output)
        if layer is not None:
            self._tool_answered(cursor, call, item, layer)

    def _agent_answered(self, cursor: int, call: _Call, item: fact.CallAnswered) -> None:
        specialist = self._runs_agent(call)
        specialist.add_step(_step(found, "Answered", item.output, "answer", cursor, item.call))
        layer = find_layer(item.output)
        if layer is not None:
            self._add_agent_layer(cursor, specialist, item, layer)
        streamed = self._texts.pop(item.call, "")
        text, fields = answer_text(item.output)
        # A text that the specialist streamed, and the response repeats, is not read twice.
        if text.strip() != streamed.strip() or fields:
            pieces, _ = read_answer(text, fields, item.name, cursor)
            specialist.add_text(pieces, item.call)
            self._answer.keep_result(specialist, item.output, call.input)
        self._schedule(specialist)

    def _add_agent_layer(
        self, cursor: int, specialist: SubjectProof, item: fact.CallAnswered, layer: Any
    ) -> None:
        """Take the layer of a specialist's answer.

        It summarises the layers of the specialist's tools: if those were seen, only its citations are new.
        """
        pieces = read_layer(layer, item.name, cursor)
        if specialist.layers(item.call):
            specialist.add_summary(pieces, item.call)
        else:
            specialist.add(_key(layer, SUMMARY, item.call), pieces, item.call)

    def _tool_answered(
        self, cursor: int, call: _Call | None, item: fact.CallAnswered, layer: Any
    ) -> None:
        self._reads_prose = True
        pieces = read_layer(layer, item.name, cursor)
        subject = call.caller if call is not None else None
        if subject is None and (len(self._agents) > 1 or self._specialists):
            subject = self._answer.own
        alone = subject is None
        subject = subject or SubjectProof("tool", item.name)
        asked = call.input.hex() if call is not None else item.call
        subject.add(_key(layer, item.name, asked), pieces, call.within if call is not None else "")
        self._answer.keep_result(subject, item.output, call.input if call is not None else b"")
        if alone:
            subject.add_call(item.call)
            self._undecided[f"{item.name}-{item.call}"] = subject, pieces
            if self._agents:
                self._decide()

    def _decide(self) -> None:
        """Report the tools as subjects of their own, or, if there are specialists, as the answer's own."""
        for key, (subject, pieces) in self._undecided.items():
            if self._specialists:
                self._answer.own.add((key,), pieces)
            else:
                self._schedule(subject, key)
        self._undecided.clear()

    def _ended(self, cursor: int, item: Any) -> None:
        call = self._close(cursor, item, _VERBS[type(item)])
        if isinstance(item, fact.CallFailed) and call is not None and call.specialist is not None:
            self._schedule(call.specialist)

    def _nested(self, cursor: int, item: fact.Nested) -> None:
        """Take the calls of an agent that runs inside a tool, and their layers."""
        inner = item.fact
        call = self._calls.get(item.call)
        if call is None:
            return
        specialist = self._runs_agent(call)
        if isinstance(inner, fact.CallRequested):
            specialist.add_step(_step(asked, f"Called {inner.name}", inner.input, "call", cursor))
        elif isinstance(inner, fact.CallAnswered):
            verb = f"{inner.name} answered"
            specialist.add_step(_step(found, verb, inner.output, "answer", cursor))
            layer = find_layer(inner.output)
            if layer is not None:
                key = _key(layer, inner.name, inner.call)
                specialist.add(key, read_layer(layer, inner.name, cursor), call.id)

    # -------------------------------------------------------------- texts and outputs

    def _read_text(self, cursor: int, said: AgentText) -> None:
        lane = self._lane_of(said.speaker)
        if lane is None:
            self._answer.set_text(cursor, said)
            lane = self._workflow_lane(said.speaker) if self._reads_prose else None
        if lane is None:
            return
        specialist, call = lane
        if call in self._calls:
            self._texts[call] = said.text
        text, fields = split_text(said.text)
        pieces, _ = read_answer(text, fields, said.speaker.node, cursor)
        specialist.add_text(pieces, call)
        if not specialist.is_empty:
            self._answer.keep_text(specialist, said.text)
            self._schedule(specialist)

    def _output(self, cursor: int, item: fact.NodeOutput) -> None:
        """Take the layer that a workflow's node returns."""
        layer = find_layer(item.output)
        if layer is not None:
            self._reads_prose = True
            lane = self._lane_of(item.speaker) or self._workflow_lane(item.speaker)
            subject = lane.specialist if lane is not None else self._answer.own
            pieces = read_layer(layer, item.speaker.node, cursor)
            subject.add(("output", item.speaker.path), pieces)
            if lane is not None:
                self._schedule(subject)

    def _cited(self, cursor: int, item: fact.SourceCited) -> None:
        self._answer.cite(Citation(item.title, "computed", cursor, uri=item.uri))

    def _user_spoke(self, _: int, __: fact.UserSpoke) -> None:
        """Start over: a capture may hold several turns, and the answer is that of the last one."""
        self._decide()
        self._ready += self._take_due()
        self._answer = WholeProof()
        self._specialists.clear()
        self._lanes.clear()


def _key(layer: Any, tool: str, asked: str) -> tuple[str, ...]:
    """Return what identifies a layer: its `finding`, else the tool and its input."""
    finding = layer.get("finding") if isinstance(layer, dict) else None
    return ("finding", finding) if isinstance(finding, str) and finding else (tool, asked)


def _annotated(name: str, proof: Proof) -> Annotated:
    """Return a proof as a fact. Clients get no absent ones: the proof of the whole says who gave none."""
    stated: str = proof.level or "no confidence stated"
    confidence = stated if proof.confidence is None else f"{proof.confidence:.0%}"
    count = len(proof.citations)
    citations = f"{count} citation" if count == 1 else f"{count} citations"
    text = f"{proof.subject.name}: {confidence} ({proof.origin}, {proof.derivation}), {citations}"
    place: Literal["part", "views"] = "views" if proof.origin == "absent" else "part"
    return Annotated("proof", name, proof, text, place)


_VERBS: dict[type[Any], str] = {
    fact.CallFailed: "failed",
    fact.CallDenied: "was denied",
    fact.CallAbandoned: "was given up",
}
_HANDLERS: dict[type[Any], Callable[[Any, int, Any], None]] = {
    fact.RunBegan: ProofAnnotator._run_began,
    fact.MessageBegan: ProofAnnotator._message_began,
    fact.CallRequested: ProofAnnotator._requested,
    fact.CallDelegated: ProofAnnotator._delegated,
    fact.CallAnswered: ProofAnnotator._answered,
    fact.CallFailed: ProofAnnotator._ended,
    fact.CallDenied: ProofAnnotator._ended,
    fact.CallAbandoned: ProofAnnotator._ended,
    fact.Nested: ProofAnnotator._nested,
    fact.NodeOutput: ProofAnnotator._output,
    fact.SourceCited: ProofAnnotator._cited,
    fact.UserSpoke: ProofAnnotator._user_spoke,
}
"""All other facts are irrelevant to proofs."""
