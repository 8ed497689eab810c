"""A call of a model as a source saw it, before it is stored: its record, and the texts beside it.

Knows no log. `pipeline.model_call_writer` stores the texts and writes the record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Literal

from msgspec import Struct

from adk_prism.runlog.entry import ModelCalled
from adk_prism.runlog.pieces import digest

Detail = Literal["off", "summary", "full"]
"""What of model calls is recorded: nothing, times and tokens, or also request and response."""

DETAIL: ContextVar[Detail] = ContextVar("adk_prism_model_calls", default="off")
"""Set by whoever records a run."""


class ContentText:
    """One content of a request as JSON. Its text is computed again if it was not kept."""

    __slots__ = ("_again", "_text", "digest", "is_cut")

    def __init__(
        self, text: bytes, *, is_cut: bool = False, again: Callable[[], bytes] | None = None
    ) -> None:
        """With `again`, which returns the text, it is not kept."""
        self.digest = digest(text)
        """Of the text before its redaction: for comparisons in this process only."""
        self.is_cut = is_cut
        self._text = text if again is None else b""
        self._again = again

    @property
    def text(self) -> bytes:
        """The JSON text."""
        return self._text if self._again is None else self._again()


class CallTexts(Struct, frozen=True, kw_only=True):
    """JSON texts of a request and its response; empty: there is none."""

    instruction: bytes = b""
    config: bytes = b""
    tools: bytes = b""
    contents: Sequence[ContentText] = ()
    answer: bytes = b""
    response: bytes = b""


class SeenCall(Struct, frozen=True):
    """A call of a model that is over."""

    record: ModelCalled
    """Without pieces."""
    texts: CallTexts | None
    """None: only a summary is wanted."""
