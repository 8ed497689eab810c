"""The page on troubles quotes messages that the programs really write."""

from __future__ import annotations

from pathlib import Path

import pytest
from website.places import ROOT

PAGE = " ".join((ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8").split())

QUOTED = [
    "may not call this server",
    "there is no such route; GET /docs lists the routes.",
    "is not accepted by this server; the operator can allow it with",
    "cannot be reached. Is the server running, and does it allow pages of this origin",
    "is it the address of an adk-prism server?",
    "This Node is too old for @adk-prism/client, which needs 20.19 or newer.",
    "is reachable from other machines, but no authentication is set up;",
    "SQLite is for one process.",
    "There is no run log",
    "No types for",
]
"""Fixed parts of the messages, as a user would search for them."""


@pytest.fixture(scope="module")
def written() -> str:
    """Return the sources as one text, in which a message that is split over lines is whole."""
    kinds = {"src/adk_prism": "*.py", "packages/client/src": "*.ts"}
    files: list[Path] = [
        path for folder, kind in kinds.items() for path in (ROOT / folder).rglob(kind)
    ]
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(files))
    return " ".join(text.split()).replace('" f"', "").replace('" "', "")


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_is_quoted_as_it_is_written(message: str, written: str) -> None:
    assert message in PAGE
    assert message in written
