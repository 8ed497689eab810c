"""E: how soon the command line answers, and how soon a server does.

*Commands*: CPU time of the whole process, as its parent is told it: of `adk-prism replay --help`, which loads
all that a replay needs, and of a short replay, in starts of an empty Python (`python -c pass`).

*Servers*: from the start of the process to its first answer to `GET /list-apps`, with a folder of three apps,
against `adk api_server` of the same folder. Wall time, since that is what whoever starts it waits for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

from benchmarks.child import START, free_port
from benchmarks.long_runs import answers
from benchmarks.rounds import Measure, take_turns
from benchmarks.table import Row, millis

TARGET = 10
"""Starts of Python. ADK alone takes a hundred; an eye does not see less than a tenth of a second."""

SERVER_TARGET = 1.2
AGENT = Path(__file__).parent / "agents" / "speaker"
APPS = ("first", "second", "third")


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_commands(Path(folder), quick), *_servers(Path(folder), quick)]


def _commands(folder: Path, quick: bool) -> list[Row]:
    recording = folder / "run.jsonl"
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


def _servers(folder: Path, quick: bool) -> list[Row]:
    apps = folder / "apps"
    for name in APPS:
        shutil.copytree(AGENT, apps / name)
    variants = {
        "prism": _answered(folder, "-m", "adk_prism.cli", "serve", str(apps)),
        "adk": _answered(folder, "-m", "google.adk.cli", "api_server", str(apps)),
    }
    measured = take_turns(variants, 2 if quick else 5)
    costs = millis(measured.cost("prism")), millis(measured.cost("adk"))
    name = f"adk-prism serve of {len(APPS)} apps until it answers, adk api_server"
    return [Row(name, *costs, measured.ratio("prism", "adk"), SERVER_TARGET)]


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


def _answered(folder: Path, *arguments: str) -> Measure:
    def measure() -> float:
        port = free_port()
        command = [sys.executable, "-W", "ignore", *arguments, "--port", str(port)]
        began = time.perf_counter()
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=folder)
        try:
            _wait_for_answer(process, f"http://127.0.0.1:{port}/list-apps")
            return time.perf_counter() - began
        finally:
            process.kill()
            process.wait()

    return measure


def _wait_for_answer(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        try:
            with urlopen(url, timeout=START):
                return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"{process.args!r} does not answer; run it by hand to see why")
