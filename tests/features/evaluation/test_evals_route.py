"""Eval sets on a server: a defect that a recorded run finds, results over time, and who may ask."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from tests.end_to_end.server import Server, serving
from tests.features.evaluation.packages import PACKAGES
from tests.features.evaluation.shops import QUESTION, two_shops
from tests.patience import PATIENCE

from adk_prism.cli import main

CONFIRM = "adk_request_confirmation"

Json = dict[str, Any]


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the shop as it should be, and with a wrong instruction for its clerk."""
    return two_shops(tmp_path_factory.mktemp("shops"))


@pytest.fixture(scope="module")
def server(agents: Path) -> Iterator[Server]:
    """Serve both, with the packages of ADK's evaluators."""
    assert (PACKAGES / "pandas").is_dir(), "run `make .venv/eval/.installed`"
    with serving(agents.parent, agents=agents, packages=PACKAGES) as server:
        yield server


@pytest.fixture(scope="module")
def case(server: Server) -> Json:
    """Ask the right shop, and add the run to an eval set; return what the server says."""
    run = ask(server, "right")
    answer = server.http.post("/api/evals/right/sets/prices/cases", json={"run": run})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"evalSetId": "prices", "case": run, "added": True}
    return {"run": run}


def ask(server: Server, app: str) -> str:
    """Ask a shop for the price; return the run, when it is over."""
    server.http.post(f"/apps/{app}/users/user/sessions/lamp")
    said = {"role": "user", "parts": [{"text": QUESTION}]}
    body = {"appName": app, "userId": "user", "sessionId": "lamp", "newMessage": said}
    answer = server.http.post("/run", json=body)
    assert answer.status_code == 200, answer.text
    runs = server.http.get("/api/runs", params={"app": app, "session": "lamp"}).json()
    return str(runs[-1]["run"])


def evaluate(server: Server, app: str, **body: Any) -> Json:
    """Evaluate a set; return the evaluation when it is over."""
    answer = server.http.post(f"/api/evals/{app}", json=body)
    assert answer.status_code == 202, answer.text
    address = f"/api/evals/{app}/evaluations/{answer.json()['id']}"

    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        found: Json = server.http.get(address).json()
        if found["status"] != "running":
            return found
        time.sleep(0.1)
    raise AssertionError("the evaluation does not end")


def test_a_wrong_instruction_of_a_sub_agent_fails_the_case(
    server: Server, agents: Path, case: Json
) -> None:
    """The case of the right shop fails on the wrong one, and passes on the right one, with runs to open."""
    path = agents / "right" / "prices.evalset.json"
    eval_set = json.loads(path.read_bytes())

    right = evaluate(server, "right", set="prices")
    wrong = evaluate(server, "wrong", evalSet=eval_set)
    assert (right["status"], right["passed"]) == ("finished", 1), right
    assert (wrong["status"], wrong["passed"]) == ("finished", 0), wrong
    (failed,) = wrong["cases"]
    scores = {metric["name"]: metric["score"] for metric in failed["metrics"]}
    assert scores["tool_trajectory_avg_score"] == 0
    assert scores["response_match_score"] < 0.8
    assert failed["text"] == QUESTION
    assert failed["expectedRun"] == case["run"]

    compared = server.http.get(
        "/api/compare", params={"a": failed["expectedRun"], "b": failed["runs"][0]}
    )
    assert "tools" in compared.json()["differs"]
    film = server.http.get(f"/api/runs/{failed['runs'][0]}/film")
    assert film.status_code == 200


def test_recorded_answers_are_given_only_if_asked_for(server: Server) -> None:
    """An approved tool would run again: without being told to, an evaluation stops at the question."""
    place = {"appName": "tour", "userId": "user", "sessionId": "asked"}
    server.http.post("/apps/tour/users/user/sessions/asked")
    said = {"role": "user", "parts": [{"text": "approval"}]}
    events = server.http.post("/run", json=place | {"newMessage": said}).json()
    parts = [part for event in events for part in (event.get("content") or {}).get("parts", [])]
    (asked,) = [call for p in parts if (call := p.get("functionCall", {})).get("name") == CONFIRM]
    yes = {"id": asked["id"], "name": CONFIRM, "response": {"confirmed": True}}
    given = {"role": "user", "parts": [{"functionResponse": yes}]}
    assert server.http.post("/run", json=place | {"newMessage": given}).status_code == 200
    runs = server.http.get("/api/runs", params={"app": "tour", "session": "asked"}).json()
    added = server.http.post("/api/evals/tour/sets/asked/cases", json={"run": runs[-1]["run"]})
    assert added.status_code == 200, added.text

    (stopped,) = evaluate(server, "tour", set="asked")["cases"]
    assert stopped["verdict"] == "failed"
    assert "waits for an answer" in stopped["error"]
    assert len(stopped["runs"]) == 1
    (answered,) = evaluate(server, "tour", set="asked", answers="recorded")["cases"]
    assert answered["verdict"] == "passed", answered
    assert len(answered["runs"]) == 2


