"""C: two runs compared, from their entries to the answer of `GET /api/compare`.

Runs of five thousand entries that call a tool again and again: equal but for ids, and one that lacks every
seventh call. They are to take at most 300 ms. Per entry, they are to cost as much as runs of a tenth.
"""

from __future__ import annotations

import json

import msgspec

from adk_prism.features.compare.comparison import compare
from adk_prism.features.page.outline import outline
from adk_prism.log.entry import (
    AgentEvent,
    Entry,
    NodeEnded,
    NodeStarted,
    Origin,
    Record,
    RunStarted,
)
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

LONG, SHORT = 5_000, 500
QUESTIONS = 50
LEFT_OUT = 7
MOST_MICROSECONDS = 300_000


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    a, same, fewer = entries(LONG, "a"), entries(LONG, "b"), entries(LONG, "c", LEFT_OUT)
    short, other = entries(SHORT, "a"), entries(SHORT, "c", LEFT_OUT)
    costs = take_turns(
        {
            "same": cpu_per_item(lambda: answer(a, same), 1),
            "fewer": cpu_per_item(lambda: answer(a, fewer), 1),
            "long": cpu_per_item(lambda: answer(a, fewer), LONG),
            "short": cpu_per_item(lambda: answer(short, other), SHORT),
        },
        2 if quick else 7,
    )
    within = f"{MOST_MICROSECONDS // 1000} ms"
    return [
        Row(
            f"two runs of {LONG:,} entries compared: {words}",
            micros(costs.cost(name)),
            within,
            costs.cost(name) * 1e6 / MOST_MICROSECONDS,
            1.0,
        )
        for name, words in (("same", "equal"), ("fewer", "one lacks calls"))
    ] + [
        Row(
            f"two runs of {LONG:,} entries compared: per entry, against {SHORT:,}",
            micros(costs.cost("long")),
            micros(costs.cost("short")),
            costs.ratio("long", "short"),
            1.5,
        )
    ]


def answer(a: list[Entry], b: list[Entry]) -> bytes:
    """Compare two runs."""
    return msgspec.json.encode(compare(outline(a), outline(b)))


def entries(count: int, name: str, left_out: int = 0) -> list[Entry]:
    """Return a run that calls a tool, without every so many of the calls."""
    origin = Origin(app="app", user="user", session=f"session-{name}")
    records: list[Record] = [RunStarted(run=f"run-{name}", origin=origin)]
    records.append(NodeStarted(node="agent", name="agent", kind="agent"))
    number = 0
    while len(records) < count:
        number += 1
        if left_out and number % left_out == 0:
            continue
        records += _call(number, f"call-{name}-{number}")
    return [Entry(place, place / 100, record) for place, record in enumerate(records, 1)]


def _call(number: int, call: str) -> list[Record]:
    given = {"id": call, "name": "search", "args": {"q": number % QUESTIONS, "in": "x" * 50}}
    got = {"id": call, "name": "search", "response": {"found": [number, "y" * 100], "ref": call}}
    node = f"tool-{number}"
    return [
        _event(functionCall=given),
        NodeStarted(node=node, name="search", kind="tool", parent="agent", call=call),
        NodeEnded(node=node, status="finished"),
        _event(functionResponse=got),
    ]


def _event(**part: object) -> AgentEvent:
    event = {"id": "e", "author": "agent", "invocationId": "i", "content": {"parts": [part]}}
    return AgentEvent(json.dumps(event).encode())
