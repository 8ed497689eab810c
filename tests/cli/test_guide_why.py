"""The guide to proofs is true: its capture shows what the guide says it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adk_prism.cli import main

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "show-your-users-why.md").read_text()


def block(marker: str) -> str:
    found = re.search(rf"<!-- {marker}: capture.jsonl -->\n```json\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    return found[1]


def holds(whole: Any, part: Any) -> bool:
    """Tell whether a value has everything that a shortened one shows."""
    if isinstance(part, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(holds, whole, part))
    return bool(whole == part)


def test_the_capture_shows_what_the_guide_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = tmp_path / "capture.jsonl"
    capture.write_text(block("file"))
    assert main(["view", str(capture), "--panel", "proof"]) == 0
    shown = json.loads(capsys.readouterr().out)["proof"]
    assert holds(shown, json.loads(block("shows"))), json.dumps(shown, indent=1)


def test_the_capture_sends_two_proofs(tmp_path: Path, capfdbinary: Any) -> None:
    """Of the specialist, then of the whole."""
    capture = tmp_path / "capture.jsonl"
    capture.write_text(block("file"))
    assert main(["replay", str(capture), "--as", "ai-sdk"]) == 0
    sent = capfdbinary.readouterr().out.decode()
    ids = re.findall(r'"id":"(proof[^"]*)"', sent)
    assert ids == ["proof-policy_clerk", "proof"]
