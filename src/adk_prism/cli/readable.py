"""Prints a run as text: agent text as it streams, everything else as short lines.

Decides how each fact is written, not what it means. One block of text streams at a time; the output of
parallel agents is held back until it ends, so that sentences stay whole. Control characters from a model or a
tool never reach the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.cli.terminal import Style, painted, short_json
from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, takeover_text, with_reference
from adk_prism.facts.pending import Pending
from adk_prism.facts.usage import Prices, UsageSum, measured

# ---------------------------------------------------------------------------
# Facts that are one line each; `adk-prism run` adds brackets, the console a mark.


def short_raw(raw: Raw) -> str:
    """Return JSON as it is stored on one line, shortened; nothing for no JSON."""
    return short_json(msgspec.json.decode(bytes(raw))) if bytes(raw) else ""


def _file(item: fact.FileShown) -> str:
    size = item.uri or f"{len(item.data) * 3 // 4} bytes"
    return " ".join(f"file {item.name} {item.media_type} {size}".split())


FACT_LINES: dict[type[Any], Callable[[Any], str]] = {
    fact.FileShown: _file,
    fact.CodeShown: lambda item: f"code {short_raw(item.code)}",
    fact.CodeResultShown: lambda item: f"result {short_raw(item.result)}",
    fact.SourceCited: lambda item: f"{item.source}: {item.title} {item.uri}",
    fact.ArtifactSaved: lambda item: f"saved {item.filename}, version {item.version}",
    fact.AgentTransferred: lambda item: f"transfer to {item.to}",
    fact.Interrupted: lambda item: f"{item.speaker.author} was interrupted",
    fact.Unrecognised: lambda item: f"unknown {item.kind}: {short_raw(item.raw)}",
}

# ---------------------------------------------------------------------------

SHORT = 200
"""Most characters of a value on a line, about two lines of a terminal."""

CANNOT_ANSWER = (
    "This command cannot answer. Start `adk-prism serve`, and send the message and the answer"
    " in a chat client."
)

_DIM: Style = "dim"
_RED: Style = "error"
_BOLD: Style = "strong"


class _Block:
    """A block of text that streams."""

    __slots__ = ("author", "ended", "held", "kind")

    def __init__(self, author: str, kind: fact.BlockKind) -> None:
        self.author = author
        self.kind = kind
        self.held: list[str] = []
        """Text that came while another block streams."""
        self.ended = False


class Readable:
    """One run, in words."""

    def __init__(
        self, *, colour: bool, advice: str = CANNOT_ANSWER, prices: Prices | None = None
    ) -> None:
        """`advice` says what to do about a run that waits. With `prices`, the end says what it cost."""
        self._spent = UsageSum(prices) if prices else None
        self._colour = colour
        self._advice = advice
        self._pending = Pending()
        self._blocks: dict[str, _Block] = {}
        """Those not yet written to their end; the first one streams."""
        self._author = ""
        """Who spoke last."""
        self._lines: list[str] = []
        """Lines that came while a block streams."""
        self._in_line = False

    def show(self, item: fact.Fact) -> str:
        """Return what to write for a fact; often nothing."""
        self._pending.feed([item])
        kind = type(item)
        if kind in _SHOW:
            return "".join(_SHOW[kind](self, item))
        if kind in NOT_SHOWN:
            return ""
        text, style = _LINES[kind]
        line = text(item)
        return "".join(self._line(line, style)) if line else ""

    # -------------------------------------------------------------- lines

    def _line(self, text: str, style: Style = "") -> Iterator[str]:
        line = self._styled(_clean(text).replace("\n", " "), style) + "\n"
        if self._blocks:
            self._lines.append(line)
        else:
            yield line

    def _break(self) -> Iterator[str]:
        if self._in_line:
            self._in_line = False
            yield "\n"

    def _styled(self, text: str, style: Style) -> str:
        return painted(text, style, colour=self._colour)

    # -------------------------------------------------------------- text

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
        """Note that text on the terminal was replaced; a pipe never gets that text."""
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

    # -------------------------------------------------------------- calls

    def _approval_requested(self, item: fact.ApprovalRequested) -> Iterator[str]:
        approval = self._pending.approvals[item.approval]
        return self._line(f"?? {approval.call.name} needs approval", _BOLD)

    def _annotated(self, item: fact.Annotated) -> Iterator[str]:
        return self._line(f"== {item.text}", _DIM) if item.shown else iter(())

    # -------------------------------------------------------------- the end

    def _model_called(self, item: fact.ModelCalled) -> Iterator[str]:
        if self._spent is not None:
            self._spent.add(measured(item))
        return iter(())

    def _run_over(self, item: fact.RunOver) -> Iterator[str]:
        if item.outcome in BROKEN:
            yield from self._line(with_reference(item), _RED)
        elif item.outcome == "cancelled":
            yield from self._line("The run was cancelled.", _RED)
        elif item.outcome == "waiting":
            yield from self._waiting()
        if self._spent is not None:
            cost = self._spent.cost
            spent = "cost unknown: a model has no price" if cost is None else f"cost {cost:.6f}"
            yield from self._line(f"[{self._spent.tokens.get('total', 0)} tokens, {spent}]", _DIM)

    def _waiting(self) -> Iterator[str]:
        pending = self._pending
        asked = [f"approval of {a.call.name}" for a in pending.approvals.values()]
        asked += [f"{request.kind}" for request in pending.requests.values()]
        asked += [f"the result of {call.name}" for call in pending.client_calls.values()]
        yield from self._line(f"The run is waiting for {', '.join(asked) or 'an answer'}.", _BOLD)
        yield from self._line(self._advice)


# --------------------------------------------------------------------------- pieces


def _bracketed(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda item: f"[{text(item)}]"


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
    fact.ApprovalRequested: _R._approval_requested,
    fact.Annotated: _R._annotated,
    fact.RunOver: _R._run_over,
    fact.ModelCalled: _R._model_called,
}
_LINES: dict[type[Any], tuple[Callable[[Any], str], Style]] = {
    fact.InputTranscribed: (lambda item: f"you: {item.text}" if item.final else "", _DIM),
    fact.UserSpoke: (lambda item: f"you: {item.text}", _DIM),
    fact.CallRequested: (lambda item: f"-> {item.name} {short_raw(item.input)}", _DIM),
    fact.CallAnswered: (lambda item: f"<- {item.name} {short_raw(item.output)}", _DIM),
    fact.CallFailed: (lambda item: f"<- {item.name} failed: {_cut(item.error)}", _RED),
    fact.CallDenied: (
        lambda item: f"<- {item.name} was denied" + (f": {item.reason}" if item.reason else ""),
        _RED,
    ),
    fact.CallAbandoned: (lambda item: f"<- {item.name} stopped before it returned", _RED),
    fact.ApprovalDecided: (lambda item: "you: yes" if item.approved else "you: no", _DIM),
    fact.InputRequested: (
        lambda item: f"?? {item.kind} requested: {short_raw(item.request)}",
        _BOLD,
    ),
    fact.AudioHeard: (
        lambda item: f"[audio {len(item.data) * 3 // 4} bytes, {item.sample_rate} Hz]",
        _DIM,
    ),
    fact.StateChanged: (lambda item: f"[state {short_json(item.delta)}]", _DIM),
    fact.NodeOutput: (
        lambda item: f"[output of {item.speaker.author}: {short_raw(item.output)}]",
        _DIM,
    ),
    fact.ErrorRaised: (
        lambda item: f"!! {item.speaker.author}: {item.code} {_cut(item.message)}",
        _RED,
    ),
    **{kind: (_bracketed(text), _DIM) for kind, text in FACT_LINES.items()},
    fact.TakenOver: (lambda item: takeover_text(item.in_doubt), ""),
}
"""Facts that are one line each, with its style; an empty text is no line."""

NOT_SHOWN = frozenset(
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
    )
)
