"""What came of trials is kept for the page: the newest of each set, and nothing that cannot be read."""

from __future__ import annotations

from pathlib import Path

from adk_prism.features.evaluation.evaluation import HISTORY
from adk_prism.features.evaluation.stored_trials import (
    MOST_KEPT,
    MOST_SHOWN,
    SUFFIX,
    store_trials,
    stored_trials,
)
from adk_prism.features.rerun.trials import Tally, Trial


def tally(passed: int, trials: int) -> Tally:
    made = Tally("a case", "as it is")
    made.trials = [
        Trial(subject="a case", passed=n < passed, seconds=2.0, cost=0.5) for n in range(trials)
    ]
    return made


def test_the_newest_trials_of_a_set_are_kept(tmp_path: Path) -> None:
    """Those of other sets stay where they are, and a broken file harms none."""
    assert stored_trials(tmp_path, "app", "mine") == []
    store_trials(tmp_path, "app", "other", [tally(1, 1)])
    for passed in range(MOST_KEPT + 2):
        store_trials(tmp_path, "app", "mine", [tally(passed % 11, 10)])
    place = tmp_path / "app" / HISTORY
    (place / f"999{SUFFIX}").write_bytes(b"{")
    assert len(list(place.glob(f"*{SUFFIX}"))) == MOST_KEPT + 2
    found = stored_trials(tmp_path, "app", "mine")
    assert [each.cells[0].passed for each in found] == [10, 9, 8][:MOST_SHOWN]
    (cell,) = stored_trials(tmp_path, "app", "other")[0].cells
    assert (cell.passed, cell.trials, cell.cost, cell.seconds) == (1, 1, 0.5, 2.0)
