"""Where in a conversation a message belongs, according to the messages that its client shows before it.

The message before the new one decides. If the chat has others after that one, or if that one was rewound,
the client either branches off on purpose, or it does not know the latest messages: a tab that was open while
another one sent. Both lists look alike, so the client has to name the branch; else it is refused
(`StaleConversation`), and nothing is rewound. A message whose own id the chat knows takes that one's place.

A message before the new one that the log does not know decides nothing, since apps begin chats with messages
of their own; nor does a list that was not sent. Where the client's last message came with the whole history,
a list of one message is a new beginning.

A live conversation is one run and one ADK invocation: it stays or goes as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adk_prism.commands import Before, Submit
from adk_prism.errors import Conflict, StaleConversation
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.live_transcript import spoken_messages
from adk_prism.pipeline.turns import ChatHistory, Turn, before, runs_of

WHOLE_HISTORY = "whole_history"
"""Key of a run's `extras`: its message came with all messages before it."""

MOST_NAMED = 2000
"""Ids of messages that a run says it took back: a long chat's. Whatever follows the first one is gone too."""


async def kept_turns(chats: Chats, history: ChatHistory, message: Submit) -> list[Turn]:
    """Return the turns that a message follows: of the chat, or of an earlier version.

    Raise `StaleConversation` for one that would rewind others without naming a branch, and `Conflict`.
    """
    shown = message.before
    is_new = not _is_known(history, message.message_id)
    if is_new and not shown.ids and shows_whole(history, shown):
        return []
    turns = await _kept_before(chats, history, shown)
    if is_new and not shown.named and not shown.whole:
        _check_latest(history, turns)
    again = (i for i, turn in enumerate(turns) if turn.user_message == message.message_id)
    return before(turns, next(again, len(turns)), history.places)


def shows_whole(history: ChatHistory, shown: Before) -> bool:
    """Return whether a client sends all messages that it shows, from the first one on.

    One that sends none does if the last message of the chat came with all others before it.
    """
    if shown.whole or not history.turns:
        return shown.whole
    if shown.ids:
        return history.turns[0].user_message in shown.ids
    return WHOLE_HISTORY in history.turns[-1].first.head.extras


def _is_known(history: ChatHistory, message: str) -> bool:
    turns = (*history.turns, *history.taken_back)
    return any(turn.user_message == message for turn in turns)


def _check_latest(history: ChatHistory, kept: Sequence[Turn]) -> None:
    if runs_of(kept) != runs_of(history.turns):
        raise StaleConversation(
            "This conversation has continued elsewhere, perhaps in another tab: its latest messages are not"
            " shown here, and this one would have replaced them. Nothing was sent or changed. Reload the"
            " conversation, and send the message again."
        )


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
