"""Every adapter against every real answer that was recorded of its service, over HTTP."""

from __future__ import annotations

import pytest
from tests.apps.research.databases.asking import KEYS
from tests.apps.research.databases.table import HEAD, is_asked_for, readings, render

# What a recorded error status means, whoever sent it.
_STATUSES = {301: "service_error", 400: "malformed_query", 404: "service_error"}


@pytest.mark.parametrize("key", KEYS)
async def test_each_adapter_reads_each_recorded_answer(key: str) -> None:
    """Answers to our questions become papers; error statuses become their class; nothing raises."""
    found = await readings(key)
    assert found
    for each in found:
        if each.recording.status != 200:
            assert each.error == _STATUSES[each.recording.status], each
        elif is_asked_for(each.recording):
            assert each.parsed, (each.recording.source, each.recording.url, each)
        else:
            assert each.error == "service_error" or each.refused, each


@pytest.mark.parametrize(
    ("key", "least"),
    [("arxiv", 200), ("crossref", 600), ("pubmed", 200), ("semantic_scholar", 30), ("openalex", 9)],
)
async def test_recorded_answers_hold_papers(key: str, least: int) -> None:
    """Nearly all records have a title, so an adapter that reads none would show here."""
    found = await readings(key)
    papers, untitled = (sum(each.papers for each in found), sum(each.untitled for each in found))
    assert papers >= least
    assert untitled <= papers / 10


async def test_the_table_has_a_line_for_each_adapter_and_package() -> None:
    """The table can be printed: what was given, what was parsed, what was not for us."""
    table = render(await readings("arxiv")).splitlines()
    assert len(table) == 2
    assert all(word in table[0] for word in HEAD)
    assert table[1].startswith("| arxiv")
