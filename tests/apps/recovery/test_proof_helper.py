"""The public proof helper: confidence is given, derived or absent, and never a default."""

from __future__ import annotations

import math

import pytest

from adk_prism.proof import Citation, Factor, Proof, combined, fingerprint, proof


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
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        proof(confidence=number)
    with pytest.raises(ValueError, match="effect of 'a'"):
        Factor("a", 1, number, "")


def test_the_total_comes_before_its_parts() -> None:
    """Whoever reads a layer from the top reads the number of the whole first."""
    layer = proof(confidence=0.6, parts={"P1": 0.6, "P2": 0.81}, finding="f")
    assert list(layer)[:4] == ["confidence", "confidence_rule", "confidence_by_part", "finding"]
    with pytest.raises(ValueError, match="confidence of 'P1'"):
        proof(confidence=0.6, parts={"P1": 1.2})


BOOK, MAP = Citation("Book", "page 3"), Citation("Map", "sheet 2")


def test_several_layers_are_one_by_the_lowest() -> None:
    """Each source once; a finding without a confidence is cited and takes no part."""
    whole = combined(
        {
            "a": proof(confidence=0.9, citations=[BOOK], reasoning=["Read."]),
            "b": proof(confidence=0.7, parts={"P1": 0.7, "P2": 0.8}, citations=[BOOK, MAP]),
            "c": proof(citations=[MAP], reasoning=["Looked."]),
        }
    )
    assert (whole["confidence"], whole["confidence_rule"]) == (0.7, "lowest")
    assert whole["confidence_by_part"] == {"a": 0.9, "P1": 0.7, "P2": 0.8}
    assert whole["citations"] == [BOOK.layer(), MAP.layer()]
    assert whole["reasoning_chain"] == ["Read.", "Looked."]


def test_one_layer_alone_stays_as_it_is() -> None:
    alone = proof(confidence=0.9, citations=[BOOK], finding="f")
    assert combined({"a": alone}) == alone


def test_layers_that_say_nothing_are_one_that_says_nothing() -> None:
    assert "confidence" not in combined({"a": proof(), "b": {}})
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        combined({"a": {"confidence": "high"}, "b": {}})


def test_a_fingerprint_follows_the_data_and_not_its_order() -> None:
    one, other = [{"a": 1, "b": "é"}], [{"b": "é", "a": 1}]

    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint([{"a": 2, "b": "é"}])
    assert fingerprint("\ud800").startswith("sha256:")


def test_percent_is_the_confidence_as_text() -> None:
    assert Proof(confidence=0.7649).percent == "76%"
