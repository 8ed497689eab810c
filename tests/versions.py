"""`make test-versions`: the same tests on the oldest and newest Python and google-adk that are supported.

For each pair there is an environment of its own under `.venv/versions/`, made from the test lock, with
the google-adk in question and what it requires on top. Pythons are named in `PYTHONS`, or else found: the
oldest that is supported, and the newest of those on the PATH and in pyenv.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from adk_prism.version import ADK_RANGE, OLDEST_ADK

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "versions"
TESTS = ("tests/adk/adk", "tests/laws", "tests/apps/test_tour.py", "tests/test_adk_version.py")
OLDEST_PYTHON = (3, 11)
LOCK = ROOT / "requirements" / "test.txt"
_NAME = re.compile(r"python3\.(\d+)")


def main() -> int:
    """Run the tests on every pair; return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", default="", help="commands, separated by blanks")
    parser.add_argument("rest", nargs="*", help="passed on to pytest")
    args = parser.parse_args()
    pythons = args.pythons.split() or found_pythons()
    versions = adk_versions()
    print(f"Python: {', '.join(pythons)}; google-adk: {', '.join(versions)}", flush=True)
    failed = [
        f"{Path(python).name} with google-adk {adk}"
        for python in pythons
        for adk in versions
        if not passes(environment(python, adk), args.rest)
    ]
    print(f"Failed: {', '.join(failed)}" if failed else "All passed.")
    return 1 if failed else 0


def found_pythons() -> list[str]:
    """Return the oldest supported Python and the newest on this machine, if they differ."""
    folders = [*os.get_exec_path(), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found: dict[int, str] = {}
    for path in (path for folder in folders for path in sorted(Path(folder).glob("python3.*"))):
        name = _NAME.fullmatch(path.name)
        if name and int(name[1]) >= OLDEST_PYTHON[1] and _works(path):
            found.setdefault(int(name[1]), str(path))
    if not found:
        return [sys.executable]
    return [found[number] for number in sorted({min(found), max(found)})]


def _works(python: Path) -> bool:
    """Tell whether it is a Python that makes environments; pyenv has stand-ins that are none."""
    done = subprocess.run(
        [python, "-c", "import ensurepip, venv"], capture_output=True, check=False
    )
    return done.returncode == 0


def adk_versions() -> list[str]:
    """Return the oldest google-adk of the range, and the newest that the package index has."""
    oldest = "{}.{}.0".format(*OLDEST_ADK)
    command = [sys.executable, "-m", "pip", "index", "versions", "google-adk"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed = re.findall(
        r"\d+\.\d+\.\d+", done.stdout.partition("Available versions:")[2].split("\n")[0]
    )
    known = [each for each in listed if _numbers(each) >= OLDEST_ADK and each.split(".")[0] == "2"]
    newest = max(known, key=_numbers, default=oldest)
    return list(dict.fromkeys([oldest, newest]))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def environment(python: str, adk: str) -> Path:
    """Return an environment's Python; make the environment if there is none, or its lock has changed."""
    folder = FOLDER / f"{Path(python).name}-adk-{adk}"
    stamp, made = folder / ".lock", folder / "bin" / "python"
    if stamp.is_file() and stamp.read_bytes() == LOCK.read_bytes():
        return made
    shutil.rmtree(folder, ignore_errors=True)
    _run([python, "-m", "venv", folder])
    install = [made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, "--no-deps", "--require-hashes", "--requirement", LOCK])
    _run([*install, f"google-adk=={adk}"])
    _run(
        [
            *install,
            "--no-deps",
            "--no-build-isolation",
            "--editable",
            ROOT,
            "--editable",
            ROOT / "apps",
        ]
    )
    stamp.write_bytes(LOCK.read_bytes())
    return made


def _run(command: Iterable[str | Path]) -> None:
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True)


def passes(python: Path, rest: Sequence[str]) -> bool:
    """Run the tests; tell whether they pass."""
    _run([python, "-m", "adk_prism.cli", "doctor"])
    command = [str(python), "-m", "pytest", "-q", *rest, *TESTS]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    print(f"Supported: google-adk{ADK_RANGE}", flush=True)
    sys.exit(main())
