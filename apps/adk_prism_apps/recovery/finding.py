"""What a skill found: numbers, the text rendered from them, and the proof, as one thing.

Text is made only from a finding's own fields, so that it cannot say another number than the data.
A finding also says what it still needs to know, which specialist to ask, and which values others may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adk_prism.proof import Proof


@dataclass(frozen=True, slots=True)
class Need:
    """Something that would make the finding better.

    A need with a `request` can be met by asking a specialist again: `of` names it, and the request
    says how. `{name}` in a request is filled from what the finding `source` gives; without a
    request only a person can tell. The finding `met_by`, once it is there, meets the need.
    """

    question: str
    of: str = ""
    request: str = ""
    source: str = ""
    met_by: str = ""

    def layer(self) -> dict[str, str]:
        """Return it as JSON, without what is empty."""
        whole = {
            "question": self.question,
            "of": self.of,
            "request": self.request,
            "source": self.source,
            "met_by": self.met_by,
        }
        return {key: value for key, value in whole.items() if value}


@dataclass(frozen=True, slots=True)
class Part:
    """What was found of one of several things, with the rule that it rests on and its confidence."""

    name: str
    title: str
    lines: tuple[str, ...]
    basis: str
    confidence: float

    def text(self) -> str:
        """Return the part as Markdown."""
        lines = [f"#### {self.title}", *(f"- {line}" for line in self.lines)]
        lines += [f"**Regulatory Basis:** {self.basis}"] if self.basis else []
        return "\n".join([*lines, f"**Confidence:** {self.confidence:.0%}"])


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of one skill.

    `headline` is what a briefing says of it; `closing` is what it has to end with, wherever it is
    repeated. The confidence of the whole comes before those of its parts.
    """

    title: str
    headline: str
    body: tuple[str, ...]
    data: Mapping[str, Any]
    proof: Proof
    synthetic: bool = False
    actions: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    gives: Mapping[str, Any] = field(default_factory=dict)
    closing: str = ""
    parts: tuple[Part, ...] = ()

    def response(self, name: str = "") -> dict[str, Any]:
        """Return what the tool answers: text, data and proof; a later one of its name replaces it."""
        data = {**self.data, "synthetic": self.synthetic}
        if self.needs:
            data["needs"] = [need.layer() for need in self.needs]
        layer = self.proof.layer() | ({"finding": name} if name else {})
        return {"result": self.text(), "data": data, "proof_layer": layer}

    def brief(self) -> dict[str, Any]:
        """Return what the coordinator needs of it."""
        return {
            "title": self.title,
            "headline": self.headline,
            "details": list(self.body),
            "confidence": self.proof.confidence,
            "synthetic": self.synthetic,
            "actions": list(self.actions),
            "needs": [need.layer() for need in self.needs],
            "gives": dict(self.gives),
            "citations": [citation.layer() for citation in self.proof.citations],
            "closing": self.closing,
            "parts": [
                {"name": part.name, "confidence": part.confidence, "text": part.text()}
                for part in self.parts
            ],
        }

    def text(self) -> str:
        """Return the finding as Markdown."""
        mark = " (synthetic)" if self.synthetic else ""
        lines = [f"### {self.title}{mark}", self.headline]
        lines += [f"- {line}" for line in self.body]
        lines += [f"- Asked: {need.question}" for need in self.needs]
        end = ["", self.closing] if self.closing else []
        parts = [line for part in self.parts for line in ("", part.text())]
        return "\n".join([*lines, *self._proof_lines(), *parts, *end])

    def _proof_lines(self) -> list[str]:
        lines = []
        if self.proof.confidence is not None:
            lines.append(f"**Confidence:** {self.proof.percent}")
        if self.proof.factors:
            effects = (f"{_plain(f.name)} ×{f.effect:.2f}" for f in self.proof.factors)
            lines.append(f"**Factors:** {', '.join(effects)}")
        if self.proof.citations:
            sources = dict.fromkeys(citation.source for citation in self.proof.citations)
            lines.append(f"**Source:** {'; '.join(sources)}")
        return ["", *lines] if lines else []


def _plain(name: str) -> str:
    return name.replace("_", " ")
