"""A whole session of the research app in the panel, with no key and no network."""

from __future__ import annotations

from tests.features.console.conftest import Opens

QUESTION = "How is explainable AI evaluated?"


async def test_from_a_question_to_a_receipt(terminal: Opens) -> None:
    """A plan, a short run, the whole search: asked each time, counted right, all by key."""
    async with terminal("research", 150, 60) as panel:
        await panel.say(QUESTION)
        assert "SEARCH PLAN – waiting for you" in panel.text
        assert "Δ Stage: scoping 1/4" in panel.text
        await panel.press("s")
        assert "10 papers (short run), 10 new" in panel.text
        assert "SEARCH PLAN – waiting for you" in panel.text, "the whole search is asked for, too"
        await panel.press("o")
        assert "SEARCH PLAN – waiting" not in panel.text
        assert "Stage: retrieval 2/4" in panel.text
        view = panel.console._session.history.panel("grounding")
        first, second = view["receipts"]
        assert (first["preview"], second["preview"]) == (True, False)
        assert view["box"]["papers_found"] == first["new_count"] + second["new_count"]
        assert f"Found: {view['box']['papers_found']} papers" in panel.text


async def test_a_gap_is_helped(terminal: Opens) -> None:
    """Too little is found, a remedy is one key, and what it plans is asked for again; cancel drops it."""
    async with terminal("research", 80, 24) as panel:
        await panel.say("What approaches exist for explainable AI in clinical decision support?")
        await panel.press("o")
        assert "SEARCH HELP" in panel.text
        assert "[1] " in panel.text
        await panel.press("1")
        assert "SEARCH PLAN sample" in panel.text
        await panel.press("c")
        assert "SEARCH PLAN sample" not in panel.text
        assert len(panel.console._session.history.panel("grounding")["receipts"]) == 1


async def test_words_do_as_well(terminal: Opens) -> None:
    """What is typed beside the keys means the same; an unclear answer leaves the plan waiting."""
    async with terminal("research", 150, 60) as panel:
        await panel.say(QUESTION)
        await panel.say("hmm, perhaps")
        assert "SEARCH PLAN – waiting for you" in panel.text
        await panel.say("yes, go ahead")
        assert "SEARCH PLAN – waiting" not in panel.text
        assert len(panel.console._session.history.panel("grounding")["receipts"]) == 1
