"""A run as a short text that a coding agent can read: a row for each step, with its cursor.

    [1] user: pay 5
    [4] helper calls pay({"amount":5})
    [6] pay → {"paid":5}
    [9] helper: Paid.
    [10] ended: finished

The text has at most so many characters as the reader allows. What does not fit is shortened: first the long
texts, all to the same length; then rows in the middle are left out, never questions, errors, what the user
said and the end. Many calls of one tool in a row are one row. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import with_reference
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import is_given, repair
from adk_prism.log.entry import Entry, RunStarted

CHARACTERS = 19_000
"""Of a transcript, if nobody says otherwise: below 8,000 tokens, also where it is dense JSON."""


def size_of(text: str) -> int:
    """Return how many characters a text counts for: outside of ASCII its bytes, which are more tokens."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


SHORTEST = 60
"""Characters that every row keeps."""

MOST_ALIKE = 3
"""Calls of one tool in a row from which on they are one row."""


class Row(Struct, frozen=True):
    """One step of a run."""

    cursor: int
    text: str
    tool: str = ""
    """For a call or its result: the tool."""
    matters: bool = False
    """It is never left out."""
    last: int = 0
    """For several steps: the cursor of the last one."""
    block: str = ""
    """For a text: its block."""

    def shown(self, longest: int) -> str:
        """Return the row as a line of at most about so many characters."""
        place = f"{self.cursor}-{self.last}" if self.last else str(self.cursor)
        text = " ".join(self.text.split())
        if len(text) > longest:
            text = f"{text[: longest - 20]}… (+{len(text) - longest + 20} characters)"
        return f"[{place}] {text}"


class Steps:
    """Reads the entries of one run into rows."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._blocks: dict[str, tuple[int, str, list[str]]] = {}
        """Open texts: where they began, who speaks, and what was said."""
        self._calls: dict[str, str] = {}
        self._cursor = 0
        self.rows: list[Row] = []

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        self._cursor = entry.cursor
        if isinstance(entry.record, RunStarted) and entry.record.continues is not None:
            self._add("the run continues an earlier one with a person's answer", matters=True)
        for item in self._reader.feed(entry):
            self._take(item)

    def _add(self, text: str, tool: str = "", *, matters: bool = False) -> None:
        self.rows.append(Row(self._cursor, text, tool, matters))

    def _take(self, item: fact.Fact) -> None:
        match item:
            case fact.BlockGrew():
                self._blocks[item.block][2].append(item.text)
            case fact.BlockBegan():
                thinks = " (thinking)" if item.kind == "reasoning" else ""
                self._blocks[item.block] = (self._cursor, f"{item.speaker.author}{thinks}", [])
            case fact.BlockEnded():
                began, who, said = self._blocks.pop(item.block)
                self.rows.append(Row(began, f"{who}: {''.join(said)}", block=item.block))
            case fact.BlocksReplaced():  # ADK stored something else, which follows
                self.rows = [row for row in self.rows if row.block not in item.blocks]
            case fact.Nested():
                self._take_nested(item)
            case fact.RunOver():
                reason = f": {with_reference(item)}" if item.outcome not in _ENDS else ""
                self._add(f"ended: {item.outcome}{reason}", matters=True)
            case _:
                self._take_call(item)

    def _take_call(self, item: fact.Fact) -> None:
        match item:
            case fact.RunBegan() if item.query:
                self._add(f"user: {item.query}", matters=True)
            case fact.UserSpoke():
                self._add(f"user: {item.text}", matters=True)
            case fact.CallRequested():
                self._calls[item.call] = item.name
                given = repair(bytes(item.input)).decode() if is_given(item.input) else "{}"
                self._add(f"{item.speaker.author} calls {item.name}({given})", item.name)
            case fact.CallAnswered():
                given = repair(bytes(item.output)).decode() if is_given(item.output) else "nothing"
                self._add(f"{item.name} → {given}", item.name)
            case fact.CallFailed():
                self._add(f"{item.name} failed: {item.error}", matters=True)
            case fact.CallDenied():
                self._add(f"{item.name} was denied: {item.reason}", matters=True)
            case fact.CallAbandoned():
                self._add(f"{item.name} was never answered", matters=True)
            case fact.ApprovalRequested():
                name = self._calls.get(item.call, item.call)
                self._add(f"asks for approval of {name}: {item.hint}", matters=True)
            case fact.ApprovalDecided():
                self._add(f"approval {'given' if item.approved else 'denied'}", matters=True)
            case _:
                self._take_rest(item)

    def _take_rest(self, item: fact.Fact) -> None:
        match item:
            case fact.InputRequested():
                self._add(f"asks for {item.kind}: {bytes(item.request).decode()}", matters=True)
            case fact.StateChanged():
                changes = (f"{key} = {bytes(value).decode()}" for key, value in item.delta.items())
                self._add(f"state: {'; '.join(changes)}")
            case fact.ErrorRaised():
                self._add(
                    f"error in {item.speaker.author}: {item.code} {item.message}", matters=True
                )
            case fact.AgentTransferred():
                self._add(f"transfer to {item.to} {item.reason}")
            case fact.ArtifactSaved():
                self._add(f"artifact saved: {item.filename} version {item.version}")
            case fact.FileShown():
                self._add(f"{item.speaker.author} shows a file: {item.name or item.media_type}")
            case fact.TakenOver():
                self._add("another process took the run over", matters=True)
            case fact.NodeBegan() if item.kind != "tool":
                self._add(f"{item.kind} {item.name} begins")
            case _:
                pass  # says nothing that the other rows do not

    def _take_nested(self, item: fact.Nested) -> None:
        """Show the calls of an agent inside a tool; its words come with the tool's result."""
        if isinstance(item.fact, fact.CallRequested | fact.CallAnswered | fact.CallFailed):
            before = len(self.rows)
            self._take_call(item.fact)
            inside = self._calls.get(item.call, item.call)
            for at in range(before, len(self.rows)):
                row = self.rows[at]
                self.rows[at] = structs.replace(row, text=f"(inside {inside}) {row.text}")


