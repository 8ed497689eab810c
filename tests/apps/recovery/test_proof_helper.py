"""The public proof helper: confidence is given, derived or absent, and never a default."""

from __future__ import annotations

import math

import pytest

from adk_prism.proof import Citation, Factor, Proof, fingerprint, proof


def test_effects_multiply() -> None:
    """Without a stated confidence, the factors' effects are multiplied."""
    factors = [Factor("a", 0.5, 0.5, "half"), Factor("b", "old", 0.9, "a tenth")]
    layer = proof(factors=factors)

    assert layer["confidence"] == 0.45
    assert layer["confidence_rule"] == "product"
    assert layer["confidence_factors"][1] == {
        "name": "b",
        "value": "old",
        "effect": 0.9,
        "why": "a tenth",
    }


def test_the_lowest_effect_counts_by_the_other_rule() -> None:
    factors = (Factor("a", 0.5, 0.5, ""), Factor("b", 0.9, 0.9, ""))
    assert Proof(factors=factors, rule="lowest").confidence == 0.5


def test_a_stated_confidence_is_kept_and_called_given() -> None:
    layer = proof(confidence=0.92, factors=[Factor("a", 1, 0.5, "")])
    assert (layer["confidence"], layer["confidence_rule"]) == (0.92, "given")


def test_no_confidence_is_absent() -> None:
    """A proof without confidence has no such key: nobody can take a default for it."""
    layer = proof(citations=[Citation("Book", "page 3")], reasoning=["Read it."])

    assert "confidence" not in layer
    assert layer["citations"] == [{"source": "Book", "reference": "page 3", "uri": ""}]
    assert layer["reasoning_chain"] == ["Read it."]
    assert Proof().percent == "not stated"


@pytest.mark.parametrize("number", [-0.05, 1.4, 140, math.nan, math.inf])
def test_a_confidence_outside_nought_and_one_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        proof(confidence=number)
    with pytest.raises(ValueError, match="effect of 'a'"):
        Factor("a", 1, number, "")


def test_a_fingerprint_follows_the_data_and_not_its_order() -> None:
    one, other = [{"a": 1, "b": "é"}], [{"b": "é", "a": 1}]

    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint([{"a": 2, "b": "é"}])
    assert fingerprint("\ud800").startswith("sha256:")


def test_percent_is_the_confidence_as_text() -> None:
    assert Proof(confidence=0.7649).percent == "76%"
