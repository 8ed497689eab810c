"""What has to happen to a session so that its conversation is another branch of the chat's turns. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from adk_prism.errors import Conflict
from adk_prism.pipeline.turns import ChatHistory, ChatRun, Turn, before, runs_of, shared_turns
from adk_prism.runlog.entry import RunId

_STORED = ("finished", "waiting")
"""Outcomes of runs that ADK's session has events of; another one may have ended before its message was
stored."""


class BranchChange(Struct, frozen=True):
    """From the live branch to another one."""

    kept: Sequence[Turn]
    """What both begin with."""
    void: Sequence[Turn]
    """Turns of the live branch that are rewound."""
    back: Sequence[Turn]
    """Turns of the other one, which were rewound before."""
    returning: Sequence[ChatRun]
    """Runs of the other one that the session lacks."""

    @property
    def first(self) -> RunId:
        """The run before which the session has the right state."""
        return (*self.void, *self.back)[0].first.summary.run

    @property
    def rewound(self) -> list[str]:
        """Invocations of which the session may have something to rewind.

        Also those that come back: a process may have died while it brought them back.
        """
        kept = set(_invocations(_runs(self.kept)))
        again = [name for name in _invocations(_runs(self.back)) if name not in kept]
        return [*_invocations(_runs(self.void)), *again]

    @property
    def known(self) -> frozenset[str]:
        """The invocations of the other branch."""
        return frozenset(_invocations([*_runs(self.kept), *_runs(self.back)]))

    def wanted(self, stored: frozenset[str]) -> frozenset[str]:
        """Return the invocations that come back, where a session has stored some."""
        names = _invocations(self.returning)
        sure = [run for run in self.returning if run.summary.outcome in _STORED]
        return frozenset(_invocations(sure)) | stored.intersection(names)


def branch_change(history: ChatHistory, branch: Sequence[Turn]) -> BranchChange:
    """Return how the live branch becomes another one. Raise `Conflict` if ADK cannot rewind to it."""
    turns, places = history.turns, history.places
    shared = shared_turns(turns, branch, places)
    kept = before(turns, shared, places)
    there = set(runs_of(kept))
    returning = [run for run in _runs(branch) if run.summary.run not in there]
    change = BranchChange(kept, turns[shared:], branch[shared:], returning)
    if change.void and change.void[0].first.summary.invocation in _invocations(_runs(kept)):
        raise Conflict(
            "This message belongs to an earlier task; remove the task's first message instead."
        )
    return change


def _runs(turns: Sequence[Turn]) -> list[ChatRun]:
    return [run for turn in turns for run in turn.runs]


def _invocations(runs: Sequence[ChatRun]) -> list[str]:
    return [run.summary.invocation for run in runs]
