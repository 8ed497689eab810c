"""Answers as models write them, with the citations and confidences that a person finds in each.

Written, with what is expected, before the reader was adjusted to them. Every third one of the first
fifty-one was held out: it was not looked at until the reader had been changed for the others. The later
groups were each written, and looked at once, when the reader had been changed for all before them.
`test_proof_samples` computes precision and recall.

A citation is expected by its whole name: source and what is said of it, without quotations. A
confidence is expected as a share of one, as a range, or as a level.
"""

# ruff: noqa: E501, RUF001  (prose is kept as it was written; other alphabets are what is tested)

from __future__ import annotations

from dataclasses import dataclass

Stated = float | str | tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """A text, and what a person finds in it."""

    id: str
    text: str
    cites: tuple[str, ...] = ()
    states: tuple[Stated, ...] = ()
    held_out: bool = False


def _sample(
    number: int, name: str, text: str, cites: tuple[str, ...] = (), states: tuple[Stated, ...] = ()
) -> Sample:
    return Sample(name, text, cites, states, held_out=number % 3 == 2)


_WRITTEN: tuple[tuple[str, str, tuple[str, ...], tuple[Stated, ...]], ...] = (
    (
        "list of sources in Markdown",
        """\
The culvert inventory is two years old, and four of the nine structures were undersized even then.

**Sources:**
- Culvert inventory, Lane County Public Works, 2021
- Rosgen, D. (1996). Applied River Morphology
- USGS StreamStats, accessed 4 May 2023

**Confidence:** 78%
""",
        (
            "Culvert inventory, Lane County Public Works, 2021",
            "Rosgen, D. (1996). Applied River Morphology",
            "USGS StreamStats, accessed 4 May 2023",
        ),
        (0.78,),
    ),
    (
        "authors with commas on one line",
        """\
Beetle-killed Douglas-fir lost about 8% of its lumber volume after two years.

**Source:** Parry, Filip, Willits & Parks 1996 (PNW-GTR-376)
""",
        ("Parry, Filip, Willits & Parks 1996 (PNW-GTR-376)",),
        (),
    ),
    (
        "numbered references with marks",
        """\
Statins lower the risk of a first heart attack in people over 75 [1], though the absolute benefit is small [2].

## References

1. Cholesterol Treatment Trialists' Collaboration. Lancet 2019;393:407-415.
2. Armitage J, Baigent C, Barnes E, et al. Efficacy and safety of statin therapy in older people.

Overall confidence: moderate (about 70%).
""",
        (
            "Cholesterol Treatment Trialists' Collaboration. Lancet 2019;393:407-415.",
            "Armitage J, Baigent C, Barnes E, et al. Efficacy and safety of statin therapy in older people.",
        ),
        (0.7,),
    ),
    (
        "author and year in brackets",
        """\
Bark beetles colonise fire-injured trees within the first two seasons (Hood & Bentz, 2007). Mortality
then depends mostly on crown scorch (Ryan et al., 1988; Fowler and Sieg, 2004).
""",
        ("Hood & Bentz, 2007", "Ryan et al., 1988", "Fowler and Sieg, 2004"),
        (),
    ),
    (
        "regulations in running text",
        """\
Harvest of live trees on up to 70 acres was excluded under 36 CFR 220.6(e)(12), and the salvage category,
36 CFR 220.6(e)(13), allowed 250 acres. Both ended with 90 FR 29632.
""",
        ("36 CFR 220.6(e)(12)", "36 CFR 220.6(e)(13)", "90 FR 29632"),
        (),
    ),
    (
        "ordinary sentences with commas and names",
        """\
Maria, Tom and Aisha met in Oakridge, Oregon, on 14 September 2022 to walk the trail. They found two
bridges out, a slide at mile 3, and 40% of the tread gone. Tom, who knows the area, wants to close it.
""",
        (),
        (),
    ),
    (
        "semicolons part sources",
        """\
Prices were taken as they stood in March.

Sources: Random Lengths, weekly report 12; Oregon Department of Forestry, log price information; field notes of the appraiser

Confidence level: 0.64
""",
        (
            "Random Lengths, weekly report 12",
            "Oregon Department of Forestry, log price information",
            "field notes of the appraiser",
        ),
        (0.64,),
    ),
    (
        "a DOI in running text",
        """\
The deterioration rates follow the review in https://doi.org/10.2737/PNW-GTR-292, which covers the whole
Pacific Northwest. Rates for hemlock are missing there.
""",
        ("https://doi.org/10.2737/PNW-GTR-292",),
        (),
    ),
    (
        "footnotes",
        """\
The dam was last inspected in 2019[^a] and rated *fair*[^b].

[^a]: National Inventory of Dams, OR00559
[^b]: State dam safety programme, letter of 3 June 2019
""",
        (
            "National Inventory of Dams, OR00559",
            "State dam safety programme, letter of 3 June 2019",
        ),
        (),
    ),
    (
        "table with sources and confidence",
        """\
| Claim | Evidence | Confidence |
|---|---|---|
| Two bridges are out | Trail survey, 28 Oct 2022 | 95% |
| The slide is still moving | – | Low |
| Traffic doubled since 2019 | Counter 14, Highway 58 | 0.8 |
""",
        ("Trail survey, 28 Oct 2022", "Counter 14, Highway 58"),
        (0.95, "low", 0.8),
    ),
    (
        "quotation with its source",
        """\
> "A categorical exclusion is not an exemption from NEPA."
>
> Source: Forest Service NEPA handbook, chapter 30

That is why extraordinary circumstances still have to be looked at.
""",
        ("Forest Service NEPA handbook, chapter 30",),
        (),
    ),
    (
        "percentages that are not confidences",
        """\
Revenue grew 12% in the quarter, margins rose to 41.5% and churn fell below 3%. Guidance for next year
is 8-10% growth. Sales are confident, finance less so.
""",
        (),
        (),
    ),
    (
        "confidence with a reason in brackets",
        """\
### Recommendation
Close T01 and T02 until hazard trees are felled.

**Confidence:** High (90%) - direct observation by two crews
**Regulatory Basis:** 36 CFR 261.53(e)
""",
        ("36 CFR 261.53(e)",),
        (0.9,),
    ),
    (
        "moderate confidence in a sentence",
        """\
We have moderate confidence in the acreage and low confidence in the volume, because only six plots
were measured.
""",
        (),
        ("medium", "low"),
    ),
    (
        "code with a field that is called confidence",
        """\
Set the threshold in the configuration:

```python
detector = Detector(confidence=0.6, source="camera-1")
if result.confidence < 0.5:
    print("Source: unknown")
```

Restart the service afterwards.
""",
        (),
        (),
    ),
    (
        "numbers in square brackets below a rule",
        """\
Solar additions passed 400 GW in 2023 [1]. Most of it was built in one country [2].

---
[1] IEA, Renewables 2023, chapter 1
[2] National Energy Administration, statistics of January 2024
""",
        (
            "IEA, Renewables 2023, chapter 1",
            "National Energy Administration, statistics of January 2024",
        ),
        (),
    ),
    (
        "links in a list under further reading sources",
        """\
Enable the flag before you migrate.

### Sources
* [Migration guide](https://docs.example.org/migrate)
* [Release notes 4.2](https://docs.example.org/notes/4.2)
""",
        ("Migration guide", "Release notes 4.2"),
        (),
    ),
    (
        "section numbers that are not citations",
        """\
Follow section 4.2 of this plan first, then step 3.1. Table 2 lists the crews, figure 5 the roads; the
budget is in part 7(b). Version 2.0.1 of the plan replaces 1.9.
""",
        (),
        (),
    ),
    (
        "several confidences in one remark",
        """\
**NEPA Pathway:** Both actions can be excluded from further analysis. (Confidence: 95% for timber, 90% for trails)

**Overall Confidence:** 90%
""",
        (),
        (0.95, 0.9, 0.9),
    ),
    (
        "German",
        """\
Die Brücke ist seit dem Hochwasser gesperrt.

Quelle: Landesamt für Straßenbau, Prüfbericht 2023-117
Konfidenz: hoch
""",
        ("Landesamt für Straßenbau, Prüfbericht 2023-117",),
        ("high",),
    ),
    (
        "JSON answer",
        """\
{"answer": "Two trails should close.", "confidence": 0.83, "sources": ["Trail survey, October 2022", "Hazard tree guide, FSH 7709.59"]}
""",
        ("Trail survey, October 2022", "Hazard tree guide, FSH 7709.59"),
        (0.83,),
    ),
    (
        "a cooking answer",
        """\
Heat the oven to 200 °C (about 390 °F), then bake for 25 minutes, turning once. The source of the aroma
is the butter, so use a good one; reference temperatures are in the table. You can be sure it is done
when the centre reads 94 °C.
""",
        (),
        (),
    ),
    (
        "legal memo",
        """\
The clause is a penalty and cannot be enforced.

**Authorities:**
1. Cal. Civ. Code § 1671(b)
2. Ridgley v. Topa Thrift & Loan Ass'n, 17 Cal. 4th 970 (1998)

We are about 80% confident, since the facts are close to Ridgley.
""",
        (
            "Cal. Civ. Code § 1671(b)",
            "Ridgley v. Topa Thrift & Loan Ass'n, 17 Cal. 4th 970 (1998)",
        ),
        (0.8,),
    ),
    (
        "address behind a label",
        """\
Incident page, last updated on 2 November. Source: https://inciweb.wildfire.gov/incident-information/orwif-cedar-creek-fire
""",
        ("https://inciweb.wildfire.gov/incident-information/orwif-cedar-creek-fire",),
        (),
    ),
    (
        "statistics of a sample",
        """\
The mean is 12,232 board feet an acre, with a sampling error of 15.9% at the 95% confidence level. The 90%
confidence interval is 10,900 to 13,600.
""",
        (),
        (),
    ),
    (
        "confidence as a fraction of ten",
        """\
My best guess is that the outage began in the load balancer.

Confidence: 6/10. I would want the logs of the second region to be sure.
""",
        (),
        (0.6,),
    ),
    (
        "parenthesis with a place and a year",
        """\
The Bootleg Fire (Oregon, 2021) burned 413,717 acres; the Cedar Creek Fire (2022) burned 127,311. Both
were started by lightning (August, 2022 and July, 2021).
""",
        (),
        (),
    ),
    (
        "narrative citation",
        """\
Lowell et al. (1992) reviewed how fire-killed timber deteriorates, and Key and Benson (2006) give the
classes that we use. Neither covers hemlock.
""",
        ("Lowell et al. (1992)", "Key and Benson (2006)"),
        (),
    ),
    (
        "sections with confidences of their own",
        """\
## Soil
Erosion is likely in the first winter.
**Confidence:** 85%

## Water
Turbidity will rise, by how much is open.
**Confidence:** Low

## Roads
Nothing is known yet.
""",
        (),
        (0.85, "low"),
    ),
    (
        "regulatory basis with a quotation",
        """\
**Regulatory Basis:** 7 CFR 1b.4(d)(36): "Salvage of dead and/or dying trees not to exceed 250 acres"
**Confidence:** 95%
""",
        ("7 CFR 1b.4(d)(36)",),
        (0.95,),
    ),
    (
        "a question back",
        """\
Which of the two fires do you mean? I have data for Cedar Creek, 2022, and for Alder, 2024. If you want,
I can state how confident I am once you have told me.
""",
        (),
        (),
    ),
    (
        "French",
        """\
La digue a été renforcée en 2018, mais pas sur toute sa longueur.

Sources : Rapport annuel du syndicat, 2018 ; Relevés de terrain, mars 2023
Confiance : 75 %
""",
        ("Rapport annuel du syndicat, 2018", "Relevés de terrain, mars 2023"),
        (0.75,),
    ),
    (
        "glossary",
        """\
- **Source**: the place where a river begins
- **Confidence**: the share of trials in which an interval covers the value
- **Reference**: a station to which others are compared
""",
        (),
        (),
    ),
    (
        "inline source remarks",
        """\
Two million people visit each year (source: National Park Service visitor statistics, 2023), and most of
them come in July (source: shuttle counts).
""",
        ("National Park Service visitor statistics, 2023", "shuttle counts"),
        (),
    ),
    (
        "dates and addresses",
        """\
Send it to 36 Cedar Road, Suite 220, Eugene, OR 97401, before 2022-12-01 or call 541 555 0117. The office is
open Monday to Friday, 8:00 to 16:30, and 98% of letters are answered in a week.
""",
        (),
        (),
    ),
    (
        "bibliography of papers with DOIs",
        """\
## Bibliography

- Abatzoglou, J. T., & Williams, A. P. (2016). Impact of anthropogenic climate change on wildfire. doi:10.1073/pnas.1607171113
- Westerling, A. L. (2006). Warming and earlier spring. Science, 313, 940–943. https://doi.org/10.1126/science.1128834
""",
        (
            "Abatzoglou, J. T., & Williams, A. P. (2016). Impact of anthropogenic climate change on wildfire. doi:10.1073/pnas.1607171113",
            "Westerling, A. L. (2006). Warming and earlier spring. Science, 313, 940–943.",
        ),
        (),
    ),
    (
        "confidence in words before a claim",
        """\
With high confidence, the outline is right. It is unlikely (10% or so) that the eastern edge moved.
""",
        (),
        ("high",),
    ),
    (
        "software answer that names a source file",
        """\
The source is in `src/main.rs`, and the reference implementation in `ref/impl.c`. Open the source, change
line 36, and rebuild. Evidence of the bug: the log says `confidence: unknown`.
""",
        (),
        (),
    ),
    (
        "a range of confidence",
        """\
**Assessment confidence:** 60–70%, limited by cloud cover on the northern slopes.
**Data source:** Sentinel-2 scene T10TEP, 2022-10-20
""",
        ("Sentinel-2 scene T10TEP, 2022-10-20",),
        ((0.6, 0.7),),
    ),
    (
        "manual and handbook",
        """\
Emergency stabilisation has to be requested within 7 days of containment (FSM 2523.06); the form is
described in FSH 2509.13.
""",
        ("FSM 2523.06", "FSH 2509.13"),
        (),
    ),
    (
        "list of people and tasks",
        """\
**Evidence team**
- Parry: bridges
- Filip: culverts
- Willits, Parks: hazard trees

**Next steps**
1. Meet on 3 June
2. Report, 80% done
""",
        (),
        (),
    ),
    (
        "Spanish",
        """\
El puente está cerrado desde octubre.

**Fuente:** Inspección de campo, 25 de octubre de 2022
**Confianza:** media
""",
        ("Inspección de campo, 25 de octubre de 2022",),
        ("medium",),
    ),
    (
        "numbered sources on one line",
        """\
The budget covers one season only. Sources: [1] District budget, fiscal year 2023 [2] Interview with the ranger, 12 May
""",
        ("District budget, fiscal year 2023", "Interview with the ranger, 12 May"),
        (),
    ),
    (
        "consumer confidence",
        """\
Consumer confidence rose to 104.7 in December, and 62% of households expect higher prices. Business
confidence: 48, below the neutral mark.
""",
        (),
        (),
    ),
    (
        "percent sure",
        """\
I'm 90% sure the second replica was the leader at 14:02. I'm not sure about the first.
""",
        (),
        (0.9,),
    ),
    (
        "Japanese",
        """\
橋は十月から閉鎖されています。

出典：国土交通省 点検報告書 2022
信頼度：８５％
""",
        ("国土交通省 点検報告書 2022",),
        (0.85,),
    ),
    (
        "threshold and policy",
        """\
Answers with a confidence below 80% go to a person. The target confidence is 95%; last month 71% of answers
reached it.
""",
        (),
        (),
    ),
    (
        "law codes of other kinds",
        """\
The operator must notify the authority within 72 hours (Art. 33 GDPR; 45 CFR 164.404). The deadline in 42
U.S.C. 4332(2)(C) is a different one.
""",
        ("Art. 33 GDPR", "45 CFR 164.404", "42 U.S.C. 4332(2)(C)"),
        (),
    ),
    (
        "seed form with three names",
        """\
### 6. Confidence & Source
**Confidence:** 91%
**Source:** Cedar Creek timber plot data, PNW salvage deterioration models, Regional market analysis 2025
""",
        (
            "Cedar Creek timber plot data, PNW salvage deterioration models, Regional market analysis 2025",
        ),
        (0.91,),
    ),
    (
        "sure and certain in other senses",
        """\
Make sure that 20% of the crew stays back. Certain trails (30% of all) stay open; confidence-building
exercises take 2 days. The confidential annex is 12 pages.
""",
        (),
        (),
    ),
    (
        "according to a named report",
        """\
According to the BAER report (Willamette National Forest, November 2022), 36% of the fire burned at high or
moderate soil burn severity. Certainty: fairly high, 0.8.
""",
        ("Willamette National Forest, November 2022",),
        (0.8,),
    ),
)

