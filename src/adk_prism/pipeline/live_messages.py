"""The messages of a live run, the user's and the assistant's, as a page that is loaded later shows them."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from msgspec import Raw

from adk_prism.facts import model as fact
from adk_prism.facts.reader import Reader
from adk_prism.pipeline.chats import Chats
from adk_prism.projection.ai_sdk.dialects import kept
from adk_prism.projection.ai_sdk.files import FileLinks
from adk_prism.projection.ai_sdk.frames import Abort, Data, Error, Finish, Frame, Start
from adk_prism.projection.ai_sdk.messages import rebuild, settled
from adk_prism.projection.ai_sdk.projection import AiSdkProjection
from adk_prism.projection.ai_sdk.user_message import user_message
from adk_prism.runlog.entry import RunId, to_raw

Json = dict[str, Any]

MAX_ENTRIES_READ = 256
"""Entries that are read for the first words: whoever says nothing for so long has only listened."""


async def first_user_text(chats: Chats, run: RunId) -> str:
    """Return the first thing that was said to a live run; empty where there is none."""
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


async def live_messages(chats: Chats, run: RunId, dialect: str, files: FileLinks) -> list[Json]:
    """Return the messages of a live run in the order in which they began, without one that goes on."""
    reader, folded = Reader(), _Messages(run)
    projection = AiSdkProjection(kept(dialect), files)
    async for entry in chats.entries(run):
        for item in reader.feed(entry):
            folded.hear(item, entry.time)
        for frame in projection.feed(entry):
            folded.take(frame)
    return [message for message in folded.messages if message]


class _Messages:
    def __init__(self, run: RunId) -> None:
        self._run = run
        self.messages: list[Json] = []
        self._heard: dict[str, Json] = {}
        self._frames: list[Frame] | None = None
        self._place = 0

    def hear(self, item: fact.Fact, time: float) -> None:
        """Take what the user says."""
        if isinstance(item, fact.UserSpoke):
            self._add(item.message, item.text, time)
        elif isinstance(item, fact.InputTranscribed):
            if item.utterance in self._heard:
                self._heard[item.utterance]["parts"][0]["text"] = item.text
            else:
                # An utterance is counted within its run, and a chat may have many runs.
                name = f"{self._run}-{item.utterance}"
                self._heard[item.utterance] = self._add(name, item.text, time)

    def _add(self, name: str, text: str, time: float) -> Json:
        said: Raw = to_raw({"parts": [{"text": text}]})
        message = user_message(name, said, time)
        assert message is not None
        self.messages.append(message)
        return message

    def take(self, frame: Frame) -> None:
        """Take what the assistant says, and what is told of it afterwards."""
        if isinstance(frame, Start):
            self._frames = []
            self.messages.append({})  # its place, while it is being said
            self._place = len(self.messages) - 1
        if self._frames is not None:
            self._frames.append(frame)
            if isinstance(frame, Finish | Error | Abort):
                self.messages[self._place] = settled(rebuild(self._frames))
                self._frames = None
        elif isinstance(frame, Data) and frame.type == "data-usage":
            self._amend(frame.data)

    def _amend(self, late: Json) -> None:
        """Add usage that came after its message."""
        found = next((m for m in self.messages if m.get("id") == late["messageId"]), None)
        if found is not None and not found["metadata"].get("usage"):
            found["metadata"]["usage"] = late["usage"]
