"""The messages of a live run by id, in the order in which they began."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from adk_prism.facts.model import Fact, InputTranscribed, MessageBegan, MessageEnded, UserSpoke


def utterance_id(run: str, utterance: str) -> str:
    """Return the message id of what was said aloud: utterances are counted within their run."""
    return f"{run}-{utterance}"


class SpokenMessage(Struct, frozen=True):
    """A message of a live run."""

    id: str
    role: Literal["user", "assistant"]


class SpokenMessages:
    """Collects them from facts."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._found: dict[str, SpokenMessage] = {}
        self._open = ""

    def feed(self, item: Fact) -> None:
        """Add what a fact says."""
        match item:
            case UserSpoke():
                self._add(item.message, "user")
            case InputTranscribed():
                self._add(utterance_id(self._run, item.utterance), "user")
            case MessageBegan():
                self._open = item.message
                self._add(item.message, "assistant")
            case MessageEnded():
                self._open = ""
            case _:
                pass  # what a message holds makes no other one

    def _add(self, name: str, role: Literal["user", "assistant"]) -> None:
        self._found.setdefault(name, SpokenMessage(name, role))

    def messages(self) -> list[SpokenMessage]:
        """Return them, without one that is still being said."""
        return [message for name, message in self._found.items() if name != self._open]
