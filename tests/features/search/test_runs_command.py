"""`adk-prism runs` finds runs in a log that a server has open, and leaves the file alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from adk_prism.cli import main
from adk_prism.features.search.digest import DIGEST_VERSION, RunDigest
from adk_prism.features.search.index import index_of
from adk_prism.log.entry import RunId
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.testing.search_contract import fill


async def run(*words: str) -> int:
    """Run the command as a process would, beside this event loop."""
    return await asyncio.to_thread(main, ["runs", *words])


async def test_a_log_is_searched_while_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the server's lock, and also when the server is gone; nothing is written."""
    path = tmp_path / "runs.db"
    url, log = f"sqlite:///{path}", SqliteLog(path)
    await log.open()
    await fill(log)
    assert await run("--log", url, "--text", "zurich", "--min-tokens", "100", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["run"], found["tools"]) == ("weather", ["get_weather"])
    assert found["match"]["excerpt"].startswith("What is the weather")
    await log.close()
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    assert await run("--log", url, "--error", "*") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["run", "started", "app", "outcome"]
    assert "invoice" in row
    assert "failed: ValueError" in row
    assert await run("--log", url, "--tool", "nothing") == 0
    assert capsys.readouterr().out == "No matching runs.\n"
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


async def test_runs_have_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the price list that is named, also in the settings: found by cost, with a column and a sum."""
    monkeypatch.chdir(tmp_path)
    prices, url = tmp_path / "prices.json", f"sqlite:///{tmp_path / 'runs.db'}"
    prices.write_text('{"m": {"input": 2, "output": 10}}')
    log = SqliteLog(tmp_path / "runs.db")
    await log.open()
    await fill(log)
    used = {"m": {"input": 1_000_000, "output": 100_000, "calls": 2, "ms": 5}}
    for run_id, model in (("weather", "m"), ("invoice", "another")):
        digest = RunDigest(tokens=7, used={model: used["m"]}, version=DIGEST_VERSION)
        await index_of(log).index(RunId(run_id), digest)
    await log.close()
    monkeypatch.setenv("ADK_PRISM_PRICES", str(prices))
    assert await run("--log", url) == 0
    head, *rows, total = capsys.readouterr().out.splitlines()
    assert head.split()[5] == "cost"
    assert [row.split()[6] for row in rows] == ["0", "–", "3"]
    assert total == "3 runs, 19 tokens, cost –"
    assert await run("--log", url, "--cost", "0.5..3", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["run"], found["cost"], found["modelCalls"]) == ("weather", 3.0, 2)
    prices.write_text("{}")
    assert await run("--log", url, "--cost", "1") == 2
    assert "needs prices of models" in capsys.readouterr().err
    monkeypatch.delenv("ADK_PRISM_PRICES")
    assert await run("--log", url, "--cost", "cheap") == 2
    assert "`cost` must be a number" in capsys.readouterr().err


BAD = {
    "no log": (["--log", "sqlite:///none.db"], 1, "none.db; pass --log or --url"),
    "memory": (["--log", "memory:"], 2, "pass --url"),
    "outcome": (["--outcome", "won"], 2, "`outcome` must be one of"),
    "text": (["--text", "?!"], 2, "no letter and no digit"),
    "both": (["--log", "memory:", "--url", "http://127.0.0.1:1"], 2, "not allowed with"),
    "token": (["--token", "x"], 2, "need --url"),
    "limit": (["--limit", "0"], 2, "--limit must be"),
    "no server": (["--url", "http://127.0.0.1:1"], 1, "cannot connect to http://127.0.0.1:1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_asked_is_one_line(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 for a bad question, 1 for a log or server that is not there."""
    monkeypatch.chdir(tmp_path)
    words, code, said = BAD[name]
    assert main(["runs", *words]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_an_older_log_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file without digests is not migrated by somebody who only looks."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA application_id = 0x7072736D; PRAGMA user_version = 1")
    connection.close()
    assert main(["runs", "--log", f"sqlite:///{path}"]) == 1
    assert "Start adk-prism serve with it once" in capsys.readouterr().err
