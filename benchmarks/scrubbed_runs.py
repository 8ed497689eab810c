"""Long runs to travel in, each heavy in another way: what is quick for one may be slow for the next.

All of them are synthetic, and of about as many events as they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from adk_prism.log.entry import (
    AgentEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunEnded,
    RunStarted,
    to_raw,
)
from benchmarks.film import entries as steps

KEYS = 200
TOKENS_PER_SECTION = 150
MEMBERS = 8
STEP = 0.01
"""Seconds between two entries."""

_PARAGRAPH = (
    "the prism bends **each** colour by its `own` angle, and so the colours part on the wall. "
)
_SECTION = (
    f"## A section\n\n{_PARAGRAPH * 4}\n\n- one *point*\n- another, with a [link](https://example.org)\n\n"
    f"| colour | angle |\n| --- | --- |\n| red | 1.1 |\n| blue | 1.4 |\n\n```python\nprint('part')\n```\n\n"
)


def texts(events: int) -> list[Entry]:
    """Return one answer after another, each of some sections of Markdown."""
    tokens = [piece + " " for piece in _SECTION.split(" ")]
    size = len(tokens) * 12

    def told() -> Iterator[Record]:
        for start in range(0, events, size):
            answer = [tokens[number % len(tokens)] for number in range(min(size, events - start))]
            yield from (
                _event(f"writer_{start}", {"text": token}, partial=True) for token in answer
            )
            yield _event(f"writer_{start}", {"text": "".join(answer)})

    return _log(told())


def calls(events: int) -> list[Entry]:
    """Return a call, its answer and a sentence, over and over, by agents that take turns."""

    def done() -> Iterator[Record]:
        for number in range(0, events, 5):
            who, node = f"agent_{number % MEMBERS}", f"n{number}"
            call = {"id": f"c{number}", "name": f"tool_{number % 12}"}
            rows = {
                "rows": [{"id": row, "value": row / 8, "note": "synthetic"} for row in range(20)]
            }
            yield NodeStarted(node=node, name=who, kind="agent", parent="")
            yield _event(who, {"functionCall": {**call, "args": {"number": number}}})
            yield _event(who, {"functionResponse": {**call, "response": rows}})
            yield _event(who, {"text": f"{_PARAGRAPH}\n\n- point {number}\n"})
            yield NodeEnded(node=node, status="finished")

    return _log(done())


def keys(events: int) -> list[Entry]:
    """Return a state of many keys, each event writing one of them: a snapshot per event."""
    value = {"value": 0, "text": "x" * 40, "rows": [1, 2, 3]}
    state = {f"key_{number}": to_raw(value) for number in range(KEYS)}

    def written() -> Iterator[Record]:
        for number in range(events):
            who, node = f"agent_{number // 10 % MEMBERS}", f"n{number // 10}"
            if number % 10 == 0:
                yield NodeStarted(node=node, name=who, kind="agent")
            delta = {f"key_{number * 7 % KEYS}": {**value, "value": number}}
            yield AgentEvent(_bytes({"author": who, "actions": {"stateDelta": delta}}))
            if number % 10 == 9:
                yield NodeEnded(node=node, status="finished")

    return _log(written(), state)


def proofs(events: int) -> list[Entry]:
    """Return specialists whose tools give proofs, with citations and reasons."""
    layer = {
        "confidence": 0.8,
        "citations": [
            {"source": f"plot {number}", "reference": "synthetic"} for number in range(4)
        ],
        "reasoning_chain": ["Counted.", "Compared.", "Rounded."],
    }

    def given() -> Iterator[Record]:
        for number in range(0, events, 3):
            who = f"specialist_{number % MEMBERS}"
            call = {"id": f"c{number}", "name": "measure"}
            yield _event(who, {"functionCall": {**call, "args": {"plot": number}}}, branch=who)
            answer = {"value": number, "proof_layer": layer}
            yield _event(who, {"functionResponse": {**call, "response": answer}}, branch=who)
            yield _event(
                who, {"text": f"Plot {number} burned, confidence 80 % [plot {number}]."}, branch=who
            )

    return _log(given())


RUNS: Mapping[str, Callable[[int], list[Entry]]] = {
    "steps": steps,
    "texts": texts,
    "calls": calls,
    "keys": keys,
    "proofs": proofs,
}


def _log(told: Iterator[Record], state: Mapping[str, object] | None = None) -> list[Entry]:
    origin = Origin(app="app", user="user", session="session")
    began = RunStarted(run="run-1", origin=origin, state=dict(state or {}))  # type: ignore[arg-type] # raw values
    records = [began, *told, RunEnded(outcome="finished")]
    return [Entry(cursor, cursor * STEP, record) for cursor, record in enumerate(records, 1)]


def _event(author: str, part: dict[str, object], **fields: object) -> AgentEvent:
    return AgentEvent(
        _bytes({"author": author, "content": {"role": "model", "parts": [part]}} | fields)
    )


def _bytes(event: dict[str, object]) -> bytes:
    return json.dumps({"id": "e", "invocationId": "i"} | event).encode()
