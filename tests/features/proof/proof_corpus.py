"""How specialists really write confidence, sources and reasons, and how each form is read.

Every case is a text of our own in a form that was seen in answers of agents, or that bad input may take.
What stands in no field of a case must not be read: a case without `says` is a text in which nobody
states a confidence, whatever percentages it holds.
"""

# ruff: noqa: RUF001  (other alphabets and signs are what is tested)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Says:
    """One confidence that is read; a number of 0 to 1."""

    value: float | None = None
    level: str = ""
    about: str = ""
    section: str = ""
    reason: str = ""
    low: float | None = None
    high: float | None = None
    bound: str = ""
    overall: bool = False


@dataclass(frozen=True)
class Cites:
    """One citation that is read."""

    source: str
    reference: str = ""
    uri: str = ""
    excerpt: str = ""
    label: str = "Source"


@dataclass(frozen=True)
class Case:
    """A text, and all that is read from it."""

    id: str
    text: str
    says: tuple[Says, ...] = ()
    cites: tuple[Cites, ...] = ()
    reasons: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """What is shown as not read: `reason: text`."""


SURE = (Says(0.92),)

OUT_OF_RANGE = "not between 0 and 100 %"
NO_SCALE = "a number without a scale"
NO_VALUE = "no number and no level"
NOTHING_SAID = "a range that leaves nothing out"
UNTIED = "a number that is not tied to it"


def _same(prefix: str, forms: dict[str, str], says: tuple[Says, ...] = SURE) -> tuple[Case, ...]:
    """Return forms that all say the same."""
    return tuple(Case(f"{prefix}: {name}", text, says) for name, text in forms.items())


MARKUP = _same(
    "92 %",
    {
        "bold label": "**Confidence:** 92%",
        "colon outside": "**Confidence**: 92%",
        "all bold": "**Confidence: 92%**",
        "value bold": "Confidence: **92%**",
        "no space": "**Confidence:**92%",
        "plain": "Confidence: 92%",
        "capitals": "CONFIDENCE: 92%",
        "underscores": "__Confidence:__ 92%",
        "italic": "*Confidence:* 92%",
        "both": "***Confidence:*** 92%",
        "dash": "Confidence - 92%",
        "long dash": "**Confidence** — 92%",
        "equals": "confidence=92%",
        "arrow": "Confidence → 92%",
        "no sign": "**Confidence** 92%",
        "brackets": "Confidence [92%]",
        "round brackets": "Confidence (92%)",
        "heading": "### Confidence: 92%",
        "heading with number": "### 5. Confidence: 92%",
        "below a heading": "### 5. Confidence & Source\n**Confidence:** 92%\n",
        "list item": "- **Confidence:** 92%",
        "star item": "* Confidence: 92%",
        "numbered item": "3. Confidence: 92%",
        "nested item": "- Assessment\n    - Result\n        - **Confidence:** 92%",
        "ticked item": "- [x] Confidence: 92%",
        "quote": "> **Confidence:** 92%",
        "item in a quote in a quote": "> > - **Confidence:** 92%",
        "code span": "Confidence: `92%`",
        "tag": "<b>Confidence:</b> 92%<br>",
        "emoji": "🎯 **Confidence:** 92%",
        "own line": "**Confidence:**\n92%",
        "own paragraph": "### Confidence\n\n92%\n",
        "table with the label in a row": "| Item | Value |\n|---|---|\n| Confidence | 92% |",
        "table without edges": "Confidence | 92%",
        "fence": "```\nConfidence: 92%\n```",
        "JSON in a fence": '```json\n{\n  "fire": "cedar-creek",\n  "confidence": 0.92,\n  "n": 8\n}\n```',
        "JSON on one line": '{"result": "ok", "confidence": 0.92, "severity": 0.42}',
        "YAML": "confidence: 0.92",
        "Windows line ends": "Summary.\r\n**Confidence:** 92%\r\nMore.\r\n",
        "sentence": "Confidence: 92%. Of the area, 42% burned at high severity.",
    },
)

BROKEN = _same(
    "broken",
    {
        "never closed": "**Confidence: 92%",
        "closed with one star": "**Confidence:* 92%",
        "opened too late": "Confidence:** 92%**",
        "stars everywhere": "**Confidence**:** 92%**",
        "fence without end": "```\n**Confidence:** 92%\nand on it goes",
        "fence of a language without end": "```python\n**Confidence:** 92%\nand on it goes",
        "heading without a space": "###Confidence: 92%",
        "table without its line": "| Confidence | 92%",
        "a stray bracket": "(Confidence: 92%",
        "no line ends": "### 1. Summary ... ### 5. Confidence & Source **Confidence:** 92%",
    },
)

