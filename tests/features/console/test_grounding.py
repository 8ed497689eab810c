"""The grounding box and its keys, for an app that keeps a grounding and knows of no panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.features.console.conftest import Opens
from textual import events

from adk_prism.features.grounding.text import markdown, rows
from adk_prism.features.page.film import fold
from adk_prism.grounding import PREFIX
from adk_prism.log.entry import Entry, Origin, RunStarted, to_raw

QUESTION = "Which approaches explain clinical AI?"


KEYS = "[o] OK · [s] Short run · [m] Modify · [c] Cancel"


async def test_a_plan_waits_in_a_small_box(terminal: Opens) -> None:
    """At 80 by 24 all of it, a row for each thing, and the conversation below."""
    async with terminal("grounded", 80, 24) as panel:
        await panel.say(QUESTION)
        for words in (
            "Δ SEARCH PLAN Card index: explainable AI clinical – expects 12-20 papers",
            f"Δ Question: {QUESTION}",
            "Δ Stage: scoping 1/4, 0 papers",
            "Δ Assumes (1): English only",
            "Δ Next: researcher – approve search Card index",
            f"you: {QUESTION}",
            "I propose a search.",
            KEYS,
        ):
            assert words in panel.text, words
        await panel.press("g")
        assert "  │ Rationale: The only one there is" in panel.text


async def test_a_plan_waits_in_the_box(terminal: Opens) -> None:
    """Question, stage and plan, what changed marked, the keys under it and at hand."""
    async with terminal("grounded", 160, 40) as panel:
        await panel.say(QUESTION)
        for words in (
            "SEARCH PLAN – waiting for you",
            "Database: Card index",
            "Query: explainable AI clinical",
            "Expected results: 12-20 papers",
            KEYS,
            f"Δ Question: {QUESTION}",
            "Δ Stage: scoping 1/4",
            "Δ 1. English only",
            "Δ Next: researcher – approve search Card index",
        ):
            assert words in panel.text, words
        assert not panel.line.has_focus


@pytest.mark.parametrize(
    ("key", "told", "mark"),
    [("o", "Searched, decision ok.", ""), ("s", "Searched, decision short_run.", " (short run)")],
)
async def test_a_plan_is_approved_by_key(key: str, told: str, mark: str, terminal: Opens) -> None:
    """The decision is in the state as the contract has it; receipt and help take the plan's place."""
    async with terminal("grounded", 120, 50, f"approve-{key}") as panel:
        await panel.say(QUESTION)
        await panel.press(key)
        assert told in panel.text
        assert "SEARCH PLAN" not in panel.text
        assert "[14:23] Card index: explainable AI clinical" in panel.text
        assert f"→ 3 papers{mark}, 3 new" in panel.text
        assert "Δ Found: 3 papers in Card index" in panel.text
        assert "SEARCH HELP – database coverage gap" in panel.text
        assert "[1] Try synonyms" in panel.text
        film = panel.console._session.history.film
        assert film is not None
        approved_at = film.state.raw_at(film.last)[f"{PREFIX}approval_timestamp"]
        assert bytes(approved_at).count(b":") == 3, "a time with its zone"


async def test_fast_typing_is_no_approval(terminal: Opens) -> None:
    """Of a line that comes all at once, no letter is taken for a command."""
    async with terminal("grounded", 120, 50) as panel:
        await panel.say(QUESTION)
        assert not panel.line.has_focus
        for key in ("slash", *"cosmos"):
            panel.console.post_message(events.Key(key, "/" if key == "slash" else key))
        await panel.until(lambda: panel.line.value == "/cosmos", "typed")
        assert "SEARCH PLAN" in panel.text
        panel.line.clear()
        panel.console.screen.set_focus(None)
        panel.console.post_message(events.Paste("so\nsure"))
        await panel.until(lambda: panel.line.value == "so sure", "pasted")
        assert "SEARCH PLAN" in panel.text


async def test_a_remedy_is_chosen_by_number(terminal: Opens) -> None:
    """One that was not offered is refused; the chosen one leads to another plan."""
    async with terminal("grounded", 120, 50) as panel:
        await panel.say(QUESTION)
        await panel.press("o")
        await panel.press("9")
        assert "! There is no remedy '9'; expected one of 1, 2." in panel.text
        await panel.press("2")
        assert "Remedy fallback." in panel.text
        assert "SEARCH PLAN" in panel.text
        assert "SEARCH HELP" not in panel.text


