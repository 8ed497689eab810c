"""What a scenario may know when it has to speak: the prompt's number and the answers so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adk_prism.models import Conversation, Turn

_NUMBER = re.compile(r"\d[\d,_]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """The conversation as a scenario sees it."""

    conversation: Conversation

    def number(self, default: float) -> float:
        """Return the first number in the prompt (`slow 5`), or `default`."""
        found = _NUMBER.search(self.conversation.prompt)
        return float(re.sub("[,_]", "", found.group())) if found else default

    def answer(self, name: str) -> Mapping[str, Any] | None:
        """Return what the named tool answered since the prompt, or None."""
        return self.conversation.answer(name)


Act = Callable[[ScenarioInput], Turn]
