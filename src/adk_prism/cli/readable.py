"""Prints a run as text: agent text as it streams, everything else as short lines.

Decides how each fact reads, and nothing of what it means. One block of text streams at a time; what
agents beside it say and do is held until it ends, so that sentences stay whole. Control characters never
reach the terminal: a model or a tool may say anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Raw, json

from adk_prism.facts import model as fact
from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.ending_text import BROKEN, with_reference

SHORT = 200
"""Most characters of a value on a line, about two lines of a terminal."""

CANNOT_ANSWER = (
    "This command cannot answer. Start `adk-prism serve`, and send the message and the answer in a "
    "chat client."
)

_DIM, _RED, _BOLD, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[1m", "\x1b[0m"
_QUIET: Iterator[str] = iter(())


class _Block:
    """Text that is being said."""

    __slots__ = ("author", "ended", "held", "kind")

    def __init__(self, author: str, kind: fact.BlockKind) -> None:
        self.author = author
        self.kind = kind
        self.held: list[str] = []
        """Said while another block streams."""
        self.ended = False


class Readable:
    """One run, in words."""

    def __init__(self, *, colour: bool, advice: str = CANNOT_ANSWER) -> None:
        """`advice` says what to do about a run that waits."""
        self._colour = colour
        self._advice = advice
        self._pending = Pending()
        self._blocks: dict[str, _Block] = {}
        """Those not yet written to their end; the first one streams."""
        self._author = ""
        """Who spoke last."""
        self._lines: list[str] = []
        """Of what was done while a block streams."""
        self._in_line = False

    def show(self, item: fact.Fact) -> str:
        """Return what to write for a fact; often nothing."""
        self._pending.feed([item])
        return "".join(_SHOW[type(item)](self, item))

    # -------------------------------------------------------------- lines

    def _line(self, text: str, style: str = "") -> Iterator[str]:
        line = self._styled(_clean(text).replace("\n", " "), style) + "\n"
        if self._blocks:
            self._lines.append(line)
        else:
            yield line

    def _break(self) -> Iterator[str]:
        if self._in_line:
            self._in_line = False
            yield "\n"

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._colour and style else text

    # -------------------------------------------------------------- what is said

    def _block_began(self, item: fact.BlockBegan) -> Iterator[str]:
        block = self._blocks[item.block] = _Block(item.speaker.author, item.kind)
        if self._streams(item.block):
            yield from self._announce(block)

    def _streams(self, block: str) -> bool:
        return next(iter(self._blocks)) == block

    def _announce(self, block: _Block) -> Iterator[str]:
        yield from self._break()
        if self._author and block.author != self._author:
            yield self._styled(_clean(f"[{block.author}]"), _BOLD) + "\n"
        self._author = block.author
        if block.kind == "reasoning":
            self._in_line = True
            yield self._styled("(thinking) ", _DIM)

    def _block_grew(self, item: fact.BlockGrew) -> Iterator[str]:
        block = self._blocks[item.block]
        if self._streams(item.block):
            yield self._said(block, item.text)
        else:
            block.held.append(item.text)

    def _said(self, block: _Block, text: str) -> str:
        self._in_line = not text.endswith("\n")
        return self._styled(_clean(text), _DIM if block.kind == "reasoning" else "")

    def _block_ended(self, item: fact.BlockEnded) -> Iterator[str]:
        self._blocks[item.block].ended = True
        for name, block in list(self._blocks.items()):
            if not block.ended:
                return
            del self._blocks[name]
            yield from self._break()
            yield from self._lines
            self._lines.clear()
            yield from self._turn_of_next()

    def _blocks_replaced(self, item: fact.BlocksReplaced) -> Iterator[str]:
        """Say that what a terminal shows already does not count; a pipe never sees it."""
        for name in item.blocks:
            if name in self._blocks:
                self._blocks[name].held.clear()
        yield from self._line("(the text above was replaced by the following)", _DIM)

    def _turn_of_next(self) -> Iterator[str]:
        block = next(iter(self._blocks.values()), None)
        if block is not None:
            yield from self._announce(block)
            text = "".join(block.held)
            block.held.clear()
            if text:
                yield self._said(block, text)

    def _input_transcribed(self, item: fact.InputTranscribed) -> Iterator[str]:
        return self._line(f"you: {item.text}", _DIM) if item.final else _QUIET

    def _user_spoke(self, item: fact.UserSpoke) -> Iterator[str]:
        return self._line(f"you: {item.text}", _DIM)

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested) -> Iterator[str]:
        return self._line(f"-> {item.name} {_short(item.input)}", _DIM)

    def _call_answered(self, item: fact.CallAnswered) -> Iterator[str]:
        return self._line(f"<- {item.name} {_short(item.output)}", _DIM)

    def _call_failed(self, item: fact.CallFailed) -> Iterator[str]:
        return self._line(f"<- {item.name} failed: {_cut(item.error)}", _RED)

    def _call_denied(self, item: fact.CallDenied) -> Iterator[str]:
        why = f": {item.reason}" if item.reason else ""
        return self._line(f"<- {item.name} was denied{why}", _RED)

    def _call_abandoned(self, item: fact.CallAbandoned) -> Iterator[str]:
        return self._line(f"<- {item.name} stopped before it returned", _RED)

    def _approval_requested(self, item: fact.ApprovalRequested) -> Iterator[str]:
        approval = self._pending.approvals[item.approval]
        return self._line(f"?? {approval.call.name} needs approval", _BOLD)

    def _proof_given(self, item: fact.ProofGiven) -> Iterator[str]:
        proof = item.proof
        if proof.origin == "absent":
            return _QUIET
        sure = (
            proof.level or "no confidence stated"
            if proof.confidence is None
            else f"{proof.confidence:.0%}"
        )
        sources = f"{len(proof.citations)} citation{'s' if len(proof.citations) != 1 else ''}"
        name = proof.subject.name
        return self._line(
            f"== {name}: {sure} ({proof.origin}, {proof.derivation}), {sources}", _DIM
        )

    def _approval_decided(self, item: fact.ApprovalDecided) -> Iterator[str]:
        return self._line("you: yes" if item.approved else "you: no", _DIM)

    def _input_requested(self, item: fact.InputRequested) -> Iterator[str]:
        return self._line(f"?? {item.kind} requested: {_short(item.request)}", _BOLD)

    # -------------------------------------------------------------- what is shown

    def _file_shown(self, item: fact.FileShown) -> Iterator[str]:
        what = item.uri or f"{len(item.data) * 3 // 4} bytes"
        return self._line(f"[file {' '.join((item.name, item.media_type, what)).strip()}]", _DIM)

    def _audio_heard(self, item: fact.AudioHeard) -> Iterator[str]:
        return self._line(f"[audio {len(item.data) * 3 // 4} bytes, {item.sample_rate} Hz]", _DIM)

    def _code_shown(self, item: fact.CodeShown) -> Iterator[str]:
        return self._line(f"[code {_short(item.code)}]", _DIM)

    def _code_result_shown(self, item: fact.CodeResultShown) -> Iterator[str]:
        return self._line(f"[result {_short(item.result)}]", _DIM)

    def _interrupted(self, item: fact.Interrupted) -> Iterator[str]:
        return self._line(f"[{item.speaker.author} was interrupted]", _DIM)

    def _source_cited(self, item: fact.SourceCited) -> Iterator[str]:
        return self._line(f"[{item.source}: {item.title} {item.uri}]", _DIM)

    # -------------------------------------------------------------- what changes

    def _state_changed(self, item: fact.StateChanged) -> Iterator[str]:
        return self._line(f"[state {_short(Raw(json.encode(item.delta)))}]", _DIM)

    def _artifact_saved(self, item: fact.ArtifactSaved) -> Iterator[str]:
        return self._line(f"[saved {item.filename}, version {item.version}]", _DIM)

    def _agent_transferred(self, item: fact.AgentTransferred) -> Iterator[str]:
        return self._line(f"[transfer to {item.to}]", _DIM)

    def _node_output(self, item: fact.NodeOutput) -> Iterator[str]:
        return self._line(f"[output of {item.speaker.author}: {_short(item.output)}]", _DIM)

    def _error_raised(self, item: fact.ErrorRaised) -> Iterator[str]:
        return self._line(f"!! {item.speaker.author}: {item.code} {_cut(item.message)}", _RED)

    def _unrecognised(self, item: fact.Unrecognised) -> Iterator[str]:
        return self._line(f"[unknown {item.kind}: {_short(item.raw)}]", _DIM)

    # -------------------------------------------------------------- the end

    def _run_over(self, item: fact.RunOver) -> Iterator[str]:
        if item.outcome in BROKEN:
            yield from self._line(with_reference(item), _RED)
        elif item.outcome == "cancelled":
            yield from self._line("The run was cancelled.", _RED)
        elif item.outcome == "waiting":
            yield from self._waiting()

    def _waiting(self) -> Iterator[str]:
        pending = self._pending
        asked = [f"approval of {a.call.name}" for a in pending.approvals.values()]
        asked += [f"{request.kind}" for request in pending.requests.values()]
        asked += [f"the result of {call.name}" for call in pending.client_calls.values()]
        yield from self._line(f"The run is waiting for {', '.join(asked) or 'an answer'}.", _BOLD)
        yield from self._line(self._advice)

    def _taken_over(self, item: fact.TakenOver) -> Iterator[str]:
        doubt = (
            f" These calls may have run already: {', '.join(item.in_doubt)}."
            if item.in_doubt
            else ""
        )
        yield from self._line(f"Resumed after a server restart.{doubt}")

    def _nothing(self, _: fact.Fact) -> Iterator[str]:
        """Not for a person's eyes here: what begins, counts, or is told elsewhere."""
        return _QUIET


