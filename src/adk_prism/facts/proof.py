"""The proof behind an answer: whose it is, when it is complete, what the whole comes to.

A fold over facts. Subjects are
- **specialists**: agents that a call runs, whether their own output streams (their last word counts)
  or only the call's answer shows; and agents of a workflow that state a proof. Where an app's agents are
  not known, a call that looks like ADK's `AgentTool` (`request` in, text out) is one. A specialist's
  proof holds all that it, and the tools that it called, have given;
- **tools** with a `proof_layer` that nobody else accounts for: those of an app of one agent. In an app of
  several, the root's own tools speak for the whole. Which of the two it is, a capture shows at its end;
- **the answer**: the last word that no call goes with, at the end of a finished message.

A proof is told when its subject answers, again if a later answer adds to it, and at the end if the subject
never answered. A specialist without any is told as *absent*; where nobody gives any, nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Raw

from adk_prism.facts import model as fact
from adk_prism.facts.answer_text import answer_text, spoken_text
from adk_prism.facts.json_value import read_object
from adk_prism.facts.model import Fact, ProofGiven, Speaker
from adk_prism.facts.proof_account import SUMMARY, Account
from adk_prism.facts.proof_answer import AnswerProof
from adk_prism.facts.proof_layer import find_layer, holds_layer, read_layer
from adk_prism.facts.proof_model import Citation, Step
from adk_prism.facts.proof_pieces import Pieces
from adk_prism.facts.proof_words import read_words
from adk_prism.facts.utterance import Utterance

_AGENT_INPUT = b'{"request":'
"""How the input of ADK's `AgentTool` begins."""
_AGENT_OUTPUT = frozenset(("result", "proof_layer", "proofLayer"))


class _Call:
    """A call without an answer."""

    __slots__ = ("account", "adk_id", "asked", "caller", "id", "input", "name", "within")

    def __init__(self, asked: int, call: str, adk_id: str, name: str) -> None:
        self.asked = asked
        """The entry that made it."""
        self.id = call
        self.adk_id = adk_id
        self.name = name
        self.input = b""
        self.caller: Account | None = None
        """The specialist whose call it is; None for the root's."""
        self.within = ""
        """The call that runs that specialist."""
        self.account: Account | None = None
        """The specialist that it runs."""

    def looks_like_agent(self, output: Raw) -> bool:
        """Tell ADK's `AgentTool`: a request in; out comes a text, or an object that states a proof."""
        if not self.input.startswith(_AGENT_INPUT):
            return False
        if read_object(self.input).keys() != {"request"}:
            return False
        answer = read_object(output)
        is_text = isinstance(answer.get("result"), str) and answer.keys() <= _AGENT_OUTPUT
        return is_text or bool(answer_text(output)[1])


class _Lane(NamedTuple):
    """Whose words a speaker's are: a specialist's, and which call of it runs."""

    account: Account
    call: str


