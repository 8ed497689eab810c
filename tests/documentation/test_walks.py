"""The walks through the code name functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_NAMED = re.findall(
    r"`([\w/]+\.py):([\w.]+)`", (_ROOT / "docs/contribute/walks.md").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(("file", "name"), _NAMED)
def test_a_function_of_a_walk_exists(file: str, name: str) -> None:
    """A reader follows the list with a search."""
    body = ast.parse((_ROOT / "src/adk_prism" / file).read_text(encoding="utf-8")).body
    for step in name.split("."):
        defined = {each.name: each for each in body if hasattr(each, "name")}
        assert step in defined, f"{file} has no {name}"
        body = getattr(defined[step], "body", [])
