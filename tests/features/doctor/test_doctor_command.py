"""`adk-prism doctor`: versions, the supported range, and what works with what is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from adk_prism.adk.internals import capabilities, runner
from adk_prism.cli import FAILURE, main
from adk_prism.version import ADK_RANGE, VERSION


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Each package with its version and range, each capability with its state."""
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["adk-prism"] == ["adk-prism", VERSION]
    assert rows["google-adk"] == ["google-adk", version("google-adk"), ADK_RANGE]
    assert rows["fastapi"][1] == version("fastapi")
    for each in capabilities.CAPABILITIES:
        assert each.name in rows
        assert each.summary in out
    for place, reason in capabilities.PLACES.items():
        assert rows[place][-1] == reason.split()[-1]
    assert len(capabilities.PLACES) <= 7


def test_a_capability_that_is_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named with the reason and with what happens without it; that is no failure."""
    monkeypatch.setattr(runner, "_find", None)
    capabilities.probe_all.cache_clear()
    try:
        assert main(["doctor"]) == 0
    finally:
        capabilities.probe_all.cache_clear()
    out = capsys.readouterr().out
    assert "paused tasks is off: google.adk.runners has no _find_active_task_scope." in out
    assert f"Without it: {runner.PAUSED_TASKS.without}." in out


def test_an_unsupported_adk(tmp_path: Path) -> None:
    """The versions, then one line that names the range and what to do; exit 1."""
    about = tmp_path / "google_adk-1.18.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: google-adk\nVersion: 1.18.0\n")
    done = subprocess.run(
        [sys.executable, "-m", "adk_prism.cli", "doctor"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == FAILURE
    assert "1.18.0" in done.stdout
    (line,) = done.stderr.splitlines()
    assert "google-adk 1.18.0 is installed" in line
    assert f"pip install 'google-adk{ADK_RANGE}'" in line


def test_budgets_and_rules_that_are_set_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From the environment and pyproject.toml; without any, nothing; what is wrong is one line."""
    monkeypatch.chdir(tmp_path)
    head = "what is restricted"
    assert main(["doctor"]) == 0
    assert head not in capsys.readouterr().out
    monkeypatch.setenv("ADK_PRISM_BUDGET", "caller runs=200, cost=5")
    (tmp_path / "pyproject.toml").write_text('[tool.adk-prism]\nrules = "rules.toml"\n')
    assert main(["doctor"]) == 2
    assert (
        capsys.readouterr().err
        == f"adk-prism: rules: there is no file {tmp_path / 'rules.toml'}.\n"
    )
    (tmp_path / "rules.toml").write_text("")
    assert main(["doctor"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.partition(head)[2].splitlines()[1:]]
    assert rows == [
        ["budget", "caller", "runs=200"],
        ["budget", "cost=5"],
        ["rules", str(tmp_path / "rules.toml")],
    ]
    monkeypatch.setenv("ADK_PRISM_BUDGET", "caller runs=many")
    assert main(["doctor"]) == 2
    assert "many" in capsys.readouterr().err
