"""A tool's `proof_layer` is read as it is meant, and never bent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, to_builtins

from adk_prism.features.proof.proof_layer_reader import (
    MOST,
    NO_SOURCE,
    NOT_AN_OBJECT,
    find_layer,
    read_layer,
)
from adk_prism.features.proof.prose.confidence_text import NO_VALUE
from adk_prism.features.proof.prose.confidence_value import NO_SCALE, OUT_OF_RANGE
from adk_prism.proof import Citation, Factor, proof

Json = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """A layer, and what is read from it."""

    id: str
    layer: Any
    readings: list[Json] = field(default_factory=list)
    citations: list[Json] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def at(**fields: Any) -> Json:
    return {**fields, "origin": "computed", "cursor": 4}


def sure(value: float | None, **more: Any) -> Json:
    return at(value=value, text="tool") | more


LAYERS = [
    Given(
        "as it is meant",
        {
            "confidence": 0.92,
            "citations": [{"source": "MTBS", "reference": "2022", "uri": "data/a.json"}],
            "reasoning_chain": ["Loaded 8 sectors", "Classified them"],
        },
        [sure(0.92)],
        [at(source="MTBS", reference="2022", uri="data/a.json")],
        ["Loaded 8 sectors", "Classified them"],
    ),
    Given("nothing", {}),
    Given("nothing in it", {"confidence": None, "citations": None, "reasoning_chain": []}),
    Given("none at all", {"confidence": 0}, [sure(0.0)]),
    Given("all of it", {"confidence": 1}, [sure(1.0)]),
    Given("percent as a number", {"confidence": 92}, unread=[OUT_OF_RANGE]),
    Given("less than nothing", {"confidence": -0.05}, unread=[OUT_OF_RANGE]),
    Given("out of a double's range", {"confidence": float("inf")}, unread=[OUT_OF_RANGE]),
    Given("a text", {"confidence": "92%"}, [sure(0.92)]),
    Given("a word", {"confidence": "High"}, [sure(None, level="high")]),
    Given("a range", {"confidence": "85-90%"}, [sure(None, low=0.85, high=0.9)]),
    Given("a text without a scale", {"confidence": "8"}, unread=[NO_SCALE]),
    Given("other words", {"confidence": "fine, I guess"}, unread=[NO_VALUE]),
    Given("a truth", {"confidence": True}, unread=[NO_VALUE]),
    Given("a list", {"confidence": [0.9]}, unread=[NO_VALUE]),
    Given(
        "several",
        {"confidence": {"severity": 0.92, "boundary": 0.88}},
        [sure(0.92, about="severity"), sure(0.88, about="boundary")],
    ),
    Given("one in an object", {"confidence": {"value": 0.92}}, [sure(0.92)]),
    Given(
        "a rule of its own",
        {"confidence": 0.5, "derivation": "mean of three models"},
        [sure(0.5, reason="mean of three models")],
    ),
    Given(
        "other names",
        {"confidence": 0.5, "sources": [{"title": "MTBS", "url": "https://a.b", "snippet": "so"}]},
        [sure(0.5)],
        [at(source="MTBS", uri="https://a.b", excerpt="so")],
    ),
    Given(
        "citations as words",
        {"citations": ["MTBS", "RAVG"]},
        citations=[at(source="MTBS"), at(source="RAVG")],
    ),
    Given("one citation", {"citations": {"source": "MTBS"}}, citations=[at(source="MTBS")]),
    Given(
        "whatever else it says",
        {"citations": [{"source": "36 CFR 220", "status": "rescinded", "pages": [3, 4]}]},
        citations=[at(source="36 CFR 220", details={"status": "rescinded", "pages": [3, 4]})],
    ),
    Given(
        "a citation of nothing",
        {"citations": [{"reference": ""}, 5]},
        unread=[NO_SOURCE, NO_SOURCE],
    ),
    Given(
        "only a reference",
        {"citations": [{"reference": "FSM 2523"}]},
        citations=[at(source="FSM 2523")],
    ),
    Given("one step", {"reasoning_chain": "Looked it up"}, steps=["Looked it up"]),
    Given("steps that are objects", {"reasoning": [{"did": "look"}]}, steps=['{"did": "look"}']),
    Given("a text", "Confidence: 92%", unread=[NOT_AN_OBJECT]),
    Given("a list", [1], unread=[NOT_AN_OBJECT]),
    Given("a number", 0.92, unread=[NOT_AN_OBJECT]),
]


@pytest.mark.parametrize("given_", LAYERS, ids=lambda given_: f"{given_.id} {given_.layer}"[:60])
def test_a_layer_is_read(given_: Given) -> None:
    """Numbers stay what they are, and what is wrong is told."""
    pieces = read_layer(given_.layer, "tool", 4)
    assert to_builtins(pieces.readings) == given_.readings
    assert to_builtins(pieces.citations) == given_.citations
    assert [step.text for step in pieces.steps] == given_.steps
    assert [unread.reason for unread in pieces.unread] == given_.unread
    assert all(unread.text.startswith("tool: ") for unread in pieces.unread)


def test_what_our_own_helper_writes_is_read_whole() -> None:
    """Factors and the rule say how the number came about."""
    layer = proof(
        factors=[Factor("fresh", 0.9, 0.9, "one row is old"), Factor("seen", 8, 0.5, "8 of 16")],
        citations=[Citation("Warehouse", "stock.csv", hash="sha256:1")],
        reasoning=["Counted."],
    )
    pieces = read_layer(layer, "stock", 4)
    (reading,) = pieces.readings
    assert (reading.value, reading.reason) == (0.45, "product of 2 factors")
    assert [(f.name, f.value, f.effect, f.why, f.by) for f in pieces.factors] == [
        ("fresh", 0.9, 0.9, "one row is old", "stock"),
        ("seen", 8, 0.5, "8 of 16", "stock"),
    ]
    (citation,) = pieces.citations
    assert (citation.source, citation.reference, citation.hash) == (
        "Warehouse",
        "stock.csv",
        "sha256:1",
    )
    assert not pieces.unread


LAYER = {"confidence": 0.5}
RESPONSES = {
    "beside the result": {"result": "so", "proof_layer": LAYER},
    "in the result": {"result": {"proof_layer": LAYER}},
    "in camel case": {"proofLayer": LAYER},
    "in a result that is JSON": {"result": json.dumps({"proof_layer": LAYER})},
    "in a server's content": {"structuredContent": {"proof_layer": LAYER}},
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_a_layer_is_found(response: Json) -> None:
    """Wherever agents and servers of tools put it."""
    raw = Raw(json.dumps(response).encode())
    assert find_layer(raw) == LAYER


@pytest.mark.parametrize(
    "response", [b"", b"null", b"[]", b'"proof_layer"', b'{"a":"proof_layer"}', b"{"]
)
def test_no_layer_is_found_where_there_is_none(response: bytes) -> None:
    """Nor does anything raise."""
    assert find_layer(Raw(response)) is None


def test_a_long_layer_is_cut_and_counted() -> None:
    """A tool may cite ten thousand rows; a proof shows some."""
    pieces = read_layer({"citations": [f"row {n}" for n in range(500)]}, "tool", 4)
    assert len(pieces.citations) == MOST
    assert pieces.omitted == 500 - MOST


def test_of_too_many_parts_the_lowest_are_read() -> None:
    """Whoever asks how sure an answer is looks for its weakest parts."""
    parts = {f"part {n}": (n * 7 % 200) / 200 for n in range(200)}
    pieces = read_layer({"confidence": 0.5, "confidence_by_part": parts}, "tool", 4)
    found = [reading.value for reading in pieces.readings if reading.part]
    assert sorted(found) == sorted(parts.values())[:MOST]
    assert found == [value for value in parts.values() if value in found], "in their order"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
_keys = st.sampled_from(
    "confidence citations sources reasoning_chain confidence_factors confidence_rule source name".split()
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.dictionaries(_keys, _json, max_size=6) | _json)
def test_no_layer_makes_it_raise(layer: Any) -> None:
    """And what is read can be written to a client."""
    pieces = read_layer(layer, "tool", 4)
    assert all(r.value is None or 0 <= r.value <= 1 for r in pieces.readings)
    to_builtins([pieces.readings, pieces.citations, pieces.steps, pieces.factors, pieces.unread])
