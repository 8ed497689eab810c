"""`adk-prism eval-set` and the files that it writes: nothing of the user's is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from tests.adk.scripted import Scripted
from tests.recordings.library import HERE
from tests.server.local_server import agent, local_server

from adk_prism.cli import main
from adk_prism.errors import UsageError
from adk_prism.features.evaluation.criteria import read_eval_set
from adk_prism.log.from_url import open_log

TEXT, TOOL = str(HERE / "text.jsonl"), str(HERE / "tool.jsonl")
OLD = [
    {
        "name": "dice",
        "data": [
            {
                "query": "Roll",
                "expected_tool_use": [{"tool_name": "roll", "tool_input": {"sides": 6}}],
                "expected_intermediate_agent_responses": [],
                "reference": "4",
            }
        ],
        "initial_session": {"state": {}, "app_name": "dice", "user_id": "user"},
    }
]
"""A set as ADK wrote it before 1.0."""
NONSENSE = [
    b"",
    b"{}",
    b"7",
    b"[1]",
    b'[{"name": "x"}]',
    b'{"eval_set_id": "x"}',
    b'{"eval_set_id": "x", "eval_cases": [{"eval_id": "a"}]}',
    b"\xff\xfe",
]
CASE: dict[str, Any] = {"eval_id": "a", "conversation": [{"user_content": {"parts": []}}]}


def test_recordings_become_a_set_that_adk_finds(tmp_path: Path) -> None:
    """Where `adk web` looks for it, under the file's name."""
    path = tmp_path / "tour" / "two runs.evalset.json"
    path.parent.mkdir()
    assert main(["eval-set", TEXT, TOOL, "-o", str(path)]) == 0
    found = LocalEvalSetsManager(str(tmp_path)).get_eval_set("tour", "two runs")
    assert found is not None
    assert found.eval_set_id == "two_runs"
    assert len({case.eval_id for case in found.eval_cases}) == 2


def test_what_a_set_holds_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fields that ADK does not know, edited cases, and the same run a second time."""
    path = tmp_path / "mine.evalset.json"
    assert main(["eval-set", TEXT, "-o", str(path), "--name", "other"]) == 0
    tree = json.loads(path.read_bytes())
    assert tree["eval_set_id"] == "other"
    tree["eval_cases"][0]["conversation"][0]["final_response"] = {"parts": [{"text": "mine"}]}
    tree["owner"] = "ann"
    path.write_text(json.dumps(tree))
    assert main(["eval-set", TEXT, TOOL, "-o", str(path)]) == 0
    assert "left unchanged" in capsys.readouterr().out
    after = json.loads(path.read_bytes())
    assert after["eval_cases"][0] == tree["eval_cases"][0]
    assert after["owner"] == "ann"
    assert len(after["eval_cases"]) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_set_of_an_old_version_is_converted(tmp_path: Path) -> None:
    """By ADK itself; its cases stay."""
    path = tmp_path / "old.test.json"
    path.write_text(json.dumps(OLD))
    assert main(["eval-set", TOOL, "-o", str(path)]) == 0
    assert read_eval_set(path).eval_cases[0].eval_id == "dice"


@pytest.mark.parametrize("content", NONSENSE)
def test_a_file_that_is_no_set_is_not_touched(content: bytes, tmp_path: Path) -> None:
    """One line that says so, exit code 2."""
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    assert main(["eval-set", TEXT, "-o", str(path)]) == 2
    assert path.read_bytes() == content


def test_two_cases_of_one_id_are_refused(tmp_path: Path) -> None:
    """ADK would evaluate the first of them twice."""
    path = tmp_path / "twice.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "x", "eval_cases": [CASE, CASE]}))
    with pytest.raises(UsageError, match="two cases with the id 'a'"):
        read_eval_set(path)


def test_nothing_is_written_if_one_run_is_no_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal names the run."""
    path = tmp_path / "new.evalset.json"
    failed = str(HERE / "exception.jsonl")
    assert main(["eval-set", TEXT, failed, "-o", str(path)]) == 2
    assert "failed" in capsys.readouterr().err
    assert not path.exists()


async def test_runs_of_a_log_are_read_beside_its_server(tmp_path: Path) -> None:
    """Both runs of a conversation are one case."""
    address = f"sqlite:///{tmp_path}/runs.db"
    log = open_log(address)
    async with local_server(agent(Scripted.saying("One.", "Two.")), log=log) as server:
        first, second = await server.say("one"), await server.say("two")
    path = tmp_path / "chat.evalset.json"
    words = ["eval-set", first, second, "-o", str(path), "--log", address]
    assert await asyncio.to_thread(main, words) == 0
    (case,) = read_eval_set(path).eval_cases
    assert case.eval_id == second
    assert len(case.conversation or []) == 2
