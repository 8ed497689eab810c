"""The proof behind a tool's answer, as data: confidence, citations and the steps that led there.

Any ADK tool can return a proof beside its result; it then reaches every front end as a *computed*
proof, and nothing has to be read out of prose:

    from adk_prism.proof import Citation, Factor, fingerprint, proof

    def stock(sku: str) -> dict:
        rows = read_rows(sku)
        fresh = Factor("fresh_share", value=0.9, effect=0.9, why="one row in ten is a week old")
        return {
            "result": f"{len(rows)} pallets of {sku}",
            "proof_layer": proof(
                factors=[fresh],
                citations=[Citation("Warehouse", "stock.csv", hash=fingerprint(rows))],
                reasoning=["Read the rows of the article.", "Counted them."],
            ),
        }

Confidence is never a default. It is given, or it follows from factors by a stated rule, or it is
absent: then the layer has no such key. This module knows nothing of ADK; a layer is plain JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Rule = Literal["product", "lowest", "given"]
"""How a confidence came about: all effects multiplied, the lowest effect, or stated as it is."""

# Finer steps than a hundredth of a percent would claim a precision that no factor has.
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Factor:
    """One reason why a confidence is what it is.

    `value` is what was measured in the data; `effect`, from 0 to 1, is what it does to the
    confidence: 1 takes nothing away.
    """

    name: str
    value: float | int | str | bool
    effect: float
    why: str

    def __post_init__(self) -> None:
        _check_share(f"effect of {self.name!r}", self.effect)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a statement comes from; `hash` identifies the data that was read (`fingerprint`)."""

    source: str
    reference: str
    uri: str = ""
    excerpt: str = ""
    hash: str = ""

    def layer(self) -> dict[str, str]:
        """Return it as JSON; an excerpt or a hash that is not there is left out."""
        fixed = {"source": self.source, "reference": self.reference, "uri": self.uri}
        optional = {"excerpt": self.excerpt, "hash": self.hash}
        return fixed | {key: value for key, value in optional.items() if value}


@dataclass(frozen=True, slots=True)
class Proof:
    """What stands behind one answer. Raise `ValueError` for a confidence outside 0 to 1.

    Without a `confidence`, factors give it by the `rule`: their effects multiplied ("product") or
    the lowest of them ("lowest"). With neither, there is none.

    A `finding` names what was found: the proof of a finding that is given again, with better input,
    takes the place of the earlier one. Where none is named, both count.
    """

    confidence: float | None = None
    factors: tuple[Factor, ...] = ()
    citations: tuple[Citation, ...] = ()
    reasoning: tuple[str, ...] = ()
    rule: Rule = "product"
    finding: str = ""

    def __post_init__(self) -> None:
        if self.confidence is not None:
            _check_share("confidence", self.confidence)
            _set(self, "rule", "given")
        elif self.factors:
            effects = [factor.effect for factor in self.factors]
            _set(self, "confidence", math.prod(effects) if self._multiplies else min(effects))
        if self.confidence is not None:
            _set(self, "confidence", round(self.confidence, _DIGITS))

    @property
    def _multiplies(self) -> bool:
        return self.rule == "product"

    @property
    def percent(self) -> str:
        """The confidence as text: `76%`, or `not stated`."""
        return "not stated" if self.confidence is None else f"{self.confidence:.0%}"

    def layer(self) -> dict[str, Any]:
        """Return the `proof_layer` object for a tool's response."""
        layer: dict[str, Any] = {"finding": self.finding} if self.finding else {}
        if self.confidence is not None:
            layer["confidence"] = self.confidence
            layer["confidence_rule"] = self.rule
        layer["confidence_factors"] = [_factor_layer(factor) for factor in self.factors]
        layer["citations"] = [citation.layer() for citation in self.citations]
        layer["reasoning_chain"] = list(self.reasoning)
        return layer


def proof(
    *,
    confidence: float | None = None,
    factors: Sequence[Factor] = (),
    citations: Sequence[Citation] = (),
    reasoning: Sequence[str] = (),
    rule: Rule = "product",
    finding: str = "",
) -> dict[str, Any]:
    """Return a `proof_layer` object; see `Proof` for what gives the confidence."""
    pieces = (tuple(factors), tuple(citations), tuple(reasoning))
    return Proof(confidence, *pieces, rule, finding).layer()


def fingerprint(value: Any) -> str:
    """Return a short name of JSON data: the same data, in any key order, has the same one."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _factor_layer(factor: Factor) -> dict[str, Any]:
    effect = round(factor.effect, _DIGITS)
    return {"name": factor.name, "value": factor.value, "effect": effect, "why": factor.why}


def _check_share(what: str, number: float) -> None:
    # Written so that NaN, for which no comparison holds, is refused too.
    if not 0 <= number <= 1:
        raise ValueError(f"The {what} is {number!r}; expected a number from 0 to 1.")


def _set(proof: Proof, name: str, value: Any) -> None:
    # A frozen dataclass completes its own fields this way; nobody else may.
    object.__setattr__(proof, name, value)
