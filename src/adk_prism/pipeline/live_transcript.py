"""What was said in a live run: its messages, and its first words."""

from __future__ import annotations

from contextlib import aclosing

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.spoken_messages import SpokenMessage, SpokenMessages
from adk_prism.pipeline.chats import Chats
from adk_prism.runlog.entry import RunId

MAX_ENTRIES_READ = 256
"""Entries that are read to find the first text."""


async def first_user_text(chats: Chats, run: RunId) -> str:
    """Return the first text or transcript of the user in a live run; empty if there is none."""
    reader = Reader()
    async with aclosing(chats.entries(run)) as entries:
        async for entry in entries:
            for item in reader.feed(entry):
                if words := _words(item):
                    return words
            if entry.cursor > MAX_ENTRIES_READ:
                break
    return ""


def _words(item: fact.Fact) -> str:
    match item:
        case fact.UserSpoke() | fact.InputTranscribed(final=True):
            return item.text.strip()
        case _:
            return ""


async def spoken_messages(chats: Chats, run: RunId) -> list[SpokenMessage]:
    """Return the messages of a live run, without one that is still being said."""
    reader, found = Reader(), SpokenMessages(run)
    async for entry in chats.entries(run):
        for item in reader.feed(entry):
            found.feed(item)
    return found.messages()
