"""The turns of a chat, folded from how its runs began. Pure.

Turns are the runs in the order they began; a continuation belongs to the message it continues. A run that
`replaces` a message voids it and all that came after; one that `restores` a voided message makes the
conversation valid again that ended with it. So the turns of a chat are a tree: those that follow the same
turn are versions of each other, and one branch of it is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import Decision, Response, RunId, RunStarted, is_absent


class ChatRun(Struct, frozen=True):
    """A run of a chat, and how it began (without state and agents)."""

    summary: RunSummary
    head: RunStarted


class Turn(Struct, frozen=True):
    """A user's message and the assistant's, which may span several runs."""

    message: str
    runs: list[ChatRun]

    @property
    def first(self) -> ChatRun:
        return self.runs[0]

    @property
    def last(self) -> ChatRun:
        return self.runs[-1]

    @property
    def user_message(self) -> str:
        """Id of the user's message: the client's, or one derived from the run."""
        return self.first.head.message_id or f"{self.first.summary.run}-user"

    @property
    def live(self) -> bool:
        """Whether a run of it is active."""
        return self.last.summary.outcome is None

    @property
    def resumable(self) -> bool:
        """Whether a chat client can continue it: it runs, and is one message."""
        return self.live and not self.last.head.live


class ChatHistory(Struct, frozen=True):
    """A chat: what is in it, and what was rewound."""

    turns: list[Turn]
    """Oldest first."""
    taken_back: list[Turn]
    """Each with its first run only."""
    versions: list[list[Turn]]
    """Turns that follow the same turn, where there are several: oldest first, with their first run only."""
    branches: Mapping[str, list[Turn]]
    """Of each turn that was rewound, the conversation in which it was valid last."""
    places: Mapping[RunId, int]
    """Runs, in the order they began."""

    def branch(self, message: str) -> list[Turn] | None:
        """Return the conversation in which a message was valid last; None for an unknown one."""
        if any(turn.message == message for turn in self.turns):
            return self.turns
        return self.branches.get(message)

    def until(self, message: str) -> list[Turn] | None:
        """Return that conversation as it was when the message's turn was its last one."""
        branch = self.branch(message)
        return None if branch is None else before(branch, _index(branch, message) + 1, self.places)

    def preceding(self, message: str) -> list[Turn]:
        """Return that conversation as it was before the message's turn."""
        branch = self.branch(message) or []
        return before(branch, _index(branch, message), self.places)


class _Fold:
    """The runs of a chat, one after the other."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.branches: dict[str, list[Turn]] = {}
        self.places: dict[RunId, int] = {}
        self._followers: dict[str, list[Turn]] = {}

    def feed(self, run: ChatRun) -> None:
        head = run.head
        if head.restores or head.replaces:
            self._go_back(head)
        self.places[run.summary.run] = len(self.places)
        if not _is_turn(head):
            return
        if head.continues is None:
            last = self.turns[-1].message if self.turns else ""
            self._followers.setdefault(last, []).append(Turn(head.run, [run]))
            self.turns.append(Turn(head.run, [run]))
            return
        turn = next((t for t in self.turns if t.message == head.continues.message), None)
        if turn is not None:
            turn.runs.append(run)

    def _go_back(self, head: RunStarted) -> None:
        kept = self.history().until(head.restores) if head.restores else None
        if kept is None:  # It is not in the log any more, or the run only rewinds.
            kept = before(self.turns, _index(self.turns, head.replaces), self.places)
        valid = {turn.message for turn in kept}
        branch, self.turns = self.turns, _copies(kept)
        self.branches |= {turn.message: branch for turn in branch if turn.message not in valid}
        for message in valid:
            self.branches.pop(message, None)

    def history(self) -> ChatHistory:
        began = sorted(
            (turn for turns in self._followers.values() for turn in turns),
            key=lambda turn: self.places[turn.first.summary.run],
        )
        return ChatHistory(
            self.turns,
            [turn for turn in began if turn.message in self.branches],
            [turns for turns in self._followers.values() if len(turns) > 1],
            self.branches,
            self.places,
        )


def fold_history(runs: Sequence[ChatRun]) -> ChatHistory:
    """Fold all runs of a chat, oldest first."""
    fold = _Fold()
    for run in runs:
        fold.feed(run)
    return fold.history()


def fold_turns(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group runs into turns; leave out what was rewound, and what is not a turn."""
    return fold_history(runs).turns


def fold_recorded(runs: Sequence[ChatRun]) -> list[Turn]:
    """Group the runs of a session that was recorded elsewhere; one without a message goes on."""
    turns: list[Turn] = []
    for run in runs:
        if not run.head.uploaded or run.head.kind != "turn":
            continue
        if turns and is_absent(run.head.message) and not run.head.live:
            turns[-1].runs.append(run)
        else:
            turns.append(Turn(run.head.run, [run]))
    return turns


def _index(turns: Sequence[Turn], message: str) -> int:
    return next((i for i, turn in enumerate(turns) if turn.message == message), len(turns))


def _is_turn(head: RunStarted) -> bool:
    return head.kind == "turn" and not head.uploaded


def before(turns: Sequence[Turn], at: int, places: Mapping[RunId, int]) -> list[Turn]:
    """Return turns as they were before one of them.

    A late answer to an earlier message that came after it is not there: ADK rewinds in the order of time.
    """
    if at >= len(turns):
        return _copies(turns)
    first = places[turns[at].first.summary.run]
    return [
        Turn(turn.message, [run for run in turn.runs if places[run.summary.run] < first])
        for turn in turns[:at]
    ]


def shared_turns(turns: Sequence[Turn], others: Sequence[Turn], places: Mapping[RunId, int]) -> int:
    """Return how many equal turns two conversations have if both are rewound to after those."""
    most = min(len(turns), len(others))
    pairs = (
        (at, before(turns, at, places), before(others, at, places)) for at in range(most, 0, -1)
    )
    return next((at for at, one, other in pairs if runs_of(one) == runs_of(other)), 0)


def runs_of(turns: Sequence[Turn]) -> list[RunId]:
    """Return the runs of some turns."""
    return [run.summary.run for turn in turns for run in turn.runs]


def stored_bytes(turns: Sequence[Turn]) -> int:
    """Return how much is stored of the runs of some turns."""
    return sum(run.summary.bytes for turn in turns for run in turn.runs)


def _copies(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns of their own: a run that continues one of them does not continue it elsewhere."""
    return [Turn(turn.message, list(turn.runs)) for turn in turns]


def first_recorded(turns: Sequence[Turn]) -> str:
    """Return the first message of these turns that is in the log; empty if none is.

    Those that only the session has are gone when the session is rewound, and no record can name them then.
    """
    return next((turn.message for turn in turns if not turn.first.head.derived), "")


def decided_later(turn: Turn, index: int) -> dict[str, Decision]:
    """Return the decisions of the runs after the given one, by call."""
    later: dict[str, Decision] = {}
    for run in turn.runs[index + 1 :]:
        if run.head.continues is not None:
            later |= run.head.continues.decisions
    return later


def answered_later(turn: Turn, index: int) -> frozenset[str]:
    """Return the calls with results in the runs after the given one."""
    going_on = (run.head.continues for run in turn.runs[index + 1 :])
    return frozenset(call for given in going_on if given is not None for call in given.answers)


def answered_by(turns: Sequence[Turn]) -> dict[str, Response]:
    """Return what the messages of turns answered, by the id of the request or approval."""
    return {name: given for t in turns for r in t.runs for name, given in r.head.responses.items()}
