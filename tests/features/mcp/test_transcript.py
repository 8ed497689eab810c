"""A run as a short text: every step, within the characters that are allowed, and what matters in it."""

from __future__ import annotations

import json

import pytest
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.features.mcp.transcript import CHARACTERS, Row, Steps, transcript
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunStarted, to_raw


def _rows(entries: list[Entry] | tuple[Entry, ...]) -> list[Row]:
    steps = Steps()
    for entry in entries:
        steps.feed(entry)
    return steps.rows


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_every_recording_fits_and_says_how_it_ended(name: str) -> None:
    """Also in little room; cursors are those of the log."""
    rows = _rows(load(name))
    for characters in (600, CHARACTERS):
        found = transcript(rows, characters=characters)
        assert len(found.text) <= characters + 200
        assert found.text.splitlines()[-1].startswith(f"[{rows[-1].cursor}] ended: ")
    assert {row.cursor for row in rows} <= {entry.cursor for entry in load(name)}


def test_a_run_is_read_from_its_rows() -> None:
    """The question, the call, its result, the answer and the end."""
    text = transcript(_rows(load("approval.2"))).text
    assert 'send_invoice → {"sent":true' in text
    assert "coordinator" in text or "tour" in text
    assert text.splitlines()[-1].endswith("ended: finished")


def test_what_is_read_on_is_the_rest() -> None:
    """By the cursor of the last row that was seen."""
    rows = _rows(load("approval"))
    whole = transcript(rows).text.splitlines()
    rest = transcript(rows, after=rows[1].cursor).text.splitlines()
    assert rest == [
        line for line in whole if int(line[1:].partition("]")[0].partition("-")[0]) > rows[1].cursor
    ]


def _event(part: dict, number: int, author: str = "helper") -> AgentEvent:
    content = {"role": "user" if "functionResponse" in part else "model", "parts": [part]}
    event = {"author": author, "id": f"e{number}", "invocationId": "i", "content": content}
    return AgentEvent(json.dumps(event | {"timestamp": 1.0, "actions": {}}).encode())


def _long_run(calls: int) -> list[Entry]:
    """Return a run of many calls, one of which fails."""
    head = RunStarted(
        run="r", origin=Origin(app="a", user="u", session="s"), invocation="i",
        message=to_raw({"role": "user", "parts": [{"text": "look at all"}]}), agents=[], state={},
    )  # fmt: skip
    records: list = [head]
    for number in range(calls):
        name = "look_up" if number % 500 else f"look_{number}"
        call = {"id": f"c{number}", "name": name}
        records.append(_event({"functionCall": call | {"args": {"n": number}}}, 2 * number))
        answer = {"error": "no such thing"} if number == 1234 else {"seen": "x" * 300}
        records.append(_event({"functionResponse": call | {"response": answer}}, 2 * number + 1))
    records.append(_event({"text": "All of it was seen."}, 99999))
    records.append(RunEnded(outcome="finished"))
    return [Entry(cursor, float(cursor), record) for cursor, record in enumerate(records, 1)]


def test_a_run_of_five_thousand_events_keeps_what_matters() -> None:
    """The failure in the middle, the question and the answer, in the usual room."""
    found = transcript(_rows(_long_run(2500)))
    assert len(found.text) <= CHARACTERS
    for words in ("user: look at all", "failed: no such thing", "All of it was seen.", "×4"):
        assert words in found.text
    assert "ended: finished" in found.text.splitlines()[-1]


def test_words_of_other_scripts_are_more_tokens() -> None:
    """They count as bytes, so that the room is never more than some 8,000 tokens."""
    rows = [Row(number, "助手: " + "长" * 400) for number in range(1, 200)]
    found = transcript(rows)
    assert len(found.text.encode()) <= CHARACTERS


def test_rows_that_do_not_fit_are_named() -> None:
    """With the cursor after which they are read."""
    rows = [Row(number, f"helper: {'word ' * 40}") for number in range(1, 400)]
    rows[200] = Row(201, "error in helper: BOOM", matters=True)
    found = transcript(rows, characters=3000)
    assert found.left_out > 300
    assert "BOOM" in found.text
    assert "rows (read on with after=" in found.text
    assert len(found.text) <= 3200