def test_results_are_listed_over_time(server: Server, agents: Path, case: Json) -> None:
    """Those that ADK reads; each case names its run, and the run that it was made of."""
    evaluate(server, "right", set="prices", cases=[case["run"]])
    listed = server.http.get("/api/evals/right").json()
    assert [each["id"] for each in listed["sets"]] == ["prices"]
    assert listed["sets"][0]["cases"][0]["text"] == QUESTION
    names = LocalEvalSetResultsManager(str(agents)).list_eval_set_results("right")
    assert {each["id"] for each in listed["results"]} == set(names)
    newest = listed["results"][0]
    assert (newest["passed"], newest["count"]) == (1, 1)
    result = server.http.get(f"/api/evals/right/results/{newest['id']}").json()
    (evaluated,) = result["cases"]
    assert evaluated["expectedRun"] == case["run"]
    (run,) = evaluated["runs"]
    assert server.http.get(f"/api/runs/{run}").json()["outcome"] == "finished"


def test_a_command_lets_a_server_evaluate(
    server: Server, agents: Path, case: Json, capsys: pytest.CaptureFixture[str]
) -> None:
    """The set is sent to it; the command itself needs no evaluators."""
    path = str(agents / "right" / "prices.evalset.json")
    assert main(["eval", path, "right", "--url", server.url]) == 0
    assert "1 of 1 passed" in capsys.readouterr().out
    junit = agents.parent / "junit.xml"
    words = ["--url", server.url, "--json", "--junit", str(junit)]
    assert main(["eval", path, "wrong", *words]) == 1
    told = capsys.readouterr()
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "tool_trajectory_avg_score 0.0 < 1.0" in suite[0][0].get("message", "")
    assert json.loads(told.out)["passed"] == 0
    assert "1 of 1 cases did not pass" in told.err
    assert main(["eval", path, "nobody", "--url", server.url]) == 2


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"set": "none"}, 404, "no eval set"),
        ({}, 404, "no eval set"),
        ({"set": "prices", "cases": ["none"]}, 400, "no case 'none'"),
        ({"evalSet": {"eval_cases": []}}, 400, "not an eval set"),
        ({"evalSet": {"eval_set_id": "a/b", "eval_cases": []}}, 400, "without /"),
        ({"evalSet": {"eval_set_id": "a", "eval_cases": []}}, 400, "no cases"),
        ({"set": "prices", "config": {"criteria": {"none": 1.0}}}, 400, "no metric 'none'"),
        ({"set": "prices", "config": {"criteria": {}, "custom_metrics": {}}}, 400, "they are code"),
        ({"set": "../right/prices"}, 422, "set"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    server: Server, case: Json, body: Json, status: int, why: str
) -> None:
    """Before anything is run, with the reason."""
    answer = server.http.post("/api/evals/right", json=body)
    assert answer.status_code == status, answer.text
    assert why in answer.text


def test_a_run_that_is_no_case_is_not_added(server: Server, agents: Path, case: Json) -> None:
    """Nor one of another app; the set stays as it was."""
    path = agents / "right" / "prices.evalset.json"
    before = path.read_bytes()
    again = server.http.post("/api/evals/right/sets/prices/cases", json=case)
    assert again.json()["added"] is False
    other = server.http.post("/api/evals/wrong/sets/prices/cases", json=case)
    assert other.status_code == 409
    missing = server.http.post("/api/evals/right/sets/prices/cases", json={"run": "run-0"})
    assert missing.status_code == 404
    named = server.http.post("/api/evals/right/sets/a.b/cases", json=case)
    assert named.status_code == 422
    assert path.read_bytes() == before


def test_a_grid_has_a_column_for_each_evaluation(server: Server, case: Json) -> None:
    """The newest comes first; each cell has the scores of a case and its run; a set that is gone is told."""
    for _ in range(2):
        assert evaluate(server, "right", set="prices")["status"] == "finished"
    grid = server.http.get("/api/evals/right/grid", params={"set": "prices"}).json()
    assert len(grid["results"]) >= 2
    times = [result["time"] for result in grid["results"]]
    assert times == sorted(times, reverse=True)
    [row] = [each for each in grid["cases"] if each["id"] == case["run"]]
    assert (row["expectedRun"], row["missing"], grid["missing"]) == (case["run"], [], [])
    assert grid["canEvaluate"] is True
    cell = row["cells"][grid["results"][0]["id"]]
    assert cell["verdict"] == "passed"
    assert "response_match_score" in {metric["name"] for metric in cell["metrics"]}
    assert server.http.get(f"/api/runs/{cell['run']}").status_code == 200
    for bad, status in (("nothing", 404), ("../prices", 422), ("x" * 201, 422)):
        answer = server.http.get("/api/evals/right/grid", params={"set": bad})
        assert answer.status_code == status, answer.text


def test_what_a_run_lacks_is_said_before_it_is_added(server: Server, case: Json) -> None:
    """What it would be as a case; and the reason, if it cannot be one."""
    checked = server.http.get("/api/evals/right/check", params={"run": case["run"]}).json()
    assert checked == {"messages": 1, "text": QUESTION, "missing": []}
    for app, run, status in (
        ("right", "run-nobody", 404),
        ("wrong", case["run"], 409),
        ("nobody", case["run"], 404),
        ("right", "../x", 422),
    ):
        answer = server.http.get(f"/api/evals/{app}/check", params={"run": run})
        assert answer.status_code == status, (app, run, answer.text)
