"""`adk-prism eval` and `adk eval` on the same set: the same numbers, and each sees the other's results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_result import EvalSetResult
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from tests.features.evaluation.packages import run
from tests.recordings.library import HERE

import adk_prism.apps
from adk_prism.cli import main
from adk_prism.features.captures.stored_runs import open_log_reader
from adk_prism.features.evaluation.stored_trials import stored_trials
from adk_prism.log.entry import RunId

TOUR = Path(adk_prism.apps.__path__[0]) / "tour"
SCENARIOS = ("text", "tool", "transfer", "agent_tool", "workflow", "reasoning", "state", "sources")
MEASURED = frozenset({"invocation_duration_v1"})
"""What no two runs have in common."""

Json = dict[str, Any]
Scores = dict[str, dict[str, float | None]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tour, and an eval set of recorded runs beside its agent."""
    folder = tmp_path_factory.mktemp("evaluated")
    tour = folder / "agents" / "tour"
    shutil.copytree(TOUR, tour)
    # `adk eval` finds an agent only if its package imports it.
    (tour / "__init__.py").write_text("from . import agent\n")
    recordings = [str(HERE / f"{name}.jsonl") for name in SCENARIOS]
    assert main(["eval-set", *recordings, "-o", str(tour / "recorded.evalset.json")]) == 0
    return folder


def scores_of(result: EvalSetResult) -> Scores:
    """Return the scores by case and metric."""
    return {
        case.eval_id: {
            metric.metric_name: metric.score
            for metric in case.overall_eval_metric_results
            if metric.metric_name not in MEASURED
        }
        for case in result.eval_case_results
    }


async def test_the_numbers_are_those_of_adk_eval(folder: Path) -> None:
    """To the last digit; each case is a run that can be opened, and the results are where ADK has its own."""
    words = ("agents/tour", "agents/tour/recorded.evalset.json")
    theirs = run("google.adk.cli", "eval", *words, cwd=folder)
    assert "Tests passed" in theirs.stdout, theirs.stderr
    manager = LocalEvalSetResultsManager(str(folder / "agents"))
    (first,) = manager.list_eval_set_results("tour")

    ours = run("adk_prism.cli", "eval", words[1], "--json", cwd=folder)
    assert ours.returncode == theirs.returncode == 1, ours.stderr
    told: Json = json.loads(ours.stdout)
    by_case = {case["id"]: case for case in told["cases"]}
    expected = scores_of(manager.get_eval_set_result("tour", first))
    assert len(expected) == len(SCENARIOS)
    assert {
        case: {m["name"]: m["score"] for m in by_case[case]["metrics"] if m["name"] in scores}
        for case, scores in expected.items()
    } == expected

    (second,) = {*manager.list_eval_set_results("tour")} - {first}
    assert scores_of(manager.get_eval_set_result("tour", second)) == expected

    verdicts = {case["text"]: case["verdict"] for case in told["cases"]}
    # ADK counts the thoughts of the agent under test as its response.
    assert verdicts.pop("reasoning") == "failed"
    assert set(verdicts.values()) == {"passed"}

    log = open_log_reader(f"sqlite:///{folder}/.adk-prism/runs.db")
    await log.open()
    try:
        for case in told["cases"]:
            (name,) = case["runs"]
            summary = await log.summary(RunId(name))
            assert summary.outcome == "finished"
            assert summary.origin.session == case["session"]
    finally:
        await log.close()


async def test_trials_of_a_case(folder: Path) -> None:
    """Each trial is a run of its own session; results are numbers, and not among those of ADK."""
    manager = LocalEvalSetResultsManager(str(folder / "agents"))
    before = manager.list_eval_set_results("tour")
    told: Json = json.loads((folder / "agents/tour/recorded.evalset.json").read_text())
    passing, failing = told["eval_cases"][0]["eval_id"], told["eval_cases"][5]["eval_id"]
    words = ["agents/tour/recorded.evalset.json", "--trials", "3", "--json", "--junit", "t.xml"]
    words += ["--case", passing, "--case", failing, "--at-least", "0.9"]
    words += ["--vary", f"dir={folder / 'agents'}"]
    done = run("adk_prism.cli", "eval", *words, cwd=folder)
    assert done.returncode == 1, done.stderr
    table = json.loads(done.stdout)
    assert [(each["subject"], each["passed"], each["trials"]) for each in table] == [
        *[(passing, 3, 3)] * 2,
        *[(failing, 0, 1)] * 2,
    ]
    assert "response_match_score" in next(iter(table[2]["reasons"]))
    assert len({run for each in table for run in each["runs"]}) == 8
    assert (folder / "t.xml").is_file()
    assert len(manager.list_eval_set_results("tour")) - len(before) <= 3  # of the other server
    (stored,) = stored_trials(folder / "agents", "tour", told["eval_set_id"])
    assert [(cell.subject, cell.passed, cell.trials) for cell in stored.cells] == [
        (each["subject"], each["passed"], each["trials"]) for each in table
    ]
