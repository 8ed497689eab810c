"""What came of the trials of eval sets (`adk-prism eval --trials`), beside ADK's own results of the app."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from adk_prism.features.evaluation.evaluation import HISTORY, LARGEST
from adk_prism.features.rerun.trials import Tally

SUFFIX = ".trials.json"

MOST_KEPT = 20
"""Of one set; older ones are removed."""

MOST_SHOWN = 3
"""Of one set, on the page."""


class TrialCell(Struct, frozen=True, rename="camel"):
    """One case in one column."""

    subject: str
    column: str
    trials: int
    passed: int
    interval: tuple[float, float]
    """Between which rates the true one is, likely."""
    cost: float | None
    """Of one trial; None: not known."""
    seconds: float | None
    stopped: str
    """Why there were no more trials."""


class StoredTrials(Struct, frozen=True, rename="camel"):
    """The trials of one command."""

    eval_set_id: str
    time: float
    cells: list[TrialCell]


def store_trials(folder: Path, app: str, set_id: str, tallies: Sequence[Tally]) -> None:
    """Store trials, and remove the oldest of that set. Raise `OSError`."""
    cells = msgspec.convert([tally.shown() for tally in tallies], list[TrialCell])
    stored = StoredTrials(set_id, round(time.time(), 3), cells)
    place = folder / app / HISTORY
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{time.time_ns()}{SUFFIX}").write_bytes(msgspec.json.encode(stored))
    own = [path for path, each in _read(place) if each.eval_set_id == set_id]
    for path in own[MOST_KEPT:]:
        path.unlink(missing_ok=True)


def stored_trials(folder: Path, app: str, set_id: str) -> list[StoredTrials]:
    """Return the newest trials of a set, the newest first; a file that cannot be read is left out."""
    found = (each for _, each in _read(folder / app / HISTORY) if each.eval_set_id == set_id)
    return [each for each, _ in zip(found, range(MOST_SHOWN), strict=False)]


def _read(place: Path) -> list[tuple[Path, StoredTrials]]:
    found = []
    for path in sorted(place.glob(f"*{SUFFIX}"), reverse=True):
        try:
            if path.stat().st_size <= LARGEST:
                read = msgspec.json.decode(path.read_bytes(), type=StoredTrials)
                found.append((path, read))
        except (msgspec.MsgspecError, OSError):
            continue
    return found
