"""Golden films: a document, and what every panel shows of it at some cursors.

`web/src/film` selects from the document; that it shows the same is what these files are for. They also
keep old documents readable, since shared files live on: `python -m tests.view.films` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw
from tests.recordings.library import load

from adk_prism.view.document import encode
from adk_prism.view.film import fold

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
    "workflow",
    "x_retried_node",
    "x_state_scopes",
)


def golden(name: str, looks: int = LOOKS) -> bytes:
    """Return a recording's document, the same in two pieces, and views of it."""
    entries = load(name)
    half = fold(entries[: (len(entries) + 1) // 2])
    film = fold(entries)
    step = max(1, film.last // looks)
    cursors = sorted({*range(1, film.last + 1, step), film.last})
    views = {str(cursor): film.at(cursor) for cursor in cursors}
    golden = {
        "document": Raw(encode(film)),
        "half": Raw(encode(half)),
        "growth": Raw(encode(film, half.last)),
        "views": views,
    }
    return msgspec.json.encode(golden) + b"\n"


def path(name: str) -> Path:
    """Return where a golden film is."""
    return FOLDER / f"{name.replace('/', '-')}.json"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for kept in KEPT:
        path(kept).write_bytes(golden(kept))
