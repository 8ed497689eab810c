"""Whether a citation is in force on a given day; for a rescinded part, what replaced it.

Confidence: 0 for a paragraph about which the table says nothing, else what a secondary source and
the table's own age leave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..finding import Finding
from ..library import DataProblem
from ..library.tables import NepaRule, NepaTable, Regime
from .case import Case
from .rules import Cited, cited_in, find_regime, find_rule, status_of


def check_citation(case: Case, citation: str) -> Finding:
    """Check every citation in a text; raise `DataProblem` if there is none."""
    cited = cited_in(citation)
    if not cited:
        text = f"No citation in {citation[:60]!r}; expected one such as 36 CFR 220.6(e)(13)."
        raise DataProblem("bad argument", text, field="citation")
    table = case.tables.nepa()
    rows = [_row(one, table, case) for one in cited]
    data = case.data | {
        "citations": rows,
        "checked_on": table.checked_on.isoformat(),
        "closing": closing_of(table, [row["verify"] for row in rows]),
    }
    return Finding(
        title="Citations",
        headline=" ".join(_sentence(row, data["as_of"]) for row in rows),
        body=tuple(line for row in rows for line in _lines(row)),
        data=data,
        proof=Proof(
            factors=(_known(rows), *table_factors(case, table)),
            citations=tuple(_cite(row) for row in rows),
            reasoning=(
                "Brought each citation into one spelling.",
                "Looked up the paragraph, and where it is not in the table its part.",
                f"Compared its dates with {data['as_of']}.",
            ),
        ),
        actions=tuple(_advice(row, data["as_of"]) for row in rows if row["status"] in _NOT_TO_CITE),
        closing=data["closing"],
    )


_NOT_TO_CITE = ("superseded", "set aside", "not yet in force")


def _advice(row: dict[str, Any], as_of: str) -> str:
    advice = f"Do not cite {row['citation']} for {as_of}: it is {row['status']}"
    if row["successor"]:
        return f"{advice}, and {row['superseded_by']}, which follows it, is {row['successor']}."
    return f"{advice}."


def closing_of(table: NepaTable, links: Iterable[str]) -> str:
    """Return the sentence that every advice ends with, with the pages at which to verify it."""
    pages = ", ".join(dict.fromkeys(link for link in links if link))
    return f"{table.closing} Verify: {pages}" if pages else table.closing


def table_factors(case: Case, table: NepaTable) -> tuple[Factor, ...]:
    """Return what weakens anything that is read from the table of rules."""
    policy = case.tables.confidence()
    secondary = 1.0 if table.evidence == "secondary" else 0.0
    return (
        confidence.weakness(policy, "secondary_source", secondary, "where the rules were read"),
        confidence.age(policy, "rule table", [table.checked_on], case.as_of),
    )


def _row(cited: Cited, table: NepaTable, case: Case) -> dict[str, Any]:
    rule = find_rule(table, cited)
    regime = find_regime(table, cited)
    source = rule or regime
    # A part that has ended ends its paragraphs; a living part says nothing of an unknown one.
    status = status_of(source, case.as_of) if source else "not in the table"
    if rule is None and cited.section and status == "in force":
        status = "not in the table"
    return {
        "citation": cited.text,
        "paragraph_known": rule is not None,
        "title": rule.title if rule else regime.title if regime else "",
        "status": status,
        "since": _since(rule, regime, status),
        "superseded_by": source.superseded_by if source and status == "superseded" else None,
        "successor": _successor(source, table, case) if status == "superseded" else "",
        "by": _by(rule, status),
        "verify": source.verify if source else "https://www.ecfr.gov/",
        "source": source.source if source else "",
        "note": rule.note_on(case.as_of) if rule else "",
    }


def _successor(source: NepaRule | Regime | None, table: NepaTable, case: Case) -> str:
    """Return what became of the rule that follows one, where it is not simply in force."""
    for cited in cited_in((source.superseded_by or "") if source else ""):
        rule = find_rule(table, cited)
        status = status_of(rule, case.as_of) if rule is not None else "in force"
        if rule is not None and status != "in force":
            since = _since(rule, None, status)
            by = f" ({_by(rule, status)})" if _by(rule, status) else ""
            return f"{status}{f' since {since}' if since else ''}{by}"
    return ""


def _since(rule: NepaRule | None, regime: Regime | None, status: str) -> str | None:
    source = rule or regime
    if source is None:
        return None
    if status == "set aside" and rule is not None:
        return rule.events[0].since.isoformat()
    day = source.effective_to if status == "superseded" else source.effective_from
    return day.isoformat() if day else None


def _by(rule: NepaRule | None, status: str) -> str:
    if rule is None or status != "set aside":
        return ""
    event = rule.events[0]
    return f"{event.by}; {event.note}" if event.note else event.by


def _sentence(row: dict[str, Any], as_of: str) -> str:
    if row["status"] == "not in the table":
        return f"{row['citation']} is not in the table: nothing can be said about it here."
    since = f" since {row['since']}" if row["since"] and row["status"] != "not yet in force" else ""
    follows = f"; {row['superseded_by']} follows it" if row["superseded_by"] else ""
    follows += f", and is itself {row['successor']}" if row["successor"] else ""
    by = f" ({row['by']})" if row["by"] else ""
    return f"{row['citation']} is {row['status']} on {as_of}{since}{by}{follows}."


def _lines(row: dict[str, Any]) -> list[str]:
    lines = []
    if row["title"]:
        lines.append(f"{row['citation']}: {row['title']}.")
    if not row["paragraph_known"] and row["status"] == "superseded":
        lines.append("What became of this paragraph itself is not in the table.")
    if row["note"]:
        lines.append(row["note"])
    return lines


def _known(rows: list[dict[str, Any]]) -> Factor:
    known = [row["status"] != "not in the table" for row in rows]
    return confidence.share("in_the_table", sum(known) / len(known), "citations with a status")


def _cite(row: dict[str, Any]) -> Citation:
    return Citation(row["citation"], f"{row['status']}; {row['title']}".rstrip("; "), row["verify"])
