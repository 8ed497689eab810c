"""Steps: where one model call's output ends and the next begins, as stock clients need it.

A stock client posts again by itself when the last step of a message holds only answered calls. So text
that follows an answer goes into a new step, and a finished run whose last step holds only answered calls
gets an empty step at its end. With parallel agents a step may hold several model calls: it is closed
only when no block of any lane is open and each of its calls is answered or runs an agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field

from adk_prism.protocols.ai_sdk.frames import (
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


class _Step(Struct, eq=False):
    """The step that is open."""

    model_call: str
    calls: int = 0
    unsettled: set[str] = field(default_factory=set)
    """Calls that are neither answered nor run an agent."""

    @property
    def is_answered(self) -> bool:
        """Whether it holds calls, and all of them are settled."""
        return bool(self.calls) and not self.unsettled


class Steps:
    """The steps of one run's message."""

    def __init__(self) -> None:
        self._step: _Step | None = None
        self._blocks = 0
        self._any = False

    def output(self, model_call: str, out: list[Frame]) -> None:
        """Make sure that a model call's output lands in the right step."""
        step = self._step
        if step is None:
            out.append(StartStep())
        elif model_call != step.model_call and step.is_answered and not self._blocks:
            out.append(FinishStep())
            out.append(StartStep())
        else:
            return
        self._step = _Step(model_call)
        self._any = True

    def beside(self, out: list[Frame]) -> None:
        """Make sure that there is a step for what belongs to no model call in particular."""
        if self._step is None:
            self.output("", out)

    def block_began(self) -> None:
        self._blocks += 1

    def block_ended(self) -> None:
        self._blocks -= 1

    def call_began(self, call: str) -> None:
        """Note a call, also one whose input still streams: a call is in one step."""
        if self._step is not None and call not in self._step.unsettled:
            self._step.calls += 1
            self._step.unsettled.add(call)

    def call_settled(self, call: str) -> None:
        if self._step is not None:
            self._step.unsettled.discard(call)

    def close(self, out: list[Frame], *, seal: bool, first: bool) -> None:
        """Close the open step; with `seal`, keep a client from posting again over answered calls.

        A run that said nothing gets an empty step, if it is the message's `first` (ai 6.0.0 refuses a
        message without parts) or seals it (the last step may be of an earlier run, and answered).
        """
        step, self._step = self._step, None
        if step is not None:
            out.append(FinishStep())
        if (seal and step is not None and step.is_answered) or (not self._any and (first or seal)):
            out.append(StartStep())
            out.append(FinishStep())


# ---------------------------------------------------------------------------
# What the open step of a message holds, so that some of its blocks can be rewound.
#
# Dialect 7 only: `reset-step` removes every part of the step, and what is to stay is sent again after
# it. A call that was made is not: a client would run its own tool a second time. A step that holds
# one, or more than `LARGEST`, is not reset.

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
