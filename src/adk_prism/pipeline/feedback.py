"""Feedback: what people think of an answer, kept as notes of the run that gave it.

One for each person and message: a later one takes the place of the earlier. A message that spans several
runs has its feedback at the first of them, so that it is found whichever run is asked.

A score is a number from -1 (bad) to 1 (good). Thumbs are its ends: clients send them as 1 and -1, as true and
false, or as "up" and "down". Other scales (stars, percent) have to be mapped by who knows them: a number
outside of the range is refused, because 3 of 5 and 3 of 10 look the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, Gone, NotFound, TooLarge, UsageError
from adk_prism.pipeline.run_index import RunIndex
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Origin, RunId
from adk_prism.runlog.feedback_label import FEEDBACK
from adk_prism.runlog.notes import Note
from adk_prism.source.session_runs import SessionRunId

LONGEST_COMMENT = 2000
"""Characters: a page. It fits a note in any script."""

_WORDS = {"up": 1.0, "down": -1.0}


class Feedback(Struct, frozen=True, kw_only=True):
    """What one person said about one message."""

    run: RunId
    """The run that has it: the first of the message."""
    message: str
    score: float
    comment: str
    by: str
    """The person: an authenticated caller, otherwise the user of the conversation."""
    time: float

    def shown(self) -> dict[str, Any]:
        """Return it as it is answered."""
        return {
            "run": self.run,
            "messageId": self.message,
            "score": self.score,
            "comment": self.comment,
            "by": self.by,
            "time": self.time,
        }


class _Stored(Struct):
    message: str
    score: float
    by: str
    comment: str = ""


def read_score(given: Any) -> float | None:
    """Return a score from -1 to 1; None takes feedback back. Raise `UsageError` for anything else."""
    if given is None:
        return None
    if isinstance(given, bool):
        return 1.0 if given else -1.0
    if isinstance(given, int | float) and math.isfinite(given) and -1 <= given <= 1:
        return float(given)
    if isinstance(given, str) and given in _WORDS:
        return _WORDS[given]
    raise UsageError(
        '`score` must be a number from -1 (bad) to 1 (good), true or false, "up" or "down", or null to '
        f"take the feedback back; got {_short(given)}."
    )


def _short(given: Any) -> str:
    return repr(given)[:40] if isinstance(given, str | int | float) else f"a {type(given).__name__}"


def check_comment(comment: str) -> str:
    """Return a comment. Raise `TooLarge` for a long one."""
    if len(comment) > LONGEST_COMMENT:
        raise TooLarge(f"`comment` has {len(comment)} characters; at most {LONGEST_COMMENT}.")
    return comment


class Feedbacks:
    """Keeps and finds feedback."""

    def __init__(self, log: RunLog, index: RunIndex) -> None:
        self._log = log
        self._index = index

    async def give(
        self, summary: RunSummary, message: str, score: float | None, comment: str, by: str = ""
    ) -> Feedback | None:
        """Keep what a person says about a message of a run; without `by`, the user of the conversation.

        Return it; None if it was taken back. Raise `Conflict` for a run that is not in the log, or has too
        much feedback.
        """
        owner, by = await self._owner(summary), by or summary.origin.user
        key = msgspec.json.encode((message, by)).decode()
        if score is None:
            await self._log.delete_note(owner, FEEDBACK, key)
            self._index.changed(owner)
            return None
        stored = msgspec.json.encode(_Stored(message, score, by, comment))
        note = await self._log.put_note(owner, FEEDBACK, key, stored)
        self._index.changed(owner)
        return _read(owner, note)

    async def of_run(self, summary: RunSummary) -> Sequence[Feedback]:
        """Return the feedback on the message that a run belongs to."""
        return await self._of(dict.fromkeys((RunId(summary.message), summary.run)))

    async def of_session(self, origin: Origin) -> Sequence[Feedback]:
        """Return the feedback on all messages of a session."""
        runs = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        return await self._of([run.run for run in runs])

    async def _of(self, runs: Iterable[RunId]) -> list[Feedback]:
        known = [run for run in runs if SessionRunId.decode(run) is None]
        found = await self._log.notes(known)
        return [
            _read(run, note)
            for run in known
            for note in found.get(run, ())
            if note.kind == FEEDBACK
        ]

    async def _owner(self, summary: RunSummary) -> RunId:
        """Return the first run of a message, if the log still has it."""
        first = RunId(summary.message)
        if SessionRunId.decode(summary.run) is not None:
            raise Conflict(
                "Only ADK's session has this run; feedback needs a run that was recorded."
            )
        if first == summary.run or SessionRunId.decode(first) is not None:
            return summary.run
        try:
            found = await self._log.summary(first)
        except (NotFound, Gone):
            return summary.run
        return first if found.origin == summary.origin else summary.run


def _read(run: RunId, note: Note) -> Feedback:
    stored = msgspec.json.decode(note.value, type=_Stored)
    return Feedback(
        run=run,
        message=stored.message,
        score=stored.score,
        comment=stored.comment,
        by=stored.by,
        time=note.time,
    )
