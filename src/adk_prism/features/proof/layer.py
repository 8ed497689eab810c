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
absent: then the layer has no such key. An agent that used several tools answers with all their layers
as one (`combined`). This module knows nothing of ADK; a layer is plain JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Citation",
    "Factor",
    "Proof",
    "Rule",
    "combined",
    "fingerprint",
    "proof",
]

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
    """The proof of one answer. Raise `ValueError` for a confidence outside 0 to 1.

    Without a `confidence`, factors give it by the `rule`: their effects multiplied ("product") or
    the lowest of them ("lowest"). With neither, there is none.

    A `finding` names what was found: the proof of a finding that is given again, with better input,
    takes the place of the earlier one. Where none is named, both count.

    `parts` are confidences of parts of the answer, by name; they are shown beside the one of the whole.
    """

    confidence: float | None = None
    factors: tuple[Factor, ...] = ()
    citations: tuple[Citation, ...] = ()
    reasoning: tuple[str, ...] = ()
    rule: Rule = "product"
    finding: str = ""
    parts: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name, number in self.parts:
            _check_share(f"confidence of {name!r}", number)
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
        """Return the `proof_layer` object for a tool's response: the total first, then its parts."""
        layer: dict[str, Any] = {}
        if self.confidence is not None:
            layer["confidence"] = self.confidence
            layer["confidence_rule"] = self.rule
        if self.parts:
            layer["confidence_by_part"] = {name: round(c, _DIGITS) for name, c in self.parts}
        if self.finding:
            layer["finding"] = self.finding
        layer["confidence_factors"] = [_factor_layer(factor) for factor in self.factors]
        layer["citations"] = [citation.layer() for citation in self.citations]
        layer["reasoning_chain"] = list(self.reasoning)
        return layer


def proof(
    *,
    confidence: float | None = None,
    factors: Sequence[Factor] = (),
    citations: Iterable[Citation] = (),
    reasoning: Sequence[str] = (),
    rule: Rule = "product",
    finding: str = "",
    parts: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return a `proof_layer` object; see `Proof` for what gives the confidence."""
    pieces = (tuple(factors), tuple(citations), tuple(reasoning))
    return Proof(confidence, *pieces, rule, finding, tuple((parts or {}).items())).layer()


def combined(layers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return one layer for the layers of several findings, by name.

    Its confidence is the lowest of theirs, each of which is a part and a factor; a layer without one
    takes no part in it. Each citation is given once. One layer alone stays as it is. Raise `ValueError`
    for a confidence that is not a number from 0 to 1.
    """
    if len(layers) == 1:
        return dict(next(iter(layers.values())))
    stated = {n: layer["confidence"] for n, layer in layers.items() if "confidence" in layer}
    parts: dict[str, float] = {}
    for name, number in stated.items():
        parts.update(layers[name].get("confidence_by_part") or {name: number})
    why = "the confidence of this finding; the lowest one counts"
    factors = [Factor(name, number, number, why) for name, number in stated.items()]
    layer = proof(factors=factors, rule="lowest", parts=parts)
    cited = [citation for each in layers.values() for citation in each.get("citations", ())]
    layer["citations"] = list({fingerprint(citation): citation for citation in cited}.values())
    chains = (each.get("reasoning_chain", ()) for each in layers.values())
    layer["reasoning_chain"] = [step for chain in chains for step in chain]
    return layer


def fingerprint(value: Any) -> str:
    """Return a short name of JSON data: the same data, in any key order, has the same one."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _factor_layer(factor: Factor) -> dict[str, Any]:
    effect = round(factor.effect, _DIGITS)
    return {"name": factor.name, "value": factor.value, "effect": effect, "why": factor.why}


def _check_share(what: str, number: Any) -> None:
    # Written so that NaN, for which no comparison holds, is refused too. Layers may come from outside.
    if not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError(f"The {what} must be a number from 0 to 1, got {number!r}.")


def _set(proof: Proof, name: str, value: Any) -> None:
    # A frozen dataclass can set its own fields only this way.
    object.__setattr__(proof, name, value)
