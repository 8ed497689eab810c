"""`adk-prism compare`: what it prints, and the exit codes that CI reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.server import Server, serving
from tests.recordings.library import HERE

from adk_prism.cli import main

TOOL, OTHER = str(HERE / "tool.jsonl"), str(HERE / "tool_error.jsonl")


def test_equal_runs_pass_every_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """And are said to be the same."""
    gates = [word for name in ("answer", "tools", "state") for word in ("--fail-on", name)]
    assert main(["compare", TOOL, TOOL, *gates]) == 0
    told = capsys.readouterr()
    assert "The runs are the same." in told.out
    assert told.err == ""


@pytest.mark.parametrize(
    ("gates", "code"),
    [([], 0), (["answer"], 1), (["tools"], 1), (["state"], 0), (["state", "tools"], 1)],
)
def test_only_what_was_asked_for_fails(
    gates: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 with one line on stderr; what differs is printed anyhow."""
    words = [word for gate in gates for word in ("--fail-on", gate)]
    assert main(["compare", TOOL, OTHER, *words]) == code
    told = capsys.readouterr()
    assert "The runs differ in: answer, tools." in told.out
    assert told.out.index("-   tool get_weather") < told.out.index("+   tool find_order")
    assert told.err.count("\n") == code


def test_json_is_the_whole_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    """As `GET /api/compare` has it."""
    assert main(["compare", TOOL, OTHER, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["differs"] == ["answer", "tools"]
    assert [row["change"] for row in compared["steps"]] == ["changed", "removed", "added"]


@pytest.mark.parametrize(
    "words",
    [
        [TOOL, "no/such.jsonl"],
        [TOOL, "run-1", "--log", "sqlite:///none.db"],
        [TOOL, "run-1", "--log", "memory:"],
        [TOOL, "run-1", "--log", "sqlite:///none.db", "--url", "http://127.0.0.1:1"],
        [TOOL, "run-1", "--url", "http://127.0.0.1:1"],
        [TOOL, "run-1", "--url", "nonsense"],
        [TOOL, "broken"],
        [TOOL, TOOL, "--fail-on", "nothing"],
        [TOOL],
    ],
)
def test_what_cannot_be_compared_is_not_a_difference(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """2, and one line that says why; nothing is created."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken").write_text("neither this\nnor that\n")
    assert main(["compare", *words]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("adk-prism: ")
    assert told.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> object:
    with serving(tmp_path_factory.mktemp("compare")) as server:
        yield server


def said(server: Server, prompt: str, session: str) -> str:
    """Let the tour answer; return the run."""
    message = {"role": "user", "parts": [{"text": prompt}]}
    server.http.post(f"/apps/tour/users/user/sessions/{session}", json={})
    body = {"appName": "tour", "userId": "user", "sessionId": session, "newMessage": message}
    return server.http.post("/run", json=body).headers["x-prism-run"]


def found(compared: dict[str, Any]) -> list[Any]:
    """Return what differs; cursors apart, since a recording leaves requests to models out."""
    return [compared["differs"], [(row["name"], row["change"]) for row in compared["steps"]]]


def test_runs_of_a_server_are_compared(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """By the server, through its API, and from its log while it has it open: all say the same."""
    a, b = said(server, "parallel specialists", "one"), said(server, "parallel specialists", "two")
    c = said(server, "text", "three")
    answer = server.http.get("/api/compare", params={"a": a, "b": b})
    assert answer.json()["same"], answer.text
    other = server.http.get("/api/compare", params={"a": a, "b": c}).json()
    assert {"answer", "tools", "nodes"} <= set(other["differs"])
    log = f"sqlite:///{server.folder}/.adk-prism/runs.db"
    for place in (["--url", server.url], ["--log", log]):
        assert main(["compare", a, b, "--fail-on", "answer", "--fail-on", "tools", *place]) == 0
        assert main(["compare", a, c, "--fail-on", "tools", "--json", *place]) == 1
        shown = capsys.readouterr().out
        assert found(json.loads(shown[shown.index("{") :])) == found(other)
        assert main(["compare", a, "run-nobody", *place]) == 2
        assert "run-nobody" in capsys.readouterr().err
    assert server.http.get("/api/compare", params={"a": a, "b": "run-no"}).status_code == 404
    assert server.http.get("/api/compare", params={"a": a}).status_code == 422


def test_a_run_of_a_server_is_run_again_there(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new run is one of the server's; what is refused there is said by the command."""
    run = said(server, "agent tool", "again")
    assert main(["rerun", run, "--url", server.url, "--fail-on", "tools", "--json"]) == 0
    [done] = json.loads(capsys.readouterr().out)
    assert done["comparison"]["same"]
    assert server.http.get(f"/api/runs/{done['run']}").json()["session"] == done["session"]
    assert main(["rerun", run, "--url", server.url, "--model", "none"]) == 2
    assert "ADK knows no model 'none'" in capsys.readouterr().out
    assert main(["rerun", TOOL, "--url", server.url]) == 2
    assert main(["rerun", run, "--url", server.url, "--out", "x"]) == 2
    assert main(["rerun", run, "--url", "http://127.0.0.1:1"]) == 2
