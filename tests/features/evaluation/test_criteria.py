"""What `adk-prism eval` refuses before anything is run: one line, exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recordings.library import HERE

from adk_prism.cli import main


@pytest.fixture
def eval_set(tmp_path: Path) -> Path:
    """Return a set of one case."""
    path = tmp_path / "one.evalset.json"
    assert main(["eval-set", str(HERE / "text.jsonl"), "-o", str(path)]) == 0
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run the command; return the line that it refuses with."""
    capsys.readouterr()
    assert main(["eval", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def test_missing_packages_are_named_with_the_metrics(
    eval_set: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ADK's evaluators need an extra, which this environment does not have."""
    line = refused(capsys, str(eval_set), "tour")
    assert "tool_trajectory_avg_score, response_match_score" in line
    assert "pip install 'adk-prism[eval]'" in line


def test_a_server_starts_without_importing_the_evaluation_of_adk() -> None:
    """It takes seconds, and most servers never evaluate."""
    program = "import sys, adk_prism.server.app\nsys.exit('google.adk.evaluation' in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("nonsense", "is not a config of `adk eval`"),
        ("{}", "has no criteria"),
        ('{"criteria": {"x": "high"}}', "is not a config of `adk eval`"),
        (json.dumps({"criteria": {"mine": 1.0}}), "mine"),
    ],
)
def test_a_bad_config_is_refused(
    config: str, why: str, eval_set: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that lies beside the set, where ADK looks for it."""
    (eval_set.parent / "test_config.json").write_text(config)
    assert why in refused(capsys, str(eval_set), "tour")


def test_files_and_folders_that_are_not_there_are_named(
    eval_set: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ADK takes its default criteria for a config that is not there; here it is an error."""
    assert "none.json cannot be read" in refused(capsys, "none.json", "tour")
    assert "none.json cannot be read" in refused(
        capsys, str(eval_set), "tour", "--config", "none.json"
    )
    assert "There is no folder" in refused(capsys, str(eval_set), "no/such")
