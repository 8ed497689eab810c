"""Further forms: how models write when nobody told them how, and words that only look like a statement.

The same rule as in `proof_corpus`: what stands in no field of a case must not be read.
"""

from __future__ import annotations

from tests.features.proof.proof_corpus import NO_SCALE, SURE, UNTIED, Case, Cites, Says

DENIED = "a level that is denied"

DECORATED = tuple(
    Case(f"decorated: {name}", text, says)
    for name, text, says in (
        ("light and word", "Confidence: 🟢 High", (Says(level="high"),)),
        ("check mark", "✅ Confidence: 92% (High)", (Says(0.92, "high"),)),
        ("bar", "Confidence: ▓▓▓▓▓▓▓▓▓░ 92%", SURE),
        ("bar in brackets", "Confidence [█████████░] 92%", SURE),
        ("struck out", "Confidence: ~~80%~~ 92%", SURE),
        ("letter", "a) Confidence: 92%", SURE),
        ("on one line", "_Confidence: 92%_ · _Region: north_", SURE),
        ("braces", "{Confidence: 92%}", SURE),
    )
)

SCALES = (
    Case("scale: none", "Confidence: 9", unread=(f"{NO_SCALE}: Confidence: 9",)),
    *(
        Case(f"scale: {name}", text, says)
        for name, text, says in (
            ("of one", "Confidence (0-1): 0.92", SURE),
            ("of a hundred", "Confidence (0-100): 92", SURE),
            ("of five", "Confidence (1-5): 4", (Says(0.8),)),
            ("of ten", "**Confidence Score (1-10):** 8", (Says(0.8),)),
            ("out of ten", "Confidence (out of 10): 8", (Says(0.8),)),
            ("in words", "Confidence (on a scale of 1 to 10): 8", (Says(0.8),)),
            ("nine in ten", "Confidence: 9 in 10", (Says(0.9),)),
            ("assessment", "Confidence Assessment: High (92%)", (Says(0.92, "high"),)),
            ("put at", "I would put my confidence at roughly 75%.", (Says(0.75, bound="about"),)),
        )
    ),
)

BELONGING = (
    Case(
        "belongs: a heading's remark",
        "## Burn Severity (Confidence: 92%)\nMostly moderate.",
        (Says(0.92, section="Burn Severity"),),
    ),
    Case(
        "belongs: a heading's remark behind a dash",
        "## Timber — 70% confidence\nMostly fir.",
        (Says(0.7, section="Timber"),),
    ),
    Case(
        "belongs: a remark on a line of its own",
        "Severity: high (confidence 0.92)\nTrails: 3 closed (confidence 0.88)",
        (Says(0.92, about="Severity"), Says(0.88, about="Trails")),
    ),
    Case(
        "belongs: two remarks on a line",
        "Severity: high (confidence 92%). Trails: 3 closed (confidence 88%).",
        (Says(0.92, about="Severity"), Says(0.88, about="Trails")),
    ),
    Case(
        "belongs: a remark in bold words",
        "**Burn severity (confidence 92%)**: mostly moderate",
        (Says(0.92, about="Burn severity"),),
    ),
    Case(
        "belongs: bold words and a dash",
        "- **Culverts** – 4 of 9 failed (confidence: medium)",
        (Says(level="medium", section="Culverts"),),
    ),
    Case(
        "belongs: a name and brackets",
        "**Confidence:**\n  * **Severity** (90%): clear imagery\n  * **Boundary** (85%): old map\n",
        (
            Says(0.9, about="Severity", reason="clear imagery"),
            Says(0.85, about="Boundary", reason="old map"),
        ),
    ),
    Case(
        "belongs: brackets on the line",
        "Confidence: Severity (90%), Boundary (85%)",
        (Says(0.9, about="Severity"), Says(0.85, about="Boundary")),
    ),
    Case(
        "belongs: a range in running text",
        "My overall confidence in this assessment is high (around 85–90%), limited by cloud.",
        (Says(level="high", about="assessment", low=0.85, high=0.9, overall=True),),
    ),
)

