"""The proof as rows: sentences, the weakest section first; how it was worked out comes last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.recordings.library import load

from adk_prism.features.page import text as panels
from adk_prism.features.page.film import fold


def _proof(**more: Any) -> dict[str, Any]:
    empty = {"origin": "computed", "confidence": None, "derivation": "none", "readings": []}
    return empty | {"citations": [], "reasoning_chain": []} | more


def _view(*specialists: dict[str, Any], **answer: Any) -> dict[str, Any]:
    return {"answer": _proof(**answer), "specialists": list(specialists), "sources": []}


def test_the_weakest_section_comes_first() -> None:
    """What would raise it are the lowest factors of the number that counts."""
    cite = {"source": "A report"}
    lowest = {"value": 0.25, "text": "count_trees", "origin": "computed"}
    factors = [
        {"name": "seen_share", "effect": 0.25, "why": "few were seen", "by": "count_trees"},
        {"name": "age", "effect": 1.0, "by": "count_trees"},
        {"name": "other", "effect": 0.1, "by": "other_tool"},
    ]
    weak = {"readings": [lowest], "factors": factors, "confidence": 0.25, "citations": [cite]}
    view = _view(
        _proof(subject={"name": "silent_one"}),
        _proof(subject={"name": "sure_one"}, confidence=1.0, citations=[cite, cite]),
        _proof(subject={"name": "tree_counter"}, **weak),
        confidence=0.25,
        citations=[cite],
    )
    lines = [row.text for row in panels.proof_rows(view, 100)]
    assert lines[:9] == [
        "Whole answer: 25%",
        "  1 source",
        "  How to raise confidence in Tree counter:",
        "  · Seen share (25%): few were seen",
        "Sections, weakest first",
        "  Tree counter rests on 1 source; confidence 25%.",
        "  Sure one rests on 2 sources; confidence 100%.",
        "  Silent one has no recorded source; no confidence stated.",
        "  1. A report",
    ]
    assert lines[9] == "How it was worked out: section"


@pytest.mark.parametrize("name", ["raw/x_recovery_capture", "sources", "state", "exception"])
def test_the_proof_of_a_recording_is_shown(name: str) -> None:
    """Whatever is missing in it; nothing stands in for it."""
    shown = fold(load(name)).at(panel="proof")["proof"]
    assert all(row.text for row in panels.proof_rows(shown, 80))