_ENDS = ("finished", "waiting", "cancelled")


class Transcript(Struct, frozen=True):
    """What is shown of a run."""

    text: str
    rows: int
    """That there are, from the wanted cursor on."""
    left_out: int
    """That do not stand in the text."""


def transcript(rows: Sequence[Row], after: int = 0, characters: int = CHARACTERS) -> Transcript:
    """Return the rows after a cursor, in at most about so many characters."""
    wanted = _folded([row for row in rows if row.cursor > after])
    longest = _longest(wanted, characters)
    lines = [row.shown(longest) for row in wanted]
    if sum(map(size_of, lines)) + len(lines) <= characters:
        return Transcript("\n".join(lines), len(wanted), 0)
    kept = _kept(wanted, lines, characters)
    shown: list[str] = []
    gap: list[Row] = []
    for at, row in enumerate(wanted):
        if at in kept:
            shown += _gap(gap)
            gap = []
            shown.append(lines[at])
        else:
            gap.append(row)
    shown += _gap(gap)
    return Transcript("\n".join(shown), len(wanted), len(wanted) - len(kept))


def _gap(left_out: Sequence[Row]) -> list[str]:
    if not left_out:
        return []
    first, last = left_out[0], left_out[-1]
    return [f"[{first.cursor}-{last.last or last.cursor}] … {len(left_out)} rows"
            f" (read on with after={first.cursor - 1})"]  # fmt: skip


def _folded(rows: Sequence[Row]) -> list[Row]:
    """Return rows in which many calls of one tool are one."""
    found: list[Row] = []
    at = 0
    while at < len(rows):
        end = at
        while end < len(rows) and rows[end].tool and rows[end].tool == rows[at].tool:
            end += 1
        calls = sum(" calls " in row.text for row in rows[at:end])
        if calls >= MOST_ALIKE:
            first, last = rows[at], rows[end - 1]
            text = f"{first.text} ×{calls}; last: {last.text}"
            found.append(Row(first.cursor, text, first.tool, last=last.cursor))
        else:
            found += rows[at : max(end, at + 1)]
        at = max(end, at + 1)
    return found


def _longest(rows: Sequence[Row], characters: int) -> int:
    """Return how long a row may be so that all fit; never less than `SHORTEST`."""
    low, high = SHORTEST, max((len(row.text) for row in rows), default=SHORTEST) + 40
    while low < high:
        middle = (low + high + 1) // 2
        if sum(size_of(row.shown(middle)) + 1 for row in rows) <= characters:
            low = middle
        else:
            high = middle - 1
    return low


def _kept(rows: Sequence[Row], lines: Sequence[str], characters: int) -> set[int]:
    """Return the rows that are shown: those that matter, then from both ends until nothing fits."""
    left = characters - 2 * SHORTEST
    kept: set[int] = set()
    order = [at for at, row in enumerate(rows) if row.matters]
    half = (len(rows) + 1) // 2
    for near in range(half):
        order += [near, len(rows) - 1 - near]
    for at in order:
        if at not in kept and size_of(lines[at]) + SHORTEST <= left:
            kept.add(at)
            left -= size_of(lines[at]) + 1
    return kept