class Proofs:
    """The proofs of one run."""

    def __init__(self) -> None:
        self._agents: frozenset[str] = frozenset()
        self._calls: dict[str, _Call] = {}
        self._by_adk_id: dict[str, _Call] = {}
        self._specialists: dict[str, Account] = {}
        """By name."""
        self._lanes: dict[Speaker, _Lane | None] = {}
        self._said: dict[str, str] = {}
        """What a specialist has said itself, by its call: the call's answer repeats it."""
        self._answer = AnswerProof()
        self._undecided: dict[str, tuple[Account, Pieces]] = {}
        """Tools of the root, in an app of which nobody said whether it has other agents."""
        self._due: dict[str, Account] = {}
        self._ready: list[Fact] = []
        """Proofs of a turn that has ended, to be told with this entry."""

    def feed(self, cursor: int, facts: Iterable[Fact], said: Utterance | None) -> list[Fact]:
        """Take what an entry means, and what was said in it; return the proofs that it completes."""
        for item in facts:
            take = _TAKE.get(type(item))
            if take is not None:
                take(self, cursor, item)
        if said is not None and said.is_last_word:
            self._hear(cursor, said)
        if not self._due and not self._ready:
            return []
        ready, self._ready = self._ready, []
        return [*ready, *self._told()]

    def end(self, cursor: int, said: Iterable[Utterance], *, is_answered: bool) -> list[Fact]:
        """Return the proofs that only the end completes; `said` is what was never said to its end."""
        for utterance in said:
            self._hear(cursor, utterance)
        for account in self._specialists.values():
            if not account.is_empty:
                self._tell(account)
        self._decide()
        out = self._told()
        proof = self._answer.proof() if is_answered else None
        if proof is not None:
            out.append(ProofGiven("proof", proof))
        return out

    def _tell(self, account: Account, key: str = "") -> None:
        """Have a proof told with this entry, once, when all of the entry has been taken."""
        if not account.is_told:
            self._due[key or account.name] = account

    def _told(self) -> list[Fact]:
        out: list[Fact] = []
        for key, account in self._due.items():
            account.is_told = True
            self._answer.rest_on(key, account)
            out.append(ProofGiven(f"proof-{key}", account.proof()))
        self._due.clear()
        return out

    # -------------------------------------------------------------- who

    def _specialist(self, name: str) -> Account:
        account = self._specialists.get(name)
        if account is None:
            account = self._specialists[name] = Account("specialist", name)
        return account

    def _run(self, call: _Call) -> Account:
        """Note that a call runs an agent."""
        if call.account is None:
            call.account = self._specialist(call.name)
            call.account.join(call.id)
            call.account.step(Step("Was asked", "call", call.asked, "computed", call.id))
        return call.account

    def _lane_of(self, speaker: Speaker) -> _Lane | None:
        if speaker not in self._lanes:
            self._lanes[speaker] = self._find_lane(speaker)
        return self._lanes[speaker]

    def _find_lane(self, speaker: Speaker) -> _Lane | None:
        """Find the specialist whose lane it is: the innermost call in the branch or the path."""
        for step in reversed((*speaker.path.split("/"), *speaker.branch.split("."))):
            call = self._by_adk_id.get(step.rpartition("@")[2]) if "@" in step else None
            if call is not None:
                return self._lane(self._run(call), call.id, speaker)
        return None

    def _lane(self, account: Account, call: str, speaker: Speaker) -> _Lane:
        account.path = account.path or speaker.path
        return _Lane(account, call)

    # -------------------------------------------------------------- calls

    def _run_began(self, _: int, item: fact.RunBegan) -> None:
        self._agents = frozenset(agent.name for agent in item.agents)

    def _requested(self, cursor: int, item: fact.CallRequested) -> None:
        lane = self._lane_of(item.speaker)
        call = self._open(_Call(cursor, item.call, item.adk_id or item.call, item.name))
        call.input = bytes(item.input)
        if lane is not None:
            call.caller, call.within = lane
        self._follow(call, Step(f"Called {item.name}", "call", cursor, "computed", item.call))

    def _open(self, call: _Call) -> _Call:
        self._calls[call.id] = self._by_adk_id[call.adk_id] = call
        if call.name in self._agents:
            self._run(call)
        return call

    def _message_began(self, cursor: int, item: fact.MessageBegan) -> None:
        """Take the calls that an earlier run of the message left open."""
        for call, name in item.open_calls.items():
            self._open(_Call(cursor, call, call, name))

    def _follow(self, call: _Call, step: Step) -> None:
        """Add a link to the chain of whoever called."""
        (call.caller or self._answer.own).step(step)

    def _close(self, cursor: int, item: Any, words: str) -> _Call | None:
        """Take the end of a call; return the call, unless an earlier run of the message made it."""
        call = self._calls.pop(item.call, None)
        if call is not None:
            self._by_adk_id.pop(call.adk_id, None)
            self._follow(
                call, Step(f"{item.name} {words}", "answer", cursor, "computed", item.call)
            )
        return call

    def _delegated(self, _: int, item: fact.CallDelegated) -> None:
        call = self._calls.get(item.call)
        if call is not None:
            self._run(call)

    def _answered(self, cursor: int, item: fact.CallAnswered) -> None:
        call = self._close(cursor, item, "answered")
        if call is not None and (call.account is not None or call.looks_like_agent(item.output)):
            self._agent_answered(cursor, call, item)
        elif holds_layer(item.output):
            self._tool_answered(cursor, call, item)

    def _agent_answered(self, cursor: int, call: _Call, item: fact.CallAnswered) -> None:
        account = self._run(call)
        account.step(Step("Answered", "answer", cursor, "computed", item.call))
        layer = find_layer(item.output) if holds_layer(item.output) else None
        if layer is not None:
            self._summed_up(cursor, account, item, layer)
        said = self._said.pop(item.call, "")
        text, fields = answer_text(item.output)
        # What was said in the lane, and is repeated by the call's answer, stays as it was read.
        if text.strip() != said.strip() or fields:
            account.say(read_words(text, fields, item.name, cursor), item.call)
            self._answer.hear_result(account, item.output)
        self._tell(account)

    def _summed_up(
        self, cursor: int, account: Account, item: fact.CallAnswered, layer: Any
    ) -> None:
        """Take the layer of a specialist's answer.

        It sums up the layers of the specialist's tools: where those were seen, only its sources are new.
        """
        pieces = read_layer(layer, item.name, cursor)
        if account.has_layers(item.call):
            account.sum_up(pieces, item.call)
        else:
            account.take(_key(layer, SUMMARY, item.call), pieces, item.call)

    def _tool_answered(self, cursor: int, call: _Call | None, item: fact.CallAnswered) -> None:
        layer = find_layer(item.output)
        if layer is None:
            return
        pieces = read_layer(layer, item.name, cursor)
        account = call.caller if call is not None else None
        if account is None and (len(self._agents) > 1 or self._specialists):
            account = self._answer.own
        alone = account is None
        account = account or Account("tool", item.name)
        asked = call.input.hex() if call is not None else item.call
        account.take(_key(layer, item.name, asked), pieces, call.within if call is not None else "")
        self._answer.hear_result(account, item.output)
        if alone:
            account.join(item.call)
            self._undecided[f"{item.name}-{item.call}"] = account, pieces
            if self._agents:
                self._decide()

    def _decide(self) -> None:
        """Tell the proofs of tools that stand alone; where specialists do, they are the answer's own."""
        for key, (account, pieces) in self._undecided.items():
            if self._specialists:
                self._answer.own.take((key,), pieces)
            else:
                self._tell(account, key)
        self._undecided.clear()

    def _ended(self, cursor: int, item: Any) -> None:
        call = self._close(cursor, item, _ENDS[type(item)])
        if isinstance(item, fact.CallFailed) and call is not None and call.account is not None:
            self._tell(call.account)

    def _nested(self, cursor: int, item: fact.Nested) -> None:
        """Take what happens inside a tool that runs an agent: its own calls, and their proofs."""
        inner = item.fact
        call = self._calls.get(item.call)
        if call is None:
            return
        account = self._run(call)
        if isinstance(inner, fact.CallRequested):
            account.step(Step(f"Called {inner.name}", "call", cursor, "computed"))
        elif isinstance(inner, fact.CallAnswered):
            account.step(Step(f"{inner.name} answered", "answer", cursor, "computed"))
            layer = find_layer(inner.output) if holds_layer(inner.output) else None
            if layer is not None:
                key = _key(layer, inner.name, inner.call)
                account.take(key, read_layer(layer, inner.name, cursor), call.id)

    # -------------------------------------------------------------- what is said

    def _hear(self, cursor: int, said: Utterance) -> None:
        lane = self._lane_of(said.speaker)
        if lane is None:
            self._answer.say(cursor, said)
            lane = self._workflow_lane(said.speaker)
        if lane is None:
            return
        account, call = lane
        if call in self._calls:
            self._said[call] = said.text
        words, fields = spoken_text(said.text)
        account.say(read_words(words, fields, said.speaker.node, cursor), call)
        if not account.is_empty:
            self._answer.hear(account, said.text)
            self._tell(account)

    def _workflow_lane(self, speaker: Speaker) -> _Lane | None:
        """Return the lane of an agent that no call runs; None for the root."""
        if "/" not in speaker.path and not speaker.branch:
            return None
        return self._lane(self._specialist(speaker.node), "", speaker)

    def _output(self, cursor: int, item: fact.NodeOutput) -> None:
        """Take the proof that a workflow's node returns."""
        layer = find_layer(item.output) if holds_layer(item.output) else None
        if layer is not None:
            lane = self._lane_of(item.speaker) or self._workflow_lane(item.speaker)
            account = lane.account if lane is not None else self._answer.own
            account.take(
                ("output", item.speaker.path), read_layer(layer, item.speaker.node, cursor)
            )
            if lane is not None:
                self._tell(account)

    def _cited(self, cursor: int, item: fact.SourceCited) -> None:
        self._answer.cite(Citation(item.title, "computed", cursor, uri=item.uri))

    def _user_spoke(self, _: int, __: fact.UserSpoke) -> None:
        """Begin anew: a capture may hold several turns, and the answer is the last one's."""
        self._decide()
        self._ready += self._told()
        self._answer = AnswerProof()
        self._specialists.clear()
        self._lanes.clear()


def _key(layer: Any, tool: str, asked: str) -> tuple[str, ...]:
    """Return what a layer is of: the finding that it names, else the tool and what it was asked."""
    finding = layer.get("finding") if isinstance(layer, dict) else None
    return ("finding", finding) if isinstance(finding, str) and finding else (tool, asked)


_ENDS: dict[type[Any], str] = {
    fact.CallFailed: "failed",
    fact.CallDenied: "was denied",
    fact.CallAbandoned: "was given up",
}
_TAKE: dict[type[Any], Callable[[Any, int, Any], None]] = {
    fact.RunBegan: Proofs._run_began,
    fact.MessageBegan: Proofs._message_began,
    fact.CallRequested: Proofs._requested,
    fact.CallDelegated: Proofs._delegated,
    fact.CallAnswered: Proofs._answered,
    fact.CallFailed: Proofs._ended,
    fact.CallDenied: Proofs._ended,
    fact.CallAbandoned: Proofs._ended,
    fact.Nested: Proofs._nested,
    fact.NodeOutput: Proofs._output,
    fact.SourceCited: Proofs._cited,
    fact.UserSpoke: Proofs._user_spoke,
}
"""Every other fact says nothing of a proof."""