LABELS = (
    *_same(
        "label",
        {
            "level": "Confidence level: 92%",
            "score": "**Confidence Score:** 0.92",
            "rating": "Confidence rating: 92/100",
            "short": "Conf.: 92%",
            "certainty": "Certainty: 92%",
            "is": "My confidence is 92%.",
            "of": "This has a confidence of 92%.",
            "at": "Confidence stands at 92%.",
            "before": "92% confidence",
            "with": "The boundary closes (with 92% confidence).",
            "confident": "I am 92% confident.",
            "sure": "We are 92% sure.",
            "German": "Konfidenz: 92 %",
            "French": "Confiance : 92 %",
            "Spanish": "**Confianza:** 92 %",
            "Italian": "Confidenza: 92%",
            "Japanese": "信頼度：９２％",
            "Chinese": "置信度：92%",
        },
    ),
    *_same(
        "overall",
        {
            "bold": "**Overall Confidence:** 92%",
            "after": "Confidence (overall): 92%",
            "in words": "Overall, our confidence is 92%.",
            "combined": "Combined confidence: 92%",
            "list": "Confidence: overall 92%",
        },
        (Says(0.92, overall=True),),
    ),
)

NUMBERS = (
    *_same(
        "number",
        {
            "space": "Confidence: 92 %",
            "no-break space": "Confidence: 92\u202f%",
            "per cent": "Confidence: 92 per cent",
            "percent": "Confidence: 92 percent",
            "pct": "Confidence: 92 pct",
            "Prozent": "Confidence: 92 Prozent",
            "pour cent": "Confiance : 92 pour cent",
            "por ciento": "Confianza: 92 por ciento",
            "fraction": "Confidence: 0.92",
            "fraction without zero": "Confidence: .92",
            "decimal comma": "Confidence: 0,92",
            "of one": "Confidence: 0.92/1.0",
            "bare": "Confidence: 92",
            "of a hundred": "Confidence: 92 out of 100",
            "wide digits": "Confidence: ９２％",
            "Arabic digits": "Confidence: ٩٢٪",
            "words": "Confidence: ninety-two percent",
            "words, spaced": "Confidence: ninety two per cent",
            "plus or minus": "Confidence: 92% ± 3%",
        },
    ),
    *_same(
        "nine tenths",
        {
            "slash": "Confidence: 9/10",
            "words": "Confidence: nine out of ten",
            "of": "Confidence: 9 of 10",
        },
        (Says(0.9),),
    ),
    Case("number: four of five", "Confidence: 4/5", (Says(0.8),)),
    Case("number: half a percent", "Confidence: 92.5%", (Says(0.925),)),
    Case("number: comma and sign", "Confidence: 92,5 %", (Says(0.925),)),
    Case("number: nothing", "Confidence: 0%", (Says(0.0),)),
    Case("number: all", "Confidence: 100%", (Says(1.0),)),
    Case("number: none at all", "Confidence: 0.0", (Says(0.0),)),
    Case("number: about ninety", "Confidence: about ninety", (Says(0.9, bound="about"),)),
    Case("number: roughly", "Confidence: roughly 90%", (Says(0.9, bound="about"),)),
    Case("number: tilde", "Confidence: ~90%", (Says(0.9, bound="about"),)),
    Case("number: at least", "Confidence: at least 90%", (Says(0.9, bound="at least"),)),
    Case("number: above", "Confidence: >90%", (Says(0.9, bound="at least"),)),
    Case("number: plus", "Confidence: 90%+", (Says(0.9, bound="at least"),)),
    Case("number: below", "Confidence: < 50 %", (Says(0.5, bound="at most"),)),
    Case("number: range", "Confidence: 85-90%", (Says(low=0.85, high=0.9),)),
    Case("number: range in words", "Confidence: between 85 and 90 %", (Says(low=0.85, high=0.9),)),
    Case("number: range with two signs", "Confidence: 85% to 90%", (Says(low=0.85, high=0.9),)),
    Case("number: range of fractions", "Confidence: 0.85–0.90", (Says(low=0.85, high=0.9),)),
)

