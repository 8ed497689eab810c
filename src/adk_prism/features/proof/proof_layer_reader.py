"""What a `proof_layer` object says: confidence, citations, factors and reasoning, given as data.

`adk_prism.proof` writes it, and other programs write it by hand, so common other names of its keys are
accepted. Invalid values (a confidence of 92, a citation without a source) are reported, never corrected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from adk_prism.facts.state import is_given, read_value, repair
from adk_prism.features.proof.model import Citation, Factor, Reading, Step, Unread
from adk_prism.features.proof.prose import confidence_value as values
from adk_prism.features.proof.prose.confidence_text import NO_VALUE
from adk_prism.features.proof.prose.findings import ProofText, cut
from adk_prism.log.entry import NOTHING

# ---------------------------------------------------------------------------
# The pieces of a proof that one answer gives: readings, citations, steps, factors.

MOST = 48
"""Pieces of each kind that a proof shows, and that are read from one tool's layer."""


class Pieces(Struct):
    """What one answer gives for a proof."""

    call: str = ""
    """The specialist's call in which it was given; empty if no call runs the speaker."""
    readings: list[Reading] = []
    citations: list[Citation] = []
    steps: list[Step] = []
    factors: list[Factor] = []
    unread: list[Unread] = []
    omitted: int = 0

    @classmethod
    def of(cls, text: ProofText, cursor: int) -> Pieces:
        """Return the pieces that were read from a text."""
        return cls(
            readings=text.readings,
            citations=text.citations,
            steps=[Step(reason, "stated", cursor, "parsed") for reason in text.reasons],
            unread=text.unread,
            omitted=text.omitted,
        )

    def add(self, other: Pieces) -> None:
        """Add the pieces of another answer."""
        self.readings = [*self.readings, *other.readings]
        self.citations = [*self.citations, *other.citations]
        self.steps = [*self.steps, *other.steps]
        self.factors = [*self.factors, *other.factors]
        self.unread = [*self.unread, *other.unread]
        self.omitted += other.omitted

    @property
    def count(self) -> int:
        """The number of pieces of all kinds."""
        lists = (self.readings, self.citations, self.steps, self.factors, self.unread)
        return sum(len(pieces) for pieces in lists)


# ---------------------------------------------------------------------------


class _Response(Struct, gc=False):
    """The members that may hold a layer; the rest of a response, often long, is skipped."""

    proof_layer: Raw = NOTHING
    proofLayer: Raw = NOTHING
    result: Raw = NOTHING
    structuredContent: Raw = NOTHING


_UNDERSCORE, _L = b"_L"

_decode = msgspec.json.Decoder(_Response).decode


def find_layer(response: Raw) -> Any:
    """Return the layer of a response as a JSON value; None if it has none.

    Agents and MCP servers put it beside the result, inside the result, or inside a result that is JSON in
    a string.
    """
    raw = bytes(response)
    # Most responses have none. Looking for one byte first costs a tenth of looking for the word.
    if not ((_UNDERSCORE in raw and b"proof_layer" in raw) or (_L in raw and b"proofLayer" in raw)):
        return None
    inner = response
    for _ in range(3):
        if bytes(inner).lstrip()[:1] == b'"':
            text = read_value(inner)
            inner = Raw(text.encode()) if isinstance(text, str) else NOTHING
        found = _read(inner)
        layer = found.proof_layer if bytes(found.proof_layer) else found.proofLayer
        if is_given(layer):
            return read_value(layer)
        inner = found.result if is_given(found.result) else found.structuredContent
    return None


def _read(raw: Raw) -> _Response:
    for data in (bytes(raw), repair(bytes(raw))):
        try:
            return _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return _Response()


_DETAIL = 1_000
"""The most bytes of a value that is kept whole."""

NOT_AN_OBJECT = "not an object"
NO_SOURCE = "a citation that names no source"

_CITATIONS = ("citations", "sources", "references")
_REASONING = ("reasoning_chain", "reasoningChain", "reasoning", "steps")
_FACTORS = ("confidence_factors", "confidenceFactors", "factors")
_PARTS = ("confidence_by_part", "confidenceByPart")
_RULES = ("confidence_rule", "confidenceRule", "derivation")
_NAMES: dict[str, tuple[str, ...]] = {
    "source": ("source", "title", "name", "source_type"),
    "reference": ("reference", "reference_id", "ref", "id"),
    "uri": ("uri", "url", "link"),
    "excerpt": ("excerpt", "snippet", "quote"),
    "hash": ("hash", "sha256"),
}
"""The fields of a citation and the keys that are accepted for them; the first one present counts."""
_RULE_WORDS = {"product": "product of", "lowest": "lowest of", "given": ""}

Origin = Literal["computed", "parsed"]


def read_layer(layer: Any, by: str, cursor: int, origin: Origin = "computed") -> Pieces:
    """Read a layer that the tool or agent `by` gave in the entry at `cursor`."""
    reader = _LayerReader(by, cursor, origin)
    if isinstance(layer, dict):
        reader.read(layer)
    else:
        reader.fail(layer, NOT_AN_OBJECT)
    return reader.pieces


