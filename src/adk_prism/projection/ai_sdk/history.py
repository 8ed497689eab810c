"""The UI messages of a conversation, as a page that is loaded later shows them."""

from __future__ import annotations

from typing import Any

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.spoken_messages import utterance_id
from adk_prism.projection.ai_sdk.dialects import kept
from adk_prism.projection.ai_sdk.frames import Abort, Data, Error, Finish, Frame, Start
from adk_prism.projection.ai_sdk.full_error_text import completed
from adk_prism.projection.ai_sdk.live_projection import LiveAiSdkProjection
from adk_prism.projection.ai_sdk.messages import rebuild, settled
from adk_prism.projection.ai_sdk.projection import AiSdkProjection
from adk_prism.projection.ai_sdk.user_message import user_message, user_messages
from adk_prism.projection.contract import Complete, Options
from adk_prism.projection.message_scope import Scope
from adk_prism.runlog.entry import Entry, RunId, RunStarted, to_raw

Json = dict[str, Any]


class UiMessages:
    """Builds UI messages, turn by turn."""

    def __init__(self, options: Options, complete: Complete | None = None) -> None:
        self._dialect = kept(options.dialect)
        self._files = options.files
        self._complete = complete
        self._found: list[Json] = []
        self._run: _Answer | _LiveRun | None = None

    def user_message(self, message_id: str, head: RunStarted, time: float) -> None:
        """Add what the user sent to begin a turn."""
        self._finish_run()
        self._found += user_messages(message_id, head, time, self._files)

    def begin_run(self, scope: Scope) -> None:
        """Begin a run of the assistant's answer; one that does not open a message continues the last."""
        frames = self._run.frames if isinstance(self._run, _Answer) and not scope.opens else []
        if scope.opens:
            self._finish_run()
        self._run = _Answer(AiSdkProjection(self._dialect, self._files, scope), frames)

    def begin_live_run(self, run: RunId) -> None:
        """Begin a live run, which holds messages of both sides."""
        self._finish_run()
        self._run = _LiveRun(run, LiveAiSdkProjection(self._dialect, self._files))

    def feed(self, entry: Entry) -> None:
        """Add an entry of the run that began last."""
        assert self._run is not None, "a run begins before its entries are fed"
        self._run.feed(entry)

    def messages(self) -> list[Json]:
        """Return the messages."""
        self._finish_run()
        return self._found

    def _finish_run(self) -> None:
        if isinstance(self._run, _Answer):
            frames = self._run.frames
            if self._complete is not None:
                frames = [completed(frame, self._complete) for frame in frames]
            self._found.append(settled(rebuild(frames)))
        elif self._run is not None:
            # One that is still being said is left out: the client streams it.
            self._found += [message for message in self._run.messages if message]
        self._run = None


class _Answer:
    """A run of an assistant's message."""

    def __init__(self, projection: AiSdkProjection, frames: list[Frame]) -> None:
        self._projection = projection
        self.frames = frames

    def feed(self, entry: Entry) -> None:
        self.frames += self._projection.feed(entry)


class _LiveRun:
    """The messages of a live run, in the order in which they began."""

    def __init__(self, run: RunId, projection: LiveAiSdkProjection) -> None:
        self._run = run
        self._projection = projection
        self._reader = Reader()
        self.messages: list[Json] = []
        self._heard: dict[str, Json] = {}
        self._frames: list[Frame] | None = None
        self._place = 0

    def feed(self, entry: Entry) -> None:
        for item in self._reader.feed(entry):
            self._hear(item, entry.time)
        for frame in self._projection.feed(entry):
            self._take(frame)

    def _hear(self, item: fact.Fact, time: float) -> None:
        """Take what the user says."""
        if isinstance(item, fact.UserSpoke):
            self._add(item.message, item.text, time)
        elif isinstance(item, fact.InputTranscribed):
            if item.utterance in self._heard:
                self._heard[item.utterance]["parts"][0]["text"] = item.text
            else:
                name = utterance_id(self._run, item.utterance)
                self._heard[item.utterance] = self._add(name, item.text, time)

    def _add(self, name: str, text: str, time: float) -> Json:
        message = user_message(name, to_raw({"parts": [{"text": text}]}), time)
        assert message is not None
        self.messages.append(message)
        return message

    def _take(self, frame: Frame) -> None:
        """Take what the assistant says, and what is known of it only afterwards."""
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