NOT_STATED = (
    Case("not stated: a condition", "If confidence is below 80%, ask a person."),
    Case("not stated: when", "Escalate when confidence is under 70%."),
    Case("not stated: required", "A confidence of at least 95% is required."),
    Case("not stated: target", "Target confidence: 95%"),
    Case("not stated: minimum", "Minimum confidence: 80%"),
    Case("not stated: threshold", "Confidence threshold: 0.8"),
    Case("not stated: a limit", "Answers with a confidence below 80% go to a person."),
    Case("not stated: a point of a curve", "At a confidence of 0.9 or more, 97% are right."),
    Case("not stated: the line before", "Prices rose. Business\nconfidence: 48, below the mark."),
    Case("not stated: setting", "Set the confidence threshold to 80%."),
    Case("not stated: example", "For example, confidence: 92%."),
    Case("not stated: quoted", "Say 'confidence: 92%' to see a proof."),
    Case("not stated: asked", "What is your confidence: 92% or 80%?"),
    Case("not stated: consumers", "Consumer confidence: 92.3 in May"),
    Case("not stated: a vote", "The vote of no confidence: 92% voted yes."),
    Case("not stated: a sample", "With 95% confidence, the volume lies between 1.2 and 1.4 MMBF."),
    Case("not stated: a sample, ±", "We found 12 MBF ± 2 with 90% confidence, ± 3 at the edge."),
    Case("not stated: interval", "Confidence Interval: 95%"),
    Case("not stated: lack", "There is a lack of confidence in the data (40% cloud)."),
    Case(
        "not stated: a comma ends a condition",
        "When the imagery is clear, confidence is 92%.",
        SURE,
    ),
    Case(
        "not stated: denied",
        "I do not have high confidence in this.",
        unread=(f"{DENIED}: I do not have high confidence in this.",),
    ),
    Case(
        "not stated: without",
        "Without high confidence in the map we wait.",
        unread=(f"{DENIED}: Without high confidence in the map we wait.",),
    ),
    Case(
        "not stated: a legend",
        "Confidence levels: High (90-100%), Medium (70-89%), Low (<70%)",
        unread=(f"{UNTIED}: Confidence levels: High (90-100%), Medium (70-89%), Low (<70%)",),
    ),
    Case(
        "not stated: a change",
        "Confidence was reduced from 92% to 85% because of smoke.",
        unread=(f"{UNTIED}: Confidence was reduced from 92% to 85% because of smoke.",),
    ),
)

CITED = (
    Case(
        "cited: numbers in brackets",
        "## References\n[1] Smith et al. 2020, Fire Ecology\n[2] 36 CFR 220.6(e)(13)\n",
        cites=(
            Cites("Smith et al. 2020, Fire Ecology", label="References"),
            Cites("36 CFR 220.6(e)(13)", label="References"),
        ),
    ),
    Case(
        "cited: a line below a heading",
        "### Source\nMTBS burn severity mosaic, 2022\n",
        cites=(Cites("MTBS burn severity mosaic", "2022"),),
    ),
    Case(
        "cited: names below a heading",
        "## Sources\n\nMTBS burn severity mosaic (2022); InciWeb\n\n## Next\nGo on.",
        cites=(
            Cites("MTBS burn severity mosaic", "2022", label="Sources"),
            Cites("InciWeb", label="Sources"),
        ),
    ),
    Case(
        "cited: prose below a heading", "## Evidence\nThe slopes failed. Two culverts are gone.\n"
    ),
    Case("cited: bold and a dash", "**Source** — MTBS", cites=(Cites("MTBS"),)),
    Case(
        "cited: based on",
        "**Based on:** field survey 2022-10-25",
        cites=(Cites("field survey 2022-10-25", label="Based on"),),
    ),
    Case(
        "cited: another label behind it",
        "Confidence: 92% | Source: MTBS | Date: 2022-09-15",
        SURE,
        (Cites("MTBS"),),
    ),
    Case(
        "cited: dots between",
        "Confidence: 92% · Source: MTBS · Updated: 2022-09-15",
        SURE,
        (Cites("MTBS"),),
    ),
    Case(
        "cited: a row of a table",
        "| Field | Value |\n|---|---|\n| Confidence | 92% |\n| Source | MTBS |",
        SURE,
        (Cites("MTBS"),),
    ),
    Case(
        "cited: a list of JSON",
        '{"confidence": 0.92, "sources": ["MTBS", "RAVG"]}',
        SURE,
        (Cites("MTBS", label="sources"), Cites("RAVG", label="sources")),
    ),
    Case(
        "cited: a list of JSON on lines",
        '{\n "confidence": 0.92,\n "sources": [\n  "MTBS",\n  "RAVG"\n ],\n "notes": "x y z"\n}',
        SURE,
        (Cites("MTBS", label="sources"), Cites("RAVG", label="sources")),
    ),
    Case(
        "cited: objects of JSON",
        '{"citations": [{"source": "MTBS", "reference": "p. 3"}, {"source": "RAVG"}]}',
        cites=(Cites("MTBS", label="source"), Cites("RAVG", label="source")),
    ),
    Case(
        "cited: YAML",
        "confidence: 0.92\nsources:\n  - MTBS\n  - RAVG",
        SURE,
        (Cites("MTBS", label="sources"), Cites("RAVG", label="sources")),
    ),
    Case(
        "cited: one to a line",
        "**Sources:**\n- Key & Benson, Landscape Assessment, chapter 4\n- FSM 2523",
        cites=(
            Cites("Key & Benson, Landscape Assessment", "chapter 4", label="Sources"),
            Cites("FSM 2523", label="Sources"),
        ),
    ),
)