_WRITTEN_LATER: tuple[tuple[str, str, tuple[str, ...], tuple[Stated, ...]], ...] = (
    (
        "engineering report",
        """\
## Findings
The beam carries 82% of its design load. Deflection stays within L/360, see Table 4.

## References
- ASCE 7-22, Minimum Design Loads
- Chen, W. F., Lui, E. M. Stability Design of Steel Frames; CRC Press
- Site drawings S-101 to S-104

Confidence in the load estimate: 88%
""",
        (
            "ASCE 7-22, Minimum Design Loads",
            "Chen, W. F., Lui, E. M. Stability Design of Steel Frames; CRC Press",
            "Site drawings S-101 to S-104",
        ),
        (0.88,),
    ),
    (
        "chat about a film",
        """\
Inception (Nolan, 2010) and Arrival (2016) both play with time. I would start with Arrival, which is calmer,
shorter, and 94% of critics liked it.
""",
        (),
        (),
    ),
    (
        "meeting minutes",
        """\
Present: Parry, Filip, Willits. Excused: Parks. Agenda: budget, staffing, any other business.
Action: Filip to send the reference numbers by Friday; Willits to check the source data.
""",
        (),
        (),
    ),
    (
        "market note",
        """\
Lumber futures fell 4.1% on the week. Source: CME Group settlement prices, 17 March 2023. We keep our target and
our confidence in it is moderate.
""",
        ("CME Group settlement prices, 17 March 2023",),
        ("medium",),
    ),
    (
        "policy summary with laws",
        """\
Disclosure is due under 17 CFR 229.105 and 15 U.S.C. 78m(a). Fines reach $10,000 per day. The rule took effect
on 8 November 2021 (86 FR 2080).
""",
        ("17 CFR 229.105", "15 U.S.C. 78m(a)", "86 FR 2080"),
        (),
    ),
    (
        "research answer with a bracketed author",
        """\
Chain-of-thought helps on arithmetic (Wei et al., 2022), less on recall. Later work questions whether the steps
are faithful (Turpin et al., 2023, p. 4).
""",
        ("Wei et al., 2022", "Turpin et al., 2023"),
        (),
    ),
    (
        "shell session",
        """\
```bash
source .venv/bin/activate
pip install --upgrade confidence==0.9
```
Then run `make test`. If it fails, check references to the old path, 3 of 4 are in `conf.d`.
""",
        (),
        (),
    ),
    (
        "data card",
        """\
Name: River gauges
Source: USGS National Water Information System; state climatologist
Updated: 2023-06-01
Confidence: 0.97
""",
        ("USGS National Water Information System", "state climatologist"),
        (0.97,),
    ),
    (
        "weather",
        """\
There is a 70% chance of rain on Tuesday, rising to 90% by Wednesday night. Forecasters are more confident about
Wednesday, when all three models agree.
""",
        (),
        (),
    ),
    (
        "a table of facts without sources",
        """\
| City | Population | Share |
|---|---|---|
| Eugene | 176,654 | 46% |
| Oakridge | 3,206 | 1% |

Eugene, Springfield and Oakridge are the places named.
""",
        (),
        (),
    ),
    (
        "evidence with links",
        """\
**Evidence:** [Incident page](https://inciweb.wildfire.gov/x); [BAER summary](https://inciweb.wildfire.gov/y)

**Confidence:** Medium-high (about 75%)
""",
        ("Incident page", "BAER summary"),
        (0.75,),
    ),
    (
        "Italian",
        """\
La strada resta chiusa fino a marzo.

Fonte: Provincia di Trento, ordinanza 14/2023
Confidenza: 90%
""",
        ("Provincia di Trento, ordinanza 14/2023",),
        (0.9,),
    ),
    (
        "a numbered how-to",
        """\
1. Open settings, choose Data, then Sources.
2. Select the source you want: CSV, Parquet, or a database.
3. Set the refresh to 15 minutes (2% of users pick less).
[1] and [2] in the sidebar are views, not documents.
""",
        (),
        (),
    ),
    (
        "court opinion by section",
        """\
Damages are capped at three times the fee (Cal. Bus. & Prof. Code § 7159.5(a)(3)), and the cap has been upheld.
How certain are we? Fairly: about 85% certain.
""",
        ("Cal. Bus. & Prof. Code § 7159.5(a)(3)",),
        (0.85,),
    ),
    (
        "a story",
        """\
"The source of my confidence," said Ann, "is practice." She had fired 36 arrows, 220 in all that week, and hit
with 95% of them. According to Tom, 2019 was better.
""",
        (),
        (),
    ),
    (
        "per finding with a basis",
        """\
### P1 Salvage
May fit.
**Regulatory Basis:** 36 CFR 220.6(e)(13)
**Confidence:** 61%

### P2 Planting
Fits.
**Regulatory Basis:** 36 CFR 220.6(e)(11)
**Confidence:** 81%

**Overall Confidence:** 61%
""",
        ("36 CFR 220.6(e)(13)", "36 CFR 220.6(e)(11)"),
        (0.61, 0.81, 0.61),
    ),
    (
        "glossary of another field",
        """\
**Basis**: the set of vectors that spans a space. **Reference**: a value that aliases another.
Confidence (statistics): how often an interval covers the parameter, usually 95%.
""",
        (),
        (),
    ),
    (
        "Chinese",
        """\
桥梁自十月起关闭。

来源：交通运输部，检查报告，2022年
置信度：80%
""",
        ("交通运输部，检查报告，2022年",),
        (0.8,),
    ),
    (
        "preprint with an identifier",
        """\
The scaling holds up to 70B parameters. Reference: Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556
""",
        ("Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556",),
        (),
    ),
    (
        "not sure at all",
        """\
I'm not confident in this. The two counts (38% and 61%) contradict each other, and nobody wrote down who counted,
where, or when.
""",
        (),
        ("low",),
    ),
)

