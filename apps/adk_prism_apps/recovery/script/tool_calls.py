"""Which tools a specialist calls for a request, decided by the words of its question.

A follow-up names its tool. Otherwise each tool with a word in the question is called, and a question
with no such word, or one about everything, gets the specialist's whole programme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adk_prism.models import Call

from ..agent_names import (
    BURN_ANALYST,
    CRUISING_ASSISTANT,
    NEPA_ADVISOR,
    TRAIL_ASSESSOR,
)
from .request import Request
from .words import Words, read_words, terms

_ACRES = re.compile(r"(\d[\d,]*(?:\.\d+)?)[\s-]*(?:acres?|ac)\b", re.IGNORECASE)
_ROAD = re.compile(
    r"(\d+(?:\.\d+)?|half an?|a half|a quarter)[\s-]*(?:miles?|mi)\b[^.?!]*\broad", re.I
)
_PARTS = {"half a": 0.5, "half an": 0.5, "a half": 0.5, "a quarter": 0.25}
_CFR = re.compile(r"\bC\.?F\.?R\b", re.IGNORECASE)
_SECTOR = re.compile(r"\bS\d{1,3}\b", re.IGNORECASE)

TOOLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    BURN_ANALYST: {
        "assess_severity": terms("""
            sever*, burn*, dnbr, nbr, soil*, eros*, class*, hot*, scorch*, high, moderate, sector*,
            slope*, debris, flood*, slide*, runoff, watershed*, steep*, bad*, worst, hit, satellite*"""),
        "check_boundary": terms("""
            perimeter*, boundar*, polygon*, outline*, footprint*, geojson, shapefile*, crosses,
            reported size"""),
        "baer_clock": terms("baer, emergency, stabili*, containment, 2500, treatment*, due"),
    },
    TRAIL_ASSESSOR: {
        "classify_damage": terms("""
            damag*, condition*, state, shape, wash*, tread, fail*, destroy*, bridge*, footbridge*,
            culvert*, puncheon*, survey*, down, d1, d2, d3, d4, network, bad, looked at, segment*"""),
        "evaluate_closures": terms("""
            clos*, open*, reopen*, safe*, unsafe, hazard*, shut*, access*, public, visitor*, hik*,
            snag*, danger*, use, walk*, backpack*, horse*, people, through, let, camp*, falling,
            barricade*, family"""),
        "rank_trails": terms("""
            priorit*, first, order, rank*, repair*, fix*, schedule*, budget*, urgent*, crew*, rebuild*,
            tackle, work, clear*"""),
    },
    CRUISING_ASSISTANT: {
        "cruise_statistics": terms("""
            cruis*, statist*, plot*, sampl*, error, cv, basal, ba, tpa, per acre, an acre, stocking,
            precis*, accura*, confiden*, volume*, board*, bf, mbf, inventory, estimate*, tally,
            diameter*, dbh, units"""),
        "assess_salvage": terms("""
            salvag*, deterior*, decay*, rot*, stain*, value*, worth*, remain*, left, los*, price*,
            dollar*, sell*, sale*, market*, buyer*, pay*, money, merchant*, fast*, quick*, long, late,
            years, mill*, volume*, recover*, species, get for, harvest*, timber, go bad, mbf"""),
    },
    NEPA_ADVISOR: {
        "screen_nepa": (),
        "check_citation": (),
    },
}

ACTIVITIES = {
    "salvage": terms("salvag*, dead tree*, burned tree*, fire killed, dying"),
    "rehabilitation": terms(
        "rehab*, replant*, plant*, reforest*, reseed*, seeding, erosion control"
    ),
    "trail": terms("trail*, bridge*, footbridge*, boardwalk*"),
    "live harvest": terms("live tree*, green tree*, living tree*"),
    "stand improvement": terms("stand improvement, thin*, habitat"),
    "restoration": terms("restoration, resilien*"),
    "recreation site": terms("campground*, recreation site*, picnic*, toilet*"),
    "road": terms("road manage*, road work*, road repair*, road maintenance, system road*"),
}
"""What a NEPA question is about, by its words."""


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """One request with its words."""

    request: Request
    words: Words

    @property
    def case(self) -> dict[str, Any]:
        return dict(self.request.case)


def calls_for(specialist: str, request: Request) -> tuple[Call, ...]:
    """Return the tool calls of a specialist for a request."""
    asked = ToolQuestion(request, read_words(request.question))
    followed = _follow_up(asked)
    return followed or _PROGRAMMES[specialist](asked)


def _follow_up(asked: ToolQuestion) -> tuple[Call, ...]:
    tool = asked.request.value("follow_up")
    if tool == "examine_sector":
        return (Call(tool, asked.case | {"sector": asked.request.value("sector")}),)
    if tool == "screen_nepa":
        sizes = _number(asked.request.value("acres"), "acres")
        return (Call(tool, asked.case | {"proposal": asked.request.value("proposal")} | sizes),)
    return ()


def _burn(asked: ToolQuestion) -> tuple[Call, ...]:
    sector = asked.request.value("sector") or _first(_SECTOR, asked.request.question)
    if sector:
        return (Call("examine_sector", asked.case | {"sector": sector.upper()}),)
    return _by_words(BURN_ANALYST, asked, {})


def _trails(asked: ToolQuestion) -> tuple[Call, ...]:
    trail = asked.request.value("trail")
    calls = _by_words(TRAIL_ASSESSOR, asked, {"trail": trail} if trail else {})
    # The order of repair is one of all trails.
    return tuple(_without(call, "trail") if call.name == "rank_trails" else call for call in calls)


def _timber(asked: ToolQuestion) -> tuple[Call, ...]:
    unit = asked.request.value("unit")
    return _by_words(CRUISING_ASSISTANT, asked, {"unit": unit} if unit else {})


def _nepa(asked: ToolQuestion) -> tuple[Call, ...]:
    question = asked.request.question
    inputs = _nepa_inputs(asked)
    cited = _CFR.search(question)
    calls = [Call("check_citation", asked.case | {"citation": question})] if cited else []
    if not calls or inputs.keys() & {"acres", "temp_road_miles"}:
        calls.append(Call("screen_nepa", asked.case | inputs))
    return tuple(calls)


_PROGRAMMES: Mapping[str, Callable[[ToolQuestion], tuple[Call, ...]]] = {
    BURN_ANALYST: _burn,
    TRAIL_ASSESSOR: _trails,
    CRUISING_ASSISTANT: _timber,
    NEPA_ADVISOR: _nepa,
}


def _by_words(specialist: str, asked: ToolQuestion, extra: dict[str, str]) -> tuple[Call, ...]:
    tools = TOOLS[specialist]
    meant = [name for name, words in tools.items() if asked.words.hits(words)]
    # A request for everything names no part of it, or so many that none is meant alone.
    if asked.request.value("whole"):
        meant = []
    return tuple(Call(name, asked.case | extra) for name in meant or tools)


def _nepa_inputs(asked: ToolQuestion) -> dict[str, Any]:
    proposal = asked.request.value("proposal")
    if proposal:
        return {"proposal": proposal}
    kinds = [kind for kind, words in ACTIVITIES.items() if asked.words.hits(words)]
    if len(kinds) != 1 or asked.request.value("whole"):
        return {}
    question = asked.request.question
    acres = _number(_first(_ACRES, question), "acres")
    road = _number(_first(_ROAD, question), "temp_road_miles")
    return {"activity": kinds[0]} | acres | road


def _number(text: str, name: str) -> dict[str, float]:
    if not text:
        return {}
    part = _PARTS.get(text.lower())
    return {name: part if part is not None else float(text.replace(",", ""))}


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(found.lastindex or 0) if found else ""


def _without(call: Call, name: str) -> Call:
    return Call(call.name, {key: value for key, value in call.args.items() if key != name})
