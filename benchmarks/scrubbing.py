"""P: dragging the playhead of a long run in Chromium, every panel open, from a shared file.

The promise is that no task of the page takes longer than 50 ms, in a run of ten thousand events, whatever
it is full of. What a move costs is held against a run of a tenth of the events.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from adk_prism.features.share.page_file import read_page, shared_file
from benchmarks.scrubbed_runs import RUNS
from benchmarks.table import Row

LONG, SHORT = 10_000, 1_000
LONGEST_TASK = 50.0
PANELS = {"texts": "event", "calls": "event", "proofs": "proof"}
"""What is open in the inspector; elsewhere, the state."""
SCRIPT = Path(__file__).with_name("scrubbing.mjs")

Measured = dict[str, list[dict[str, float]]]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons. Needs the built page and the browser of `make test-all`."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for name, make in RUNS.items():
            for events in (LONG, SHORT) if name == "steps" else (LONG,):
                path = Path(folder) / f"{name}-{events}.html"
                path.write_text(shared_file(make(events), read_page()), encoding="utf-8")
                runs[path.stem] = f"{PANELS.get(name, 'state')}={path}"
        measured = _measure(runs, 1 if quick else 3)
    cpu = {name: median(one["cpu"] for one in found) for name, found in measured.items()}
    long, short = cpu[f"steps-{LONG}"], cpu[f"steps-{SHORT}"]
    return [
        *(_longest(name, measured[f"{name}-{LONG}"]) for name in RUNS),
        Row(
            f"scrubbing {LONG:,} events: CPU of a move, against {SHORT:,}",
            f"{long:.1f} ms",
            f"{short:.1f} ms",
            long / short,
            3.0,
        ),
    ]


def _longest(name: str, found: Iterable[dict[str, float]]) -> Row:
    longest = max(one["longest"] for one in found)
    title = f"scrubbing {LONG:,} events ({name}): the longest task, against 50 ms"
    return Row(title, f"{longest:.0f} ms", "50 ms", longest / LONGEST_TASK, 1.0)


def _measure(runs: dict[str, str], rounds: int) -> Measured:
    node = Path(sys.executable).with_name("node")
    command = [node, SCRIPT, str(rounds), *runs.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"The browser did not run; `make test-all` unpacks it. {done.stderr[-800:]}"
        )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: [one for one in found if one["run"] == run] for name, run in runs.items()}
