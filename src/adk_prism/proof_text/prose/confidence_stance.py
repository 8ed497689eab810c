"""Whether words about confidence state one, and do not ask for, quote, require or suppose one.

`If confidence is below 80%, ask`, `Minimum confidence: 80%`, `Say 'confidence: 92%'`, `consumer confidence`
and the statistical `95% confidence interval` contain numbers that are not a confidence. Neither is a negated
level (`not high`): it does not say what the level is.

Patterns match a bounded piece around the label, and are not nested.
"""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;\n]")

_UP_TO_IT = tuple(
    re.compile(pattern)
    for pattern in (
        # Another kind of confidence, or none: consumers', voters'.
        r"\b(?:consumer|investor|business|market|voter|public|customer|no|lack of)\s+$",
        # A condition, up to three words away. A comma ends it: "when it is clear, confidence is 92%".
        r"\b(?:if|unless|when|whenever|until|where|whether|should|assuming)\s(?:[^\s,]+\s){0,3}$",
        r"\b(?:target|minimum|min\.?|maximum|max\.?|required|desired|default|needs?|requires?)\s(?:an?\s)?$",
        r"(?:\be\.g\.|\bfor example|\bfor instance|\bsuch as)[,:]?\s$",
        # The level of a test, or the point of a curve: "at a confidence of 0.9 or more".
        r"\bat\s(?:an?\s|the\s)?$",
        r"\binterval(?:o|le|lo)\s+d[ei]\s+$",
    )
)
_BEHIND_IT = tuple(
    re.compile(pattern)
    for pattern in (
        r"\s+(?:interval|limit|bound|band|region|threshold|cut-?off)s?\b",
        # A limit: "answers with a confidence below 80%".
        r"\s+(?:below|under|above|over|at least|at most|(?:less|more|greater) than)\s",
        r"[^.;\n]{0,60}\s(?:is|are|be)\s(?:required|needed|necessary|desirable)\b",
    )
)
_QUOTED = re.compile(r"\w\s[\"'“\u2018«]$")
_CLOSED = ("'", '"', "”", "\u2019", "»")
_ASKED = re.compile(r"[^.!?;\n]{0,200}\?")
_SPREAD = re.compile(r"[^.;\n]{0,120}?(?:\bbetween\s\$?\d|±|\+/-|\bwithin\s[±\d])")
_DENIED = re.compile(
    r"(?:\b(?:not|never|without|cannot|lacks?|lacking)|n['\u2019]t)\s(?:\S+\s){0,3}$"
)


def is_stated(before: str, after: str) -> bool:
    """Return whether the text before and after a label, in lower case, makes it a statement."""
    if any(pattern.search(before) for pattern in _UP_TO_IT):
        return False
    if any(pattern.match(after) for pattern in _BEHIND_IT):
        return False
    if _QUOTED.search(before) and not after.startswith(_CLOSED):
        return False
    return not (sentence_of(before).strip() and _ASKED.match(after))


def is_spread(after: str) -> bool:
    """Return whether it is a statistical interval: `with 95% confidence, it is between 3 and 5`."""
    return _SPREAD.match(after) is not None


def is_denied(before: str) -> bool:
    """Return whether it is negated: `we do not have` high confidence."""
    return _DENIED.search(sentence_of(before)) is not None


def sentence_of(before: str) -> str:
    """Return the last sentence of a piece of text."""
    ends = list(_SENTENCE_END.finditer(before))
    return before[ends[-1].end() :] if ends else before


def sentence_end(text: str) -> int:
    """Return where the first sentence ends."""
    match = _SENTENCE_END.search(text)
    return match.start() if match else len(text)
