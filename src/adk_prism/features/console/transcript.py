"""The transcript of a session: a list of items that grows fact by fact.

A tool call is one item from its first argument to its result, even if an approval and another run lie
between. This module decides what each fact shows, and how an item looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, assert_never

import msgspec
from msgspec import Raw, Struct

from adk_prism.cli.readable import FACT_LINES, short_raw
from adk_prism.cli.terminal import Row, Style, clean, one_line
from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, takeover_text, with_reference
from adk_prism.features.console.questions import sign_in
from adk_prism.features.page.text import call_rows
from adk_prism.log.entry import RunStarted

KEPT_ITEMS = 400
"""Most items on the screen; the session itself keeps all of them."""
DROPPED_AT_ONCE = 100
"""Old items are dropped in batches of this size, so that it happens rarely."""

PIECE = 2000
"""Most characters of a text item. A growing item is laid out again on every draw, so a long answer is split
and only its last piece grows."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)

NoteKind = Literal["user", "note", "ask", "error"]
CallState = Literal["running", "answered", "failed", "denied", "abandoned", "awaiting approval"]


class TextItem(Struct):
    """Text of a speaker, complete or still streaming."""

    speaker: str
    kind: str
    text: str = ""
    done: bool = False
    follows: bool = False
    """This is not the first piece of a long text."""
    goes_on: bool = False
    """Another piece follows."""
    replaced: bool = False
    """ADK stored another text instead, so this one is hidden."""
    version: int = 0

    def cut(self) -> TextItem | None:
        """Split off what exceeds one piece into a new item, so that both are valid Markdown."""
        if len(self.text) < PIECE:
            return None
        end = _end_of_piece(self.text)
        if not end:
            return None
        fence = _open_fence(self.text[:end])
        said, rest = self.text[:end], self.text[end:]
        if fence:
            # Repeat the fence, so that the rest is still code.
            said, rest = f"{said}{fence.mark}\n", f"{fence.line}\n{rest}"
        self.text, self.done, self.goes_on = said, True, True
        return TextItem(self.speaker, self.kind, rest, follows=True)


class _Fence(NamedTuple):
    """The line that opens a code block, and the mark that closes it."""

    line: str
    mark: str


