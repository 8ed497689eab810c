"""A live run as a UI message stream: a message for each turn, all of them in one stream.

`start` to `finish`, again and again, the terminator last. Between messages there are only transient parts.
What the user says is always transient, since it is not part of the assistant's message.
"""

from __future__ import annotations

from typing import Literal

from msgspec import structs

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, with_reference
from adk_prism.log.entry import Entry, RunEnded
from adk_prism.protocols.ai_sdk.frames import Data, Dialect, Done, Error, Frame, finish_reason
from adk_prism.protocols.ai_sdk.metadata import Metadata
from adk_prism.protocols.ai_sdk.projection import OTHERS, AiSdkProjection, data_part
from adk_prism.protocols.ai_sdk.steps import Steps
from adk_prism.protocols.contract import Options, fact_methods


class LiveAiSdkProjection(AiSdkProjection):
    """One live run as UI messages."""

    def __init__(self, options: Options | None = None, speaks: Dialect | None = None) -> None:
        super().__init__(options, speaks)
        self._state: Literal["between messages", "in a message"] = "between messages"
        self._message = ""
        """The last message that began."""
        self._is_end = False
        """The entry is the run's end."""

    def feed(self, entry: Entry) -> list[Frame]:
        """Return the frames that an entry causes."""
        self._is_end = type(entry.record) is RunEnded
        return super().feed(entry)

    def _show(self, item: fact.Fact, out: list[Frame]) -> None:
        before = len(out)
        super()._show(item, out)
        if self._state == "between messages" or type(item) is fact.InputTranscribed:
            out[before:] = [_transient(frame) for frame in out[before:]]

    def _message_began(self, item: fact.MessageBegan, out: list[Frame]) -> None:
        self._state, self._message = "in a message", item.message
        self._steps, self._metadata = Steps(), Metadata()
        super()._message_began(item, out)

    def _message_ended(self, item: fact.MessageEnded, out: list[Frame]) -> None:
        if self._is_end:
            super()._message_ended(item, out)
            return
        self._steps.close(out, seal=True, first=True)
        out.append(self._finish(finish_reason(item.finish, awaiting=False)))
        self._state = "between messages"

    def _run_over(self, item: fact.RunOver, out: list[Frame]) -> None:
        if self._ended is not None:
            super()._run_over(item, out)
            return
        if item.outcome in BROKEN:
            out.append(Error(with_reference(item)))
        out.append(Done())

    def _is_replayed(self) -> bool:
        return True

    def _asks_beside(self) -> bool:
        # A v6 client cannot hold a question and its answer in one stream.
        return True

    def _interrupted(self, item: fact.Interrupted, out: list[Frame]) -> None:
        if self._state == "in a message":
            self._metadata.interrupted()
        super()._interrupted(item, out)

    def _model_call_ended(self, item: fact.ModelCallEnded, out: list[Frame]) -> None:
        if self._state == "in a message":
            super()._model_call_ended(item, out)
            return
        late = Metadata()
        late.model_call(item)
        usage = {"messageId": self._message, "usage": late.collected()["usage"]}
        out.append(data_part("usage", usage))


LiveAiSdkProjection.SHOW = fact_methods(LiveAiSdkProjection, OTHERS)


def _transient(frame: Frame) -> Frame:
    return structs.replace(frame, transient=True) if isinstance(frame, Data) else frame
