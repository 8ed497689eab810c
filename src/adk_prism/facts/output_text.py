"""What a run says that gives the user no text: the output of its last node. Pure.

The last node of a workflow may only return a value. ADK stores that as an event's `output`, which chat
clients do not draw, so the answer would be empty. A run that says anything itself has no such text, nor has
one that waits, fails or is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from adk_prism.facts.json_value import read_value
from adk_prism.facts.model import BlockBegan, BlockEnded, BlockGrew, Fact, NodeOutput

BLOCK = "text-output"
"""Id of the block, and of its model call, which there was not."""


class OutputText:
    """The last output of a run, as long as nothing is said."""

    def __init__(self) -> None:
        self._is_said = False
        self._last: NodeOutput | None = None

    def feed(self, facts: Sequence[Fact]) -> None:
        """Read what a whole event means."""
        if self._is_said:
            return
        for item in facts:
            if type(item) is BlockBegan and item.kind == "text":
                self._is_said = True
            elif type(item) is NodeOutput:
                self._last = item

    def end(self) -> list[Fact]:
        """Return the text of a run that finished without saying anything; nothing if it has no output."""
        if self._is_said or self._last is None:
            return []
        value = read_value(bytes(self._last.output))
        text = value if isinstance(value, str) else _written(bytes(self._last.output))
        if not text.strip():
            return []
        # The answer of the run, not of the node: that has ended.
        speaker = structs.replace(self._last.speaker, path="", branch="")
        return [
            BlockBegan(BLOCK, "text", speaker, BLOCK, ""),
            BlockGrew(BLOCK, "text", text),
            BlockEnded(BLOCK, "text", speaker, ""),
        ]


def _written(output: bytes) -> str:
    """Return a value as people read JSON."""
    try:
        return msgspec.json.format(output, indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return output.decode(errors="replace")
