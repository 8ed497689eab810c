"""Where in a conversation a message belongs, according to the messages that its client shows before it.

Clients that edit or switch branches often send only the resulting list, with no word about it. So the
message before the new one decides: whatever the chat has after that one is rewound. A message that the
log does not know decides nothing, since apps begin chats with messages of their own; nor does a list that
was not sent. A rewound message cannot be continued: the session no longer has it.

A live conversation is one run and one ADK invocation: it stays or goes as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.commands import Before, Submit
from adk_prism.errors import Conflict
from adk_prism.pipeline.chats import ChatHistory, Chats, Turn
from adk_prism.pipeline.live_messages import spoken_messages

MOST_NAMED = 2000
"""Ids of messages that a run says it took back: a long chat's. Whatever follows the first one is gone too."""


async def kept_turns(chats: Chats, history: ChatHistory, message: Submit) -> int:
    """Return how many turns stay before a message; the others it rewinds. Raise `Conflict`."""
    turns = history.turns
    again = (i for i, turn in enumerate(turns) if turn.user_message == message.message_id)
    kept = await _kept_before(chats, history, message.before)
    return min(kept, next(again, len(turns)))


async def taken_ids(chats: Chats, turns: Sequence[Turn], kept: str) -> list[str]:
    """Return the ids of the messages of some turns, without the one that takes an old one's place."""
    ids: list[str] = []
    for turn in turns:
        if len(ids) >= MOST_NAMED:
            break
        ids += await _ids(chats, turn)
    return [each for each in ids if each != kept][:MOST_NAMED]


async def _kept_before(chats: Chats, history: ChatHistory, before: Before) -> int:
    for message in reversed(before.ids if before.whole else before.ids[-1:]):
        kept = await _kept_until(chats, history, message)
        if kept is not None:
            return kept
    return 0 if before.whole else len(history.turns)


async def _kept_until(chats: Chats, history: ChatHistory, message: str) -> int | None:
    """Return how many turns there are up to a message; None if the log does not know it."""
    if not message:
        return None
    for index, turn in reversed(list(enumerate(history.turns))):
        if turn.first.head.live:
            if await _is_in_live(chats, turn, message):
                return index + 1
        elif message in (turn.message, turn.user_message):
            return index + 1
    for turn in history.taken_back:
        if message in (turn.message, turn.user_message):
            raise Conflict(
                "The message before this one was removed; the chat cannot continue from it. Load the "
                "chat's messages again, then send the message."
            )
    return None


async def _is_in_live(chats: Chats, turn: Turn, message: str) -> bool:
    said = await spoken_messages(chats, turn.first.summary.run)
    places = [index for index, each in enumerate(said) if each.id == message]
    if not places:
        return False
    if any(later.role == "user" for later in said[places[-1] + 1 :]):
        raise Conflict(
            "The message before this one is part of a voice chat, which can only be removed "
            "as a whole. Send the message after its last one."
        )
    return True


async def _ids(chats: Chats, turn: Turn) -> list[str]:
    if not turn.first.head.live:
        return [turn.user_message, turn.message]
    said = await spoken_messages(chats, turn.first.summary.run)
    return [each.id for each in said]
