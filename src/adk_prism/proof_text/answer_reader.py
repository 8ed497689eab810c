"""Split an agent's answer for its proof: its text, and the proof fields in it if it is data.

ADK returns an agent's text as `{"result": "…"}`. An agent with an output schema answers with an object,
bare or in a code fence. Proof fields may be at the top of that object or in each finding; its other
strings are read as prose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_value
from adk_prism.facts.proof_model import Claim
from adk_prism.proof_text.pieces import Pieces
from adk_prism.proof_text.proof_layer_reader import read_layer
from adk_prism.proof_text.prose.answer_reader import read_proof_text

_FIELD_OF = {
    name: field
    for field, names in {
        "confidence": "confidence confidencescore confidencelevel overallconfidence certainty",
        "citations": "citations citation sources source references datasources",
        "reasoning_chain": "reasoningchain reasoning rationale justification",
    }.items()
    for name in names.split()
}
"""The proof fields by the names that output schemas use, in lower case and without underscores."""
_CAUSE = "source"
"""Without a confidence beside it, this may be the source of anything: of a fire, of water."""
_NAMES = ("name", "title", "topic", "skill", "finding", "id")
"""The keys that name a finding in a list of findings."""
_LAYERS = frozenset(("proof_layer", "proofLayer"))
_DEEPEST = 4
"""Levels of an answer that are searched: deeper values are data, not part of the answer's schema."""
_MOST = 64
"""Fields of each kind."""
_FENCE = "```"
_LANGUAGES = ("", "json")


def answer_text(output: Raw) -> tuple[str, dict[str, Any]]:
    """Return the text of a call's response, and the proof fields beside it."""
    value = read_value(output)
    if isinstance(value, dict) and value.keys() <= {"result", *_LAYERS}:
        value = value.get("result")
    if isinstance(value, str):
        return split_text(value)
    return _split_object(value) if isinstance(value, dict) else ("", {})


def split_text(text: str) -> tuple[str, dict[str, Any]]:
    """Return what an agent wrote as text and proof fields; fields only if it wrote a JSON object."""
    inside = _unfenced(text)
    value = read_value(inside.encode(errors="replace")) if inside.startswith("{") else None
    return _split_object(value) if isinstance(value, dict) else (text, {})


def _unfenced(text: str) -> str:
    """Return the content of a code fence that spans the whole text; else the text."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    language, _, inside = bare[len(_FENCE) : -len(_FENCE)].partition("\n")
    is_one = language.strip().lower() in _LANGUAGES and _FENCE not in inside
    return inside.strip() if is_one else bare


def _split_object(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    found = _Found()
    found.search(value, "", _DEEPEST)
    return "\n\n".join(found.texts), found.fields()


class _Found:
    """The texts and proof fields found in an answer that is an object."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._confidence: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {"citations": [], "reasoning_chain": []}

    def fields(self) -> dict[str, Any]:
        given = {name: held for name, held in self._lists.items() if held}
        return ({"confidence": self._confidence} if self._confidence else {}) | given

    def search(self, value: dict[str, Any], name: str, depth: int) -> None:
        """Search an object; `name` says what it is about."""
        fields = {key: _FIELD_OF.get(key.lower().replace("_", "")) for key in value}
        if "confidence" not in fields.values() and _CAUSE in fields:
            fields[_CAUSE] = None
        for key, held in value.items():
            field = fields[key]
            if key in _LAYERS or held is None:
                continue
            if field == "confidence":
                self._state(key, held, name)
            elif field is not None:
                known = self._lists[field]
                known.extend((held if isinstance(held, list) else [held])[: _MOST - len(known)])
            else:
                self._other(key, held, depth - 1)

    def _state(self, key: str, held: Any, name: str) -> None:
        if key.lower().startswith("overall"):
            name = "overall"
        if isinstance(held, dict):
            for about, inner in held.items():
                self._state("", inner, about)
        elif len(self._confidence) < _MOST:
            # A score and its level may have the same name: keep both.
            name = name or "value"
            self._confidence[name if name not in self._confidence else f"{name} ({key})"] = held

    def _other(self, key: str, held: Any, depth: int) -> None:
        if isinstance(held, str):
            self.texts.append(held)
        elif isinstance(held, dict) and depth > 0:
            self.search(held, _name_of(held, key), depth)
        elif isinstance(held, list) and depth > 0:
            for item in held:
                if isinstance(item, dict):
                    self.search(item, _name_of(item, key), depth)


def value_texts(value: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """Yield the names and plain values of data, without confidences, as deep as an answer is searched."""
    if isinstance(value, dict):
        for key, held in value.items():
            if _FIELD_OF.get(key.lower().replace("_", "")) != "confidence" and depth:
                yield key
                yield from value_texts(held, depth - 1)
    elif isinstance(value, list):
        for item in value if depth else ():
            yield from value_texts(item, depth - 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _name_of(value: dict[str, Any], key: str) -> str:
    named = (value.get(name) for name in _NAMES)
    return next((name for name in named if isinstance(name, str) and name), key)


# --------------------------------------------------------------------------- reading


def read_answer(
    text: str, fields: dict[str, Any], by: str, cursor: int, *, claims: bool = False
) -> tuple[Pieces, list[Claim]]:
    """Read a split answer; with `claims`, return also the sentences with a figure and no citation."""
    read = read_proof_text(text, cursor, figures=claims)
    pieces = Pieces.of(read, cursor)
    if fields:
        pieces.add(read_layer(fields, by, cursor, "parsed"))
    return pieces, read.figures
