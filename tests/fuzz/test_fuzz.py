"""Every decoder, fuzzed: only the errors that it declares, no hang, no flood of memory.

`PRISM_FUZZ_SECONDS` (60) is the time for each group of decoders; four run side by side, which on two cores
takes two and a half minutes. An hour each: `PRISM_FUZZ_SECONDS=3600 make test ARGS=tests/fuzz`.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.fuzz.target import NAMES, target

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = float(os.environ.get("PRISM_FUZZ_SECONDS", "60"))
AT_ONCE = 4
TO_START = 900
"""Seconds that a process may need besides: importing ADK, instrumented, on a busy machine."""
FEWEST = 500
"""Inputs below which a fuzzer does not fuzz: some times the seeds, however slow the machine."""

HAS_ATHERIS = (
    sys.version_info < (3, 14) and sys.platform == "linux" and platform.machine() == "x86_64"
)
"""Where the lock has a wheel of it."""


@pytest.mark.parametrize("name", NAMES)
def test_the_seeds_are_read_or_refused(name: str) -> None:
    """What every round of fuzzing begins with."""
    fuzzed = target(name)
    seeds = fuzzed.seeds()
    assert seeds
    for seed in seeds:
        fuzzed.try_(seed)


@pytest.mark.parametrize("file", sorted((HERE / "found").iterdir()), ids=lambda file: file.name)
def test_what_was_found_once_is_mended(file: Path) -> None:
    """Each input broke a decoder; its name begins with the target's."""
    target(file.name.partition("-")[0]).try_(file.read_bytes())


def fuzz(name: str, folder: Path) -> tuple[str, int, str]:
    """Fuzz one target in a process of its own; return its name, status and words."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, str(SECONDS)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS + TO_START,
    )
    return name, done.returncode, done.stdout.decode(errors="replace")


def test_only_declared_errors_come_out(tmp_path: Path) -> None:
    """Atheris follows the coverage of our code; where there is none of it, Hypothesis, and said so."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda name: fuzz(name, tmp_path), NAMES))
    for name, status, words in results:
        assert status == 0, f"{name}:\n{words[-4000:]}"
        engine = "Atheris" if HAS_ATHERIS else "Hypothesis"
        assert f"{name}: {engine}" in words
        tried = re.search(r"number_of_executed_units: (\d+)", words)
        assert tried is not None, words[-2000:]
        assert int(tried[1]) > FEWEST, f"{name}: only {tried[1]} inputs"
        print(f"{name}: {engine}, {tried[1]} inputs in {SECONDS:g} s")
