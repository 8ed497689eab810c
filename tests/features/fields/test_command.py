"""`adk-prism fields`: a table for people, JSON for programs, an exit code for CI."""

from __future__ import annotations

import json

import pytest

from adk_prism.cli import main
from adk_prism.features.fields import dispositions
from adk_prism.features.fields.dispositions import Chunk, Emitted


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody have decided about one field and one key."""
    rows = {k: v for k, v in dispositions.FIELDS["Event"].items() if k != "branch"}
    monkeypatch.setitem(dispositions.FIELDS, "Event", rows)
    monkeypatch.setitem(dispositions.CHUNKS, "error", Chunk(Emitted(())))


def test_the_table_counts_every_type(capsys: pytest.CaptureFixture[str]) -> None:
    """One line per upstream type, and the totals."""
    assert main(["fields"]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert lines["Event"][0] == "35"
    assert lines["EventActions"][0] == "15"
    assert lines["Part"][0] == "17"
    assert lines["tool-input-error"] == ["10", "-", "10", "-"]
    assert lines["mcp_call"] == ["9", "9", "-", "-"]
    assert out.count("100.0%") == 4
    assert lines["TOOL_CALL_CHUNK"] == ["9", "-", "9", "-"]
    assert err == ""


def test_check_is_content_when_all_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0, and a line that says how much was looked at."""
    assert main(["fields", "--check"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("All decided: ")
    assert err == ""


@pytest.mark.usefixtures("forgotten")
def test_check_tells_what_is_not_decided(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and one line on stderr for each thing, that says what to do."""
    assert main(["fields", "--check"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    field, key = err.splitlines()
    assert field.endswith(
        "Event.branch: decide its disposition in adk_prism/features/fields/dispositions.toml."
    )
    assert "accepts error.errorText: decide its disposition in" in key


@pytest.mark.usefixtures("forgotten")
def test_the_table_tells_it_too_without_failing(capsys: pytest.CaptureFixture[str]) -> None:
    """Only `--check` turns it into an exit code."""
    assert main(["fields"]) == 0
    out, err = capsys.readouterr()
    assert out.count("100.0%") == 2
    assert len(err.splitlines()) == 2


def test_json_has_every_field_with_its_place_and_proof(capsys: pytest.CaptureFixture[str]) -> None:
    """What a program needs: the place, the fact, and the test that holds it."""
    assert main(["fields", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    [place] = told["fields"]["types"]["Event"]["items"]["branch"]["places"]
    assert place["protocol"] == "ai-sdk"
    assert (place["frame"], place["key"]) == ("text-start", "providerMetadata.adk.branch")
    assert place["test"].endswith("[Event.branch in text-start.providerMetadata.adk.branch]")
    [there] = told["fields"]["types"]["Event"]["items"]["branch"]["agUi"]
    assert (there["frame"], there["key"]) == ("TEXT_MESSAGE_START", "metadata.adk.branch")
    assert told["fields"]["types"]["Event"]["items"]["id"]["why"]
    assert told["chunks"]["types"]["abort"]["items"]["reason"]["disposition"] == "declined"


@pytest.mark.usefixtures("forgotten")
def test_json_and_check_together(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON says it, the exit code says it, and stderr stays empty."""
    assert main(["fields", "--check", "--json"]) == 1
    out, err = capsys.readouterr()
    assert [finding["what"] for finding in json.loads(out)["findings"]] == [
        "Event.branch",
        "error.errorText",
    ]
    assert err == ""
