"""What the open step of a message holds: whether one block is all of it, and could be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.projection.ai_sdk.frames import (
    Data,
    File,
    FinishStep,
    Frame,
    ReasoningStart,
    ResetStep,
    SourceDocument,
    SourceUrl,
    StartStep,
    TextStart,
    ToolInputAvailable,
    ToolInputStart,
)

TAKEOVER = "data-prism-takeover"

_PARTS = (File, SourceDocument, SourceUrl, ToolInputAvailable, ToolInputStart)


class StepParts:
    """Follows the frames of a message."""

    def __init__(self) -> None:
        self._blocks: set[str] = set()
        self._others = 0
        self._takeovers: list[Data] = []
        """They say what happened, and are told again after a reset."""

    def feed(self, frames: Sequence[Frame]) -> None:
        """Take what an entry caused."""
        for frame in frames:
            if isinstance(frame, StartStep | FinishStep | ResetStep):
                self._blocks.clear()
                self._others = 0
                self._takeovers.clear()
            elif isinstance(frame, TextStart | ReasoningStart):
                self._blocks.add(frame.id)
            elif isinstance(frame, Data):
                self._data(frame)
            elif isinstance(frame, _PARTS):
                self._others += 1

    def _data(self, frame: Data) -> None:
        if frame.type == TAKEOVER:
            self._takeovers.append(frame)
        elif frame.transient is not True:
            self._others += 1

    def taken_back(self, block: str) -> list[Frame]:
        """Return the frames that take a block back; none where the step holds something else."""
        if self._others or self._blocks != {block}:
            return []
        return [ResetStep(), *self._takeovers]
