"""`adk-prism rerun`: runs of a log and recordings, run again by the command's own server."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.server.conftest import talking

from adk_prism.cli import main
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

AGENTS = Path(__file__).parent / "agents"


class Kept(NamedTuple):
    """What was recorded."""

    log: str
    runs: list[str]
    """Five messages of one conversation."""
    recording: Path
    """Of the last."""
    file: Path
    """What the tool wrote: a line per call."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Record five messages to an agent whose tool writes a file."""
    folder = tmp_path_factory.mktemp("kept")
    file, log = folder / "kept.txt", f"sqlite:///{folder}/runs.db"
    before, os.environ["KEEPER_FILE"] = os.environ.get("KEEPER_FILE"), str(file)
    runs, recording = asyncio.run(_record(folder, log))
    (folder / "last.jsonl").write_bytes(recording)
    yield Kept(log, runs, folder / "last.jsonl", file)
    if before is None:
        del os.environ["KEEPER_FILE"]


async def _record(folder: Path, log: str) -> tuple[list[str], bytes]:
    runs = []
    settings = Settings(log=log, data_dir=str(folder), model_calls="full")
    async with talking(create_app(AGENTS, settings)) as client:
        where = {"appName": "keeper", "userId": "user", "sessionId": "s"}
        await client.post("/apps/keeper/users/user/sessions/s")
        for text in ("one", "two", "three", "four", "five"):
            said = {"role": "user", "parts": [{"text": text}]}
            answer = await client.post("/run_sse", json=where | {"newMessage": said})
            runs.append(answer.headers["x-prism-run"])
        return runs, (await client.get(f"/api/runs/{runs[-1]}/recording")).content


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the command's own folders among those of the tests."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def rerun(kept: Kept, *words: str) -> int:
    return main(["rerun", *words, "--log", kept.log, "--dir", str(AGENTS)])


def test_a_set_of_runs_as_a_table(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One row for each; the tool's file is as it was; each run had its own history."""
    told = tmp_path / "told.txt"
    told.write_text("Brief.")
    out = tmp_path / "out"
    given = ["--instruction", f"keeper={told}", "--model", "keeper-brief", "--out", str(out)]
    assert rerun(kept, *kept.runs, *given, "--fail-on", "tools", "--fail-on", "state") == 0
    shown = capsys.readouterr()
    head, *rows = shown.out.splitlines()
    assert head.split()[:6] == ["recorded", "run", "answer", "tools", "state", "outcome"]
    assert [row.split()[0] for row in rows] == kept.runs
    assert all(row.split()[2:6] == ["changed", "same", "same", "finished"] for row in rows)
    assert kept.file.read_text().split() == ["one", "two", "three", "four", "five"]
    assert f"adk-prism serve --data-dir {out}" in shown.err
    assert (out / "runs.db").is_file()


def test_the_same_code_gives_the_same_and_json_has_everything(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording says that it has no history; its answer counts fewer messages."""
    assert rerun(kept, kept.runs[2], "--json", "--fail-on", "answer") == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["comparison"]["differs"] == []
    assert found["comparison"]["b"]["modelCalls"] == 2
    assert rerun(kept, str(kept.recording), "--json", "--fail-on", "answer") == 1
    shown = capsys.readouterr()
    assert "without earlier messages" in shown.err
    [found] = json.loads(shown.out)
    assert found["comparison"]["answer"]["a"] == "Calm. 5 messages."
    assert found["comparison"]["answer"]["b"] == "Calm. 1 messages."


def test_a_call_that_was_not_recorded_is_named(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run fails, and so does the command; the tool was not called."""
    before = kept.file.read_text()
    assert rerun(kept, kept.runs[0], "--model", "keeper-loud") == 1
    shown = capsys.readouterr()
    assert 'Call not recorded: keep({"text":"one!"}).' in shown.out
    assert "finished → failed" in shown.out
    assert kept.file.read_text() == before


def test_models_are_answered_from_the_recording(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same code asks the same; another instruction does not, and ends the run with the difference."""
    gates = ["--models", "recorded", "--fail-on", "answer", "--fail-on", "requests"]
    assert rerun(kept, *kept.runs, *gates) == 0
    shown = capsys.readouterr().out
    assert shown.count("2 model calls were answered from the recording, 0 by a live model.") == 5
    told = tmp_path / "told.txt"
    told.write_text("Brief.")
    given = ["--instruction", f"keeper={told}", "--models", "recorded"]
    assert rerun(kept, kept.runs[1], *given) == 1
    shown = capsys.readouterr().out
    assert "Call 1 of keeper differs from the recording in: instruction." in shown
    assert "    +Brief." in shown
    assert rerun(kept, kept.runs[1], "--models", "auto", "--instruction", f"keeper={told}") == 0
    assert "0 model calls were answered from the recording, 2 by a live" in capsys.readouterr().out
    assert rerun(kept, str(kept.recording), "--models", "recorded") == 2
    assert "--model-calls full" in capsys.readouterr().out


REFUSED: dict[str, tuple[list[str], str]] = {
    "no file": (["none.jsonl"], "no file"),
    "no run": (["run-0"], "run-0"),
    "a capture": (["CAPTURE"], "only recordings"),
    "no instruction": (["RUN", "--instruction", "keeper"], "AGENT=FILE"),
    "a missing instruction": (["RUN", "--instruction", "keeper=none.txt"], "cannot be read"),
    "a large instruction": (["RUN", "--instruction", "keeper=LARGE"], "larger than"),
    "a binary instruction": (["RUN", "--instruction", "keeper=BINARY"], "UTF-8"),
    "an agent twice": (["RUN", *["--instruction", "keeper=TEXT"] * 2], "twice"),
}


@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_in_one_line(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    """Before anything is started."""
    event = {"id": "e", "invocationId": "i", "author": "a", "content": {"parts": [{"text": "Hi"}]}}
    contents = {
        "LARGE": b"x" * 5_000_000,
        "BINARY": b"\xff\xfe\x00",
        "TEXT": b"Fine.",
        "CAPTURE": json.dumps(event).encode(),
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
        words = [word.replace(name, str(tmp_path / name)) for word in words]
    words = [kept.runs[0] if word == "RUN" else word for word in words]
    assert rerun(kept, *words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert text in shown.err
    assert shown.err.count("\n") == 1


def test_an_app_that_is_gone_or_an_agent_that_is_not_there(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said for each run, with what there is."""
    told: Any = tmp_path / "told.txt"
    told.write_text("Fine.")
    assert rerun(kept, kept.runs[0], "--instruction", f"nobody={told}") == 2
    assert "Its agents are: keeper." in capsys.readouterr().out
    empty = tmp_path / "agents"
    empty.mkdir()
    words = ["rerun", kept.runs[0], "--log", kept.log, "--dir", str(empty)]
    assert main(words) == 2
    assert "There is no app 'keeper'" in capsys.readouterr().out
