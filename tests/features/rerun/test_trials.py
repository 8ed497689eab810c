"""Trials: how often a message passes, in several variants, and when that is clear."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from tests.features.rerun.test_rerun_command import AGENTS, Kept, rerun
from tests.features.rerun.test_rerun_command import folder as folder
from tests.features.rerun.test_rerun_command import kept as kept

from adk_prism.errors import UsageError
from adk_prism.features.rerun.trials import Column, Plan, Tally, Trial, run_trials, wilson


@pytest.mark.parametrize(
    ("passed", "count", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (8, 10, 0.4902, 0.9433)],
)
def test_the_interval_is_wilsons(passed: int, count: int, low: float, high: float) -> None:
    """Numbers of the literature (Brown, Cai, DasGupta 2001)."""
    assert wilson(passed, count) == pytest.approx((low, high), abs=1e-4)


class Case(NamedTuple):
    """How columns pass, and after how many trials they are over."""

    id: str
    columns: Sequence[str]
    """For each column, what its trials give: `p` passed, `f` failed; the last one is repeated."""
    at_least: float | None
    counts: Sequence[int]
    rules: Sequence[str]


CASES = (
    Case("no question", ["pf"], None, [40], ["all 40 trials"]),
    Case("sure above", ["p"], 0.5, [7], ["99 % interval above 0.5"]),
    Case("sure below", ["f"], 0.5, [7], ["99 % interval below 0.5"]),
    Case("cannot any more", ["pf"], 1.0, [2], ["1 cannot be reached any more"]),
    Case("all are needed", ["p"], 1.0, [40], ["1 is reached whatever the trials left do"]),
    Case(
        "apart",
        ["p", "f"],
        None,
        [7, 7],
        ["every other column is over", "99 % interval below that of 'a'"],
    ),
    Case("alike", ["p", "p"], None, [40, 40], ["all 40 trials", "all 40 trials"]),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_clear_is_not_tried_any_more(case: Case) -> None:
    """Each column says by which rule it is over."""
    columns = [Column(name=chr(ord("a") + n)) for n in range(len(case.columns))]
    given = dict(zip((c.name for c in columns), case.columns, strict=True))
    done = dict.fromkeys(given, 0)

    async def try_once(column: Column, subjects: Sequence[str]) -> list[Trial]:
        results = given[column.name]
        passed = results[min(done[column.name], len(results) - 1)] == "p"
        done[column.name] += 1
        return [Trial(subject=each, passed=passed) for each in subjects]

    plan = Plan(trials=40, columns=columns, at_least=case.at_least)
    found: list[Tally] = asyncio.run(run_trials(plan, ["s"], try_once))
    assert [len(tally.trials) for tally in found] == list(case.counts)
    assert [tally.stopped for tally in found] == list(case.rules)


def test_too_many_runs_are_refused() -> None:
    """Before the first one."""

    async def never(column: Column, subjects: Sequence[str]) -> list[Trial]:
        raise AssertionError

    plan = Plan(trials=100, columns=[Column()], at_least=None)
    with pytest.raises(UsageError, match="more than 2000 runs"):
        asyncio.run(run_trials(plan, [str(n) for n in range(21)], never))


def test_models_instructions_and_code_side_by_side(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column for each; the numbers as JSON, and as tests for CI."""
    (tmp_path / "brief.txt").write_text("Brief.")
    other = tmp_path / "other"
    shutil.copytree(AGENTS, other)
    agent = other / "keeper" / "agent.py"
    agent.write_text(agent.read_text().replace('"Calm."', '"Angry."'))
    junit = tmp_path / "trials.xml"
    words = ["--trials", "6", "--fails", "Angry", "--json", "--junit", str(junit)]
    for change in (
        "model=keeper-loud",
        f"instruction:keeper={tmp_path}/brief.txt",
        f"dir={other}",
    ):
        words += ["--vary", change]
    assert rerun(kept, kept.runs[1], *words, "--at-least", "0.6") == 1
    shown = capsys.readouterr()
    assert "2 of 4 pass less often than 0.6" in shown.err
    table = json.loads(shown.out)
    assert [each["passed"] for each in table] == [4, 0, 4, 0]
    assert [each["trials"] for each in table] == [4, 3, 4, 3]
    assert table[0]["stopped"] == "0.6 is reached whatever the trials left do"
    assert table[1]["stopped"] == "0.6 cannot be reached any more"
    assert list(table[1]["reasons"]) == ["the run failed (call-not-recorded)"]
    assert list(table[3]["reasons"]) == ["the answer has 'Angry'"]
    assert len(set(table[0]["runs"])) == 4
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")


def test_the_table(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a rate that is demanded, trials are numbers."""
    assert rerun(kept, kept.runs[0], "--trials", "2", "--vary", "model=keeper-loud") == 0
    head, first, second, reason = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["recorded", "column", "passed"]
    assert "as it is" in first
    assert "2/2     34–100 %" in first
    assert "0/2     0–66 %" in second
    assert reason.endswith("model=keeper-loud: 2 × the run failed (call-not-recorded)")


REFUSED = {
    "no trials": (["--vary", "model=m"], "--vary and --at-least need --trials."),
    "a number": (["--trials", "101"], "--trials must be from 1 to 100, got 101."),
    "a rate": (["--trials", "2", "--at-least", "2"], "--at-least must be above 0 and at most 1"),
    "a change": (["--trials", "2", "--vary", "tool=x"], "--vary must be model=M, instruction:"),
    "a folder": (["--trials", "2", "--vary", "dir=/nowhere"], "there is no such folder"),
    "twice": (["--trials", "2", *["--vary", "model=m"] * 2], "different columns"),
    "a pattern": (["--trials", "2", "--fails", "("], "is not a regular expression"),
    "junit": (["--junit", "x.xml"], "--fails and --junit need --trials."),
    "a model": (["--trials", "2", "--vary", "model=none"], "ADK knows no model 'none'"),
}


@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_tried(
    kept: Kept, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    """In one line, with exit code 2."""
    assert rerun(kept, kept.runs[0], *words) == 2
    assert text in capsys.readouterr().err