WORDS = (
    *_same(
        "high",
        {
            "bare": "**Confidence:** High",
            "lower case": "Confidence: high.",
            "sentence": "Confidence is high.",
            "before": "High confidence.",
            "below": "### Confidence\nHigh\n",
            "adverb": "We are highly confident.",
            "German": "Konfidenz: hoch",
            "Spanish": "Confianza: alta",
            "French": "Confiance : élevée",
        },
        (Says(level="high"),),
    ),
    Case("word: very high", "Confidence: Very High", (Says(level="very high"),)),
    Case("word: moderate", "Confidence: Moderate", (Says(level="medium"),)),
    Case("word: medium", "**Confidence Level:** MEDIUM", (Says(level="medium"),)),
    Case(
        "word: moderate to high is the lower one",
        "Confidence: moderate to high",
        (Says(level="medium"),),
    ),
    Case("word: medium-high is the lower one", "Confidence: medium-high", (Says(level="medium"),)),
    Case(
        "word: low with a reason",
        "Confidence: Low - the imagery is cloudy",
        (Says(level="low", reason="the imagery is cloudy"),),
    ),
    Case(
        "word: very low",
        "There is very low confidence in the volume estimate.",
        (Says(level="very low", about="volume estimate"),),
    ),
    Case(
        "word and number",
        "**Confidence:** High (95%) - Direct CFR citations",
        (Says(0.95, "high", reason="Direct CFR citations"),),
    ),
    Case("word and number, plain", "High (95%) confidence", (Says(0.95, "high"),)),
    Case("number and word", "Confidence: 95% (High)", (Says(0.95, "high"),)),
    Case("word, comma, number", "Confidence: High, 95%", (Says(0.95, "high"),)),
    Case("word, dash, number", "Confidence: Medium – 70%", (Says(0.7, "medium"),)),
    Case(
        "word and number for two",
        "Confidence: High for timber (95%), Medium for trails (80%)",
        (Says(0.95, "high", "timber"), Says(0.8, "medium", "trails")),
    ),
)

SEVERAL = (
    Case(
        "several: for each",
        "(Confidence: 95% for timber, 90% for trails)",
        (Says(0.95, about="timber"), Says(0.9, about="trails")),
    ),
    Case(
        "several: and",
        "Confidence: 95% for timber and 90% for trails.",
        (Says(0.95, about="timber"), Says(0.9, about="trails")),
    ),
    Case(
        "several: name first",
        "Confidence: severity 92%, boundary 88%",
        (Says(0.92, about="severity"), Says(0.88, about="boundary")),
    ),
    Case(
        "several: name in brackets",
        "Confidence: 92% (severity), 88% (boundary)",
        (Says(0.92, about="severity"), Says(0.88, about="boundary")),
    ),
    Case(
        "several: name and colon",
        "Confidence: timber: 95%; trails: 90%",
        (Says(0.95, about="timber"), Says(0.9, about="trails")),
    ),
    Case(
        "several: skills",
        "Confidence: assess_severity 0.92 / validate_boundary 0.88",
        (Says(0.92, about="assess_severity"), Says(0.88, about="validate_boundary")),
    ),
    Case(
        "several: two lines",
        "**Confidence:** High (90%) - Direct CFR citations\n"
        "**Confidence:** High (95%) - Direct CFR and FSM citations",
        (
            Says(0.9, "high", reason="Direct CFR citations"),
            Says(0.95, "high", reason="Direct CFR and FSM citations"),
        ),
    ),
    Case(
        "several: own labels",
        "Timber confidence: 95%\nTrail confidence: 90%",
        (Says(0.95, about="Timber"), Says(0.9, about="Trail")),
    ),
    Case(
        "several: in brackets of the label",
        "Confidence (timber): 95%\nConfidence (trails): 90%",
        (Says(0.95, about="timber"), Says(0.9, about="trails")),
    ),
    Case(
        "several: for, before the colon", "Confidence for trails: 90%", (Says(0.9, about="trails"),)
    ),
    Case(
        "several: in, before the verb",
        "Confidence in the severity map is 92%.",
        (Says(0.92, about="severity map"),),
    ),
    Case(
        "several: in, after",
        "92% confidence in the severity map, less elsewhere.",
        (Says(0.92, about="severity map"),),
    ),
    Case(
        "several: that",
        "I am 80% confident that the bridge is gone.",
        (Says(0.8, about="the bridge is gone"),),
    ),
    Case(
        "several: list below",
        "**Confidence:**\n- Timber: 95%\n- Trails: 90%\n\nDone, 42% burned.",
        (Says(0.95, about="Timber"), Says(0.9, about="Trails")),
    ),
    Case(
        "several: list below a heading",
        "## Confidence\n\n* Severity map — 92%\n* Boundary — High\n",
        (Says(0.92, about="Severity map"), Says(level="high", about="Boundary")),
    ),
    Case(
        "several: a column",
        "| Skill | Result | Confidence |\n|---|:--:|--:|\n"
        "| assess_severity | 42% high | 92% |\n| validate_boundary | closed | 88% |\n",
        (Says(0.92, about="assess_severity"), Says(0.88, about="validate_boundary")),
    ),
    Case(
        "several: a column of words",
        "Topic | Confidence\n--- | ---\nTimber | High\nTrails | Low\n",
        (Says(level="high", about="Timber"), Says(level="low", about="Trails")),
    ),
    Case(
        "several: contradicting each other",
        "Confidence: 92%\n\nSummary.\n\nConfidence: 70%",
        (Says(0.92), Says(0.7)),
    ),
    Case("several: contradicting in one line", "Confidence: 92%, 70%", (Says(0.92), Says(0.7))),
)

