"""A receipt in words: when, where, what for, what came, and what is next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adk_prism.grounding import SearchReceipt

from ..databases.paper import Paper

# As many as fit on a screen; the whole list is in the answer of the tool.
MOST_SHOWN = 5
_BREAK = "  \n"
_NOUNS = {"conference": "conference paper", "other": "other work"}


def receipt_text(receipt: SearchReceipt, papers: Sequence[Mapping[str, Any]], found: int) -> str:
    """Return the receipt with the first of its papers; `found` are all papers of the session."""
    mode = " (offline)" if receipt.mode == "offline" else ""
    filters = f" ({', '.join(receipt.filters_applied)})" if receipt.filters_applied else ""
    short = "Short run in" if receipt.preview else "Searched"
    lines = [
        f'[{receipt.timestamp[11:16]}] {short} {receipt.database}{mode}: "{receipt.query}"{filters}',
        f"→ Found {counted(receipt.results_count, 'paper')}{_breakdown(receipt)}",
        f"→ Added to grounding: {receipt.new_count} new, {counted(found, 'paper')} in all",
        *(f"→ Note: {warning}" for warning in receipt.warnings),
        f"→ Next: {receipt.next}",
    ]
    return _BREAK.join(lines) + _listed(papers)


def failed_text(receipt: SearchReceipt) -> str:
    """Return what is shown of a search that failed: it is not a search, and counts as none."""
    lines = [
        f'[{receipt.timestamp[11:16]}] Not searched: {receipt.database}, "{receipt.query}"',
        "→ It is listed among the failed searches, and counts in no receipt",
        f"→ Next: {receipt.next}",
    ]
    return _BREAK.join(lines)


def incomplete(papers: Sequence[Paper]) -> list[str]:
    """Say of how many papers the authors and the citations are known, where not of all."""
    known = {
        "authors": sum(1 for paper in papers if paper.authors),
        "citation counts": sum(1 for paper in papers if paper.citations is not None),
    }
    size = len(papers)
    lacking = [f"{name} of {count} of {size}" for name, count in known.items() if count < size]
    return [f"the database has the {' and the '.join(lacking)} papers"] if lacking else []


def breakdown(papers: Sequence[Paper]) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many papers there are of each kind and year, as far as the metadata says."""
    kinds = Counter(paper.kind or "unknown" for paper in papers)
    years = Counter(str(paper.year) if paper.year else "unknown" for paper in papers)
    return dict(kinds.most_common()), dict(sorted(years.items()))


def cited(paper: Mapping[str, Any]) -> str:
    """Return a paper as a reference."""
    authors = list(paper.get("authors") or ())
    by = f"{authors[0]} et al" if len(authors) > 2 else " and ".join(authors)
    where = ", ".join(str(each) for each in (paper.get("venue"), paper.get("year")) if each)
    # Whoever wrote the title did not write Markdown.
    title = re.sub(r"([\[\]\\`<])", r"\\\1", str(paper["title"]))
    title = f"[{title}]({paper['url']})" if paper.get("url") else title
    count = paper.get("citations")
    times = f"cited {counted(count, 'time')}" if isinstance(count, int) else ""
    return ". ".join(part for part in (by, title, where, times) if part)


def _breakdown(receipt: SearchReceipt) -> str:
    parts = [
        f"{count} of unknown kind" if kind == "unknown" else counted(count, _NOUNS.get(kind, kind))
        for kind, count in receipt.by_kind.items()
    ]
    total = receipt.total
    if total is not None and total > receipt.results_count:
        parts.append(f"of {total} that there are")
    return f" ({', '.join(parts)})" if parts else ""


def _listed(papers: Sequence[Mapping[str, Any]]) -> str:
    shown = [f"{number}. {cited(paper)}" for number, paper in enumerate(papers[:MOST_SHOWN], 1)]
    more = len(papers) - len(shown)
    rest = [f"\n… and {more} more"] if more > 0 else []
    return "\n\n" + "\n".join([*shown, *rest]) if shown else ""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it needs one."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
