"""The panel on a terminal, against a real server: what a person types, presses and sees."""

from __future__ import annotations

import pytest
from tests.features.console.conftest import Opens


async def test_a_message_and_its_answer(terminal: Opens) -> None:
    """Who spoke, what was called with what, and what came back, in the order in which it was."""
    async with terminal() as panel:
        await panel.say("tool")
        at = [
            panel.text.index(words)
            for words in (
                "you: tool",
                "I look at the weather.",
                '→ get_weather {"city":"Lisbon"}',
                '← {"city":"Lisbon","sky":"sunny"',
                "It is sunny in Lisbon",
            )
        ]
        assert at == sorted(at)
        assert "2 nodes" in panel.text, "the strip counts the agent and its tool"
        assert panel.line.value == ""


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("y", ["you: approved send_invoice", '← {"sent":true', "The invoice was sent."]),
        ("n", ["you: denied send_invoice", "✗ denied"]),
    ],
)
async def test_an_approval_is_one_key(key: str, told: list[str], terminal: Opens) -> None:
    """What waits is said with its keys, which are at hand; the call's own line shows what became of it."""
    async with terminal(session=f"approval-{key}") as panel:
        await panel.say("approval")
        assert "? send_invoice needs your approval" in panel.text
        assert "[y] approve  [n] deny" in panel.text
        assert not panel.line.has_focus
        await panel.press(key)
        for words in told:
            assert words in panel.text
        assert "needs your approval" not in panel.text


async def test_a_batch_is_answered_together(terminal: Opens) -> None:
    """Two approvals: the first answer is kept, both go out with the second."""
    async with terminal(height=60) as panel:
        await panel.say("two approvals")
        assert "(2 pending)" in panel.text
        await panel.press("y")
        assert "(2 pending)" not in panel.text
        assert "needs your approval" in panel.text
        await panel.press("n")
        assert "you: approved " in panel.text
        assert "you: denied " in panel.text


async def test_a_tool_of_ones_own_is_answered_in_words(terminal: Opens) -> None:
    """What is typed is the result; JSON stays JSON."""
    async with terminal() as panel:
        await panel.say("client tool")
        assert "? Run get_location yourself and type its result" in panel.text
        await panel.say('{"city": "Turin"}')
        assert "city Turin" in panel.text


async def test_a_question_is_answered_in_words(terminal: Opens) -> None:
    """A workflow asks; the next line is its answer, not another message."""
    async with terminal(width=140) as panel:
        await panel.say("input request")
        assert "? For how many people at Prisma? – type guests (integer)" in panel.text
        await panel.say('{"people": 7}')
        assert "! The answer must be a JSON object with guests (integer)" in panel.text
        await panel.say("7")
        assert "failed" not in panel.text
        assert "7" in panel.text


async def test_a_new_message_expires_what_waited(terminal: Opens) -> None:
    """As the server has it: nothing is left to approve."""
    async with terminal() as panel:
        await panel.say("approval")
        await panel.say("text")
        assert "[y] approve" not in panel.text
        await panel.say("/approve")
        assert "! There is nothing to approve." in panel.text


async def test_a_run_is_stopped_by_escape(terminal: Opens) -> None:
    """The status offers it, and the end says so."""
    async with terminal() as panel:
        await panel.type("slow 60")
        await panel.sees("→", "Running… Esc stops it")
        await panel.press("escape")
        assert "· The run was stopped." in panel.text


async def test_a_line_typed_too_early_is_kept(terminal: Opens) -> None:
    """While the app is busy nothing is sent, and nothing is lost."""
    async with terminal() as panel:
        await panel.type("slow 60")
        await panel.sees("… running")
        await panel.type("next question")
        await panel.sees("! The app is still running")
        assert panel.line.value == "next question"
        await panel.press("escape")
        await panel.press("enter")
        assert "you: next question" in panel.text


async def test_a_failed_run_says_so(terminal: Opens) -> None:
    """With what the exception says, on one's own machine, and the reference to the operator's line."""
    async with terminal() as panel:
        await panel.say("exception")
        assert "! RuntimeError: This tool always fails (synthetic). Reference: " in panel.text
        assert "✗" in next(line for line in panel.lines if "nodes" in line)
        await panel.say("text")
        assert "you: text" in panel.text


