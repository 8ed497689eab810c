"""The protocol pages are true: their tables are the dispositions, their requests can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from website.protocol_tables import refresh

from adk_prism.commands import Answer, Regenerate, Submit
from adk_prism.features.fields.dispositions import CHUNKS
from adk_prism.features.types.data_parts import SENT, TAKEN
from adk_prism.protocols.ai_sdk.requests import read_request

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = sorted((ROOT / "docs" / "protocols").glob("*.md"))
GENERATED = [page for page in PAGES if "<!-- generated:" in page.read_text()]
REFRESH = ".venv/bin/python -m website.protocol_tables docs/protocols/*.md"

COMMANDS = {"continuation": Answer, "message": Submit, "regenerate": Regenerate}


class Example(NamedTuple):
    """A request that a page shows."""

    kind: str
    body: str


def examples() -> Iterator[Example]:
    shown = re.compile(r"<!-- request: (\w+) -->\n```json\n(.*?)```", re.DOTALL)
    for page in PAGES:
        yield from (Example(*found) for found in shown.findall(page.read_text()))


def test_there_is_a_page_for_each_protocol_with_tables() -> None:
    """The links of the pages to each other, and of the README to them, lead somewhere."""
    assert {page.name for page in GENERATED} >= {"adk.md", "ag-ui.md", "ai-sdk.md"}


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.name)
def test_the_tables_are_not_stale(page: Path) -> None:
    """A changed disposition changes the page."""
    text = page.read_text()
    assert refresh(text) == text, f"docs/protocols/{page.name} is stale; refresh it with: {REFRESH}"


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.kind)
def test_a_shown_request_can_be_sent(example: Example) -> None:
    """The server takes it for what the page says it is."""
    asked = read_request(json.loads(example.body))
    assert type(asked.command) is COMMANDS[example.kind]


def test_the_pages_name_no_chunk_that_there_is_not() -> None:
    """Prose is written by hand, so its names are looked up."""
    known = {f"data-{name}" for name in SENT | TAKEN} | CHUNKS.keys()
    families = r"`((?:data|text|reasoning|tool|source)-[a-z-]+[a-z])`"
    for page in GENERATED:
        named = set(re.findall(families, page.read_text()))
        assert named - known - {"tool-calls", "data-parts"} == set()


def test_a_block_that_nobody_writes_is_an_error() -> None:
    """A mistyped marker would else stay empty for ever."""
    with pytest.raises(KeyError):
        refresh("<!-- generated: filds Event -->\n<!-- end -->")
