"""Whether words behind a label name a source, or say something: a sentence, a definition, a letter's subject.

A name has a capital or a number in it, or is short. `The deck is cracked and both beams are rotten` is what
was seen, `the place where a river begins` is a glossary's, `your letter` is what an answer refers to.
"""

from __future__ import annotations

import re

_NONE = frozenset(
    "none n/a na unknown tbd unspecified keine ninguna aucune null – — - not_available".split()
)
_DEFINITION = re.compile(
    r"(?:the|an?|how|what|where|see)\s\S+(?:\s\S+){2}"
    r"|\S+(?:\s\S+){0,9}\s(?:that|which|who|whose|when|where)\s"
)
_SENTENCE = re.compile(
    r"(?:\S+\s){1,30}(?:is|are|was|were|has|have|had|will|would|can|could|must|should|does|did)\s\S"
)
_OTHERWISE = re.compile(r"yours?\s|(?:confidence|certainty)\b")
"""What a letter refers to, and a confidence that shares its bracket with a source."""
_WEAK = "evidence"
"""A label behind which what was seen is described as often as a source is named."""
_SHORTEST_SENTENCE = 5
"""Words."""


def is_source(source: str, label: str) -> bool:
    """Tell a name of a source."""
    low = source.strip().lower()
    if low in _NONE or not any(map(str.isalpha, source)) or _OTHERWISE.match(low):
        return False
    if any(map(str.isdigit, source)):
        return True
    if len(low.split()) >= _SHORTEST_SENTENCE and _SENTENCE.match(low):
        return False
    if any(map(str.isupper, source)):
        return True
    return label.lower() != _WEAK and _DEFINITION.match(low) is None