SECTIONS = (
    Case(
        "section: headings",
        "## Trails\nThree are closed.\n### Confidence\n90%\n\n## Timber\nConfidence: 91%",
        (Says(0.9, section="Trails"), Says(0.91, section="Timber")),
    ),
    Case(
        "section: bold beginnings",
        "**Fire Severity:** mostly low (Confidence: 92%)\n\n"
        "**Infrastructure Damage:** two bridges (Confidence: 90%)\n\n"
        "**NEPA Pathway:** documented (Confidence: 95% for timber, 90% for trails)\n\n"
        "**Overall Confidence:** 90%\n\n"
        "**Recommended Actions:**\n1. Close 3 trails within 14 days.",
        (
            Says(0.92, section="Fire Severity"),
            Says(0.9, section="Infrastructure Damage"),
            Says(0.95, about="timber", section="NEPA Pathway"),
            Says(0.9, about="trails", section="NEPA Pathway"),
            Says(0.9, overall=True),
        ),
    ),
    Case(
        "section: bold line alone",
        "**Timber Salvage**\nWorth it within a year.\nConfidence: 91%\n",
        (Says(0.91, section="Timber Salvage"),),
    ),
    Case(
        "section: numbered heading",
        "### 2. Trail Damage\nConfidence: 90%",
        (Says(0.9, section="Trail Damage"),),
    ),
    Case(
        "section: underlined heading",
        "Trails\n======\nConfidence: 90%",
        (Says(0.9, section="Trails"),),
    ),
    Case(
        "section: running text",
        "## Soils\nErosion is likely on slopes above 30 %, and with 85% "
        "confidence in the first winter.",
        (Says(0.85, about="first winter", section="Soils"),),
    ),
)

NOT_CONFIDENCE = (
    Case("none: severity", "42% high severity, 31% moderate."),
    Case("none: contained", "The fire is 70 % contained."),
    Case("none: severity in brackets", "Severity: High (42%)"),
    Case("none: level without the word", "Priority: High\nRisk: Very High (80%)"),
    Case("none: interval", "The 95% confidence interval is 12 to 18 MBF per acre."),
    Case("none: confidence level of a test", "Sampling error is 12% at the 95% confidence level."),
    Case("none: at a confidence", "The error is ±12% at 90% confidence."),
    Case("none: detections", "VIIRS shows 340 high-confidence detections (12% of all)."),
    Case("none: confidential", "Confidential: 92% of the crew agreed."),
    Case(
        "none: public confidence", "The closure restores public confidence; 42% of visitors asked."
    ),
    Case("none: not a statement", "Field crews gain confidence with practice."),
    Case("none: self-confidence", "I am confident that this helps."),
    Case("none: certain", "Certain slopes (30% and more) will slide. Make sure 2 crews go."),
    Case("none: code", "```python\nconfidence = 0.5  # a default\n```"),
    Case("none: nothing", ""),
    Case("none: blank", " \n\t\n "),
    Case("none: a share after it", "Confidence: 92%, 42% of the area is gone.", SURE),
    Case(
        "none: numbers in the reason",
        "Confidence: 92% (8 of 9 sectors, 42% high severity)",
        (Says(0.92, reason="8 of 9 sectors, 42% high severity"),),
    ),
    Case("none: what it was before", "Confidence: 92%, up from 85%.", SURE),
    Case(
        "none: a glossary",
        "- `reasoning`: thoughts\n- `confidence`: how sure it is, 0 to 1\n- sources: where it comes from\n"
        "- `basis`: why",
    ),
    Case("none: a question back", "Which fire do you mean? I need its id to go on."),
)

