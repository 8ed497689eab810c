"""Questions that no tool answers, and what to say to them: what is known, what is not, and no number.

A question may have a word of a specialist in it ("safe", "reopen") and still ask for what no data holds. The
findings of that specialist, with their confidence, would then look like an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DOES = (
    r"(?:camp|swim|fish|hunt|forage|drink|eat|breathe|drive|live|move|sleep|stay|barbecue|bring|boat"
    r"|ski|fly)"
)

_GOES = rf"(?:{_DOES}|hike|walk|go|ride|run|climb|visit|travel|take|let|allow|send|trust|feel)"

_RULES: tuple[tuple[str, str], ...] = (
    (
        rf"\bwould\s+you\s+(?:(?:yourself|personally|really|ever)\s+)*{_GOES}\b"
        r"|\b(?:your|a personal)\s+(?:(?:personal|honest|own|professional)\s+)*"
        r"(?:opinion|view|feeling|gut|instinct|taste|favou?rite)\b"
        r"|\bhow do you feel\b|\bdo you (?:personally|like|love|hate|believe in|feel)\b|\bwould you bet\b"
        r"|\bdo you think\b[^?.]*\b(?:right|wrong|good|bad|fair|ethical|moral|worth it)\b"
        r"|\b(?:un)?(?:ethical|moral|justifiable|morally)\b",
        "That asks for a judgement of my own, and I have none to give: no tool here makes it, so there is no "
        "number either. What there is: what was found about severity, trails, timber and the rules. Ask for "
        "one of them, and judge by that.",
    ),
    (
        r"^(?!.*\b(?:trails?|bridges?|loop|T\d{1,3}|acres?|salvage|harvest)\b)(?=.*\b(?:roads?|highways?|interstates?|cabins?)\b)"
        r".*\b(?:open|closed|safe|passable|reopen\w*|drivable)\b",
        "Roads and buildings are not in this data, and no tool here judges whether they are safe or "
        "open, so I give no answer and no number. What there is: the trails that were surveyed, and which of "
        "them the project's own rules would close.",
    ),
    (
        rf"\b(?:safe|dangerous|risky|ok|okay|fine|allowed|permitted|possible|advisable)\b[^?.]*\bto"
        rf"\s+{_DOES}\b"
        rf"|\b(?:can|may|could|should)\s+(?:i|we|people|visitors|families|kids|children|my\s+\w+)\s+{_DOES}\b"
        r"|\b(?:air quality|smoke|drinking water|water safe)\b",
        "Whether that is safe, or allowed, is not in this data, and no tool here judges it: the answer "
        "would have "
        "to come from the people who manage the land. What there is: which trails the project's own "
        "rules would "
        "close, and why. Ask for the trail closures to see that.",
    ),
    (
        r"\bwhen\b[^?.]*\b(?:re-?opens?|re-?opened|be open|open again|recover|recovered|regrow\w*|grow "
        r"back|heal\w*|"
        r"be (?:over|finished|done|safe|rebuilt|repaired|lifted|back)|back to normal)\b"
        r"|\bhow long\b[^?.]*\b(?:re-?open\w*|closed|recover\w*|regrow\w*|grow back|back to normal|stay "
        r"shut)\b"
        r"|\bhow (?:long|soon|quickly|many (?:days|weeks|months|years))\b[^?.]*"
        r"\b(?:(?:it|that|this|they|those|repairs?|"
        r"rebuilding|work|cleanup|recovery|job)\s+(?:\w+\s+)?takes?|(?:take|taken?)\s+to\s+(?:fix|repair|rebuild|clear|reopen|"
        r"finish|restore)|be\s+(?:fixed|repaired|rebuilt|cleared|restored|finished))\b"
        r"|\bwill\s+(?:the\s+|this\s+)?(?:\w+\s+)?(?:forests?|trees|vegetation|nature|area|it|land|landscape|woods|meadows?)\s+(?:\w+\s+)?"
        r"(?:grow back|regrow|recover|come back)\b"
        r"|\bwill\b[^?.]*\b(?:burn again|happen again|re-?ignite|be another fire)\b",
        "No date for that is in this data, and no tool here predicts one. What there is: what keeps "
        "each trail "
        "closed today, in which order the trails would be repaired, and the dates of emergency response.",
    ),
    (
        r"\b(?:is|are|was|were)\b[^?.]*\b(?:real|made[- ]up|fake|synthetic|invented|fictional|simulated"
        r"|genuine)\b"
        r"|\b(?:did|do|are|were|have)\s+you\s+(?:just\s+)?(?:mak(?:e|ing)|made|invent\w*|hallucinat\w*|fabricat\w*|imagin\w*"
        r"|guess\w*)\b|\bmad?(?:e|king)\s+(?:it|this|that|these|those|things|stuff|all of this"
        r"|numbers)\s+(?:all\s+)?up\b"
        r"|\bhallucinat\w*|\bfabricated\b"
        r"|\b(?:real|actual|synthetic|fake)\s+(?:data|numbers|figures)\b"
        r"|\bwhere\b[^?.]*\b(?:data|numbers|figures|facts)\b[^?.]*\b(?:come|from|taken|got)\b"
        r"|\b(?:source|origin)s?\s+of\s+(?:the|this|your|these)\s+(?:data|numbers|figures)\b",
        "{data}",
    ),
    (
        r"\bhow\s+(?:sure|certain|confident|reliable|accurate|trustworthy)\s+(?:are|is|were|was)"
        r"\s+(?:you|it|that|this|"
        r"these|your\s+\w+|the\s+answer)\b\s*(?:about (?:it|that|this))?\s*\??\s*$"
        r"|\bhow\s+(?:sure|certain|confident)\s+(?:should|can|could|may|must)\s+(?:i|we|one)\s+be\b(?!\s+(?:of|about|in)\s+the\b)"
        r"|\bhow\s+(?:much|far)\s+(?:should|can|could|do)\s+(?:i|we|you)\s+(?:trust|rely|believe)\b"
        r"|\b(?:is|are)\s+(?:that|this|it|these|those)(?:\s+(?:numbers?|figures?|answers?|all))?\s+(?:really\s+|actually\s+)?(?:right|"
        r"correct|true|accurate|reliable|trustworthy|certain)\s*\??\s*$|\bwhat(?:'s| is) your confidence\b"
        r"|\b(?:can|should|may)\s+(?:i|we|one)\s+(?:trust|rely on|believe)\b|\bhow do you know\b|\bare "
        r"you (?:sure|certain)\b",
        "That depends on the answer: each finding has a confidence of its own, computed from its data "
        "(how much was "
        "surveyed, how old it is, whether it is made up), and an answer is as sure as the weakest of "
        "its findings. "
        "I have none for myself. The Proof panel shows what each part of the last answer rests on.",
    ),
    (
        r"\bhow many\b[^?.]*\b(?:people|persons|animals|deer|birds|houses|homes|buildings|firefighters"
        r"|victims|injur\w*|"
        r"deaths|dead people|species)\b|\b(?:anyone|anybody|someone|people|firefighters?|residents?"
        r"|victims?)\b[^?.]*\b(?:died?|killed|injured|hurt)\b|\b(?:casualt\w*|fatalit\w*|death toll)\b"
        r"|\b(?:wildlife|animals|owls?|deer|fish|birds?)\b|\bwho\s+(?:started|caused|is to blame|is "
        r"responsible|set)\b"
        r"|\b(?:weather|forecast|temperature)\b|\bhow much did (?:it|the fire|fighting)\b[^?.]*\bcost\b"
        r"|\binsurance\b",
        "That is not in this data, and no tool here answers it, so I give no answer and no number.",
    ),
)
_COMPILED = tuple((re.compile(pattern, re.I), text) for pattern, text in _RULES)
NO_TOOL = "I have no tool that answers this, so I give no answer and no number. "
OTHER_LANGUAGE = "This looks like {language}; I read English only. Please ask again in English. "


def unanswered(question: str, fire: Mapping[str, Any] | None = None) -> str:
    """Return what to say to a question that no tool answers; empty if one may, or if it takes the fire."""
    for pattern, text in _COMPILED:
        if pattern.search(question):
            if fire is None:
                return "" if _DATA in text else text
            return text.format(data=_about_data(fire))
    return ""


_DATA = "{data}"


def _about_data(fire: Mapping[str, Any]) -> str:
    """Return what of a fire's data is real, as its records say."""
    name = fire["incident"]["name"]
    if fire["incident"].get("synthetic"):
        return f"No: all that there is here about {name} is made up, and says so."
    return (
        f"Partly. The incident's facts about {name} (dates, acres, containment) are real and name their "
        f"sources. "
        "Whatever is marked (synthetic) is made up: in the bundled scenario that is every sector, "
        "trail, plot, price, "
        "proposal and the outline of the fire. Rules of law were read in secondary sources; each names "
        "the page at "
        "which to verify it."
    )
