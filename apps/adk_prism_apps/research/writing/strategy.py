"""The search strategy as a document for a methods section, and its counts in the manner of PRISMA.

Everything in it is taken from the receipts. What was not decided yet, such as which papers are to be
included, is marked as undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adk_prism.grounding import GroundingBox, SearchReceipt

from .plans import filters_text
from .receipts import cited
from .synthesis import Papers

Failed = Sequence[Mapping[str, Any]]
"""Searches that failed, as the session keeps them."""


def prisma(box: GroundingBox, papers: Papers, failed: Failed = ()) -> dict[str, Any]:
    """Return the counts: identified in each database, duplicates, and what is left to screen."""
    identified: Counter[str] = Counter()
    for receipt in box.search_history:
        identified[receipt.database] += receipt.results_count
    total = identified.total()
    return {
        "searches": len(box.search_history),
        "searches_failed": len(failed),
        "records_identified": total,
        "records_identified_by_database": dict(identified),
        "duplicates_removed": total - len(papers),
        "records_to_screen": len(papers),
        "records_screened": None,
        "records_included": None,
    }


def strategy(box: GroundingBox, papers: Papers, failed: Failed, written: str) -> str:
    """Return the strategy as Markdown; `written` is when."""
    counts = prisma(box, papers, failed)
    parts = [
        "# Search strategy",
        f"Question: {box.research_question or 'not stated'}  \nWritten: {written}",
        _listed("Assumptions", box.search_assumptions),
        _listed("Open questions", box.open_questions),
        "## Searches\n\n" + _table(box.search_history),
        "## Searches that failed\n\n" + _failures(failed) if failed else "",
        "## Counts\n\n" + _counts(counts),
        "## Papers\n\n"
        + ("\n".join(f"{n}. {cited(p)}" for n, p in enumerate(papers, 1)) or "None."),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(title: str, items: list[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {item}" for item in items) if items else ""


def _table(receipts: list[SearchReceipt]) -> str:
    if not receipts:
        return "No search has been made."
    head = (
        "| when | database | query | filters | found | new | notes |\n|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *map(_row, receipts)])


def _failures(failed: Failed) -> str:
    """Return the searches that got no answer; they are in no count."""
    head = "| when | database | query | filters | reason |\n|---|---|---|---|---|"
    rows = [
        _cells(
            str(each.get("timestamp", "")),
            str(each.get("database", "")),
            str(each.get("query", "")),
            filters_text(each.get("filters") or {}),
            ": ".join(str(each[name]) for name in ("reason", "detail") if each.get(name)),
        )
        for each in failed
    ]
    return "\n".join([head, *rows])


def _row(receipt: SearchReceipt) -> str:
    notes = [*(["short run"] if receipt.preview else []), *receipt.warnings]
    return _cells(
        receipt.timestamp,
        f"{receipt.database}{' (offline)' if receipt.mode == 'offline' else ''}",
        receipt.query,
        filters_text(receipt.filters),
        str(receipt.results_count),
        str(receipt.new_count),
        "; ".join(notes),
    )


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _counts(counts: dict[str, Any]) -> str:
    where = ", ".join(
        f"{name}: {n}" for name, n in counts["records_identified_by_database"].items()
    )
    return "\n".join(
        [
            f"- Records identified: {counts['records_identified']} ({where or 'no search yet'})",
            f"- Duplicates removed: {counts['duplicates_removed']}",
            f"- Records to screen: {counts['records_to_screen']}",
            "- Records screened and included: not decided yet",
        ]
    )