UNREADABLE = (
    Case("unread: too much", "Confidence: 140%", unread=(f"{OUT_OF_RANGE}: Confidence: 140%",)),
    Case(
        "unread: less than nothing", "Confidence: -5%", unread=(f"{OUT_OF_RANGE}: Confidence: -5%",)
    ),
    Case("unread: minus sign", "Confidence: −5 %", unread=(f"{OUT_OF_RANGE}: Confidence: −5 %",)),
    Case(
        "unread: more than all", "Confidence: 12/10", unread=(f"{OUT_OF_RANGE}: Confidence: 12/10",)
    ),
    Case("unread: one", "Confidence: 1", unread=(f"{NO_SCALE}: Confidence: 1",)),
    Case("unread: eight", "Confidence: 8", unread=(f"{NO_SCALE}: Confidence: 8",)),
    Case("unread: a large number", "Confidence: 920", unread=(f"{OUT_OF_RANGE}: Confidence: 920",)),
    Case(
        "unread: everything",
        "Confidence: 0.0-1.0",
        unread=(f"{NOTHING_SAID}: Confidence: 0.0-1.0",),
    ),
    Case("unread: to be told", "**Confidence:** TBD", unread=(f"{NO_VALUE}: Confidence: TBD",)),
    Case(
        "unread: other words",
        "Confidence: as good as it gets",
        unread=(f"{NO_VALUE}: Confidence: as good as it gets",),
    ),
    Case("unread: stars", "Confidence: ★★★★☆", unread=(f"{NO_VALUE}: Confidence: ★★★★☆",)),
    Case(
        "unread: a number too far away",
        "Our confidence has, since 92% of plots were seen, grown.",
        unread=(f"{UNTIED}: Our confidence has, since 92% of plots were seen, grown.",),
    ),
    Case(
        "unread: one of two",
        "Confidence: 92% for timber, 140% for trails",
        (Says(0.92, about="timber"),),
        unread=(f"{OUT_OF_RANGE}: Confidence: 92% for timber, 140% for trails",),
    ),
    Case(
        "unread: an absurd length",
        "Confidence: " + "9" * 100 + "%",
        unread=(f"{OUT_OF_RANGE}: Confidence: " + "9" * 100 + "%",),
    ),
)

