"""How the coordinator words a request to a specialist, and how that is read again.

`fire_id:cedar-creek-2022 as_of:2022-12-01 trail:T01 question:Is it open?` — values without spaces,
and the person's own words last. A person, or another model, may write such a line as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_PAIR = re.compile(r"\b([a-z_]+):(\S+)")
_QUESTION = "question:"


@dataclass(frozen=True, slots=True)
class Request:
    """What a specialist is asked."""

    values: Mapping[str, str] = field(default_factory=dict)
    question: str = ""

    def value(self, name: str) -> str:
        """Return a value, or an empty text."""
        return self.values.get(name, "")

    @property
    def case(self) -> dict[str, str]:
        """The arguments that every skill takes."""
        case = {"fire_id": self.value("fire_id")}
        return case | {"as_of": self.value("as_of")} if self.value("as_of") else case

    def text(self) -> str:
        """Return the request as one line."""
        pairs = [f"{name}:{value}" for name, value in self.values.items() if value]
        return " ".join([*pairs, f"{_QUESTION}{self.question}"])


def read_request(text: str) -> Request:
    """Return the request that a line holds; text without values is a question."""
    head, mark, question = text.partition(_QUESTION)
    if not mark:
        head, question = text, ""
    return Request(dict(_PAIR.findall(head)), question.strip() or _PAIR.sub("", head).strip())
