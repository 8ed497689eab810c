"""Which part of a whole message's replay a run is, and what became of what it asks."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from adk_prism.facts.model import ApprovalRequested
from adk_prism.runlog.entry import Decision, Response


class Scope(Struct, frozen=True, kw_only=True):
    """Which part of a message's replay a run is; by default a stream of its own."""

    part: str = ""
    """Which of the message's runs it is (`1 of 3`); empty: the run is a stream of its own."""
    opens: bool = True
    """It is the message's first run here, and sends the message's start."""
    closes: bool = True
    """It is the last one, and sends the message's end."""
    replayed: bool = False
    """The client rebuilds the message from nothing: it has not seen the requests being answered."""
    decided: Mapping[str, Decision] = {}
    """Approvals of this run that a later run of the message has an answer to, by call."""
    answered: frozenset[str] = frozenset()
    """Calls and requests whose answer a later run of the message has: a tool's first answer is not sent."""
    left: bool = False
    """The conversation continued after the message: what it still asks has expired."""
    resumed: bool = False
    """A later message continued its invocation."""
    elsewhere: Mapping[str, Response] = {}
    """What later messages answered, by the id of the request or approval."""

    @property
    def is_alone(self) -> bool:
        """Whether the run is a stream of its own."""
        return not self.part

    @property
    def key(self) -> str:
        """Identifies a part of a message; everything else here follows from it and the log."""
        return f"{self.part} left" if self.left else self.part

    def asks(self, item: ApprovalRequested) -> bool:
        """Return whether an approval is still open, or was decided by a run of this message."""
        return not self.left or item.call in self.decided

    def status(self, request: str) -> str:
        """Return what became of a request; empty while it is open."""
        if request in self.answered or request in self.elsewhere:
            return "answered"
        if not self.left:
            return ""
        # Logs of before do not say what a message answered: there all that was asked was.
        return "answered" if self.resumed and not self.elsewhere else "expired"


WHOLE = Scope()
