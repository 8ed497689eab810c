"""The AG-UI messages of a thread, as a client that opens it later gets them.

They are what a client builds from the events of all its runs, without text and calls that were taken back,
and with one thing more: the result of a call that failed or was denied has its `error`, which an event has
no field for.
"""

from __future__ import annotations

from msgspec import structs

from adk_prism.projection.ag_ui.frames import Json
from adk_prism.projection.ag_ui.full_error_text import completed
from adk_prism.projection.ag_ui.messages import Messages, settled
from adk_prism.projection.ag_ui.projection import AgUiProjection
from adk_prism.projection.ag_ui.run_input import user_message
from adk_prism.projection.contract import Complete, Options
from adk_prism.projection.message_scope import Scope
from adk_prism.runlog.entry import Entry, RunId, RunStarted


class ThreadMessages:
    """Builds the messages of a thread, run by run."""

    def __init__(self, options: Options, complete: Complete | None = None) -> None:
        self._options = options
        self._complete = complete
        self._messages = Messages()
        self._projection: AgUiProjection | None = None

    def user_message(self, message_id: str, head: RunStarted, time: float) -> None:
        """Add what the user sent to begin a turn."""
        del time  # a message of AG-UI has no date
        message = user_message(message_id, head, self._options.files)
        if message is not None:
            self._messages.add(message)

    def begin_run(self, scope: Scope) -> None:
        """Begin a run of the assistant's answer: whoever reads it was shown nothing before."""
        self._options = structs.replace(self._options, scope=structs.replace(scope, replayed=True))
        self._projection = None

    def begin_live_run(self, run: RunId) -> None:
        """Begin a live run, which holds messages of both sides."""
        del run
        self._projection = None

    def feed(self, entry: Entry) -> None:
        """Add an entry of the run that began last."""
        if self._projection is None:
            head = entry.record
            assert isinstance(head, RunStarted), "every run begins with this record"
            self._projection = AgUiProjection(self._options, head)
        for frame in self._projection.feed(entry):
            if self._complete is not None:
                frame = completed(frame, self._complete)
            self._messages.take(frame)

    def messages(self) -> list[Json]:
        """Return the messages, without those that are still being said."""
        return [_told(message) for message in settled(self._messages.messages(with_open=False))]


def _told(message: Json) -> Json:
    """Return a message with the error that its metadata tells of."""
    if message["role"] != "tool":
        return message
    error = message.get("metadata", {}).get("adk", {}).get("error")
    return {**message, "error": error} if error else message