SOURCES = (
    Case(
        "source: one with a detail",
        "**Source:** MTBS, Imagery date: 2022-09-15",
        cites=(Cites("MTBS", "Imagery date: 2022-09-15"),),
    ),
    Case(
        "source: one with its date",
        "**Source:** Cedar Creek field assessment 2022-10-25",
        cites=(Cites("Cedar Creek field assessment 2022-10-25"),),
    ),
    Case(
        "source: commas part nothing",
        "**Source:** Cedar Creek timber plot data, PNW salvage deterioration models, "
        "Regional market analysis 2025",
        cites=(
            Cites(
                "Cedar Creek timber plot data, PNW salvage deterioration models, "
                "Regional market analysis 2025"
            ),
        ),
    ),
    Case(
        "source: authors with commas",
        "**Source:** Scenario prices (synthetic); Parry, Filip, Willits & Parks 1996 (PNW-GTR-376); "
        "adk-prism, project-defined",
        cites=(
            Cites("Scenario prices", "synthetic"),
            Cites("Parry, Filip, Willits & Parks 1996", "PNW-GTR-376"),
            Cites("adk-prism, project-defined"),
        ),
    ),
    Case(
        "source: a year in the middle",
        "Reference: Rosgen, D. (1996). Applied River Morphology",
        cites=(Cites("Rosgen, D. (1996). Applied River Morphology", label="Reference"),),
    ),
    Case(
        "source: quoted titles",
        'Sources: "Fire, water and soil", "Trails, part 2"',
        cites=(
            Cites("Fire, water and soil", label="Sources"),
            Cites("Trails, part 2", label="Sources"),
        ),
    ),
    Case(
        "source: numbered on one line",
        "Sources: [1] District budget, fiscal year 2023 [2] Parry, Filip & Parks",
        cites=(
            Cites("District budget, fiscal year 2023", label="Sources"),
            Cites("Parry, Filip & Parks", label="Sources"),
        ),
    ),
    Case(
        "source: semicolons",
        "Sources: MTBS; RAVG, 2023 release; field notes",
        cites=(
            Cites("MTBS", label="Sources"),
            Cites("RAVG", "2023 release", label="Sources"),
            Cites("field notes", label="Sources"),
        ),
    ),
    Case(
        "source: list",
        "**Sources:**\n- MTBS\n- InciWeb, 2 November 2022\n\nThat is all.",
        cites=(
            Cites("MTBS", label="Sources"),
            Cites("InciWeb", "2 November 2022", label="Sources"),
        ),
    ),
    Case(
        "source: heading",
        "## References\n1. Key & Benson 2006, RMRS-GTR-164-CD\n2. FSM 2523\n## End\n- x",
        cites=(
            Cites("Key & Benson 2006", "RMRS-GTR-164-CD", label="References"),
            Cites("FSM 2523", label="References"),
        ),
    ),
    Case(
        "source: regulation",
        "**Regulatory Basis:** 36 CFR 220.6(e)(13)",
        cites=(Cites("36 CFR 220.6(e)(13)", label="Regulatory Basis"),),
    ),
    Case(
        "source: regulation with its words",
        '**Regulatory Basis:** 7 CFR 1b.4(d)(34): "Post-fire rehabilitation activities"',
        cites=(
            Cites(
                "7 CFR 1b.4(d)(34)",
                excerpt="Post-fire rehabilitation activities",
                label="Regulatory Basis",
            ),
        ),
    ),
    Case(
        "source: two regulations",
        "Legal basis: 7 CFR 1b.4(d)(36); FSM 2523",
        cites=(
            Cites("7 CFR 1b.4(d)(36)", label="Legal basis"),
            Cites("FSM 2523", label="Legal basis"),
        ),
    ),
    Case(
        "source: regulation in running text",
        "Salvage falls under 7 CFR 1b.4(d)(36), see 90 FR 29632.",
        cites=(Cites("7 CFR 1b.4(d)(36)", label=""), Cites("90 FR 29632", label="")),
    ),
    Case(
        "source: link",
        "Source: [MTBS](https://www.mtbs.gov/viewer)",
        cites=(Cites("MTBS", uri="https://www.mtbs.gov/viewer"),),
    ),
    Case(
        "source: address",
        "Source: https://www.mtbs.gov/viewer.",
        cites=(Cites("https://www.mtbs.gov/viewer", uri="https://www.mtbs.gov/viewer"),),
    ),
    Case(
        "source: name and address",
        "- **Data source:** InciWeb <https://inciweb.wildfire.gov/x>",
        cites=(Cites("InciWeb", uri="https://inciweb.wildfire.gov/x", label="Data source"),),
    ),
    Case(
        "source: name, dash, detail",
        "Source: MTBS — imagery of 2022-09-15",
        cites=(Cites("MTBS", "imagery of 2022-09-15"),),
    ),
    Case(
        "source: name and brackets",
        "Source: FSM 2523 (check current issuance)",
        cites=(Cites("FSM 2523", "check current issuance"),),
    ),
    Case(
        "source: inline",
        "High ridges burned hottest (Source: BAER report, page 3), then slopes.",
        cites=(Cites("BAER report", "page 3"),),
    ),
    Case(
        "source: table",
        "| Finding | Source |\n|---|---|\n| 3 bridges out | Field survey |\n| x | – |",
        cites=(Cites("Field survey"),),
    ),
    Case("source: JSON", '"source": "MTBS",', cites=(Cites("MTBS", label="source"),)),
    Case(
        "source: footnote",
        "Two bridges are out[^1].\n\n[^1]: Field survey, 2022-10-25",
        cites=(Cites("Field survey", "2022-10-25", label="[^1]"),),
    ),
    Case(
        "source: other languages",
        "Quelle: MTBS\nFuente: RAVG\nSource : BAER",
        cites=(Cites("MTBS", label="Quelle"), Cites("RAVG", label="Fuente"), Cites("BAER")),
    ),
    Case(
        "source: with confidence",
        "### 5. Confidence & Source\n**Confidence:** 92%\n"
        "**Source:** MTBS, Imagery date: 2022-09-15\n",
        SURE,
        (Cites("MTBS", "Imagery date: 2022-09-15"),),
    ),
    Case(
        "source: on the confidence's line", "Confidence: 92% | Source: MTBS", SURE, (Cites("MTBS"),)
    ),
    Case(
        "source: authors",
        "Reference: Lowell et al. 1992, PNW-GTR-292",
        cites=(Cites("Lowell et al. 1992", "PNW-GTR-292", label="Reference"),),
    ),
    Case(
        "source: authors and years in brackets",
        "Beetles come first (Hood & Bentz, 2007), fungi follow (Ryan et al., 1988; Sieg, 2004, p. 3).",
        cites=(
            Cites("Hood & Bentz, 2007", label=""),
            Cites("Ryan et al., 1988", label=""),
            Cites("Sieg, 2004", label=""),
        ),
    ),
    Case(
        "source: authors in the sentence",
        "Lowell et al. (1992) reviewed it; Key and Benson (2006) classify.",
        cites=(Cites("Lowell et al., 1992", label=""), Cites("Key and Benson, 2006", label="")),
    ),
    Case(
        "source: authors and their list",
        "Beetles come first (Hood & Bentz, 2007).\n\n## References\n"
        "- Hood, S. and Bentz, B. 2007. Bark beetles",
        cites=(Cites("Hood, S. and Bentz, B. 2007. Bark beetles", label="References"),),
    ),
    Case(
        "source: DOIs",
        "See doi:10.2737/PNW-GTR-292 and https://doi.org/10.2737/RMRS-GTR-164.",
        cites=(
            Cites(
                "https://doi.org/10.2737/PNW-GTR-292",
                uri="https://doi.org/10.2737/PNW-GTR-292",
                label="",
            ),
            Cites(
                "https://doi.org/10.2737/RMRS-GTR-164",
                uri="https://doi.org/10.2737/RMRS-GTR-164",
                label="",
            ),
        ),
    ),
    Case(
        "source: notes that sentences refer to",
        "Additions passed 400 GW [1].\n\n[1] IEA, Renewables, chapter 1\n[2] Nobody refers to it",
        cites=(Cites("IEA, Renewables", "chapter 1", label="[1]"),),
    ),
    Case(
        "source: places and dates in brackets",
        "The Bootleg Fire (Oregon, 2021) and others (August, 2022; July, 2021), see the plan (2022).",
    ),
    Case("source: a team", "**Evidence team**\n- Parry: bridges\n- Filip, Willits: culverts"),
    Case("source: heading of something else", "## Sources of error\n- wind, slope\n- smoke"),
    Case("source: none", "Source: none"),
    Case("source: not known", "**Source:** N/A"),
    Case("source: of ignition", "Ignition source: lightning\nWater source: Waldo Lake"),
    Case("source: of error", "Sources of error: wind, slope"),
    Case("source: code", "The source code is open: see there."),
)