# --------------------------------------------------------------------------- pieces


def _short(raw: Raw) -> str:
    return _cut(bytes(raw).decode(errors="replace"))


def _cut(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def _clean(text: str) -> str:
    """Return text without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


_R = Readable
_SHOW: dict[type[Any], Callable[[Any, Any], Iterator[str]]] = {
    fact.BlockBegan: _R._block_began,
    fact.BlockGrew: _R._block_grew,
    fact.BlockEnded: _R._block_ended,
    fact.BlocksReplaced: _R._blocks_replaced,
    fact.InputTranscribed: _R._input_transcribed,
    fact.UserSpoke: _R._user_spoke,
    fact.CallRequested: _R._call_requested,
    fact.CallAnswered: _R._call_answered,
    fact.CallFailed: _R._call_failed,
    fact.CallDenied: _R._call_denied,
    fact.CallAbandoned: _R._call_abandoned,
    fact.ApprovalRequested: _R._approval_requested,
    fact.ApprovalDecided: _R._approval_decided,
    fact.InputRequested: _R._input_requested,
    fact.FileShown: _R._file_shown,
    fact.AudioHeard: _R._audio_heard,
    fact.CodeShown: _R._code_shown,
    fact.CodeResultShown: _R._code_result_shown,
    fact.Interrupted: _R._interrupted,
    fact.SourceCited: _R._source_cited,
    fact.ProofGiven: _R._proof_given,
    fact.StateChanged: _R._state_changed,
    fact.ArtifactSaved: _R._artifact_saved,
    fact.AgentTransferred: _R._agent_transferred,
    fact.NodeOutput: _R._node_output,
    fact.ErrorRaised: _R._error_raised,
    fact.Unrecognised: _R._unrecognised,
    fact.TakenOver: _R._taken_over,
    fact.RunOver: _R._run_over,
    **dict.fromkeys(
        (
            fact.RunBegan,
            fact.MessageBegan,
            fact.MessageEnded,
            fact.CallInputGrew,
            fact.CallDelegated,
            fact.CallPending,
            fact.SourcesLinked,
            fact.CitationsGiven,
            fact.ModelCallEnded,
            fact.MetadataGiven,
            fact.NodeBegan,
            fact.NodeFinished,
            fact.Nested,
        ),
        _R._nothing,
    ),
}
"""One row per fact; a test holds it complete."""
