"""Which message an answer is for, and what that message waits for.

The last message, mostly. A long-running call may be answered after others have followed (decision 0016):
then its message is looked for from the end, so that the usual case reads one message only. What an
earlier message asked a person has expired for chats; on ADK's own routes it can still be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from adk_prism.commands import Answer
from adk_prism.errors import Conflict
from adk_prism.facts.calls.pending import Pending
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.turns import Turn, answered_by


class AnsweredMessage(Struct, frozen=True):
    """A message that an answer is for."""

    turn: Turn
    pending: Pending
    is_late: bool
    """Later messages follow it."""

    @property
    def is_waiting(self) -> bool:
        """Whether its last run waits for a person."""
        return self.turn.last.summary.outcome == "waiting"


async def find_answered_by_chat(
    chats: Chats, turns: Sequence[Turn], given: Answer
) -> AnsweredMessage:
    """Find the message that a client answers. Raise `Conflict` where there is none."""
    if given.message_id:
        named = [turn for turn in turns if turn.message == given.message_id]
        if not named or named[0].first.head.live:
            raise Conflict("This request has expired: the conversation has continued since.")
        return await asked_by(chats, turns, named[0])
    calls = {answer.call for answer in given.answers}
    return await _find(chats, turns, lambda pending: bool(calls & pending.calls.keys()))


async def find_answered_by_adk(
    chats: Chats, turns: Sequence[Turn], is_meant: Callable[[Pending], bool]
) -> AnsweredMessage:
    """Find the message whose calls are answered by ADK's ids. Raise `Conflict` where there is none."""
    return await _find(chats, turns, is_meant)


async def _find(
    chats: Chats, turns: Sequence[Turn], is_meant: Callable[[Pending], bool]
) -> AnsweredMessage:
    for turn in reversed(turns):
        if not turn.first.head.live:
            asked = await asked_by(chats, turns, turn)
            if is_meant(asked.pending):
                return asked
    raise Conflict("Nothing in this conversation is waiting for this answer.")


async def asked_by(chats: Chats, turns: Sequence[Turn], turn: Turn) -> AnsweredMessage:
    """Return what a message waits for."""
    pending = await chats.pending(turn)
    is_late = turn is not turns[-1]
    if is_late:
        pending.expire_held()
        pending.answered_elsewhere(answered_by(turns[turns.index(turn) + 1 :]))
    return AnsweredMessage(turn, pending, is_late)
