"""The packages of ADK's evaluators, for processes that a test starts (`make .venv/eval/.installed`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
PACKAGES = ROOT / ".venv" / "eval"


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a Python module as a command, with these packages."""
    assert (PACKAGES / "pandas").is_dir(), "run `make .venv/eval/.installed`"
    path = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *words],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
