"""E: how soon the command line answers, in starts of an empty Python.

CPU time of the whole process, as its parent is told it: of `adk-prism replay --help`, which loads all that
a replay needs, and of a short replay, against `python -c pass`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.long_runs import answers
from benchmarks.rounds import Measure, take_turns
from benchmarks.table import Row, millis

TARGET = 10
"""Starts of Python. ADK alone takes a hundred; an eye does not see less than a tenth of a second."""


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "run.jsonl"
        recording.write_bytes(b"".join(answers(1, 10)))
        variants = {
            "pass": _started("-c", "pass"),
            "help": _started("-m", "adk_prism.cli", "replay", "--help"),
            "replay": _started("-m", "adk_prism.cli", "replay", str(recording), "--as", "ai-sdk"),
        }
        measured = take_turns(variants, 5 if quick else 21)
    return [
        Row(
            name,
            millis(measured.cost(ours)),
            millis(measured.cost("pass")),
            measured.ratio(ours, "pass"),
            TARGET,
        )
        for name, ours in (
            ("CPU: adk-prism replay --help, python -c pass", "help"),
            ("CPU: adk-prism replay of ten deltas, python -c pass", "replay"),
        )
    ]


def _started(*arguments: str) -> Measure:
    command = [sys.executable, *arguments]

    def measure() -> float:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} failed")
        return usage.ru_utime + usage.ru_stime

    return measure
