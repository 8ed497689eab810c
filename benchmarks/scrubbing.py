"""P: dragging the playhead of a long run in Chromium, all panels open, from a shared file.

The promise is that no task of the page takes longer than 50 ms, in a run of ten thousand events. It is a
wall time, so on a machine that others use the best round counts: the page cannot be quicker than it is.
What a move costs in CPU time is held against a run of a tenth of the events, in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from adk_prism.pipeline.share import read_page, shared_file
from benchmarks.film import LONG, SHORT, entries
from benchmarks.table import Row

LONGEST_TASK = 50.0
SCRIPT = Path(__file__).with_name("scrubbing.mjs")


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons. Needs the built page and the browser of `make test`."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.html" for name in ("long", "short")}
        for name, events in (("long", LONG), ("short", SHORT)):
            files[name].write_text(shared_file(entries(events), read_page()), encoding="utf-8")
        measured = _measure(files, 1 if quick else 4)
    longest = min(one["longest"] for one in measured["long"])
    cpu = {name: median(one["cpu"] for one in found) for name, found in measured.items()}
    return [
        Row(
            f"scrubbing {LONG:,} events: the longest task, against 50 ms",
            f"{longest:.0f} ms" if longest else "below 50 ms",
            "50 ms",
            longest / LONGEST_TASK,
            1.0,
        ),
        Row(
            f"scrubbing {LONG:,} events: CPU of a move, against {SHORT:,}",
            f"{cpu['long']:.1f} ms",
            f"{cpu['short']:.1f} ms",
            cpu["long"] / cpu["short"],
            3.0,
        ),
    ]


def _measure(files: dict[str, Path], rounds: int) -> dict[str, list[dict[str, float]]]:
    node = Path(sys.executable).with_name("node")
    command = [node, SCRIPT, str(rounds), *files.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The browser did not run; `make test` unpacks it. {done.stderr[-800:]}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        name: [one for one in found if one["file"] == str(path)] for name, path in files.items()
    }
