"""The shapes of the contract: named as documented, read tolerantly, and their schemas are current."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.apps.research import schemas

from adk_prism.grounding import (
    PANEL_KEYS,
    PREFIX,
    SHAPES,
    GroundingBox,
    NextAction,
    key,
    read,
    value_of,
)

NAMES = """research_question stage search_assumptions open_questions papers_found databases_searched
current_filters next_action search_history pending_search_plan last_search_failure user_approval
approval_timestamp preview_mode selected_remedy remedy_context""".split()


def test_the_names_of_the_contract() -> None:
    """These and no others."""
    assert set(SHAPES) == set(NAMES)
    assert {name.removeprefix(PREFIX) for name in PANEL_KEYS} <= set(NAMES)
    with pytest.raises(KeyError, match="research_question"):
        key("question")


def test_the_schemas_are_current() -> None:
    """`python -m tests.apps.research.schemas` writes them."""
    wanted = schemas.files()
    assert set(schemas.FOLDER.glob("*")) == set(wanted)
    for path, text in wanted.items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_documentation_names_every_key() -> None:
    """The page beside the schemas."""
    text = Path(schemas.FOLDER.parent / "grounding.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`grounding:(\w+)`", text)) == set(NAMES)


EXAMPLES: dict[str, Any] = {
    "next_action": {"owner": "agent", "action": "search", "target": "arXiv", "due": "5pm today"},
    "pending_search_plan": {
        "database": "Semantic Scholar",
        "query": "explainable AI clinical",
        "filters": {"year": ">=2020", "fields": ["Medicine", "CS"]},
        "rationale": "Best interdisciplinary coverage",
        "expected_results": "30-80 papers",
    },
    "search_history": [
        {
            "timestamp": "14:23",
            "database": "Semantic Scholar",
            "query": "explainable AI clinical",
            "results_count": 34,
            "filters_applied": ["year>=2020", "fields=Medicine,CS"],
            "delta": "Found 34 papers from Semantic Scholar",
            "next": "Search arXiv for preprints",
            "duration_ms": 2300,
            "warnings": [],
        }
    ],
    "last_search_failure": {
        "type": "database_coverage_gap",
        "context": {"database": "ACM", "results_count": 3, "expected_count": 12},
        "remedies": {
            "primary": "Try synonyms: 'AI transparency' OR 'algorithmic explainability'",
            "fallback": "Search IEEE for medical informatics perspectives",
            "ask_researcher": "Which approach would you prefer?",
        },
    },
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_values_of_other_writers_are_read(name: str) -> None:
    """Without the members that only this app writes, and kept as they are."""
    found = read({PREFIX + name: EXAMPLES[name], "other": 1})
    assert found.unreadable == []
    assert found.values == {name: EXAMPLES[name]}
    assert getattr(found.box(), name)


def test_what_is_written_can_be_read() -> None:
    """A shape goes into the state as JSON, and comes back."""
    step = NextAction(owner="both", action="synthesize", target="3 papers")
    state = {key("next_action"): msgspec.json.decode(msgspec.json.encode(value_of(step)))}
    assert read(state).box() == GroundingBox(next_action=step)


def test_none_is_not_there() -> None:
    """It is how ADK's state says that a value is gone."""
    found = read({key(name): None for name in SHAPES})
    assert found.unreadable == []
    assert found.box() == GroundingBox()
