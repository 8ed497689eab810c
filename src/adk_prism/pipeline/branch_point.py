"""Where in a conversation a message belongs, according to the messages that its client shows before it.

Clients that edit or switch branches often send only the resulting list, with no word about it. So the
message before the new one decides: whatever the chat has after that one is rewound. A message that the
log does not know decides nothing, since apps begin chats with messages of their own; nor does a list that
was not sent. A rewound message is one of an earlier version, and the conversation continues from there.

A live conversation is one run and one ADK invocation: it stays or goes as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adk_prism.commands import Before, Submit
from adk_prism.errors import Conflict
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.live_transcript import spoken_messages
from adk_prism.pipeline.turns import ChatHistory, Turn, before

MOST_NAMED = 2000
"""Ids of messages that a run says it took back: a long chat's. Whatever follows the first one is gone too."""


async def kept_turns(chats: Chats, history: ChatHistory, message: Submit) -> list[Turn]:
    """Return the turns that a message follows: of the chat, or of an earlier version. Raise `Conflict`."""
    turns = await _kept_before(chats, history, message.before)
    again = (i for i, turn in enumerate(turns) if turn.user_message == message.message_id)
    return before(turns, next(again, len(turns)), history.places)


async def taken_ids(chats: Chats, turns: Sequence[Turn], kept: Collection[str]) -> list[str]:
    """Return the ids of the messages of some turns, without those that are there again."""
    ids: list[str] = []
    for turn in turns:
        if len(ids) >= MOST_NAMED:
            break
        ids += await _ids(chats, turn)
    return [each for each in ids if each not in kept][:MOST_NAMED]


async def _kept_before(chats: Chats, history: ChatHistory, shown: Before) -> list[Turn]:
    for message in reversed(shown.ids if shown.whole else shown.ids[-1:]):
        kept = await _kept_until(chats, history, message)
        if kept is not None:
            return kept
    return [] if shown.whole else history.turns


async def _kept_until(chats: Chats, history: ChatHistory, message: str) -> list[Turn] | None:
    """Return the turns up to a message; None if the log does not know it.

    Versions of an answer follow the same user's message: then the newest of them counts.
    """
    if not message:
        return None
    for index, turn in reversed(list(enumerate(history.turns))):
        if turn.first.head.live:
            if await _is_in_live(chats, turn, message):
                return before(history.turns, index + 1, history.places)
        elif message in (turn.message, turn.user_message):
            return before(history.turns, index + 1, history.places)
    for turn in reversed(history.taken_back):
        if message in (turn.message, turn.user_message):
            return history.until(turn.message)
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
