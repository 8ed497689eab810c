"""The contents of a prefix as one agent sees them, reused from one request to the next.

ADK copies every content and part for every request, because the receiver of a request may change it. With
thousands of them that is most of the cost of a turn. This class returns the same objects again, after it
has checked that they are unchanged; changed ones are restored. Deeper values (arguments, answers, data)
is shared with the session's events, as in ADK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import eq
from typing import Any, TypeVar

from google.genai import types
from pydantic import BaseModel

_Model = TypeVar("_Model", bound=BaseModel)
_Described = TypeVar("_Described")

CONTENT_BYTES = 2300
"""What a content with one part takes beside its text, which it shares with its event (measured)."""


class PrefixContents:
    """Contents in order, with a copy of their original values."""

    def __init__(self, contents: Iterable[types.Content] = ()) -> None:
        self._keep(list(contents))

    def _keep(self, contents: list[types.Content]) -> None:
        self._contents = contents
        self._described: list[Any] = []
        self._parts = [part for content in self._contents for part in content.parts or ()]
        self._made_parts = [dict(vars(part)) for part in self._parts]
        self._made: list[dict[str, Any]] = [
            {**vars(content), "parts": content.parts and list(content.parts)}
            for content in self._contents
        ]

    @property
    def weight(self) -> int:
        """Return the bytes that it takes, roughly."""
        return len(self._contents) * CONTENT_BYTES

    @property
    def last(self) -> types.Content | None:
        """The last content, not to be changed."""
        return self._contents[-1] if self._contents else None

    def contents(self) -> list[types.Content]:
        """Return the contents for one request; the previous request must be finished."""
        as_made = all(map(eq, map(vars, self._parts), self._made_parts)) and all(
            map(eq, map(vars, self._contents), self._made)
        )
        if not as_made:
            self._make()
        return list(self._contents)

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content; it is called once for each.

        It is for contents as they were made, and must always be the same function.
        """
        known = self._described
        known += [describe(content) for content in self._contents[len(known) :]]
        return list(known)

    def followed_by(self, more: Iterable[types.Content]) -> PrefixContents:
        """Return a view of these contents and more."""
        longer = PrefixContents(more)
        longer._contents[:0] = self._contents
        longer._parts[:0] = self._parts
        longer._made_parts[:0] = self._made_parts
        longer._made[:0] = self._made
        longer._described = list(self._described)
        return longer

    def _make(self) -> None:
        """Create all contents again from their original values."""
        pairs = zip(self._parts, self._made_parts, strict=True)
        parts = {id(part): _made(part, made) for part, made in pairs}
        contents: list[types.Content] = []
        for content, made in zip(self._contents, self._made, strict=True):
            fresh = made["parts"] and [parts[id(part)] for part in made["parts"]]
            contents.append(_made(content, {**made, "parts": fresh}))
        self._keep(contents)


def _made(model: _Model, values: dict[str, Any]) -> _Model:
    copy = model.model_copy()
    vars(copy).update(values)
    return copy
