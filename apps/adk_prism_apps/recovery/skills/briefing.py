"""One briefing from what the specialists found in this run, and what is still to be asked.

The overall confidence is the lowest of the specialists', and a specialist's the lowest of its
findings. The mean is shown for comparison only. A
finding without a confidence (a date that is not known, data that cannot be read) is named, and
takes no part. Nothing is computed here that a finding does not already say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from ..agent_names import SPECIALISTS, SUBJECTS
from ..finding import Need

Brief = Mapping[str, Any]
Briefs = Mapping[str, Brief]

# One more round of questions is asked; more at once than this would bury the answer.
MOST_FOLLOW_UPS = 4
_SILENT: Brief = {"problem": "the specialist was asked and has recorded no finding."}
_RIBBON = "What is marked (synthetic) is made-up scenario data; the incident's facts are sourced."


def compose_briefing(
    incident: Brief | None, briefs: Briefs, asked: Sequence[str] = ()
) -> dict[str, Any]:
    """Put the briefs of a run together as a tool's answer; keys are `specialist.skill`.

    Who was asked and has found nothing is named too.
    """
    known = incident or {}
    sections = [
        _section(name, _of(name, briefs) or [_SILENT])
        for name in SPECIALISTS
        if name in asked or _of(name, briefs)
    ]
    stated = [item["confidence"] for item in sections if item["confidence"] is not None]
    needs = _needs(briefs)
    again = [need for need in needs if _answerable(need, briefs)][:MOST_FOLLOW_UPS]
    data = {
        "fire": known.get("title", ""),
        "incident": known.get("headline", ""),
        "as_of": known.get("as_of", ""),
        "sections": sections,
        "overall_confidence": min(stated, default=None),
        "mean_confidence": round(sum(stated) / len(stated), 4) if stated else None,
        "follow_ups": [_follow_up(need, briefs) for need in again],
        "open_questions": [need.question for need in needs if need not in again],
        "actions": [action for brief in briefs.values() for action in brief.get("actions", [])],
        "synthetic": any(brief.get("synthetic") for brief in briefs.values()),
        "sources": list(dict.fromkeys(cited.source for cited in _citations([*briefs.values()]))),
        "closing": " ".join(_closings(briefs)),
    }
    proof = Proof(
        factors=tuple(_factor(item) for item in sections if item["confidence"] is not None),
        citations=_citations([known, *briefs.values()]),
        reasoning=tuple(f"{item['specialist']}: {_all(item)}" for item in sections),
        rule="lowest",
    )
    return {"result": _text(data), "data": data, "proof_layer": proof.layer()}


def _of(specialist: str, briefs: Briefs) -> list[Brief]:
    return [brief for key, brief in briefs.items() if key.partition(".")[0] == specialist]


def _section(specialist: str, briefs: list[Brief]) -> dict[str, Any]:
    stated = [brief["confidence"] for brief in briefs if brief.get("confidence") is not None]
    return {
        "specialist": specialist,
        "subject": SUBJECTS[specialist],
        "headlines": [str(brief["headline"]) for brief in briefs if brief.get("headline")],
        "details": [str(line) for brief in briefs for line in brief.get("details", [])],
        "problems": [str(brief["problem"]) for brief in briefs if brief.get("problem")],
        "confidence": min(stated, default=None),
        "parts": [dict(part) for brief in briefs for part in brief.get("parts", [])],
        "synthetic": any(brief.get("synthetic") for brief in briefs),
    }


def _all(item: Mapping[str, Any]) -> str:
    return " ".join([*item["headlines"], *(f"No answer: {text}" for text in item["problems"])])


def _needs(briefs: Briefs) -> list[Need]:
    layers = [need for brief in briefs.values() for need in brief.get("needs", [])]
    needs = dict.fromkeys(Need(**layer) for layer in layers)
    return [need for need in needs if need.met_by not in briefs]


def _answerable(need: Need, briefs: Briefs) -> bool:
    """Return whether asking again would help: nothing is missing, or another skill has given it."""
    if not need.request:
        return False
    return not need.source or bool(briefs.get(need.source, {}).get("gives"))


def _closings(briefs: Briefs) -> list[str]:
    return list(dict.fromkeys(str(b["closing"]) for b in briefs.values() if b.get("closing")))


def _follow_up(need: Need, briefs: Briefs) -> dict[str, str]:
    request = need.request
    for name, value in briefs.get(need.source, {}).get("gives", {}).items():
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        request = request.replace(f"{{{name}}}", shown)
    return {"specialist": need.of, "request": request, "question": need.question}


def _factor(item: Mapping[str, Any]) -> Factor:
    why = f"{item['subject']}: the lowest of its findings. The overall score is the lowest section."
    return Factor(item["specialist"], item["confidence"], item["confidence"], why)


def _citations(briefs: list[Brief]) -> tuple[Citation, ...]:
    layers = [layer for brief in briefs for layer in brief.get("citations", [])]
    return tuple(dict.fromkeys(Citation(**layer) for layer in layers))


def _text(data: Mapping[str, Any]) -> str:
    """Return the briefing as Markdown, from its data alone; one subject alone in more detail."""
    sections = data["sections"]
    alone = len(sections) == 1
    title = sections[0]["subject"] if alone else "Recovery briefing"
    fire = f": {data['fire']}" if data["fire"] else ""
    parts = [f"**{title}{fire}** (as of {data['as_of']})" if data["as_of"] else f"**{title}**"]
    parts += [_RIBBON] if data["synthetic"] else []
    parts += [f"**Incident:** {data['incident']}"] if data["incident"] and not alone else []
    parts += [_section_text(item) for item in sections]
    parts += [_overall_text(data)] if sections else []
    if alone and sections[0]["details"]:
        parts.append("\n".join(f"- {line}" for line in sections[0]["details"]))
    parts += [f"**Source:** {'; '.join(data['sources'])}"] if alone and data["sources"] else []
    parts += _list_text("Recommended Actions", data["actions"])
    parts += _list_text("Open Questions", data["open_questions"])
    # Headings of their own: what stands behind them would belong to the last one.
    parts += [part["text"] for part in sections[0]["parts"]] if alone else []
    parts += [data["closing"]] if data["closing"] else []
    return "\n\n".join(parts)


def _section_text(item: Mapping[str, Any]) -> str:
    mark = " (synthetic)" if item["synthetic"] else ""
    return f"**{item['subject']}{mark}:** {_all(item)}{_confidence_text(item)}"


def _confidence_text(item: Mapping[str, Any]) -> str:
    """Return the confidence of a subject, or of each of its parts."""
    if item["confidence"] is None:
        return ""
    each = ", ".join(f"{part['confidence']:.0%} for {part['name']}" for part in item["parts"])
    return f" (Confidence: {each or format(item['confidence'], '.0%')})"


def _overall_text(data: Mapping[str, Any]) -> str:
    overall, mean = data["overall_confidence"], data["mean_confidence"]
    if overall is None or mean is None:
        return "No specialist could state a confidence."
    rule = f"It is the lowest of the specialists'; their mean would be {mean:.0%}."
    if len(data["sections"]) == 1:
        rule = "It is that of the one specialist who was asked."
    return f"**Overall Confidence:** {overall:.0%}\n{rule}"


def _list_text(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    lines = "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    return [f"**{title}:**\n{lines}"]
