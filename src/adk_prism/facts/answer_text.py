"""What an agent answered: its words, and the fields of a proof that stand in it as data.

ADK gives an agent's text as `{"result": "…"}`. An agent with an output schema answers with an object, alone
or in a code fence; in it the fields of a proof may stand by themselves, at the top or with each finding, and
the other texts are read as prose.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_value

_FIELD_OF = {
    name: field
    for field, names in {
        "confidence": "confidence confidencescore confidencelevel overallconfidence certainty",
        "citations": "citations citation sources source references datasources",
        "reasoning_chain": "reasoningchain reasoning rationale justification",
    }.items()
    for name in names.split()
}
"""The fields of a proof, by the names that schemas give them, without case and underscores."""
_CAUSE = "source"
"""Beside no confidence it may be where anything comes from: a fire, water."""
_NAMES = ("name", "title", "topic", "skill", "finding", "id")
"""What names a finding in a list of them."""
_LAYERS = frozenset(("proof_layer", "proofLayer"))
_DEEPEST = 4
"""Levels of an answer that are looked into: what lies deeper is data, and no part of an answer's form."""
_MOST = 64
"""Fields of each kind."""
_FENCE = "```"
_LANGUAGES = ("", "json")


def answer_text(output: Raw) -> tuple[str, dict[str, Any]]:
    """Return the words of a call's answer, and the fields of a proof that stand beside them."""
    value = read_value(output)
    if isinstance(value, dict) and value.keys() <= {"result", *_LAYERS}:
        value = value.get("result")
    if isinstance(value, str):
        return spoken_text(value)
    return _taken_apart(value) if isinstance(value, dict) else ("", {})


def spoken_text(text: str) -> tuple[str, dict[str, Any]]:
    """Return the words of what an agent said, and the fields of a proof if it said an object."""
    inside = _unfenced(text)
    value = read_value(inside.encode(errors="replace")) if inside.startswith("{") else None
    return _taken_apart(value) if isinstance(value, dict) else (text, {})


def _unfenced(text: str) -> str:
    """Return what stands in a fence that holds everything; else the text."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    language, _, inside = bare[len(_FENCE) : -len(_FENCE)].partition("\n")
    is_one = language.strip().lower() in _LANGUAGES and _FENCE not in inside
    return inside.strip() if is_one else bare


def _taken_apart(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    found = _Found()
    found.look(value, "", _DEEPEST)
    return "\n\n".join(found.texts), found.fields()


class _Found:
    """What an answer that is data holds of a proof."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._confidence: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {"citations": [], "reasoning_chain": []}

    def fields(self) -> dict[str, Any]:
        given = {name: held for name, held in self._lists.items() if held}
        return ({"confidence": self._confidence} if self._confidence else {}) | given

    def look(self, value: dict[str, Any], name: str, depth: int) -> None:
        """Look into an object; `name` says what it is about."""
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
            # Two of one name, a score and its word, are both kept.
            name = name or "value"
            self._confidence[name if name not in self._confidence else f"{name} ({key})"] = held

    def _other(self, key: str, held: Any, depth: int) -> None:
        if isinstance(held, str):
            self.texts.append(held)
        elif isinstance(held, dict) and depth > 0:
            self.look(held, _name_of(held, key), depth)
        elif isinstance(held, list) and depth > 0:
            for item in held:
                if isinstance(item, dict):
                    self.look(item, _name_of(item, key), depth)


def _name_of(value: dict[str, Any], key: str) -> str:
    named = (value.get(name) for name in _NAMES)
    return next((name for name in named if isinstance(name, str) and name), key)
