"""Whether the counts in the box agree with the receipts and the papers, which are counted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adk_prism.grounding import GroundingBox

from ..databases.paper import Paper, distinct
from .synthesis import Papers


@dataclass(frozen=True, slots=True)
class Check:
    """Two numbers that have to be the same."""

    name: str
    said: int
    counted: int

    @property
    def right(self) -> bool:
        """Whether they are."""
        return self.said == self.counted


def check_counts(box: GroundingBox, papers: Papers) -> list[Check]:
    """Count again what the box says."""
    receipts = box.search_history
    return [
        Check(
            "papers found = distinct papers",
            box.papers_found,
            len(distinct(_paper(each) for each in papers)),
        ),
        Check(
            "papers found = new papers of all receipts",
            box.papers_found,
            sum(each.new_count for each in receipts),
        ),
        Check(
            "databases searched = databases of the receipts",
            len(box.databases_searched),
            len({each.database for each in receipts}),
        ),
    ]


def validation_text(checks: Sequence[Check]) -> str:
    """Return the checks in words."""
    lines = [
        f"- {each.name}: {each.said} and {each.counted}, {'right' if each.right else 'WRONG'}"
        for each in checks
    ]
    return "**VALIDATION**\n\n" + "\n".join(lines)


def _paper(kept: Mapping[str, Any]) -> Paper:
    return Paper(
        title=str(kept.get("title", "")),
        doi=str(kept.get("doi", "")),
        arxiv=str(kept.get("arxiv", "")),
    )
