"""What was said: the turns of a run as a person reads them, at any cursor.

Text is kept once, with marks of how long it was at which cursor, so a playhead inside a sentence shows
exactly what a viewer had seen by then. What ADK did not store is in no view, at no cursor: a block that was
replaced loses its text, also where it was shown before. What an agent says and calls inside a tool
(`AgentTool`) is marked with that tool's call, `within`: no word of the answer, but of how it came about.
`node` is the run of a node that said or called it; nothing where none was running.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Raw

from adk_prism.facts import model as fact
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.page.state import Item, Mark, Note, written
from adk_prism.features.page.timeline import TimelineFilm
from adk_prism.log.entry import Entry, RunStarted
from adk_prism.protocols.contract import progress_json

_REPLACED: dict[str, Any] = {"replaced": True}

_USUAL = ("", "STOP", "FINISH_REASON_UNSPECIFIED")
"""Finish reasons that say nothing."""


class _Text:
    """A growing text, and the cursor of each growth."""

    def __init__(self, since: int, **about: Any) -> None:
        self.since = since
        self.until: int | None = None
        self._about = about
        self._pieces: list[str] = []
        self._cursors: list[int] = []
        self.is_replaced = False
        self._trimmed = 0

    def replace(self, cursor: int) -> None:
        """Forget what was said: it does not count."""
        self._pieces.clear()
        self._cursors.clear()
        self.until, self.is_replaced = cursor, True

    def end(self, cursor: int, trimmed: int) -> None:
        """Take the end; that many characters before it do not count."""
        self.until, self._trimmed = cursor, trimmed

    def grow(self, cursor: int, text: str) -> None:
        self._pieces.append(text)
        self._cursors.append(cursor)

    @property
    def touched(self) -> int:
        if self.until is not None:
            return self.until
        return self._cursors[-1] if self._cursors else self.since

    def about(self) -> dict[str, Any]:
        return self._about

    def marks(self) -> list[Mark]:
        """Return each piece. None: it is complete; a number: without so many characters at its end."""
        marks: list[Mark] = list(zip(self._cursors, self._pieces, strict=True))
        if self.until is None:
            return marks
        return [*marks, (self.until, _REPLACED if self.is_replaced else self._trimmed or None)]

    def at(self, cursor: int) -> dict[str, Any]:
        index = bisect_right(self._cursors, cursor)
        over = self.until is not None and self.until <= cursor
        text = "".join(self._pieces[:index])
        if over:
            text = text[: len(text) - self._trimmed]
        return self._about | {"text": text, "complete": over, "since": self.since}


class _Steps:
    """Something that changes step by step."""

    _first: Mapping[str, Any] = {}
    """What holds before the first step."""

    def __init__(self, since: int, about: dict[str, Any]) -> None:
        self.since = since
        self._about = about
        self._steps: list[Mark] = []

    def step(self, cursor: int, **changed: Any) -> None:
        self._steps.append((cursor, changed))

    @property
    def touched(self) -> int:
        return self._steps[-1][0] if self._steps else self.since

    def about(self) -> dict[str, Any]:
        return self._about

    def marks(self) -> list[Mark]:
        return self._steps

    def at(self, cursor: int) -> dict[str, Any]:
        shown = {**self._about, **self._first, "since": self.since}
        for at, changed in self._steps:
            if at <= cursor:
                shown |= changed
        return shown


class _Call(_Steps):
    """A call and what became of it."""

    _first: Mapping[str, Any] = {"status": "requested"}

    def __init__(self, since: int, about: dict[str, Any]) -> None:
        super().__init__(since, {"kind": "call"} | about)

    def flow(self) -> Iterator[tuple[int, str]]:
        """Yield the keys of its arguments and results, each with the cursor where it was seen."""
        given = [(self.since, self._about.get("input"))]
        for cursor, value in given + [(at, step.get("output")) for at, step in self._steps]:
            yield from ((cursor, key) for key in (value if isinstance(value, dict) else ()))


class _Utterance(_Steps):
    """What the user was heard to say; each transcript is of the whole so far."""

    def __init__(self, since: int) -> None:
        super().__init__(since, {"kind": "user", "speaker": "user", "spoken": True})


class _Note(Note, frozen=True):
    """Something said once."""

    def at(self, _: int) -> dict[str, Any]:
        return self.shown | {"since": self.since}


_Answer = fact.CallAnswered | fact.CallFailed | fact.CallDenied


class ConversationFilm:
    """The conversation of one run."""

    def __init__(self, timeline: TimelineFilm) -> None:
        """`timeline` is fed each fact first: it knows which nodes run."""
        self._timeline = timeline
        self._items: list[_Text | _Call | _Note | _Utterance] = []
        self._heard: dict[str, _Utterance] = {}
        self._blocks: dict[str, _Text] = {}
        """Those that grow, or may still be replaced."""
        self._calls: dict[str, _Call] = {}
        self._made: dict[str, list[_Call]] = {}
        """By the model's own id, which may come again inside a tool."""
        self._within: dict[str, str] = {}
        """The call of the tool whose inner facts are being read. Ids inside it start again."""
        self._why = ""
        """The last model call's own words on why it stopped."""

    def open(self, entry: Entry) -> None:
        """Take the user's message that began the run."""
        record = entry.record
        if isinstance(record, RunStarted) and bytes(record.message):
            tree = read_object(record.message)
            text = "".join(part.get("text") or "" for part in tree.get("parts") or ())
            if text:
                self._note(entry.cursor, kind="user", speaker="user", text=text)

    def feed(self, cursor: int, item: fact.Fact) -> None:
        """Read the facts of an entry."""
        match item:
            case fact.UserSpoke():
                self._note(cursor, kind="user", speaker="user", text=item.text)
            case fact.InputTranscribed():
                self._hear(cursor, item)
            case fact.BlockBegan():
                block = _Text(cursor, kind=item.kind, **self._by(item.speaker), **self._within)
                self._blocks[self._id(item.block)] = block
                self._items.append(block)
            case fact.BlockGrew():
                self._blocks[self._id(item.block)].grow(cursor, item.text)
            case fact.BlockEnded():
                self._end(cursor, item)
            case fact.BlocksReplaced():
                for name in item.blocks:
                    self._blocks.pop(self._id(name)).replace(cursor)
            case fact.CallRequested():
                self._request(cursor, item)
            case fact.Nested():
                self._feed_nested(cursor, item)
            case _:
                self._feed_answers(cursor, item)

    def _request(self, cursor: int, item: fact.CallRequested) -> None:
        asked = {**self._by(item.speaker), "call": item.call, "name": item.name}
        runs = {"by": "provider"} if item.provider_executed else {}
        self._open(cursor, item.call, asked | runs | {"input": _plain(item.input)})

    def _hear(self, cursor: int, item: fact.InputTranscribed) -> None:
        known = self._heard.get(item.utterance)
        if known is None:
            known = self._heard[item.utterance] = _Utterance(cursor)
            self._items.append(known)
        known.step(cursor, text=item.text, complete=item.final)
        if item.final:
            del self._heard[item.utterance]

    def _end(self, cursor: int, item: fact.BlockEnded) -> None:
        name = self._id(item.block)
        self._blocks[name].end(cursor, item.trimmed)
        if not (item.provisional or item.replaced):
            del self._blocks[name]

    def _feed_nested(self, cursor: int, item: fact.Nested) -> None:
        if not isinstance(item.fact, fact.UserSpoke):  # The call's input says what it was asked.
            around, self._within = self._within, {"within": item.call}
            self.feed(cursor, item.fact)
            self._within = around

    def _by(self, speaker: fact.Speaker) -> dict[str, str]:
        span = self._timeline.speaking(speaker)
        return {"speaker": speaker.author} | ({"node": span.node} if span is not None else {})

    def _id(self, name: str) -> str:
        return f"{self._within['within']}/{name}" if self._within else name

    def _feed_answers(self, cursor: int, item: fact.Fact) -> None:
        match item:
            case fact.CallAnswered():
                self._answer(cursor, item, status="answered", output=_plain(item.output))
            case fact.CallFailed():
                self._answer(cursor, item, status="failed", error=item.error)
            case fact.CallDenied():
                self._answer(cursor, item, status="denied", reason=item.reason)
            case fact.CallAbandoned():
                self._step(cursor, item.call, status="abandoned")
            case fact.CallProgressed():
                self._step(cursor, item.call, progress=progress_json(item))
            case fact.ApprovalRequested():
                self._step(cursor, item.call, status="awaiting approval", approval=item.approval)
            case _:
                self._feed_notes(cursor, item)

    def _feed_notes(self, cursor: int, item: fact.Fact) -> None:
        match item:
            case fact.InputRequested():
                request = _plain(item.request)
                self._note(cursor, kind=f"{item.kind} request", call=item.call, request=request)
            case fact.FileShown():
                self._note(cursor, **_file(item), **self._by(item.speaker))
            case fact.CodeShown():
                self._note(cursor, kind="code", **self._by(item.speaker), code=_plain(item.code))
            case fact.CodeResultShown():
                result = _plain(item.result)
                self._note(cursor, kind="code result", **self._by(item.speaker), result=result)
            case fact.AgentTransferred():
                self._note(cursor, kind="transfer", to=item.to)
            case fact.ErrorRaised():
                by = self._by(item.speaker)
                self._note(cursor, kind="error", **by, code=item.code, text=item.message)
            case fact.Interrupted():
                self._note(cursor, kind="interrupted", **self._by(item.speaker))
            case fact.TakenOver():
                self._note(cursor, kind="takeover", calls=item.in_doubt)
            case fact.RunOver():
                said = {"text": item.message} if item.message else {}
                self._note(cursor, kind="end", outcome=item.outcome, code=item.code, **said)
            case _:
                self._feed_answer(cursor, item)

    def _feed_answer(self, cursor: int, item: fact.Fact) -> None:
        """Read what is said of an answer, not in it: what its words rest on, and why it stopped early."""
        match item:
            case fact.SourcesLinked():
                self._note(cursor, kind="grounding", grounding=_plain(item.grounding))
            case fact.CitationsGiven():
                self._note(cursor, kind="citations", citations=_plain(item.citations))
            case fact.ModelCallEnded():
                self._why = item.message
            case fact.MessageEnded() if item.finish not in _USUAL:
                self._note(cursor, kind="finish", reason=item.finish, text=self._why)
            case _:
                pass  # not said to anyone

    def _note(self, cursor: int, **shown: Any) -> None:
        self._items.append(_Note(cursor, shown | self._within))

    def _open(self, cursor: int, call: str, about: dict[str, Any]) -> None:
        made = self._calls[self._id(call)] = _Call(cursor, about | self._within)
        self._made.setdefault(call, []).append(made)
        self._items.append(made)

    def _answer(self, cursor: int, item: _Answer, **added: Any) -> None:
        """Set the result of a call, which may belong to the run that this one continues."""
        if self._id(item.call) not in self._calls:
            about = {"call": item.call, "name": item.name, "earlier": True}
            self._open(cursor, item.call, about)
        self._step(cursor, item.call, **added)

    def _step(self, cursor: int, call: str, **added: Any) -> None:
        known = self._calls.get(self._id(call))
        if known is not None:
            known.step(cursor, **added)

    def flow(self, call: str, since: int) -> list[tuple[int, str]]:
        """Return the keys that went to and from what a call runs since a cursor, and from where on.

        Of several calls with that id it is the last one that was made by then.
        """
        known = self._that_runs(call, since)
        return [(max(at, since), key) for at, key in known.flow()] if known else []

    def _that_runs(self, call: str, since: int) -> _Call | None:
        made = self._made.get(call, [])
        found = next((one for one in reversed(made) if one.since <= since), None)
        return found or next(iter(made), None)

    def call_at(self, call: str, since: int, cursor: int) -> dict[str, Any] | None:
        """Return at a cursor the call that runs a node since another."""
        known = self._that_runs(call, since)
        return known.at(cursor) if known is not None and known.since <= cursor else None

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return what was said, or what of it after a cursor."""
        return {"said": list(written(self._items, after))}

    def at(self, cursor: int) -> list[dict[str, Any]]:
        """Return what had been said at a cursor."""
        return [item.at(cursor) for item in self._items if item.since <= cursor and _counts(item)]


def _counts(item: _Text | _Call | _Note | _Utterance) -> bool:
    return not (isinstance(item, _Text) and item.is_replaced)


def _file(item: fact.FileShown) -> dict[str, Any]:
    """Return what is known of a file but its bytes, which stay in the log at this cursor and part."""
    return {
        "kind": "file",
        "mediaType": item.media_type,
        "uri": item.uri,
        "name": item.name,
        "part": item.part,
    }


def _plain(raw: Raw) -> Any:
    return read_value(raw) if bytes(raw) else None