_WRITTEN_LAST: tuple[tuple[str, str, tuple[str, ...], tuple[Stated, ...]], ...] = (
    (
        "evidence that is a sentence",
        """\
**Evidence:** The deck is cracked and two of the four beams are rotten.
**Confidence:** 70%
""",
        (),
        (0.7,),
    ),
    (
        "edges of a graph",
        """\
| Source | Target | Weight |
|---|---|---|
| coordinator | burn_analyst | 0.9 |
| burn_analyst | report | 0.7 |
""",
        (),
        (),
    ),
    (
        "an office letter",
        """\
Reference: your letter of 3 May, order 2023-117

Dear Ms Ito, thank you. We are confident that the delivery, 80% of which has left, arrives on Friday.
""",
        (),
        (),
    ),
    (
        "talks in a city",
        """\
The agreement (Paris, 2015) set the goal; later rounds (Glasgow, 2021) added little. Three delegations left early.
""",
        (),
        (),
    ),
    (
        "review in the style of a journal",
        """\
Nudges work less well than first reported (Maier et al., 2022), and the effect shrinks in the field (DellaVigna &
Linos, 2022; Szaszi, 2022).

References
Maier, M., Bartoš, F., Stanley, T. et al. (2022). No evidence for nudging after adjusting for publication bias.
""",
        (
            "DellaVigna & Linos, 2022",
            "Szaszi, 2022",
            "Maier, M., Bartoš, F., Stanley, T. et al. (2022). No evidence for nudging after adjusting for publication bias.",
        ),
        (),
    ),
    (
        "configuration",
        """\
Set `source: kafka` and `confidence: 0.4` in the file, then restart. Data source: see the section on inputs below.
Power source: battery. Reference voltage: 3.3 V. Citation style: APA.
""",
        (),
        (),
    ),
    (
        "sources as a sentence",
        """\
Sources: I used the county's parcel map (2021), the 2022 BAER report and two interviews.
""",
        ("I used the county's parcel map (2021), the 2022 BAER report and two interviews",),
        (),
    ),
    (
        "the report by name",
        """\
About a third of the basin burned hot.

Source: the 2022 BAER report, page 12
Confidence: fairly high
""",
        ("the 2022 BAER report, page 12",),
        ("high",),
    ),
    (
        "definitions in a list of terms",
        """\
**Terms**
- Source: a person who gives information to a reporter
- Evidence: facts that support a claim
- Certainty: being free of doubt
""",
        (),
        (),
    ),
    (
        "a long comparison",
        """\
Plan A costs 12% more than plan B and takes 3 months longer. In a poll, 58% preferred A, 31% B, and the rest had
no opinion. Either way, start with the culverts, the bridge, and the two trails, in that order.
""",
        (),
        (),
    ),
    (
        "per claim confidence in a list",
        """\
1. The leak is in valve 3 (confidence: high).
2. It began before Monday (confidence: 65%).
3. Nobody tampered with it (confidence: low, no camera covers the door).
""",
        (),
        ("high", 0.65, "low"),
    ),
    (
        "links inside sentences",
        """\
The incident is described on [InciWeb](https://inciweb.wildfire.gov/x) and the closure in [the order](https://fs.gov/o).
""",
        ("InciWeb", "the order"),
        (),
    ),
    (
        "a directive with a date",
        """\
**Regulatory Basis:** FSM 2523.06 (check current issuance); 36 CFR 212.51
**Confidence:** Medium (70%) - the directive may have changed
""",
        ("FSM 2523.06 (check current issuance)", "36 CFR 212.51"),
        (0.7,),
    ),
    (
        "Portuguese",
        """\
A ponte está fechada desde outubro.

**Fonte:** Inspeção de campo, 25 de outubro de 2022
**Confiança:** 85%
""",
        ("Inspeção de campo, 25 de outubro de 2022",),
        (0.85,),
    ),
    (
        "a stack trace",
        """\
```
Traceback (most recent call last):
  File "app.py", line 36, in run
ValueError: confidence must be between 0 and 1, got 1.2
```
The source of the error is the second call; reference counting is not involved.
""",
        (),
        (),
    ),
    (
        "model card",
        """\
Accuracy is 91.2%, recall 88%, and the confidence threshold is 0.5. At a confidence of 0.9 or more, precision is 97%.
Trained on: Common Crawl, Wikipedia, and code.
""",
        (),
        (),
    ),
    (
        "confidence with a sentence behind it",
        """\
Overall confidence: 72%. The main risk is the age of the survey, which covers 24.7 of 27.2 miles.
Sources: trail survey of October 2022; ranger's log
""",
        ("trail survey of October 2022", "ranger's log"),
        (0.72,),
    ),
    (
        "books in quotation marks",
        """\
**Further sources:** "Fire in the Forest, Second Edition", "Soils, Slopes and Storms"
""",
        ("Fire in the Forest, Second Edition", "Soils, Slopes and Storms"),
        (),
    ),
    (
        "history",
        """\
The bridge was built in 1936 (Works Progress Administration, district 4), rebuilt in 1964 and closed in 2022. Its
engineer, Glenn Paxson (1899, Oregon), also drew the one at Westfir (1944).
""",
        (),
        (),
    ),
    (
        "certain and sure with numbers near",
        """\
Are you sure? 40% of plots were skipped. We must be certain that 2 of 3 gates are locked before 95% of visitors arrive.
""",
        (),
        (),
    ),
)

