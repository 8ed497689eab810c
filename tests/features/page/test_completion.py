"""A run is complete once: at its end, or where a capture's last word was; never because it fell silent."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.laws.events import Json, answer, call, entries, event, text
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.facts.run_reader import Reader
from adk_prism.features.page.panels import Completion
from adk_prism.log.entry import Entry, RunEnded


def followed(run: list[Entry] | tuple[Entry, ...]) -> tuple[list[int], int | None]:
    """Return the entries at which the completion became known, and the one that completed the run."""
    reader, completion = Reader(), Completion()
    known = [e.cursor for e in run if completion.feed(e, reader.feed(e))]
    return known, completion.cursor


@dataclass(frozen=True)
class Case:
    id: str
    events: tuple[Json, ...]
    cursor: int | None


STOP = {"finishReason": "STOP"}
CASES = (
    Case("words", (event(text("So."), **STOP),), 2),
    Case(
        "STOP on a turn that calls, with words in it, is not the end",
        (
            event(text("I look."), call("look"), **STOP),
            event(answer("look", response={"a": 1})),
            event(text("So."), **STOP),
        ),
        4,
    ),
    Case(
        "words while a call has no answer are not the last ones",
        (event(call("look"), **STOP), event(text("Wait."), **STOP)),
        None,
    ),
    Case("a call without an answer", (event(call("look"), **STOP),), None),
    Case("an answer that nobody took up", (event(call("look")), event(answer("look"))), None),
    Case("no STOP at all", (event(text("So.")),), 2),
    Case("only pieces", (event(text("So"), partial=True), event(text("."), partial=True)), None),
    Case(
        "what comes after the last word",
        (event(text("So.")), event(actions={"stateDelta": {"a": 1}})),
        2,
    ),
    Case(
        "two turns", (event(text("A.")), event(text("And?"), author="user"), event(text("B."))), 4
    ),
    Case("an error at last", (event(text("So.")), event(errorCode="Overload")), None),
    Case("nothing", (event(actions={"stateDelta": {"a": 1}}),), None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_capture_is_complete_where_the_model_had_its_last_word(case: Case) -> None:
    """It is known at the file's end, and not before."""
    run = entries(case.events)
    known = [run[-1].cursor] if case.cursor is not None else []
    assert followed(run) == (known, case.cursor)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_silence_completes_nothing(case: Case) -> None:
    """Without an end there is none, however long nobody speaks."""
    assert followed(entries(case.events)[:-1]) == ([], None)


@pytest.mark.parametrize("outcome", ["finished", "failed", "cancelled", "waiting", "incomplete"])
def test_a_run_is_complete_at_its_end(outcome: str) -> None:
    """Whatever it came to, and whatever was said last."""
    run = entries((event(text("So."), **STOP), event(call("look"))), outcome)  # type: ignore[arg-type]
    assert followed(run) == ([4], 4)


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_completion_fires_at_most_once(name: str) -> None:
    """On everything that really happened; for what we recorded, exactly at the end."""
    run = load(name)
    known, cursor = followed(run)
    assert isinstance(run[-1].record, RunEnded)
    assert known in ([], [run[-1].cursor])
    if name in RECORDINGS:
        assert cursor == run[-1].cursor
