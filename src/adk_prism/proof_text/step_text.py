"""What was asked of a tool or agent, and what it found, in one line each: the links of a chain of reasoning.

A chain that says "burn_analyst answered" tells a reader nothing that the timeline does not. The line is
taken from the call's arguments and from the first words of the response that are about the subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_value
from adk_prism.proof_text.answer_reader import answer_text
from adk_prism.proof_text.prose.sentence_end import NOT_ABBREVIATED

_LONGEST = 160
"""Characters of a line: what fits beside a step."""
_MOST_VALUES = 4
_REQUEST = "request"
"""The only argument of ADK's `AgentTool`."""
_RESULT = "result"
"""The key under which ADK puts what a function returns, unless that is an object."""
_LAYERS = frozenset(("proof_layer", "proofLayer"))
"""Keys of a proof, which is shown by itself."""
_MARKS = re.compile(r"[*_`#>|]+|\[(?=[^\]]*\]\()|\]\([^)]*\)")
_ABOUT_ITSELF = re.compile(
    r"\s*(?:overall\s+)?(?:confidence|certainty|sources?|references?|factors)\b", re.I
)
_SENTENCE_END = re.compile(rf"{NOT_ABBREVIATED}[.!?](?=\s)")
_FEWEST_WORDS = 3
"""A shorter line is a heading."""


def asked(verb: str, arguments: bytes | Raw) -> str:
    """Return what was asked, after a verb: `Called search (query: malaria)`."""
    value = read_value(bytes(arguments)) if bytes(arguments) else None
    if isinstance(value, dict) and isinstance(value.get(_REQUEST), str):
        request = _one_line(value[_REQUEST])
        return f"{verb}: {request}" if request else verb
    listed = _listed(value) if isinstance(value, dict) else ""
    return f"{verb} ({listed})" if listed else verb


def found(verb: str, output: Raw) -> str:
    """Return what was found, after a verb: `search answered: 45 papers`."""
    text, _ = answer_text(output)
    line = _first_statement(text)
    if not line:
        value = read_value(output)
        line = _listed(value) if isinstance(value, dict) else ""
    return f"{verb}: {line}" if line else verb


def _first_statement(text: str) -> str:
    """Return the first sentence that is about the subject: no heading, no confidence, no source."""
    for raw in text.splitlines():
        line = _MARKS.sub("", raw).strip(" -–—•\t")
        if len(line.split()) >= _FEWEST_WORDS and not _ABOUT_ITSELF.match(line):
            end = _SENTENCE_END.search(line)
            return _one_line(line[: end.end()] if end else line)
    return ""


def _listed(values: Mapping[str, Any]) -> str:
    """Return the plain values of an object; lists and objects are counted."""
    values = {name: value for name, value in values.items() if name not in _LAYERS}
    if values.keys() == {_RESULT}:
        return _one_line(_plain(values[_RESULT]))
    shown = [
        f"{name}: {_plain(value)}" for name, value in values.items() if value not in (None, "")
    ]
    return _one_line(", ".join(shown[:_MOST_VALUES]))


def _plain(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{len(value)} {'items' if isinstance(value, list) else 'values'}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"
