"""Runs as lists of them are answered: by `GET /api/runs`, and by `adk-prism runs`."""

from __future__ import annotations

from typing import Any

from adk_prism.facts.pricing import Prices, sum_of
from adk_prism.facts.run_digest import uses_of
from adk_prism.runlog.contract import FoundRun, RunSummary
from adk_prism.runlog.run_digest import NAME_KINDS, RunDigest
from adk_prism.runlog.search_text import split_terms

LONGEST_TITLE = 120
"""Characters: two lines of a narrow list."""

BEFORE, AFTER = 40, 120
"""Characters of an excerpt around what was found."""

_PLURALS = {kind: kind if kind in ("state", "feedback") else f"{kind}s" for kind in NAME_KINDS}


def shown_run(summary: RunSummary) -> dict[str, Any]:
    """Return a run as it is answered."""
    return {
        "run": summary.run,
        "app": summary.origin.app,
        "user": summary.origin.user,
        "session": summary.origin.session,
        "invocation": summary.invocation,
        "message": summary.message,
        "started": summary.started,
        "ended": summary.ended,
        "outcome": summary.outcome,
        "cursor": summary.cursor,
        "bytes": summary.bytes,
    }


def shown_found(found: FoundRun, text: str, prices: Prices) -> dict[str, Any]:
    """Return a run that was found, with what it was found by; `text` is what was searched for."""
    digest = found.digest
    shown = shown_run(found.summary)
    shown["title"] = " ".join(digest.user[: LONGEST_TITLE * 2].split())[:LONGEST_TITLE]
    shown |= {plural: digest.names.get(kind, []) for kind, plural in _PLURALS.items()}
    shown |= {"tokens": digest.tokens, "duration": digest.duration}
    shown |= sum_of(uses_of(digest), prices).shown()
    return shown | ({"match": _match(digest, text)} if text else {})


def _match(digest: RunDigest, text: str) -> dict[str, str]:
    """Return where the text was found and what is around it; the beginning, if it is spelled otherwise."""
    parts = {"user": digest.user, "agent": digest.agent, "calls": digest.calls}
    for term in split_terms(text):
        for name, part in parts.items():
            at = part.casefold().find(term.casefold())
            if at >= 0:
                return {"in": name, "excerpt": _excerpt(part, at)}
    name = next((name for name, part in parts.items() if part), "user")
    return {"in": name, "excerpt": _excerpt(parts[name], 0)}


def _excerpt(text: str, at: int) -> str:
    start, end = max(0, at - BEFORE), at + AFTER
    words = " ".join(text[start:end].split())
    return f"{'…' * (start > 0)}{words}{'…' * (end < len(text))}"
