"""The interface of annotators: optional parts of a `Reader` that add facts to those of each entry.

An annotator holds state for one run. It may only add facts, so every other fact is the same with and
without it; what only needs outcomes, calls or state reads with none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adk_prism.facts.agent_text import AgentText
from adk_prism.facts.model import Fact


class Annotator(Protocol):
    """Adds facts to the facts of one run."""

    def feed(self, cursor: int, facts: Sequence[Fact], text: AgentText | None) -> list[Fact]:
        """Return the facts to add to those of an entry. `text` is the whole text of its event."""
        ...

    def end(
        self, cursor: int, facts: Sequence[Fact], cut_off: Sequence[AgentText], *, answered: bool
    ) -> list[Fact]:
        """Return the facts to add to those of the entry that ends the run.

        `cut_off` are texts that were streamed and not completed. `answered` means that the run finished
        and waits for nobody.
        """
        ...