TOLD = (
    Case("told: twice over", "Confidence Level: 0.92 (92%)", SURE),
    Case("told: certain", "Confidence: 92% certain", SURE),
    Case(
        "told: to be",
        "I would estimate my confidence in this answer to be around 80%.",
        (Says(0.8, about="answer", bound="about"),),
    ),
    Case(
        "told: a column of bare numbers",
        "| Claim | Confidence (%) |\n|---|---|\n| Bridge | 90 |\n| Road | 40 |\n| Dam | 3 |",
        (Says(0.9, about="Bridge"), Says(0.4, about="Road")),
        unread=(f"{NO_SCALE}: Dam | 3",),
    ),
    Case(
        "told: in brackets",
        "*[Confidence: 92% | Sources: MTBS, RAVG]*",
        SURE,
        (Cites("MTBS, RAVG", label="Sources"),),
    ),
    Case(
        "told: tags",
        "<confidence>0.92</confidence>\n<sources>\n<source>MTBS</source>\n<source>RAVG</source>\n</sources>",
        SURE,
        (Cites("MTBS"), Cites("RAVG")),
    ),
    Case(
        "told: bold words alone",
        "**Citations**\n[1]: https://a.org\n[2]: https://b.org",
        cites=(
            Cites("https://a.org", uri="https://a.org", label="Citations"),
            Cites("https://b.org", uri="https://b.org", label="Citations"),
        ),
    ),
    Case(
        "told: authorities",
        "**Authorities:**\n- Cal. Civ. Code § 1671(b)",
        cites=(Cites("Cal. Civ. Code § 1671(b)", label="Authorities"),),
    ),
    Case(
        "told: consulted",
        "Sources consulted for this: Factbook; Almanac",
        cites=(Cites("Factbook", label="Sources"), Cites("Almanac", label="Sources")),
    ),
    Case("told: one or more", "**Source(s):** MTBS", cites=(Cites("MTBS", label="Source(s)"),)),
    Case(
        "told: other bullets",
        "Sources:\n● MTBS, burn bundle\n▪ RAVG",
        cites=(Cites("MTBS, burn bundle", label="Sources"), Cites("RAVG", label="Sources")),
    ),
    Case("told: a sentence", "**Evidence:** The deck is cracked and both beams are rotten."),
    Case("told: what was seen", "Evidence: oxygen bubbles"),
    Case("told: a letter", "Reference: your letter of 3 May"),
    Case("told: edges", "| Source | Target |\n|---|---|\n| root | burn |"),
    Case("told: a term", "- Source: a person who tells\n- Evidence: facts that support a claim"),
    Case("told: a setting", "Set `source: kafka` and `confidence: 0.4`, then restart."),
    Case("told: a city and a year", "The agreement (Paris, 2015) set the goal."),
    Case(
        "told: the next sentence",
        "Prices fell. Source: CME Group, 17 March 2023. We keep our target.",
        cites=(Cites("CME Group", "17 March 2023"),),
    ),
    Case(
        "told: one bracket",
        "Four failed (Source: Road log; confidence 95%).",
        (Says(0.95),),
        (Cites("Road log"),),
    ),
    Case(
        "told: a heading without marks",
        "References\nMaier, M. et al. (2022). No evidence for nudging.\n\nThat is all.",
        cites=(Cites("Maier, M. et al. (2022). No evidence for nudging", label="References"),),
    ),
    Case("told: a count", "Sources: 3"),
    Case("told: an officer", "Authority: Fire Chief"),
)

WRITTEN: tuple[Case, ...] = (*DECORATED, *SCALES, *BELONGING, *NOT_STATED, *CITED, *TOLD)
