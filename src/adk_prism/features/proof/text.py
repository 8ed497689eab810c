"""How sure the answer is and what it rests on: sentences, the weakest section first, what would raise it.

How the numbers came about (tools, rules, steps) follows at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adk_prism.cli.terminal import Row, counted, one_line, wrapped
from adk_prism.features.proof.prose.confidence_value import LEVELS

_Proof = Mapping[str, Any]
_MOST_RAISES = 3


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return the proofs of the last run."""
    if not view or (view["answer"] is None and not view["specialists"] and not view["sources"]):
        return [Row("Nothing yet. Confidence and sources appear when a run ends.", "dim")]
    answer = view["answer"]
    sections = sorted(view["specialists"], key=_rank)
    shown: list[Row] = []
    if answer is not None:
        shown += _whole(answer, sections, width)
    if sections:
        shown.append(Row("Sections, weakest first", "title"))
    for proof in sections:
        shown += wrapped(f"  {_subject(proof)} {_sentence(proof)}", width, "", 4)
    for proof in (answer,) if answer is not None else sections:
        shown += _sources(proof, width)
    for source in view["sources"]:
        text = " ".join(f"{source['title']} {source['uri']}".split())
        shown += wrapped(f"[{source['source']}] {text}", width, "dim", 4)
    proofs = [proof for proof in (answer, *sections) if proof is not None]
    return shown + [row for proof in proofs for row in _worked_out(proof, width)]


def _rank(proof: _Proof) -> tuple[float, int]:
    """Numbers come first, then levels, then what states neither."""
    confidence, level = proof.get("confidence"), proof.get("level")
    if confidence is not None:
        return confidence, 0
    return 2.0, LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _subject(proof: _Proof) -> str:
    name = one_line(str((proof.get("subject") or {}).get("name") or "section"), 60)
    return name.replace("_", " ").capitalize() if name.islower() else name


def _sure(proof: _Proof) -> str:
    confidence = proof.get("confidence")
    return f"{confidence:.0%}" if confidence is not None else str(proof.get("level") or "")


def _sentence(proof: _Proof) -> str:
    count = len(proof.get("citations") or ())
    rests = f"rests on {counted(count, 'source')}" if count else "has no recorded source"
    sure = _sure(proof)
    return f"{rests}; {f'confidence {sure}' if sure else 'no confidence stated'}."


def _whole(answer: _Proof, sections: list[_Proof], width: int) -> Iterator[Row]:
    if answer["origin"] == "absent":
        yield Row("Whole answer", "title")
        yield Row("  No confidence or source was stated.", "dim")
        return
    yield Row(f"Whole answer: {_sure(answer) or 'no confidence stated'}", "title")
    count = len(answer.get("citations") or ())
    yield Row(f"  {counted(count, 'source')}")
    weakest = next((proof for proof in (*sections[:1], answer) if list(_raises(proof))), None)
    if weakest is not None:
        name = "it" if weakest is answer else _subject(weakest)
        yield Row(f"  What would raise {name}:", "strong")
        for line in _raises(weakest):
            yield from wrapped(f"  · {line}", width, "", 4)


def _raises(proof: _Proof) -> Iterator[str]:
    """Yield what lowers a confidence most: the lowest factors of the lowest number that was computed."""
    computed = [r for r in proof["readings"] if r["origin"] == "computed" and not r.get("part")]
    numbers = [reading for reading in computed if reading["value"] is not None]
    lowest = min(numbers, key=lambda reading: reading["value"], default={"text": ""})["text"]
    factors = [f for f in proof.get("factors") or () if _lowers(f.get("effect"))]
    own = [factor for factor in factors if factor.get("by") == lowest] or factors
    found = {factor["name"]: factor for factor in own}
    for factor in sorted(found.values(), key=lambda one: one["effect"])[:_MOST_RAISES]:
        why = f": {factor['why']}" if factor.get("why") else ""
        yield f"{factor['name'].replace('_', ' ').capitalize()} ({factor['effect']:.0%}){why}"


def _lowers(effect: Any) -> bool:
    return isinstance(effect, int | float) and not isinstance(effect, bool) and 0 <= effect < 1


def _sources(proof: _Proof, width: int) -> Iterator[Row]:
    for claim in proof.get("uncited") or ():
        yield from wrapped(f"  ! no source: {claim['text']}", width, "error", 4)
    for two in proof.get("disagreements") or ():
        yield from wrapped(f"  ! {two['text']}: {two['relation']} than its parts", width, "error")
    for number, citation in enumerate(proof.get("citations") or (), 1):
        yield from wrapped(f"  {number}. {_cited(citation)}", width, "", 5)


def _worked_out(proof: _Proof, width: int) -> Iterator[Row]:
    if proof["origin"] == "absent":
        return
    name = (proof.get("subject") or {}).get("name") or "section"
    title = f"How it was worked out: {one_line(str(name), 60)}"
    yield Row(title, "title")
    yield from wrapped(f"  {proof['derivation']} ({proof['origin']})", width, "dim", 2)
    for step in proof.get("reasoning_chain") or ():
        yield from wrapped(f"  ∴ {step['text']}", width, "dim", 4)


def _cited(citation: Mapping[str, Any]) -> str:
    parts = [citation.get(name) for name in ("source", "reference", "excerpt", "uri")]
    users = ", ".join(citation.get("used_by") or filter(None, [citation.get("by")]))
    by = f" (by {users})" if users else ""
    return one_line(", ".join(word for word in parts if word) + by)
