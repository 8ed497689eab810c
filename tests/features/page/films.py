"""Golden films: a document, and what every panel shows of it at some cursors.

`web/src/film` selects from the document; that it shows the same is what these files are for. They also
keep old documents readable, since shared files live on: `python -m tests.features.page.films` writes them
anew.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw
from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page.film import encode, fold
from adk_prism.features.usage.usage import Prices
from adk_prism.log.entry import Entry

FOLDER = Path(__file__).parent / "films"
LOOKS = 12
"""Cursors of a golden film; the selector is tried at all of them elsewhere."""
KEPT = (
    "agent_tool",
    "approval",
    "approval.2",
    "exception",
    "parallel_specialists",
    "raw/x_recovery_capture",
    "sources",
    "state",
    "tool_error",
    "workflow",
    "x_retried_node",
    "x_state_scopes",
    "x_withheld_text_of_a_thought",
    "made-grounding",
    "made-model-calls",
    "made-costs",
)


def golden(name: str, looks: int = LOOKS) -> bytes:
    """Return a recording's document, the same in two pieces, and views of it."""
    entries = MADE[name]() if name in MADE else load(name)
    half = fold(entries[: (len(entries) + 1) // 2], PRICES.get(name))
    film = fold(entries, PRICES.get(name))
    step = max(1, film.last // looks)
    cursors = sorted({*range(1, film.last + 1, step), film.last})
    views = {str(cursor): film.at(cursor) for cursor in cursors}
    runs = {str(at): film.at(at, "nodes")["nodes"] for at in {*cursors[::4], film.last}}
    golden = {
        "document": Raw(encode(film)),
        "half": Raw(encode(half)),
        "growth": Raw(encode(film, half.last)),
        "views": views,
        "runs": dict(sorted(runs.items())),
    }
    return msgspec.json.encode(golden) + b"\n"


def grounded() -> tuple[Entry, ...]:
    """Return a run whose grounding box has values that cannot be read, receipts that go, and odd names."""
    first, second = _receipt("arxiv", "2026-03-01T14:23:05+00:00"), _receipt("crossref", "09:01")
    log = Log("What is known?", grounding__stage="scoping", grounding__search_history=[first])
    log.start("research")
    log.event("research", delta={"grounding:stage": 7, "__proto__": {"a": 1}, "toString": 2})
    log.event("research", delta={"grounding:search_history": [first, second, {"no": "receipt"}]})
    log.event("research", delta={"grounding:stage": "retrieval", "grounding:unheard_of": True})
    actions = [{"name": "widen", "label": "Widen the years"}]
    remedies = {"primary": "Widen the years", "fallback": "Ask elsewhere"}
    failure = {"type": "coverage_gap", "remedies": remedies}
    log.event("research", delta={"grounding:last_search_failure": failure})
    log.event("research", delta={"grounding:last_search_failure": failure | {"actions": actions}})
    log.event("research", delta={"grounding:search_history": [second], "grounding:stage": None})
    log.event("research", delta={"grounding:search_history": "lost"})
    log.end("research")
    log.over()
    return tuple(log.entries)


def called() -> tuple[Entry, ...]:
    """Return a run with model calls of two agents: one failed, one of a clock that is wrong."""
    log = Log("What is known?")
    log.start("root")
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7}
    log.called("root", "root", started=0.6, first_token=200, duration=900, usage=usage, kept=True)
    log.start("tool1", "root", kind="tool")
    log.called("other", started=1e9, duration=5, usage={"promptTokenCount": "x"}, error="TIMEOUT")
    log.end("tool1")
    log.called("root", "root", started=-5.0, first_token=0, usage={"totalTokenCount": 12})
    log.event("root", text="Nothing.")
    log.end("root")
    log.over()
    return tuple(log.entries)


def costly() -> tuple[Entry, ...]:
    """Return a run of several agents, to be shown with prices."""
    return load("parallel_specialists")


MADE = {"made-grounding": grounded, "made-model-calls": called, "made-costs": costly}
"""Runs that are made by hand."""

PRICES = {"made-costs": Prices({"tour-offline": {"input": 0.3, "output": 2.5}})}


def _receipt(database: str, timestamp: str) -> dict[str, object]:
    return {"timestamp": timestamp, "database": database, "query": "q", "results_count": 3}


def path(name: str) -> Path:
    """Return where a golden film is."""
    return FOLDER / f"{name.replace('/', '-')}.json"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for kept in KEPT:
        path(kept).write_bytes(golden(kept))
