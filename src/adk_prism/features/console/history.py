"""What the console knows of a session: its transcript, the film of its last run, and the pending questions.

Pure: entries go in; the screen and the pipe read from it. Pending questions are computed as the server
does it: a state change between two messages keeps them, another message expires them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, assert_never

import msgspec
from msgspec import Raw, Struct

from adk_prism.cli.terminal import Row, Style, clean, one_line, wrapped
from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, takeover_text, with_reference
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.features.console.commands import COMMANDS, KEY_NAMES
from adk_prism.features.grounding import text as grounding
from adk_prism.features.page import text as panels
from adk_prism.features.page.film import Film, fold
from adk_prism.features.page.text import call_rows, state_rows
from adk_prism.features.run.command import FACT_LINES, short_raw
from adk_prism.features.run.questions import sign_in
from adk_prism.log.entry import DERIVED, Entry, Origin, RunEnded, RunStarted, labels, to_raw

# ---------------------------------------------------------------------- transcript
#
# The transcript of a session: a list of items that grows fact by fact.
#
# A tool call is one item from its first argument to its result, even if an approval and another run lie
# between. This module decides what each fact shows, and how an item looks.


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
    fact.ErrorRaised: ("error", lambda item: f"{item.speaker.author}: {item.code} {item.message}"),
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


# ---------------------------------------------------------------------- session history


class SessionHistory:
    """One session."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.film: Film | None = None
        """The film of the last run; before the first run it holds only the session's state."""
        self.pending = Pending()
        self._seen: Film | None = None
        self._seen_at = 0
        self._views: dict[str, Any] = {}
        """Cached panels of that film at that cursor."""
        self._reader = Reader()
        self._head: RunStarted | None = None

    def remember(self, origin: Origin, state: Mapping[str, Any]) -> None:
        """Use a session's state if no run has been seen."""
        if self.film is None:
            values = {key: to_raw(value) for key, value in state.items()}
            head = RunStarted(run="", origin=origin, state=values, labels=labels(DERIVED(True)))
            self.film = fold([Entry(1, 0.0, head)])

    def feed(self, entry: Entry) -> None:
        """Add the next entry; a `RunStarted` entry starts a new run."""
        record = entry.record
        if isinstance(record, RunStarted):
            self._begin(record)
        assert self.film is not None, "a run starts with RunStarted"
        self.film.feed(entry)
        facts = self._reader.feed(entry)
        self.transcript.feed(facts)
        self.pending.feed(facts)
        if isinstance(record, RunEnded):
            self._end()

    def settle(self, end: Entry, film: Film | None) -> None:
        """Add the end of a run, and replace its live film with the one of the recording."""
        self.feed(end)
        self.film = film or self.film

    def replay(self, entries: Sequence[Entry]) -> None:
        """Add the entries of an earlier run."""
        for entry in entries:
            self.feed(entry)

    def _begin(self, head: RunStarted) -> None:
        self._head, self._reader, self.film = head, Reader(), Film()
        if head.kind != "state" and head.continues is None:
            self.pending = Pending()
        self.transcript.open(head)

    def _end(self) -> None:
        continues = self._head.continues if self._head is not None else None
        if continues is not None:
            decisions = list(continues.decisions.values())
            take = self.pending.hold if continues.held else self.pending.pass_on
            take(decisions, continues.answers)

    # -------------------------------------------------------------- queries

    def panel(self, name: str) -> Any:
        """Return the data of a panel, or None before the first entry."""
        if self.film is None or not self.film.last:
            return None
        if self._seen is not self.film or self._seen_at != self.film.last:
            self._seen, self._seen_at, self._views = self.film, self.film.last, {}
        if name not in self._views:
            self._views[name] = self.film.at(panel=name)[name]
        return self._views[name]


# ---------------------------------------------------------------------- panels
#
# The panels by name: their data and how to render it.

Rows = Callable[[Any, int], list[Row]]
_VIEWS: Mapping[str, tuple[str, Rows]] = {
    "grounding": ("grounding", grounding.rows),
    "history": ("grounding", grounding.history_rows),
    "timeline": ("timeline", panels.rows),
    "state": ("state", state_rows),
    "proof": ("proof", panels.proof_rows),
}
"""Panel data and renderer, by panel name."""
_OVERVIEW: Mapping[str, tuple[int, str]] = {
    "timeline": (12, "[t] all"),
    "proof": (12, "[p] all"),
    "state": (100, "[v] all"),
}
"""Rows of each panel in the overview, and the key that shows all of them."""


def rows_of(history: SessionHistory, name: str, width: int, *, compact: bool = False) -> list[Row]:
    """Return the rows of a panel with a title."""
    if name == "help":
        return [Row("HELP", "title"), *help_rows(width)]
    if name == "overview":
        return [row for part in _OVERVIEW for row in _part(history, part, width)]
    source, rows = _VIEWS[name]
    view = history.panel(source)
    if compact and name == "grounding":
        return grounding.compact_rows(view, width)
    return [Row(name.upper(), "title"), *rows(view, width)]


def _part(history: SessionHistory, name: str, width: int) -> list[Row]:
    most, key = _OVERVIEW[name]
    rows = rows_of(history, name, width)
    more = [Row(f"  {len(rows) - most} more rows: {key}", "dim")] if len(rows) > most else []
    return [*rows[:most], *more, Row("")]


_GROUPS = {
    "plan": "Pending search plan or search help",
    "answer": "Pending tool call",
    "box": "Research plan (changes reach the model with your next message)",
    "panel": "Panels",
    "run": "Run",
}


_HOW_TO_TYPE = (
    "Type a message and press Enter. Command keys work outside the input line: press Tab to leave it,"
    " Enter or / to return. A line that starts with / is a command; // sends a leading slash."
)


def help_rows(width: int) -> list[Row]:
    """Return every command with its key."""
    shown = [*wrapped(_HOW_TO_TYPE, width, hang=0)]
    for group, title in _GROUPS.items():
        shown += wrapped(title, width, "title", hang=0)
        for command in COMMANDS:
            if command.group == group:
                key = KEY_NAMES.get(command.key, command.key) or "1-9"
                name = f"/{command.name} {command.takes}".rstrip()
                shown += _help_of(f"  {key:<4}{name:<20}", command.help, width)
    return shown


NARROW = 48
"""Columns below which what a command does stands under its name."""


def _help_of(head: str, help: str, width: int) -> Iterator[Row]:
    first = "" if width < NARROW else head
    if not first:
        yield Row(head.rstrip())
    indent = " " * (len(head) if first else 6)
    for line in textwrap.wrap(
        help, width, initial_indent=first or indent, subsequent_indent=indent
    ):
        yield Row(line)
