"""What a message may request besides a search: a synthesis, a document, a check, the cost, help."""

from __future__ import annotations

import re
from typing import Literal

Request = Literal["synthesize", "export", "validate", "cost", "help", "continue"]

_ABOUT_PLAN = (
    r"(?:would|will|does|do|is|are|it|that|this|the|a|plan|search|full|one|run|short|all|there|be)"
)
_WHOLE = ("help", "continue", "cost")
"""Requests that must be the whole message: their words also begin questions."""
_SIGNS: tuple[tuple[Request, str], ...] = (
    (
        "export",
        r"(?:please\s+|now\s+|can you\s+|could you\s+)*(?:(?:export|download|save)\b(?!.*\b(?:papers?"
        r"|articles?) (?:on|about)\b)"
        r"|(?:write|make|create|give me|produce)\b.{0,30}\b(?:search )?(?:strategy|methods section"
        r"|prisma|file|files)\b)",
    ),
    ("export", r".*\bprisma\b.*"),
    (
        "validate",
        r"(?:please\s+)?(?:validate|verify|double[- ]check|check the counts|do the counts)\b",
    ),
    (
        "synthesize",
        r"(?:please\s+|now\s+|then\s+)*(?:synthesi[sz]e|summari[sz]e|synthesis|summary|sum up|wrap up|"
        r"what (?:did (?:you|we) find|have (?:you|we) found|was found))\b",
    ),
    (
        "cost",
        r"(?:(?:and|so|ok|hm+|but|wait|first)[\s,:]+)*"
        r"(?:(?:what|how much|how long|how many (?:requests|papers|results))\b"
        rf"(?:\s+{_ABOUT_PLAN})*\s+(?:costs?|takes?|needs?|requests?|price|read|expected)"
        rf"|is\s+{_ABOUT_PLAN}\s+(?:free|expensive|costly|slow)|costs?|how (?:expensive|much|long)"
        r"|what(?:'s| is| are) the (?:costs?|price))"
        rf"(?:\s+(?:of|for|me|us|to|run|{_ABOUT_PLAN}))*[\s.,?!]*",
    ),
    (
        "help",
        r"(?:help(?: me)?|hello|hi|hey|good (?:morning|afternoon|evening)|what can you do|who are you)"
        r"(?: there| all)?[\s.,?!]*",
    ),
    (
        "continue",
        r"(?:continue|go on|next|and now|so|done|carry on|what now|what next|h+m+|u+[hm]+|e+h+|huh|test)?"
        r"[\s.?!…]*",
    ),
)
_COMPILED = tuple((name, re.compile(pattern, re.I | re.S)) for name, pattern in _SIGNS)
# A request is a short message; a long one that begins so is a question.
_LONGEST = 80


def read_request(text: str) -> Request | None:
    """Return what a message requests; None if it is something else. An empty message means "continue"."""
    plain = text.strip()
    if len(plain) > _LONGEST:
        return None
    for name, pattern in _COMPILED:
        if name in _WHOLE:
            if pattern.fullmatch(plain):
                return name
        elif pattern.match(plain):
            return name
    return None
