"""Whether a message asks for something else than literature.

Told from words alone, with room for doubt: a message that might be a question for the literature is one, and
papers may be about poems.
"""

from __future__ import annotations

import re

_MAKE = (
    r"(?:write|compose|draft|tell|sing|recite|draw|paint|translate|generate|invent|make up|create|code"
    r"|program|play)"
)
_THING = (
    r"(?:poems?|haikus?|sonnets?|rhymes?|stor(?:y|ies)|tales?|jokes?|songs?|lyrics|essays?|e-?mails?"
    r"|letters?|tweets?|"
    r"blog posts?|speech(?:es)?|recipes?|code|program|script|function|website|app|picture|image|drawing"
    r"|games?|riddle|"
    r"homework|cv|resume|résumé|cover letter|limericks?|novels?|slogans?)"
)
_ELSEWHERE = re.compile(
    rf"\s*(?:(?:please|and|now|hey|ok|can you|could you|would you|will you|i want you to|i'd like you to"
    rf"|just)[\s,]+)*"
    rf"(?:{_MAKE}\b(?:\s+\w+){{0,4}}?\s+{_THING}\b"
    rf"|(?:what(?:'s| is)|how(?:'s| is)) (?:the )?(?:weather|time|date)\b"
    rf"|what (?:time|day|date) is it\b|who (?:won|is going to win)\b"
    rf"|(?:order|buy|book|reserve|schedule|remind|call|text|send|e-?mail|mail|print|play|open"
    rf"|delete|turn (?:on|off))"
    rf"\s+(?:me|us|my|our|a|an|the|some)\b"
    rf"|translate\b|calculate\b|what(?:'s| is) \d+\s*[-+*/x]\s*\d+)",
    re.I,
)
_LITERATURE = re.compile(
    r"\b(?:papers?|articles?|literature|studies|study|research|publications?|reviews?|surveys?)\b",
    re.I,
)


def is_out_of_scope(text: str) -> bool:
    """Return whether a message asks for something else than literature: a poem, the weather."""
    return _ELSEWHERE.match(text) is not None and not _LITERATURE.search(text)
