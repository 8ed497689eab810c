"""Transcripts, in every way in which a writer marks pieces, ends and authors: one block, each word once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from tests.facts.fact_lines import fact_lines, facts_of
from tests.laws.events import Json, answer, call, entries, event, text

from adk_prism.facts.model import BlockBegan, BlockGrew, InputTranscribed
from adk_prism.facts.transcripts import rest_of

PIECES = ("京都の", "天気は", "\uff1f")
WHOLE = "".join(PIECES)


@dataclass(frozen=True)
class Style:
    """How a writer marks what is heard: (text, finished, partial) of each event."""

    id: str
    marks: tuple[tuple[str | None, bool | None, bool | None], ...]


STYLES = (
    Style(
        "pieces, then the whole",
        (*((piece, False, True) for piece in PIECES), (WHOLE, True, False)),
    ),
    Style(
        "no partial flag, the last piece is marked",
        ((PIECES[0], False, None), (PIECES[1], False, None), (PIECES[2], True, None)),
    ),
    Style(
        "no partial flag, the end has no text",
        (*((piece, None, None) for piece in PIECES), (None, True, None)),
    ),
    Style("no flags at all", tuple((piece, None, None) for piece in PIECES)),
    Style(
        "a final event that is only the last piece",
        ((PIECES[0], False, True), (PIECES[1], False, True), (PIECES[2], True, False)),
    ),
    Style("one final event and no pieces", ((WHOLE, True, False),)),
    Style("one final event without a partial flag", ((WHOLE, True, None),)),
    Style(
        "the last piece is partial and finished",
        ((PIECES[0], False, True), (PIECES[1], False, True), (PIECES[2], True, True)),
    ),
    Style("whole by the partial flag alone", (("京都", None, True), (WHOLE, None, False))),
    Style(
        "pieces, then the whole without a partial flag",
        (*((piece, False, None) for piece in PIECES), (WHOLE, True, None)),
    ),
)
AUTHORS = ("user", "agent")


def transcribed(style: Style, kind: str, author: str) -> list[Json]:
    """Return the events of one transcript."""
    return [
        event(author=author, partial=partial, **{kind: _words(said, finished)})
        for said, finished, partial in style.marks
    ]


def _words(said: str | None, finished: bool | None) -> Json:
    found: dict[str, Any] = {"text": said, "finished": finished}
    return {key: value for key, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("style", "author"),
    list(product(STYLES, AUTHORS)),
    ids=lambda value: value if isinstance(value, str) else value.id,
)
def test_what_the_user_says_is_one_utterance(style: Style, author: str) -> None:
    """Under one id, whole and final at last, never doubled, whoever the event's author is."""
    run = entries(transcribed(style, "inputTranscription", author))
    heard = [item for item in facts_of(run) if isinstance(item, InputTranscribed)]
    assert {item.utterance for item in heard} == {"input-2"}
    assert [item.final for item in heard] == [False] * (len(heard) - 1) + [True]
    assert heard[-1].text == WHOLE
    assert all(WHOLE.startswith(item.text) for item in heard)


@pytest.mark.parametrize(
    ("style", "author"),
    list(product(STYLES, AUTHORS)),
    ids=lambda value: value if isinstance(value, str) else value.id,
)
def test_what_the_agent_says_is_one_block(style: Style, author: str) -> None:
    """One block holds the transcript once."""
    facts = facts_of(entries(transcribed(style, "outputTranscription", author)))
    assert len([item for item in facts if isinstance(item, BlockBegan)]) == 1
    assert "".join(item.text for item in facts if isinstance(item, BlockGrew)) == WHOLE


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    told: list[str]


def heard(said: str, finished: bool | None = None, **more: Any) -> Json:
    return event(inputTranscription=_words(said, finished), **more)


