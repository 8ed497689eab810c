"""Stored results of evaluations: the files of ADK, which `adk web` and `adk eval` read and write, too."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from adk_prism.source.evaluation.evaluation import CaseScore, stored_score

HISTORY = Path(".adk/eval_history")
"""Where ADK keeps results, in the folder of an app."""
SUFFIX = ".evalset_result.json"
MOST = 50
"""Results that are read: the newest ones."""
LARGEST = 32 * 1024**2
"""Bytes of a file that is read. ADK writes whole sessions into it."""


class StoredResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """One evaluation of a set, some time ago."""

    id: str
    eval_set_id: str
    time: float
    cases: list[CaseScore]


def stored_results(folder: Path, app: str) -> list[StoredResult]:
    """Return the newest results of an app, the newest first; a file that ADK cannot read is left out."""
    from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

    places = (folder / app / HISTORY).glob(f"*{SUFFIX}")
    sizes = {path: path.stat() for path in places}
    newest = sorted(sizes, key=lambda path: sizes[path].st_mtime, reverse=True)[:MOST]
    manager, found = LocalEvalSetResultsManager(str(folder)), []
    for path in newest:
        if sizes[path].st_size > LARGEST:
            continue
        name = path.name.removesuffix(SUFFIX)
        try:
            result = manager.get_eval_set_result(app, name)
        except (ValueError, OSError):
            continue
        found.append(
            StoredResult(
                id=name,
                eval_set_id=result.eval_set_id,
                time=result.creation_timestamp,
                cases=[stored_score(case) for case in result.eval_case_results],
            )
        )
    return found
