"""What is said and asked, as a person sees it: Markdown, reasons, sign-ins, a choice of apps."""

from __future__ import annotations

import pytest
from tests.features.console.conftest import Opens
from textual.widgets import OptionList

from adk_prism.features.console.history import PIECE, TextItem
from adk_prism.features.console.widgets import AppPicker
from adk_prism.features.run.questions import sign_in

# ------------------------------------------------------------------ Markdown


async def test_an_answer_is_markdown(terminal: Opens) -> None:
    """Marks become what they mean; the words stay."""
    async with terminal() as panel:
        await panel.say("text")
        await panel.sees("This is plain text, streamed word by word.", "• It may hold Markdown")
        assert "**" not in panel.text


async def test_what_looks_like_html_or_an_escape_is_text(terminal: Opens) -> None:
    """Nothing is left out, and nothing reaches the terminal as a command."""
    async with terminal() as panel:
        await panel.say("<b>bold?</b> \x1b]0;owned\x07 [here](javascript:x)")
        await panel.sees("<b>bold?</b>", "javascript:x")
        assert "\x1b" not in panel.text


PARAGRAPH = "word " * 60 + "\n\n"
CODE = "```python\n" + "x = 1\n" * 1200 + "```\n\nafter\n"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (PARAGRAPH * 20, 0),
        (CODE, 2),
        ("~~~\n" + "line\n\n" * 1500 + "~~~", 2),
        ("word " * 2000, 0),
        ("x" * 3 * PIECE, 0),
        ("\n" * 3 * PIECE, 0),
    ],
    ids=["paragraphs", "code", "code with gaps", "one line", "one word", "nothing"],
)
def test_a_long_answer_is_cut_into_whole_pieces(text: str, marks: int) -> None:
    """Token by token: every piece is Markdown by itself, and together they say all of it."""
    pieces, words = [], TextItem("speaker", "text")
    for start in range(0, len(text), 7):
        words.text += text[start : start + 7]
        while (rest := words.cut()) is not None:
            pieces.append(words)
            words = rest
    pieces.append(words)
    for piece in pieces:
        assert piece.text.count("```") + piece.text.count("~~~") in (0, marks)
    if marks:
        told = [line for piece in pieces for line in piece.text.split("\n")]
        assert told.count("x = 1") + told.count("line") == text.count("x = 1") + text.count("line")
    else:
        assert "".join(piece.text for piece in pieces) == text
    if len(text.split()) > 1:
        assert max(len(piece.text) for piece in pieces) <= 2 * PIECE + 20


# ------------------------------------------------------------------ answers


async def test_a_denial_says_why(terminal: Opens) -> None:
    """The reason reaches the agent, and the conversation shows it."""
    async with terminal() as panel:
        await panel.say("approval")
        await panel.say("/deny too much money")
        await panel.sees("you: denied send_invoice: too much money")


async def test_a_sign_in_says_where_and_what_to_type(terminal: Opens) -> None:
    """The next line is what was brought back."""
    async with terminal(width=140) as panel:
        await panel.say("credential request")
        await panel.sees("A tool needs you to sign in. Open", "https://accounts.example.com")
        await panel.sees("? Sign-in needed – enter the redirect URL")
        await panel.say("http://127.0.0.1/back?code=synthetic&state=synthetic")
        assert "Sign-in needed –" not in panel.text
        assert "failed" not in panel.text


@pytest.mark.parametrize(
    ("credential", "wants", "brought"),
    [
        (
            {"authType": "oauth2", "oauth2": {"authUri": "https://a.example/x", "clientId": "c"}},
            "the redirect URL",
            {"oauth2": {"authUri": "https://a.example/x", "clientId": "c", "authResponseUri": "?"}},
        ),
        ({"authType": "apiKey"}, "the API key", {"apiKey": "?"}),
        (
            {"authType": "http", "http": {"scheme": "bearer"}},
            "the token or key",
            {"http": {"scheme": "bearer", "credentials": {"token": "?"}}},
        ),
        (
            {"authType": "oauth2", "oauth2": {"authUri": "javascript:x"}},
            "the token or key",
            {"apiKey": "?"},
        ),
        ({}, "the token or key", {"apiKey": "?"}),
    ],
    ids=["oauth", "key", "http", "no address", "nothing"],
)
def test_a_sign_in_is_answered_as_adk_expects(
    credential: dict[str, object], wants: str, brought: dict[str, object]
) -> None:
    """The request's own config goes back, with what was brought."""
    asked = sign_in({"authConfig": {"exchangedAuthCredential": credential, "credentialKey": "k"}})
    assert asked.wants == wants
    answer = asked.answer("?")
    assert answer["credentialKey"] == "k"
    assert answer["exchangedAuthCredential"] == {**credential, **brought}


@pytest.mark.parametrize("request_", [None, 7, [], {}, {"authConfig": 7}, "text"])
def test_a_request_that_is_none_asks_for_a_key(request_: object) -> None:
    """Whatever a tool sends, there is something to type."""
    assert "sign in" in sign_in(request_).advice


# ------------------------------------------------------------------ a choice


async def test_an_app_is_chosen() -> None:
    """By arrows and Enter."""
    picker = AppPicker("http://name:secret@127.0.0.1:8000", ["recovery", "research", "tour"])
    async with picker.run_test(size=(80, 20)) as pilot:
        assert picker.query_one(OptionList).option_count == 3
        await pilot.press("down", "j", "enter")
    assert picker.return_value == "tour"


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
async def test_a_choice_can_be_left(key: str) -> None:
    """Then nothing is opened."""
    picker = AppPicker("http://127.0.0.1:8000", ["a", "b"])
    async with picker.run_test() as pilot:
        await pilot.press(key)
    assert picker.return_value == ""