REASONS = (
    Case(
        "reason: one line",
        "**Reasoning:** Slopes are steep and soils are bare.",
        reasons=("Slopes are steep and soils are bare.",),
    ),
    Case(
        "reason: list",
        "**Reasoning:**\n1. Loaded 8 sectors.\n2. Classified them by dNBR.\n\nDone.",
        reasons=("Loaded 8 sectors.", "Classified them by dNBR."),
    ),
    Case(
        "reason: heading",
        "### Rationale\n- The bridge is out.\n- There is no other way.\n### Next\n- Go.",
        reasons=("The bridge is out.", "There is no other way."),
    ),
    Case(
        "reason: paragraph below a heading",
        "### Reasoning\nThe bridge is out.\n\nThere is no other way.\n",
        reasons=("The bridge is out.", "There is no other way."),
    ),
    Case(
        "reason: all three",
        "**Confidence:** 92%\n**Source:** MTBS\n**Rationale:** Eight of nine seen.",
        SURE,
        (Cites("MTBS"),),
        ("Eight of nine seen.",),
    ),
)

CORPUS: tuple[Case, ...] = (
    *MARKUP,
    *BROKEN,
    *LABELS,
    *NUMBERS,
    *WORDS,
    *SEVERAL,
    *SECTIONS,
    *NOT_CONFIDENCE,
    *UNREADABLE,
    *SOURCES,
    *REASONS,
)
