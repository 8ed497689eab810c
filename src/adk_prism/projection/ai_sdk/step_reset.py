"""What the open step of a message holds, so that some of its blocks can be rewound.

Dialect 7 only: `reset-step` removes every part of the step, and what is to stay is sent again after it. A
call that was made is not: a client would run its own tool a second time. A step that holds one, or more
than `LARGEST`, is not reset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from adk_prism.projection.ai_sdk.frames import (
    Data,
    File,
    FinishStep,
    Frame,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResetStep,
    SourceDocument,
    SourceUrl,
    StartStep,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputStart,
)

LARGEST = 1024 * 1024
"""Characters that are kept to be sent again, and sent in one go: more than any model says in one call."""

_Delta = TextDelta | ReasoningDelta | ToolInputDelta
_SENT_AGAIN = (
    TextStart,
    TextEnd,
    ReasoningStart,
    ReasoningEnd,
    ToolInputStart,
    File,
    SourceDocument,
    SourceUrl,
)


class StepParts:
    """Follows the frames of a message."""

    def __init__(self) -> None:
        self._frames: list[Frame] | None = None
        """Of the open step; None where there is none, or where it cannot be reset."""
        self._size = 0
        self._open: dict[str, TextEnd | ReasoningEnd] = {}
        """Blocks that are open, and their ends."""
        self._blocks: set[str] = set()

    def feed(self, frames: Sequence[Frame]) -> None:
        """Take frames in the order in which they are sent."""
        for frame in frames:
            if isinstance(frame, TextDelta | ReasoningDelta | ToolInputDelta):
                self._keep(frame, len(_piece(frame)))
            elif isinstance(frame, StartStep | ResetStep | FinishStep):
                self._frames = None if isinstance(frame, FinishStep) else []
                self._size = 0
                self._open.clear()
                self._blocks.clear()
            else:
                self._take(frame)

    def _take(self, frame: Frame) -> None:
        if isinstance(frame, TextStart | ReasoningStart):
            self._blocks.add(frame.id)
            is_text = isinstance(frame, TextStart)
            self._open[frame.id] = TextEnd(frame.id) if is_text else ReasoningEnd(frame.id)
        elif isinstance(frame, TextEnd | ReasoningEnd):
            self._open.pop(frame.id, None)
        if isinstance(frame, Data):
            if frame.transient is not True:
                self._keep(frame, 0)
        elif isinstance(frame, _SENT_AGAIN):
            self._keep(frame, len(frame.url) if isinstance(frame, File) else 0)
        else:
            self._frames = None

    def _keep(self, frame: Frame, size: int) -> None:
        self._size += size + 1
        if self._size > LARGEST:
            self._frames = None
        if self._frames is not None:
            self._frames.append(frame)

    def taken_back(self, gone: Collection[str]) -> list[Frame]:
        """Return the frames that take blocks back; none where the step cannot be reset."""
        if self._frames is None or not self._blocks.issuperset(gone):
            return []
        return [*self._open.values(), ResetStep(), *_without(self._frames, gone)]


def _without(frames: Sequence[Frame], gone: Collection[str]) -> Iterator[Frame]:
    """Yield the frames of what stays; what came in pieces, in one."""
    said: dict[str, list[str]] = {}
    for frame in frames:
        if isinstance(frame, TextDelta | ReasoningDelta | ToolInputDelta):
            said.setdefault(_owner(frame), []).append(_piece(frame))
    for frame in frames:
        match frame:
            case TextStart(id=block) | ReasoningStart(id=block) if block not in gone:
                yield frame
                delta = TextDelta if isinstance(frame, TextStart) else ReasoningDelta
                yield delta(block, "".join(said.get(block, ())))
            case ToolInputStart(tool_call_id=call):
                yield frame
                if call in said:
                    yield ToolInputDelta(call, "".join(said[call]))
            case TextEnd(id=block) | ReasoningEnd(id=block) if block not in gone:
                yield frame
            case Data() | File() | SourceUrl() | SourceDocument():
                yield frame
            case _:
                pass  # a piece, or of a block that is gone


def _owner(frame: _Delta) -> str:
    return frame.tool_call_id if isinstance(frame, ToolInputDelta) else frame.id


def _piece(frame: _Delta) -> str:
    return frame.input_text_delta if isinstance(frame, ToolInputDelta) else frame.delta
