"""What a folder without the app that was meant says: where apps are, and why a folder is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from adk_prism.cli import main

AGENT = """from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="x", model="gemini-2.5-flash")
"""

CASES: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    # folders of apps, the app that is run, and what is said
    "deeper": (("a/b/mine",), "mine", ("Available apps: none.", "deeper down", "a/b.")),
    "empty": ((), "mine", ("Available apps: none.", "a subfolder with an agent.py")),
    "an invalid name": (("my-app",), "my-app", ("not a Python module name", "'my_app'")),
    "a module of Python": (("json",), "json", ("is also a module", "'json_agent'")),
    "a module of a package": (("pydantic",), "pydantic", ("is also a module", "'pydantic_agent'")),
    "another app": (("other",), "mine", ("Available apps: other.",)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_app_that_is_not_there(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr says what there is, why the rest is not served, and what to do."""
    folders, app, said = CASES[name]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "agent.py").write_text(AGENT)
    assert main(["run", app, "hi", "--dir", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"adk-prism: There is no app '{app}'.")
    for words in said:
        assert words in line
