"""Entries to facts: the one interpretation of a run, shared by every projection and view.

Decides where runs and messages begin and end; `event_reader` decides what one ADK event means. A reader is
fed every entry of a run, in order, from the first. Nodes are read from their records; before the first such
record, and so in every run that was not observed, they are inferred from the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

from msgspec import structs

from adk_prism.facts import model as fact
from adk_prism.facts.event_actions import AgentText
from adk_prism.facts.event_reader import EventReader, unread_json
from adk_prism.facts.model_call import TextDeltas
from adk_prism.facts.nodes import DerivedNodes, OpenNodes
from adk_prism.facts.open_calls import OpenCall
from adk_prism.facts.outcome import OutputText, Retries
from adk_prism.facts.state import read_object
from adk_prism.facts.transcripts import NOTHING_SAID, Sign, Turns
from adk_prism.log import entry as records

# ---------------------------------------------------------------------------
# The interface of annotators: optional parts of a `Reader` that add facts to those of each entry.
#
# An annotator holds state for one run. It may only add facts, so every other fact is the same with
# and without it; what only needs outcomes, calls or state reads with none.

MakeAnnotator = Callable[[], "Annotator"]
"""Makes an annotator for one reading of one run."""


class Annotator(Protocol):
    """Adds facts to the facts of one run."""

    def feed(
        self, cursor: int, facts: Sequence[fact.Fact], text: AgentText | None
    ) -> list[fact.Fact]:
        """Return the facts to add to those of an entry. `text` is the whole text of its event."""
        ...

    def end(
        self,
        cursor: int,
        facts: Sequence[fact.Fact],
        cut_off: Sequence[AgentText],
        *,
        answered: bool,
    ) -> list[fact.Fact]:
        """Return the facts to add to those of the entry that ends the run.

        `cut_off` are texts that were streamed and not completed. `answered` means that the run finished
        and waits for nobody.
        """
        ...


# ---------------------------------------------------------------------------

OVER = "The session is over."
"""The reason that is given when a live run ends with an open question."""


class Reader:
    """Reads one run."""

    def __init__(self, annotators: Sequence[Annotator] = ()) -> None:
        """`annotators` add facts of their own, in this order, after those of each entry."""
        self._annotators = annotators
        self._events = EventReader()
        self._lanes = self._events.lanes
        self._deltas = TextDeltas(self._lanes)
        self._message = ""
        self._captured = False
        self._children: dict[str, EventReader] = {}
        """By the node or call that runs them."""
        self._nodes: DerivedNodes | OpenNodes = DerivedNodes()
        self._retries = Retries()
        self._output = OutputText()
        self._turns: Turns | None = None
        """For a live run; any other run is one message."""

    def feed(self, entry: records.Entry) -> list[fact.Fact]:
        """Return what an entry means. Entries come in order, from the first."""
        record = entry.record
        if type(record) is records.AgentEvent:  # by far the most frequent
            grown = self._deltas.read(record)
            if grown is None:
                return self._read(entry.cursor, record.event)
            self._events.ending.is_partial = True
            return [grown] if self._turns is None else self._in_turn([grown])
        self._deltas.interrupt()
        return self._take(entry)

    def _take(self, entry: records.Entry) -> list[fact.Fact]:
        """Return what an entry means that is not an event of the root."""
        record = entry.record
        match record:
            case records.RunStarted():
                return self._start(entry.cursor, record)
            case records.RunEnded():
                return self._end(entry.cursor, record)
            case records.NodeStarted():
                return self._begin_node(record)
            case records.NodeEnded():
                self._retries.end(record)
                return self._nodes.feed([fact.NodeFinished(**structs.asdict(record))])
            case records.ChildEvent():
                return self._nested(entry.cursor, record)
            case records.RunTakenOver():
                return self._take_over(record)
            case records.ApprovalAsked() | records.ApprovalGiven():
                return self._in_turn(self._nodes.feed(self._question(record)))
            case records.SpeakerInterrupted():
                return self._interrupt()
            case records.ModelCalled():
                return self._annotated(entry.cursor, [_model_called(record)])
            case _:
                assert not isinstance(record, records.AgentEvent), "handled in feed"
                assert_never(record)

    def _read(self, cursor: int, event: bytes) -> list[fact.Fact]:
        facts = self._retries.feed(_read_event(self._events, cursor, event))
        self._output.feed(facts)
        added = self._annotate(cursor, facts, self._events.text)
        facts = self._nodes.feed(facts)
        if added:
            facts = [*facts, *added]
        return facts if self._turns is None else self._in_turn(facts, self._events.sign)

    def _annotate(
        self, cursor: int, facts: Sequence[fact.Fact], text: AgentText | None = None
    ) -> list[fact.Fact]:
        return [item for one in self._annotators for item in one.feed(cursor, facts, text)]

    def _annotated(self, cursor: int, facts: list[fact.Fact]) -> list[fact.Fact]:
        """Return the facts of an entry with what annotators add to them."""
        return [*facts, *self._annotate(cursor, facts)]

    def _in_turn(self, facts: list[fact.Fact], sign: Sign = NOTHING_SAID) -> list[fact.Fact]:
        """Return the facts of an entry; in a live run, with the begins and ends of messages."""
        if self._turns is None:
            return facts
        in_turns = self._turns.feed(facts, sign)
        if in_turns and type(in_turns[-1]) is fact.MessageEnded:
            # Another agent may be in the middle of a text: what it says next is of another message.
            cut_off: list[fact.Fact] = []
            self._events.end_blocks(cut_off)
            in_turns[-1:-1] = cut_off
        if any(type(item) is fact.MessageBegan for item in in_turns):
            self._events.transcripts.answer()
        return in_turns

    def _question(self, record: records.ApprovalAsked | records.ApprovalGiven) -> list[fact.Fact]:
        questions = self._events.questions
        if isinstance(record, records.ApprovalAsked):
            return questions.ask(record.approval, record.call, record.hint, record.payload)
        return questions.decide(record.approval, record.approved, record.reason)

    def _interrupt(self) -> list[fact.Fact]:
        closing: list[fact.Fact] = []
        self._events.close_lanes(closing)
        return self._turns.interrupt(closing) if self._turns is not None else closing

    def _start(self, cursor: int, record: records.RunStarted) -> list[fact.Fact]:
        continues = record.continues
        self._message = continues.message if continues else record.run
        self._captured = records.DERIVED.read(record)
        self._nodes = DerivedNodes(record.agents)
        began = fact.RunBegan(
            record.run,
            record.origin,
            record.agents,
            record.state,
            records.DERIVED.read(record),
            record.live,
            _query(record),
        )
        if record.live:
            self._turns = Turns(record.run, self._events.ending)
            self._events.transcripts.joins = True
            return self._annotated(cursor, [began])
        facts: list[fact.Fact] = [
            began,
            fact.MessageBegan(
                self._message,
                record.run,
                continues is not None,
                dict(continues.open_calls) if continues else {},
                dict(continues.decisions) if continues else {},
                _resumed(record),
                list(record.rewound),
                list(records.WARNINGS.read(record)),
            ),
        ]
        if continues:
            self._events.calls.resume(continues)
            facts.extend(map(fact.CallDelegated, continues.delegated))
            facts.extend(self._events.questions.take_answers(continues.answers))
        return self._annotated(cursor, facts)

    def _end(self, cursor: int, record: records.RunEnded) -> list[fact.Fact]:
        out: list[fact.Fact] = []
        cut_off = list(self._events.cut_off_texts())
        self._events.close_lanes(out)
        calls = self._events.calls
        if self._turns is not None:
            # After a live connection has ended nobody can answer.
            out.extend(self._events.questions.deny_all(OVER))
        leftover = calls.abandon(record.outcome, all_of_them=self._turns is not None)
        out.extend(fact.CallAbandoned(c.call, c.name, c.requested) for c in leftover)
        waits = record.outcome == "waiting" or (record.outcome == "finished" and calls.answerable)
        answered = record.outcome == "finished" and not waits
        ends = (one.end(cursor, out, cut_off, answered=answered) for one in self._annotators)
        added = [item for found in ends for item in found]
        out = [*self._nodes.feed(out), *self._nodes.end(record.outcome), *added]
        if answered and self._turns is None:
            out.extend(self._output.end())
        if self._turns is not None:
            out = self._turns.end(out)
        else:
            asks = waits and calls.asks
            out.append(fact.MessageEnded(self._message, self._events.ending.finish, waits, asks))
        said = self._events.ending.message(record.code)
        out.append(fact.RunOver(record.outcome, record.code, record.correlation, said))
        return out

    def _take_over(self, record: records.RunTakenOver) -> list[fact.Fact]:
        """Another process continues the run: what stopped it before is not its end."""
        out: list[fact.Fact] = []
        superseded = self._retries.superseded(self._events.calls)
        self._events.restart(out)
        self._events.calls.doubt(record.in_doubt)
        self._events.ending.aborted = False
        if record.epoch:  # without one, it is where a fork begins
            out.insert(0, fact.TakenOver(record.epoch, superseded, list(record.in_doubt)))
        return self._in_turn(self._nodes.feed(out))

    def _begin_node(self, record: records.NodeStarted) -> list[fact.Fact]:
        self._retries.begin(record)
        inferred: list[fact.Fact] = []
        if isinstance(self._nodes, DerivedNodes):
            inferred = self._nodes.end("finished")
            self._nodes = OpenNodes()
        return [*inferred, *self._nodes.feed([fact.NodeBegan(**structs.asdict(record))])]

    def _nested(self, cursor: int, record: records.ChildEvent) -> list[fact.Fact]:
        reader = self._children.setdefault(record.node or record.call, EventReader())
        facts = _read_event(reader, cursor, bytes(record.event))
        return self._annotated(cursor, [fact.Nested(record.node, record.call, f) for f in facts])

    @property
    def owed(self) -> list[OpenCall]:
        """The calls that the process which runs the agent has to answer."""
        return self._events.calls.owed()

    @property
    def is_paused(self) -> bool:
        """Whether the run only waits for a person or client."""
        return self._events.calls.awaiting and not self._lanes and not self.owed

    def outcome(self) -> tuple[records.Outcome, str]:
        """Return the outcome, and the error code of a failure, of a run whose source is exhausted."""
        calls = self._events.calls
        return self._events.ending.outcome(
            awaiting=calls.awaiting and self._turns is None,
            captured=self._captured,
            owing=calls.owing,
        )


def _read_event(reader: EventReader, cursor: int, event: bytes) -> list[fact.Fact]:
    """Return what an event means; that it was not understood, if reading it fails.

    What is in a log stays there: an event that cannot be read must not make the others unreadable.
    """
    try:
        return reader.read(cursor, event)
    except Exception:  # nothing is lost: the event is shown as it is
        return [fact.Unrecognised("event", unread_json(event))]


def _query(record: records.RunStarted) -> str:
    """Return the text of the user's message."""
    parts = read_object(record.message).get("parts")
    found = parts if isinstance(parts, list) else []
    texts = (part.get("text") for part in found if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _resumed(record: records.RunStarted) -> list[str]:
    """Return the nodes that continue, each once; the root if the record does not say who asked."""
    continues = record.continues
    if continues is None or continues.held:
        return []
    root = record.agents[0].name if record.agents else record.origin.app
    return list(dict.fromkeys(continues.askers.values())) or [root]


def _model_called(record: records.ModelCalled) -> fact.ModelCalled:
    fields = structs.asdict(record)
    known = {name: fields[name] for name in fact.ModelCalled.__struct_fields__ if name in fields}
    return fact.ModelCalled(**known, kept=record.pieces is not None)


# ---------------------------------------------------------------------------
# Only the facts that ADK stored, for outputs that cannot be corrected: a pipe, a file.
#
# Streamed facts are held until their model call is stored, together with all that follow, to keep the
# order; replaced blocks are left out.

_OF_A_BLOCK = (fact.BlockBegan, fact.BlockGrew, fact.BlockEnded)


class StoredFacts:
    """Holds the facts of one run until they are final."""

    def __init__(self) -> None:
        self._held: list[fact.Fact] = []
        self._open: dict[str, str] = {}
        """Blocks that may be replaced, and their model calls."""
        self._ended: set[str] = set()
        """Those of them that have ended."""
        self._gone: set[str] = set()

    def feed(self, facts: Sequence[fact.Fact]) -> list[fact.Fact]:
        """Read the facts of an entry; return what is sure by now."""
        for item in facts:
            self._held.append(item)
            self._take(item)
        if self._open:
            return []
        sure, self._held = self._held, []
        return [item for item in sure if not self._is_gone(item)]

    def _take(self, item: fact.Fact) -> None:
        match item:
            case fact.BlockBegan():
                self._open[item.block] = item.model_call
            case fact.BlockEnded():
                if item.provisional or item.replaced:
                    self._ended.add(item.block)
                else:
                    self._open.pop(item.block, None)
            case fact.BlocksReplaced():
                self._gone.update(item.blocks)
                self._settle(item.blocks)
            case fact.ModelCallEnded():
                ended = [b for b in self._ended if self._open.get(b) == item.model_call]
                self._settle(ended)
            case fact.RunOver():
                self._open.clear()
            case _:
                pass  # says nothing of a block

    def _settle(self, blocks: Sequence[str]) -> None:
        for block in blocks:
            self._open.pop(block, None)
            self._ended.discard(block)

    def _is_gone(self, item: fact.Fact) -> bool:
        if isinstance(item, _OF_A_BLOCK):
            return item.block in self._gone
        return isinstance(item, fact.BlocksReplaced)


# ---------------------------------------------------------------------------
# Computes how a capture ended, which has no record of its end.


class CaptureEnding:
    """Reads the entries of a capture, and returns its end after the last one."""

    def __init__(self) -> None:
        self._reader = Reader()

    def feed(self, entry: records.Entry) -> None:
        """Read the next entry."""
        self._reader.feed(entry)

    def ended(self) -> records.RunEnded:
        """Return the run's end."""
        outcome, code = self._reader.outcome()
        return records.RunEnded(outcome=outcome, code=code)