def _end_of_piece(text: str) -> int:
    """Return where to split a long text: between blocks, or else at a line or a word."""
    at = text.rfind("\n\n", PIECE // 2)
    if at >= 0 and not _open_fence(text[:at]):
        return at + 2
    if len(text) < 2 * PIECE:
        return 0
    at = text.rfind("\n", PIECE // 2, 2 * PIECE)
    return 1 + (at if at >= 0 else text.rfind(" ", PIECE // 2, 2 * PIECE))


def _open_fence(text: str) -> _Fence | None:
    """Return the fence of the code block that is open at the end of a text, if any."""
    found: _Fence | None = None
    for match in _FENCE.finditer(text):
        line, mark, after = match[0].strip(), match[1], match[2].strip()
        if found is None:
            found = _Fence(line, mark)
        elif mark.startswith(found.mark) and not after:
            found = None
    return found


class CallItem(Struct):
    """A tool call and its result."""

    name: str
    input: str
    state: CallState = "running"
    result: str = ""
    version: int = 0


class NoteItem(Struct):
    """One line that does not change."""

    kind: NoteKind
    text: str
    version: int = 0


Item = TextItem | CallItem | NoteItem


class Transcript:
    """The transcript of one session."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._blocks: dict[str, list[TextItem]] = {}
        """Items of text blocks that may still grow or be replaced."""
        self._calls: dict[str, CallItem] = {}
        self._shows_state = False
        """The run only changes state, so its changes are shown here; other runs leave that to the panels."""

    def open(self, head: RunStarted) -> None:
        """Add how a run started: a message, answers, or a state change."""
        self._shows_state = head.kind == "state"
        if head.kind == "rewind":
            self.note("note", "Later messages were removed.")
        for text in _texts(head.message):
            self.note("user", text)
        if head.continues is not None:
            for call, decision in head.continues.decisions.items():
                named = self._calls[call].name if call in self._calls else call
                verdict = "approved" if decision.approved else "denied"
                why = f": {decision.reason}" if decision.reason else ""
                self.note("user", f"{verdict} {named}{why}")

    def feed(self, facts: Iterable[fact.Fact]) -> None:
        """Add the facts of an entry."""
        for item in facts:
            kind = type(item)
            if kind in _SHOW:
                _SHOW[kind](self, item)
            elif kind in _STEPS:
                state, result = _STEPS[kind]
                self._step(item.call, item.name, state, result(item))  # type: ignore[attr-defined]  # a call
            elif kind in _NOTES:
                note, text = _NOTES[kind]
                self.note(note, text(item))

    def note(self, kind: NoteKind, text: str) -> None:
        """Add a line."""
        self._add(NoteItem(kind, text))

    def _add(self, item: Item) -> None:
        self.items.append(item)
        if len(self.items) >= KEPT_ITEMS + DROPPED_AT_ONCE:
            del self.items[:DROPPED_AT_ONCE]
            kept = {id(each) for each in self.items}
            self._calls = {name: call for name, call in self._calls.items() if id(call) in kept}

    # -------------------------------------------------------------- text

    def _block_began(self, item: fact.BlockBegan) -> None:
        said = TextItem(item.speaker.author, item.kind)
        self._blocks[item.block] = [said]
        self._add(said)

    def _block_grew(self, item: fact.BlockGrew) -> None:
        said = self._blocks[item.block][-1]
        said.text += item.text
        said.version += 1
        while (rest := said.cut()) is not None:
            self._blocks[item.block].append(rest)
            said = rest
            self._add(rest)

    def _block_ended(self, item: fact.BlockEnded) -> None:
        said = self._blocks[item.block][-1]
        said.done = True
        said.version += 1
        if not (item.provisional or item.replaced):
            del self._blocks[item.block]

    def _blocks_replaced(self, item: fact.BlocksReplaced) -> None:
        for block in item.blocks:
            for said in self._blocks.pop(block):
                said.text, said.replaced = "", True
                said.version += 1

    # -------------------------------------------------------------- calls

    def _call_requested(self, item: fact.CallRequested) -> None:
        call = self._calls[item.call] = CallItem(item.name, short_raw(item.input))
        self._add(call)

    def _step(self, call: str, name: str, state: CallState, result: str = "") -> None:
        if call not in self._calls:
            self._calls[call] = CallItem(name, "")
            self._add(self._calls[call])
        found = self._calls[call]
        found.state, found.result = state, result
        found.version += 1

    def _approval_requested(self, item: fact.ApprovalRequested) -> None:
        hint = item.hint
        self._step(item.call, item.call, "awaiting approval", hint)

    def _input_requested(self, item: fact.InputRequested) -> None:
        if item.kind == "credential":
            self.note("ask", sign_in(_tree(item.request)).advice)
            return
        self.note("ask", f"input requested: {_asked(item.request)}")

    # -------------------------------------------------------------- the rest

    def _state_changed(self, item: fact.StateChanged) -> None:
        if self._shows_state:
            self.note("note", f"state: {', '.join(item.delta)}")

    def _transcribed(self, item: fact.InputTranscribed) -> None:
        if item.final:
            self.note("user", item.text)

    def _run_over(self, item: fact.RunOver) -> None:
        if item.outcome in BROKEN:
            self.note("error", with_reference(item))
        elif item.outcome == "cancelled":
            self.note("note", "The run was stopped.")


def _texts(message: Raw) -> list[str]:
    tree = _tree(message)
    parts = tree.get("parts") if isinstance(tree, dict) else None
    return [part["text"] for part in parts or () if isinstance(part, dict) and part.get("text")]


def _tree(raw: Raw) -> Any:
    return msgspec.json.decode(bytes(raw)) if bytes(raw) else {}


def _asked(request: Raw) -> str:
    """Return the text of a question, or the request as JSON if it has none."""
    tree = _tree(request)
    message = tree.get("message") if isinstance(tree, dict) else None
    return message if isinstance(message, str) and message else short_raw(request)


_SHOW: dict[type[Any], Callable[[Transcript, Any], None]] = {
    fact.BlockBegan: Transcript._block_began,
    fact.BlockGrew: Transcript._block_grew,
    fact.BlockEnded: Transcript._block_ended,
    fact.BlocksReplaced: Transcript._blocks_replaced,
    fact.CallRequested: Transcript._call_requested,
    fact.ApprovalRequested: Transcript._approval_requested,
    fact.InputRequested: Transcript._input_requested,
    fact.StateChanged: Transcript._state_changed,
    fact.InputTranscribed: Transcript._transcribed,
    fact.RunOver: Transcript._run_over,
}
_STEPS: dict[type[Any], tuple[CallState, Callable[[Any], str]]] = {
    fact.CallAnswered: ("answered", lambda item: short_raw(item.output)),
    fact.CallFailed: ("failed", lambda item: item.error),
    fact.CallDenied: ("denied", lambda item: item.reason),
    fact.CallAbandoned: ("abandoned", lambda _: ""),
}
"""How a call ends, and its result."""
_NOTES: dict[type[Any], tuple[NoteKind, Callable[[Any], str]]] = {
    **{kind: ("note", text) for kind, text in FACT_LINES.items()},
    fact.UserSpoke: ("user", lambda item: item.text),
    fact.ErrorRaised: (
        "error",
        lambda item: f"{item.speaker.author}: {item.code} {item.message}",
    ),
    fact.TakenOver: ("note", lambda item: takeover_text(item.in_doubt)),
}
"""Facts that are one line each. The panels show those that are in none of the tables."""


# ---------------------------------------------------------------------- how an item looks

_MARKS: dict[NoteKind, tuple[str, Style]] = {
    "user": ("you: ", "user"),
    "note": ("· ", "dim"),
    "ask": ("? ", "ask"),
    "error": ("! ", "error"),
}
_UNFINISHED = "▌"


def item_rows(item: Item) -> Iterator[Row]:
    """Yield an item's rows; a terminal wraps them."""
    match item:
        case TextItem():
            yield from _text_rows(item)
        case CallItem():
            yield from call_rows(item.name, item.input, item.state, item.result)
        case NoteItem():
            mark, style = _MARKS[item.kind]
            yield Row(mark + clean(item.text), style)
        case _:
            assert_never(item)


def _text_rows(item: TextItem) -> Iterator[Row]:
    if item.replaced:
        return
    thinks = item.kind == "reasoning"
    if not item.follows:
        yield Row(f"{one_line(item.speaker)}{' (thinking)' if thinks else ''}:", "title")
    said = item.text.removesuffix("\n") if item.goes_on else item.text.rstrip()
    # After punctuation the mark could be read as Markdown.
    grows = not item.done and (thinks or said[-1:].isalnum() or not said)
    text = clean(said) + (_UNFINISHED if grows else "")
    if text:
        yield Row(text, "dim" if thinks else "")
