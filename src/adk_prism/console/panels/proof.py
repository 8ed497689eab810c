"""Confidence and sources, for the whole answer and for each specialist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adk_prism.console import words
from adk_prism.console.rows import Row, counted, one_line, wrapped

_ABSENT = words.NO_PROOF


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return the proofs of the last run."""
    if not view or (view["answer"] is None and not view["specialists"] and not view["sources"]):
        return [Row(words.NO_PROOF_YET, "dim")]
    shown: list[Row] = []
    if view["answer"] is not None:
        shown += _proof(words.WHOLE_ANSWER, view["answer"], width)
    for proof in view["specialists"]:
        shown += _proof(_subject(proof), proof, width)
    for source in view["sources"]:
        text = " ".join(f"{source['title']} {source['uri']}".split())
        shown += wrapped(f"[{source['source']}] {text}", width, "dim", 4)
    return shown


def _subject(proof: Mapping[str, Any]) -> str:
    subject = proof.get("subject") or {}
    return one_line(str(subject.get("name") or "specialist"), 60)


def _proof(name: str, proof: Mapping[str, Any], width: int) -> Iterator[Row]:
    if proof["origin"] == "absent":
        yield Row(name, "title")
        yield Row(f"  {_ABSENT}", "dim")
        return
    confidence, level = proof.get("confidence"), proof.get("level")
    stated = f"{confidence:.0%}" if confidence is not None else str(level or "")
    badge = f"{stated} ({proof['origin']})" if stated else words.NO_CONFIDENCE
    yield Row(f"{name}: {badge}", "title")
    yield from wrapped(f"  {proof['derivation']}", width, "dim", 2)
    citations = proof.get("citations") or []
    yield Row(f"  {counted(len(citations), 'citation')}", "")
    for citation in citations:
        yield from wrapped(f"  – {_cited(citation)}", width, "", 4)
    for step in proof.get("reasoning_chain") or ():
        yield from wrapped(f"  ∴ {step['text']}", width, "dim", 4)
    for claim in proof.get("uncited") or ():
        yield from wrapped(words.NO_CITATION.format(claim=claim["text"]), width, "error", 4)
    for two in proof.get("disagreements") or ():
        yield from wrapped(
            words.DISAGREES.format(claim=two["text"], relation=two["relation"]), width, "error"
        )


def _cited(citation: Mapping[str, Any]) -> str:
    parts = [citation.get(name) for name in ("source", "reference", "excerpt", "uri")]
    users = ", ".join(citation.get("used_by") or filter(None, [citation.get("by")]))
    by = words.CITED_BY.format(users=users) if users else ""
    return one_line(", ".join(word for word in parts if word) + by)
