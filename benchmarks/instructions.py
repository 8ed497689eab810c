"""Counting instructions: what a conversion costs, however busy the machine is.

Valgrind's callgrind runs `conversions.py` in a process of its own: it starts and warms up without being
counted, and then does each conversion for so many events, and for twice as many. The difference, divided
by that many, is what one event costs; what is the same for any number of events drops out. The same build
of Python on the same kind of processor gives the same counts within a hundredth.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

EVENTS = 100
"""So many, and twice as many, of each kind."""

Counts = Mapping[str, float]
"""Instructions per event, by conversion."""

_ROOT = Path(__file__).parent.parent
_COMMAND = ("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no")
_COUNTED = re.compile(r"^events-1: (\d+)", re.MULTILINE)


def can_count() -> bool:
    """Return whether valgrind and its remote control are installed."""
    return shutil.which("valgrind") is not None and shutil.which("vgdb") is not None


def count_conversions(wanted: Mapping[str, Sequence[str]]) -> dict[str, Counts]:
    """Return what each of the `wanted` conversions costs per event, by kind of event."""
    with _conversions() as process:
        _control(process, "instrumentation", "on")
        return {
            kind: {conversion: _per_event(process, kind, conversion) for conversion in conversions}
            for kind, conversions in wanted.items()
        }


def _per_event(process: subprocess.Popen[str], kind: str, conversion: str) -> float:
    begun = _counted(process)
    _ask(process, f"{kind}\t{conversion}\t{EVENTS}")
    between = _counted(process)
    _ask(process, f"{kind}\t{conversion}\t{2 * EVENTS}")
    return (_counted(process) - between - (between - begun)) / EVENTS


@contextmanager
def _conversions() -> Iterator[subprocess.Popen[str]]:
    """Run the conversions' process, which has warmed up when the block begins."""
    with subprocess.Popen(
        [
            *(*_COMMAND, f"--callgrind-out-file={os.devnull}"),
            *(sys.executable, "-W", "ignore", "-m", "benchmarks.conversions"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=_ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'src'}",
            "PYTHONHASHSEED": "1",  # as many collisions in every run
        },
    ) as process:
        try:
            _answer(process)
            yield process
        finally:
            process.kill()


def _ask(process: subprocess.Popen[str], question: str) -> None:
    assert process.stdin is not None
    process.stdin.write(question + "\n")
    process.stdin.flush()
    _answer(process)


def _answer(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"{process.args!r} ended; run it by hand to see why")


def _counted(process: subprocess.Popen[str]) -> int:
    """Return how many instructions were counted so far."""
    found = _COUNTED.search(_control(process, "status", "internal"))
    if found is None:
        raise RuntimeError("valgrind gave no count; `vgdb` needs the right to trace processes")
    return int(found[1])


def _control(process: subprocess.Popen[str], *command: str) -> str:
    asked = ["vgdb", f"--pid={process.pid}", *command]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout
