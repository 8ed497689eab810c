"""Steps: where one model call's output ends and the next begins, as stock clients need it.

A stock client posts again by itself when the last step of a message holds only answered calls. So text
that follows an answer goes into a new step, and a finished run whose last step holds only answered calls
gets an empty step at its end. With parallel agents a step may hold several model calls: it is closed
only when no block of any lane is open and each of its calls is answered or runs an agent.
"""

from __future__ import annotations

from msgspec import Struct, field

from adk_prism.projection.ai_sdk.frames import FinishStep, Frame, StartStep


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