CASES = [
    Case(
        "both sides in one event: the user first",
        [heard("Hi", True, outputTranscription={"text": "Hello", "finished": True})],
        [
            "heard input-2 'Hi' final=True",
            "begin transcript-2.0 by=agent",
            "grow transcript-2.0 'Hello'",
            "end transcript-2.0",
        ],
    ),
    Case(
        "both sides in one partial event",
        [heard("Hi", False, partial=True, outputTranscription={"text": "He", "finished": False})],
        [
            "heard input-2 'Hi'",
            "begin transcript-2.0 by=agent",
            "grow transcript-2.0 'He'",
            "end transcript-2.0",
            "heard input-2 'Hi' final=True",
        ],
    ),
    Case(
        "beside the next piece of a text",
        [
            event(text("Hel"), partial=True),
            heard("Hi", True, partial=True, content={"parts": [text("lo")]}),
        ],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hel'",
            "heard input-3 'Hi' final=True",
            "grow text-2.0 'lo'",
            "end text-2.0",
        ],
    ),
    Case(
        "beside a call",
        [
            heard("Look", True, content={"parts": [call("look")]}),
            event(answer("look", response={"a": 1})),
        ],
        ["heard input-2 'Look' final=True", "call c1 look {}", 'answer c1 {"a": 1}'],
    ),
    Case(
        "the end of a turn ends what nobody marked",
        [heard("Hi"), event(turnComplete=True), heard("Bye"), event(turnComplete=True)],
        [
            "heard input-2 'Hi'",
            "heard input-2 'Hi' final=True",
            "heard input-4 'Bye'",
            "heard input-4 'Bye' final=True",
        ],
    ),
    Case(
        "each hypothesis takes the place of the one before",
        [
            heard("what", False, partial=True),
            heard("what is", False, partial=True),
            heard("what is it", False, partial=True),
            heard("What is it?", True, partial=False),
        ],
        [
            "heard input-2 'what'",
            "heard input-2 'what is'",
            "heard input-2 'what is it'",
            "heard input-2 'What is it?' final=True",
        ],
    ),
    Case(
        "a hypothesis corrects the one before, and the final text the last one",
        [
            heard("whether in", False, partial=True),
            heard("weather in Rome", False, partial=True),
            heard("weather in roam to", False, partial=True),
            heard("Weather in Rome today?", True, partial=False),
        ],
        [
            "heard input-2 'whether in'",
            "heard input-2 'weather in Rome'",
            "heard input-2 'weather in roam to'",
            "heard input-2 'Weather in Rome today?' final=True",
        ],
    ),
    Case(
        "pieces that resemble each other a little are pieces",
        [
            heard("One ticket to Rome", False, partial=True),
            heard(" and one more to Oslo", False, partial=True),
            heard(", please", True, partial=False),
        ],
        [
            "heard input-2 'One ticket to Rome'",
            "heard input-2 'One ticket to Rome and one more to Oslo'",
            "heard input-2 'One ticket to Rome and one more to Oslo, please' final=True",
        ],
    ),
    Case("nothing was heard", [heard("", True), heard("", None)], []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_transcript_is_read_wherever_it_stands(case: Case) -> None:
    """On any event, before what the agent says in it."""
    assert fact_lines(*case.events) == case.told


@pytest.mark.parametrize(
    ("whole", "said", "rest"),
    [
        ("Hello there", "Hello", " there"),
        ("Hello", "Hello", ""),
        ("Hello", "", "Hello"),
        ("", "Hello", None),
        ("", "", ""),
        ("?", "Hello", None),
        ("Hello, there.", " hello  there", "."),
        ("Hello there.", "Hello there!", ""),
        ("Hello there. And", "Hello there!", ". And"),
        ("Hello", "Hello there", None),
        ("天気は", "\uff1f", None),
    ],
)
def test_what_a_whole_adds_to_its_pieces(whole: str, said: str, rest: str | None) -> None:
    """Spaces, signs and capitals do not make another text."""
    assert rest_of(whole, said) == rest