@pytest.mark.parametrize("width", [80, 160])
async def test_panels_by_key(width: int, terminal: Opens) -> None:
    """State, proof, timeline and help; the same key again goes back. Without grounding, says so."""
    async with terminal(width=width, height=50, session=f"panels-{width}") as panel:
        await panel.say("state")
        await panel.pilot.press("tab")
        await panel.press("v")
        assert "Δ trip = " in panel.text
        assert "user:last_destination = " in panel.text
        await panel.press("t")
        assert "note_budget" in panel.text
        assert "✓ finished" in panel.text
        await panel.press("p")
        assert "No confidence or source was stated." in panel.text
        await panel.press("g")
        assert "This app has no research plan." in panel.text
        await panel.press("question_mark")
        assert "/unassume NUMBER" in panel.text
        await panel.press("question_mark")
        assert ("TIMELINE" in panel.text) == (width >= 120), "back to what suits the room"


async def test_a_resize_lays_everything_out_again(terminal: Opens) -> None:
    """Below 120 columns one above the other, from there on side by side; nothing is cut."""
    async with terminal(width=160) as panel:
        await panel.say("state")
        assert any("you: state" in line and "│" in line for line in panel.lines[:3])
        await panel.pilot.resize_terminal(80, 24)
        await panel.until_idle()
        assert max(map(len, panel.lines)) <= 80
        assert "TIMELINE" not in panel.text
        await panel.pilot.resize_terminal(160, 40)
        await panel.sees("TIMELINE")
        assert max(map(len, panel.lines)) <= 160


async def test_no_colour_is_needed(terminal: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NO_COLOR the same words, in black and white."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with terminal() as panel:
        await panel.say("approval")
        assert "? send_invoice needs your approval" in panel.text
        svg = panel.console.export_screenshot()
        assert "needs" in svg
        assert panel.console.no_color


async def test_a_session_is_shown_again(terminal: Opens) -> None:
    """A panel that is opened later shows what was said, and what still waits can be answered."""
    async with terminal(session="again") as panel:
        await panel.say("tool")
        await panel.say("approval")
    async with terminal(session="again") as panel:
        assert "It is sunny in Lisbon" in panel.text
        await panel.press("tab", "y")
        assert "The invoice was sent." in panel.text


async def test_a_run_that_goes_on_is_joined(terminal: Opens) -> None:
    """Leaving does not stop it; who comes back sees it go on."""
    async with terminal(session="joined") as panel:
        await panel.type("slow 60")
        await panel.sees("→", "… running")
    async with terminal(session="joined") as panel:
        await panel.sees("… running")
        await panel.press("escape")
        assert "· The run was stopped." in panel.text


async def test_lines_come_back_and_keys_stay_out_of_them(terminal: Opens) -> None:
    """Up brings typed lines back; a letter in the input line is a letter."""
    async with terminal() as panel:
        await panel.say("text")
        await panel.say("help")
        await panel.press("up", "up")
        assert panel.line.value == "text"
        await panel.press("down", "q")
        assert panel.line.value == "helpq"


async def test_the_newest_line_is_in_sight_until_somebody_scrolls_up(terminal: Opens) -> None:
    """Up stays up while more is said; back at the end it follows again."""
    async with terminal(height=24) as panel:
        await panel.say("long 800")
        await panel.sees("word800")
        await panel.press("tab", "pageup", "pageup")
        await panel.until(lambda: "word800" not in panel.text, "scrolled up")
        await panel.type("tool")
        await panel.until_idle()
        assert "It is sunny" not in panel.text
        await panel.press("tab", "end")
        await panel.sees("It is sunny")
        await panel.say("long 100")
        await panel.sees("word100")


async def test_leaving_takes_two_presses(terminal: Opens) -> None:
    """A question may begin with a q."""
    async with terminal() as panel:
        await panel.press("escape", "q")
        assert "Press q again to quit." in panel.text
        await panel.press("t", "q")
        assert panel.console.is_running
        await panel.pilot.press("q")
        assert panel.console.return_value == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/nope", "! Unknown command /nope"),
        ("/assume", "! /assume needs TEXT"),
        ("/approve all", "! /approve takes no argument"),
        ("/ok", "! There is no search plan"),
        ("/remedy 7", "! There is no remedy '7'; none is offered"),
        ("/stop", "! There is no run to stop."),
        ("/export", "! This session has no search strategy"),
        ("/resolve 3", "! There is no item '3'; the list is empty."),
    ],
)
async def test_what_cannot_be_is_said(line: str, says: str, terminal: Opens) -> None:
    """In one line, and what was typed stays to be mended."""
    async with terminal() as panel:
        await panel.say(line)
        assert says in panel.text
        assert panel.line.value == line