async def test_a_plan_is_changed_or_dropped(terminal: Opens) -> None:
    """`m` asks for the words in the input line; `c` needs none."""
    async with terminal("grounded", 120, 50) as panel:
        await panel.say(QUESTION)
        await panel.press("m")
        assert panel.line.value == "/modify "
        await panel.say("/modify since 2021")
        assert "you: modify: since 2021" in panel.text
        assert "Not searched, decision modify." in panel.text
        await panel.say(QUESTION)
        await panel.press("c")
        assert "Not searched, decision cancel." in panel.text


async def test_the_box_is_edited_without_a_model(terminal: Opens) -> None:
    """Assumptions and questions come and go as state-only updates; the plan goes on waiting."""
    async with terminal("grounded", 120, 50) as panel:
        await panel.say(QUESTION)
        await panel.press("a")
        await panel.say("/assume Since 2020")
        assert "Δ 2. Since 2020" in panel.text
        assert "  1. English only" in panel.text, "what was there is no news"
        assert "SEARCH PLAN" in panel.text
        await panel.say("/unassume 1")
        assert "Δ removed: English only" in panel.text
        await panel.say("/ask Which populations?")
        assert "Δ 1. Which populations?" in panel.text
        await panel.say("/ask Which populations?")
        assert "is already in the list" in panel.text
        await panel.say("/resolve 1")
        assert "Δ removed: Which populations?" in panel.text
        assert "Not searched" not in panel.text, "the app was not asked"
        await panel.say("/ok")
        assert "Searched, decision ok." in panel.text


async def test_history_and_export(
    terminal: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All searches by key; the strategy as Markdown in a new file, never over another."""
    monkeypatch.chdir(tmp_path)
    async with terminal("grounded", 120, 50) as panel:
        await panel.say(QUESTION)
        await panel.press("o")
        await panel.press("h")
        assert "HISTORY" in panel.text
        assert "Filters: year>=2020" in panel.text
        await panel.press("e")
        await panel.say("/export")
        assert "Written to search-strategy.md." in panel.text
        await panel.say("/export search-strategy.md")
        assert "already exists; choose another file name." in panel.text
        await panel.say("/export")
        assert "search-strategy-2.md" in panel.text
    written = Path("search-strategy.md").read_text()
    assert f"**Question:** {QUESTION}" in written
    assert "| 1 | 2026-03-01T14:23:05+00:00 | Card index | `explainable AI clinical` |" in written
    assert "- Distinct papers: 3" in written


# ------------------------------------------------------------------ the rows themselves


def view_of(values: dict[str, Any]) -> dict[str, Any]:
    state = {PREFIX + name: to_raw(value) for name, value in values.items()}
    origin = Origin(app="any", user="user", session="s")
    film = fold([Entry(1, 0.0, RunStarted(run="r", origin=origin, state=state))])
    shown: dict[str, Any] = film.at(panel="grounding")["grounding"]
    return shown


def test_what_cannot_be_read_is_shown() -> None:
    """An app may write anything under these keys; the rest of the box stays."""
    view = view_of({"stage": 7, "papers_found": "many", "research_question": "Why?", "odd": 1})
    text = "\n".join(row.text for row in rows(view, 80))
    assert "Question: Why?" in text
    for key in ("stage", "papers_found", "odd"):
        assert f"! {PREFIX}{key} is not valid" in text


def test_hostile_text_stays_text() -> None:
    """No control character and no line break of an app's reaches the terminal."""
    view = view_of({"research_question": "a\x1b[2J\nb", "search_assumptions": ["x\r\ny\x07"]})
    for row in rows(view, 80):
        assert row.text.isprintable(), row
    assert "a\ufffd[2J b" in rows(view, 80)[0].text


@pytest.mark.parametrize("width", [40, 76, 120])
def test_rows_fit(width: int) -> None:
    """However long the values are."""
    long = "word " * 200
    view = view_of(
        {
            "research_question": long,
            "search_assumptions": [long, "short"],
            "pending_search_plan": {"database": "D" * 60, "query": long},
            "current_filters": {"year": long},
        }
    )
    assert max(len(row.text) for row in rows(view, width)) <= width


def test_a_long_history_is_counted_in_the_box() -> None:
    """The last ones are shown, the others are a number and a key."""
    receipt = {"timestamp": "2026-03-01T14:23:05+00:00", "database": "D", "query": "q"}
    history = [receipt | {"results_count": number} for number in range(500)]
    view = view_of({"search_history": history})
    text = [row.text for row in rows(view, 80)]
    assert sum("→" in line for line in text) == 3
    assert "  497 earlier searches: [h] history" in text
    assert markdown(view).count("| `q` |") == 500
