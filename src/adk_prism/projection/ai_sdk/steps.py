"""Steps: where one model call's output ends and the next begins, as stock clients need it.

A stock client posts again by itself when the last step of a message holds only answered calls. So text
that follows an answer goes into a new step, and a finished run whose last step holds only answered calls
gets an empty step at its end. With parallel agents a step may hold several model calls: it is closed
only when no block of any lane is open and each of its calls is answered or runs an agent.
"""

from __future__ import annotations

from adk_prism.projection.ai_sdk.frames import FinishStep, Frame, StartStep


class _Step:
    """The step that is open."""

    __slots__ = ("calls", "model_call")

    def __init__(self, model_call: str) -> None:
        self.model_call = model_call
        self.calls: dict[str, bool] = {}
        """Call → settled: answered, or running an agent."""


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
        elif (
            model_call != step.model_call
            and step.calls
            and not self._blocks
            and all(step.calls.values())
        ):
            out.append(FinishStep())
            out.append(StartStep())
        else:
            return
        self._step = _Step(model_call)
        self._any = True

    def block_began(self) -> None:
        self._blocks += 1

    def block_ended(self) -> None:
        self._blocks -= 1

    def call_requested(self, call: str) -> None:
        if self._step is not None:
            self._step.calls[call] = False

    def call_settled(self, call: str) -> None:
        if self._step is not None and call in self._step.calls:
            self._step.calls[call] = True

    def close(self, out: list[Frame], *, seal: bool, first: bool) -> None:
        """Close the open step; with `seal`, keep a client from posting again over answered calls.

        A message that would have no part at all gets an empty step (`first`: nothing came before this
        run): ai 6.0.0 refuses a message without parts.
        """
        step, self._step = self._step, None
        if step is not None:
            out.append(FinishStep())
        answered = step is not None and step.calls and all(step.calls.values())
        if (seal and answered) or (first and not self._any):
            out.append(StartStep())
            out.append(FinishStep())