class _LayerReader:
    """Reads one layer."""

    def __init__(self, by: str, cursor: int, origin: Origin) -> None:
        self.pieces = Pieces()
        self._by = by
        self._cursor = cursor
        self._origin: Origin = origin
        self._reason = ""

    def read(self, layer: dict[str, Any]) -> None:
        self._factors(_first(layer, _FACTORS))
        self._reason = _rule(_first(layer, _RULES), len(self.pieces.factors))
        self._confidence(layer.get("confidence"), "")
        self._parts(_first(layer, _PARTS))
        for citation in self._bounded(_first(layer, _CITATIONS)):
            self._citation(citation)
        for step in self._bounded(_first(layer, _REASONING)):
            text = step if isinstance(step, str) else _text(step)
            self.pieces.steps.append(Step(cut(text), "stated", self._cursor, self._origin))

    def _bounded(self, value: Any) -> Iterator[Any]:
        """Yield the items of a list, or a single value, up to the limit; count the rest as omitted."""
        if value is None or value == "":
            return
        items = value if isinstance(value, list) else [value]
        self.pieces.omitted += max(0, len(items) - MOST)
        yield from items[:MOST]

    def fail(self, value: Any, reason: str) -> None:
        self.pieces.unread.append(Unread(cut(f"{self._by}: {_text(value)}"), reason, self._cursor))

    # -------------------------------------------------------------- confidence

    def _confidence(self, value: Any, name: str) -> None:
        if value is None:
            return
        if isinstance(value, dict) and not name:
            for part, inner in list(value.items())[:MOST]:
                self._confidence(inner, "" if part == "value" else str(part) or "?")
        elif isinstance(value, str):
            self._words(value, name)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            self.fail({"confidence": value}, NO_VALUE)
        elif self._origin == "parsed":
            self._words(repr(value), name)  # A model's number is read like prose: 92 is 92 %.
        elif 0 <= value <= 1:
            self.pieces.readings.append(self._reading(float(value), name))
        else:
            self.fail({"confidence": value}, values.OUT_OF_RANGE)

    def _parts(self, parts: Any) -> None:
        """Read the confidences of parts; they count only if there is no total."""
        if parts is None:
            return
        if not isinstance(parts, dict):
            self.fail({"confidence_by_part": parts}, NOT_AN_OBJECT)
            return
        totals = len(self.pieces.readings)
        for part, value in _lowest(parts):
            self._confidence(value, str(part) or "?")
        self.pieces.omitted += max(0, len(parts) - MOST)
        readings = self.pieces.readings
        if totals:
            readings[totals:] = [replace(reading, part=True) for reading in readings[totals:]]

    def _reading(self, number: float | None, name: str, **more: Any) -> Reading:
        return Reading(
            number,
            self._by,
            self._origin,
            self._cursor,
            overall=values.is_overall(name),
            about=values.about(name, keep=True),
            reason=self._reason,
            **more,
        )

    def _words(self, text: str, name: str) -> None:
        """Read a confidence that is given as text."""
        items, _ = values.read_items(text[:300])
        for item in items:
            value = item.value
            if value.fault:
                self.fail({"confidence": text}, value.fault)
                continue
            self.pieces.readings.append(
                self._reading(
                    value.value,
                    name or item.about,
                    level=value.level,
                    low=value.low,
                    high=value.high,
                    bound=value.bound,
                )
            )
        if not items:
            self.fail({"confidence": text}, NO_VALUE)

    def _factors(self, value: Any) -> None:
        for factor in self._bounded(value):
            fields = factor if isinstance(factor, dict) else {"name": _text(factor)}
            self.pieces.factors.append(
                Factor(
                    cut(str(fields.get("name") or "?")),
                    self._cursor,
                    _small(fields.get("value")),
                    _small(fields.get("effect")),
                    cut(str(fields.get("why") or "")),
                    self._by,
                )
            )

    # -------------------------------------------------------------- citations

    def _citation(self, value: Any) -> None:
        if isinstance(value, str):
            value = {"source": value}
        if not isinstance(value, dict):
            self.fail(value, NO_SOURCE)
            return
        fields = {str(key): held for key, held in value.items() if held is not None}
        named = {field: _pop(fields, names) for field, names in _NAMES.items()}
        named["source"] = named["source"] or named["reference"] or named["uri"]
        if not named["source"]:
            self.fail(value, NO_SOURCE)
            return
        details = {key: held for key, held in fields.items() if _is_small(held)}
        self.pieces.omitted += len(fields) - len(details)
        self.pieces.citations.append(
            Citation(
                cut(named["source"]),
                self._origin,
                self._cursor,
                cut(named["reference"]) if named["reference"] != named["source"] else "",
                cut(named["uri"]),
                cut(named["excerpt"]),
                cut(named["hash"]),
                details=details,
            )
        )


def _first(layer: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        value = layer.get(name)
        if value is not None:
            return value
    return None


def _pop(fields: dict[str, Any], names: tuple[str, ...]) -> str:
    """Remove the first of some fields that is not empty, and return its value."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str | int | float):
            del fields[name]
            if value != "":
                return str(value)
    return ""


def _rule(rule: Any, factors: int) -> str:
    """Describe how a confidence was computed."""
    if not isinstance(rule, str) or not rule:
        return ""
    words = _RULE_WORDS.get(rule)
    if words is None:
        return cut(rule)
    if not words or not factors:
        return ""
    return f"{words} {factors} factors" if factors > 1 else "one factor"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_small(value: Any) -> bool:
    try:
        return len(msgspec.json.encode(value)) <= _DETAIL
    except OverflowError:  # Strict JSON readers reject the number; it is shown as text.
        return False


def _small(value: Any) -> Any:
    return value if _is_small(value) else cut(_text(value))


def _lowest(parts: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return as many parts as are read, in their order: of too many the lowest, and what is no number."""
    items = list(parts.items())
    numbers = [value if isinstance(value, int | float) else -1.0 for _, value in items]
    kept = sorted(range(len(items)), key=numbers.__getitem__)[:MOST]
    return [items[index] for index in sorted(kept)]
