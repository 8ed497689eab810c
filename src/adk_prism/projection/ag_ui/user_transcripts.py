"""What the user is heard saying: custom events while it grows, a message when it is over.

A transcript may be corrected, also after it was called final, and a message can only grow at its end. So it
is sent when the agent begins to answer, when the user says something else, or with the run's end. What
comes later still, of the same utterance, is a message of its own.
"""

from __future__ import annotations

from adk_prism.facts.model import InputTranscribed
from adk_prism.facts.spoken_messages import utterance_id
from adk_prism.projection.ag_ui.frame_size import pieces
from adk_prism.projection.ag_ui.frames import (
    Custom,
    Frame,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
)

HEARD = "adk.input_transcription"


def user_text(name: str, text: str) -> list[Frame]:
    """Return a message of the user's."""
    return [
        TextMessageStart(name, "user"),
        *(TextMessageContent(name, piece) for piece in pieces(text)),
        TextMessageEnd(name),
    ]


class Utterances:
    """The utterances of one run."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._open: dict[str, InputTranscribed] = {}
        """Those that are not told yet."""
        self._told: dict[str, list[str]] = {}
        """What was told of each, message by message."""

    def hear(self, item: InputTranscribed) -> list[Frame]:
        """Take what is heard; return the frames for it, and for the utterances before it."""
        others = [name for name in self._open if name != item.utterance]
        told = [frame for name in others for frame in self._tell(name)]
        self._open[item.utterance] = item
        return [*told, Custom(HEARD, {"id": item.utterance, "text": item.text})]

    def answer(self) -> list[Frame]:
        """Return the messages of what is over, now that the agent answers."""
        over = [name for name, item in self._open.items() if item.final]
        return [frame for name in over for frame in self._tell(name)]

    def end(self) -> list[Frame]:
        """Return the messages of all that is not told."""
        return [frame for name in list(self._open) for frame in self._tell(name)]

    def _tell(self, utterance: str) -> list[Frame]:
        text = self._open.pop(utterance).text
        before = self._told.setdefault(utterance, [])
        news = text.removeprefix("".join(before))
        if not news.strip():
            return []
        before.append(news)
        name = utterance_id(self._run, utterance)
        return user_text(name if len(before) == 1 else f"{name}~{len(before)}", news)
