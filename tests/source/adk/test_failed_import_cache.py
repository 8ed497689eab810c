"""The import that google-adk repeats in every run fails at once, and as it did before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from adk_prism.source.adk.failed_import_cache import REPEATED

_SAME_ERROR = """
import importlib, sys
sys.modules["a2a"] = None if {hidden} else sys.modules.get("a2a")
from adk_prism.source.adk import failed_import_cache

def failure():
    try:
        importlib.import_module({name!r})
    except ImportError as error:
        return type(error).__name__, error.msg, error.name
    return None

before = failure()
reads = []
sys.addaudithook(lambda event, args: reads.append(args[0]) if event == "open" else None)
failed_import_cache.remember_missing_extras()
reads.clear()
after = failure()
assert before is not None and after == before, (before, after)
assert not reads, reads
assert len([f for f in sys.meta_path if type(f).__module__ == failed_import_cache.__name__]) == 1
failed_import_cache.remember_missing_extras()
import colorsys  # others are found as ever
"""


@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_failure_costs_nothing_and_says_the_same(name: str) -> None:
    """Without the package `a2a`, which is hidden here in case that it is installed."""
    script = _SAME_ERROR.format(name=name, hidden=True)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