_WRITTEN_AT_THE_END: tuple[tuple[str, str, tuple[str, ...], tuple[Stated, ...]], ...] = (
    (
        "clinical advice",
        """\
Start with 5 mg daily and recheck potassium after a week.

**Sources**
1. NICE guideline NG136, Hypertension in adults
2. BNF, monograph on ramipril

**Confidence:** High (95%), except in renal failure (60%).
""",
        ("NICE guideline NG136, Hypertension in adults", "BNF, monograph on ramipril"),
        (0.95, 0.6),
    ),
    (
        "incident review",
        """\
At 14:02 the leader lost its lease; 12% of writes failed for 40 s. Evidence: metrics dashboard, trace 8f3a.
We are fairly confident in this timeline.
""",
        ("metrics dashboard, trace 8f3a",),
        ("medium",),
    ),
    (
        "travel tips",
        """\
Take the 8:15 from Eugene, change in Oakridge, and walk. The source of the river is 3 miles on. Hotels are 30%
cheaper in May; ask for Tom, Ann or Maria.
""",
        (),
        (),
    ),
    (
        "tax note",
        """\
The gain is deferred under 26 U.S.C. 1033(a)(2) if you reinvest within two years (see IRS Pub. 547). Confidence: 0.85
""",
        ("26 U.S.C. 1033(a)(2)",),
        (0.85,),
    ),
    (
        "release notes",
        """\
### 2.4.0 (2023-05-01)
- Sources can be filtered by tag, owner, or date.
- References to removed files are reported once.
- Confidence scores are rounded to 2 digits (was 4).
""",
        (),
        (),
    ),
    (
        "poll",
        """\
In a poll of 1,004 adults, 54% had confidence in the mayor and 37% in the council (margin ±3 points at 95% confidence).
""",
        (),
        (),
    ),
    (
        "two findings with sources each",
        """\
**Soil:** 36% burned hot. (Source: BAER report, table 2; confidence 80%)
**Roads:** four culverts failed. (Source: road log; confidence 95%)
""",
        ("BAER report, table 2", "road log"),
        (0.8, 0.95),
    ),
    (
        "a recipe of names",
        """\
Thanks to Parry, Filip, Willits and Parks, who read the draft, and to R. Lowell, who did not. All errors, about 2%
of the whole, are mine.
""",
        (),
        (),
    ),
    (
        "archive answer",
        """\
The ferry stopped in 1951. References: Lane County Historical Society, box 14, folder 3; The Register-Guard, 2 June 1951
""",
        (
            "Lane County Historical Society, box 14, folder 3",
            "The Register-Guard, 2 June 1951",
        ),
        (),
    ),
    (
        "hedged forecast",
        """\
I'd say there is roughly a 60% chance of a second run, but my confidence in that estimate is low.
""",
        (),
        ("low",),
    ),
    (
        "YAML front matter",
        """\
---
title: Trails after the fire
sources:
  - Trail survey, October 2022
  - "Closure order 06-18-01-22-05"
confidence: 0.82
---
Two trails stay closed.
""",
        ("Trail survey, October 2022", "Closure order 06-18-01-22-05"),
        (0.82,),
    ),
    (
        "school answer",
        """\
Photosynthesis stores about 1% of the light that falls on a leaf. The main energy source: the sun. Evidence: oxygen
bubbles rise when you light the plant.
""",
        (),
        (),
    ),
    (
        "thesis paragraph",
        """\
Fire return intervals shortened after 1950 (Heyerdahl et al., 2001), as Agee and Skinner (2005) had expected. Not all
sites follow (Hessburg, 2019).
""",
        ("Heyerdahl et al., 2001", "Agee and Skinner, 2005", "Hessburg, 2019"),
        (),
    ),
    (
        "Korean",
        """\
다리는 10월부터 폐쇄되었습니다. 전체의 36%가 피해를 입었습니다.
""",
        (),
        (),
    ),
)

