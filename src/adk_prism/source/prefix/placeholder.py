"""The placeholder of a prefix: one event in a run's session, one content in a model's request.

A run that gets only the events after a cut finds a placeholder before them. ADK treats it as a message, so
it reaches every request that shows the history, at the right position, and no other request. There it is
replaced by the contents of the prefix. So the request alone says whether it was built from the short list
and with which prefix, whatever happens to the session meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.session import Session
from google.genai import types
from pydantic import PrivateAttr

from adk_prism.source.prefix.contents import PrefixContents
from adk_prism.source.prefix.session_prefix import Prefix

_Described = TypeVar("_Described")

_TEXT = "[{} earlier events of this session, which are put back when the model is asked]"
"""Visible to code that reads the short session, and in the spans of a request."""


class PrefixPlaceholder(types.Content):
    """A content that represents a prefix."""

    _prefix: Prefix = PrivateAttr()
    _view: PrefixContents = PrivateAttr()
    _sent: LlmRequest | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, prefix: Prefix) -> PrefixPlaceholder:
        """Return the mark of a prefix.

        As the model's: what ADK puts before the last messages of the user comes after it.
        """
        mark = cls(role="model", parts=[types.Part(text=_TEXT.format(len(prefix.events)))])
        mark._prefix = prefix
        return mark

    @property
    def prefix(self) -> Prefix:
        """What it represents."""
        return self._prefix

    def show(self, view: PrefixContents) -> None:
        """Set what it represents in its request: each request has its own mark."""
        self._view = view

    def contents(self) -> list[types.Content]:
        """Return what it represents in its request."""
        return self._view.contents()

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content that it represents in its request."""
        return self._view.described(describe)

    @property
    def sent(self) -> LlmRequest | None:
        """The request that the model got, with the contents of the prefix."""
        return self._sent

    def note_sent(self, request: LlmRequest) -> None:
        """Note the request that the model gets."""
        self._sent = request


def prefix_of(session: Session) -> Prefix | None:
    """Return the prefix that was taken off a session."""
    content = session.events[0].content if session.events else None
    return content.prefix if isinstance(content, PrefixPlaceholder) else None


def shorten(session: Session, prefix: Prefix) -> None:
    """Replace the prefix by the mark."""
    mark = Event(
        author="user",
        invocation_id=Event.new_id(),
        content=PrefixPlaceholder.of(prefix),
        timestamp=prefix.message.timestamp,
    )
    session.events[: len(prefix.events)] = [mark]


def restore(session: Session) -> None:
    """Replace the mark by the prefix: the run continues with all events."""
    prefix = prefix_of(session)
    if prefix is not None:
        session.events[:1] = prefix.events


def find_mark(contents: Sequence[types.Content]) -> PrefixPlaceholder | None:
    """Return the mark in a request's contents."""
    return next((each for each in contents if isinstance(each, PrefixPlaceholder)), None)


def put_back(contents: Sequence[types.Content]) -> list[types.Content]:
    """Return contents with what a mark among them represents in its place."""
    whole: list[types.Content] = []
    for content in contents:
        whole.extend(content.contents() if isinstance(content, PrefixPlaceholder) else (content,))
    return whole
