"""An answer that is data is taken apart: its words are read as prose, its fields as a proof."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec import json as msgspec_json
from tests.features.proof.proofs import asked, last
from tests.laws.events import answer, entries, event, text

from adk_prism.features.proof.answer_proof import answer_text, read_answer, split_text

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What an agent with an output schema answers, and what is found in it."""

    id: str
    value: Any
    words: str = ""
    confidence: Json = field(default_factory=dict)
    citations: list[Any] = field(default_factory=list)


CASES = [
    Case(
        "fields at the top",
        {"summary": "Two are out.", "confidence": 0.9, "sources": ["MTBS"]},
        "Two are out.",
        {"value": 0.9},
        ["MTBS"],
    ),
    Case(
        "other names",
        {"confidenceScore": 0.9, "data_sources": "MTBS"},
        "",
        {"value": 0.9},
        ["MTBS"],
    ),
    Case(
        "of the whole and of its parts",
        {"overall_confidence": "High", "severity": {"class": "high", "confidence": 0.8}},
        "high",
        {"overall": "High", "severity": 0.8},
    ),
    Case(
        "a list of findings",
        {
            "findings": [
                {"name": "culvert", "confidence": 0.8, "source": "survey"},
                {"id": "b", "certainty": 1},
            ]
        },
        "culvert\n\nb",
        {"culvert": 0.8, "b": 1},
        ["survey"],
    ),
    Case("a source that is a cause", {"ignition": {"source": "lightning"}}, "lightning"),
    Case(
        "a word and its number",
        {"confidence": 0.9, "confidence_level": "High"},
        "",
        {"value": 0.9, "value (confidence_level)": "High"},
    ),
    Case("too deep", {"a": {"b": {"c": {"d": {"confidence": 0.1}}}}}),
]


@pytest.mark.parametrize("form", ["plain", "result", "string", "fence"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_object_is_taken_apart(case: Case, form: str) -> None:
    """Whether it comes as the answer, in its result, as text, or as text in a fence."""
    written = json.dumps(case.value)
    answers = {
        "plain": case.value,
        "result": {"result": case.value},
        "string": {"result": written},
        "fence": {"result": f"```json\n{written}\n```"},
    }
    words, fields = answer_text(Raw(json.dumps(answers[form]).encode()))
    assert words == case.words
    assert fields.get("confidence", {}) == case.confidence
    assert fields.get("citations", []) == case.citations


@pytest.mark.parametrize(
    "said", ["{not json", "```json\n[1]\n```", "```\n{}\n``` and more", "Hi {x}"]
)
def test_what_is_no_object_stays_text(said: str) -> None:
    assert split_text(said) == (said, {})


def test_a_models_number_is_read_as_in_its_prose() -> None:
    """92 is a percentage, 8 has no scale, 140 % is none."""
    fields = {"confidence": {"a": 92, "b": 8, "c": "140%", "overall": 0.7}}
    pieces, _ = read_answer("", fields, "agent", 3)
    assert [(r.about, r.value, r.overall) for r in pieces.readings] == [
        ("a", 0.92, False),
        ("", 0.7, True),
    ]
    assert [unread.reason for unread in pieces.unread] == [
        "a number without a scale",
        "not between 0 and 100 %",
    ]


def test_a_captured_agent_with_a_schema_is_a_specialist() -> None:
    """ADK's `AgentTool` gives its object as it is, without a `result`."""
    run = entries(
        (
            event(asked("burn", "c1")),
            event(answer("burn", "c1", {"acres": 12, "confidence": 0.9, "sources": ["MTBS"]})),
            event(text('{"summary": "It burned.", "confidence": 0.8}')),
        )
    )
    found = last(run)
    assert (found["proof-burn"].confidence, found["proof"].confidence) == (0.9, 0.8)
    assert [citation.source for citation in found["proof-burn"].citations] == ["MTBS"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["confidence", "sources", "source", "reasoning", "name", "result", "x", ""]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_ANY)
def test_no_value_makes_it_raise(value: Any) -> None:
    """Whatever an agent answers, its proof can be written."""
    raw = json.dumps({"result": value}).encode()
    words, fields = answer_text(Raw(raw))
    pieces, _ = read_answer(words, fields, "agent", 3)
    msgspec_json.encode([pieces.readings, pieces.citations, pieces.steps, pieces.unread])
    run = entries((event(asked("a", "c1")), event(answer("a", "c1", value)), event(text("So."))))
    msgspec_json.encode(last(run))