_WRITTEN_AFTERWARDS: tuple[tuple[str, str, tuple[str, ...], tuple[Stated, ...]], ...] = (
    (
        "summary with a footer",
        """\
### Summary
The northern slopes lost most of their cover, and debris flows are likely above 30% slope.

### Recommendations
1. Post warnings at the trailheads.
2. Inspect culverts 4, 7 and 9 before the first storm.

---
**Confidence:** 84% | **Sources:** USGS debris-flow model (2022); field notes, 25 October 2022
""",
        ("USGS debris-flow model (2022)", "field notes, 25 October 2022"),
        (0.84,),
    ),
    (
        "answer with a table of claims",
        """\
| # | Claim | Source | Confidence |
|---|-------|--------|------------|
| 1 | Trail T01 is closed | Closure order, 18 Oct | High |
| 2 | T03 has a slide | Ranger Smith, phone call | Medium |
""",
        ("Closure order, 18 Oct", "Ranger Smith, phone call"),
        ("high", "medium"),
    ),
    (
        "plain prose about money",
        """\
Of the $4.2 million, 35% goes to roads, 25% to trails and the rest to salaries. Jane, Omar and Li signed on
12 March 2023; the auditor, KPMG, has not.
""",
        (),
        (),
    ),
    (
        "JSON in a fence",
        """\
Here is the record:

```json
{
  "finding": "two bridges out",
  "confidence": 0.9,
  "citations": [
    {"source": "Trail survey, October 2022", "reference": "segment T02-A"},
    {"source": "Photo log"}
  ]
}
```
""",
        ("Trail survey, October 2022", "Photo log"),
        (0.9,),
    ),
    (
        "legal answer with a statute and a case",
        """\
Notice is required (5 U.S.C. 553(b)), and failure is reviewed for harmless error. I'm about 75% confident.

Authorities: 5 U.S.C. 706; Shinseki v. Sanders, 556 U.S. 396 (2009)
""",
        ("5 U.S.C. 553(b)", "5 U.S.C. 706", "Shinseki v. Sanders, 556 U.S. 396 (2009)"),
        (0.75,),
    ),
    (
        "debugging help",
        """\
The import fails because `sources` is empty. Check line 42, then run `pytest -k confidence`; 3 of 12 tests cover it.
You can cite the docs as a reference if asked.
""",
        (),
        (),
    ),
    (
        "specialist in the usual form",
        """\
### 1. Summary
Salvage pays on the lower units only.
### 2. Volumes
- U1: 1,174 MBF, sampling error 15.9%
- U2: 603 MBF, sampling error 41.9%
### 6. Confidence & Source
**Confidence:** 91%
**Source:** Cedar Creek timber plot data; PNW salvage deterioration models
""",
        ("Cedar Creek timber plot data", "PNW salvage deterioration models"),
        (0.91,),
    ),
    (
        "science answer with links listed",
        """\
Lightning starts about half of the fires out here.

References:
- https://www.nifc.gov/fire-information/statistics
- Balch et al. 2017, PNAS 114(11), https://doi.org/10.1073/pnas.1617394114
""",
        (
            "https://www.nifc.gov/fire-information/statistics",
            "Balch et al. 2017, PNAS 114(11)",
        ),
        (),
    ),
    (
        "uncertain without a number",
        """\
I can't say how likely that is; nobody has measured it. If pressed, I'd guess it's more likely than not.
""",
        (),
        (),
    ),
    (
        "news summary",
        """\
The council voted 5 to 2 on Tuesday, according to the Register-Guard, and the mayor, who had opposed the plan, said
she was confident it would cut costs by 15%.
""",
        (),
        (),
    ),
    (
        "Dutch",
        """\
De brug is sinds oktober dicht; 36% van het gebied is verbrand, volgens Jansen, De Vries en Bakker.
""",
        (),
        (),
    ),
    (
        "confidence per option",
        """\
Option A (confidence 0.7): repair in place.
Option B (confidence 0.4): build a new bridge upstream.

Basis: the engineer's visit.
""",
        (),
        (0.7, 0.4),
    ),
)

FIRST: tuple[Sample, ...] = tuple(_sample(n, *written) for n, written in enumerate(_WRITTEN))
LATER: tuple[Sample, ...] = tuple(Sample(*written, held_out=True) for written in _WRITTEN_LATER)
LAST: tuple[Sample, ...] = tuple(Sample(*written, held_out=True) for written in _WRITTEN_LAST)
AT_THE_END: tuple[Sample, ...] = tuple(
    Sample(*written, held_out=True) for written in _WRITTEN_AT_THE_END
)
AFTERWARDS: tuple[Sample, ...] = tuple(
    Sample(*written, held_out=True) for written in _WRITTEN_AFTERWARDS
)
SAMPLES = (*FIRST, *LATER, *LAST, *AT_THE_END, *AFTERWARDS)
