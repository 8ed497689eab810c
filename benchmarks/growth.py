"""G: what a run's last events cost beside its first, and a long text beside a short one.

Nothing may cost more the longer a run has lasted. Runs of thousands of open calls, questions, agents and
streams are read to their end, by the facts, the table of questions and the frames of the protocol that
keeps the most; the reference of the last three tenths are the first three. Hostile texts are read at two
sizes: per character, four times the text costs what the text does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.features.proof.prose.answer_reader import read_proof_text
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunStarted
from adk_prism.protocols.registry import protocol
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

SLICES, EDGE = 10, 3
GROWTH = 3.0
"""A cost that grows with the run would be seven times as high at its end; a busy machine makes up to two."""
LARGE, SMALL = 200_000, 50_000
LONGER = 2.0
"""What is tried again costs four times as much per character of a text that is four times as long."""

Json = dict[str, Any]
Make = Callable[[int], bytes]


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    rounds = 2 if quick else 4
    events = [_run_row(name, *made, rounds) for name, made in _RUNS.items()]
    return [*events, *(_text_row(name, piece, rounds) for name, piece in _TEXTS.items())]


# --------------------------------------------------------------------------- runs


def _run_row(name: str, before: Make | None, make: Make, count: int, rounds: int) -> Row:
    first = [before(number) for number in range(count)] if before is not None else []
    run = _log([*first, *(make(number) for number in range(count))])
    size = count // SLICES
    costs = [
        min(slices) / size for slices in zip(*_rounds(run, len(first) + 1, rounds), strict=True)
    ]
    early, late = min(costs[:EDGE]), min(costs[-EDGE:])
    return Row(
        f"growth, {name}: per event, last against first",
        micros(late),
        micros(early),
        late / early,
        GROWTH,
    )


def _rounds(run: list[Entry], start: int, rounds: int) -> list[list[float]]:
    return [_slices(run, start) for _ in range(rounds)]


def _slices(run: list[Entry], start: int) -> list[float]:
    """Return what each slice of a run costs from `start` on, in seconds."""
    frames, reader, pending = protocol("ai-sdk").format().reader(), Reader(), Pending()

    def feed(slice_: list[Entry]) -> float:
        began = time.thread_time()
        for entry in slice_:
            frames.feed(entry)
            pending.feed(reader.feed(entry))
        return time.thread_time() - began

    feed(run[:start])
    size = (len(run) - start) // SLICES
    return [feed(run[start + n * size : start + (n + 1) * size]) for n in range(SLICES)]


def _log(events: list[bytes]) -> list[Entry]:
    origin = Origin(app="app", user="user", session="session")
    records = [RunStarted(run="run", origin=origin), *map(AgentEvent, events)]
    return [Entry(cursor, float(cursor), record) for cursor, record in enumerate(records, 1)]


def _event(part: Json, author: str = "agent", **fields: Any) -> bytes:
    content = {"role": "model", "parts": [part]}
    event = {"id": "e", "author": author, "invocationId": "i", "timestamp": 1.5, "content": content}
    return msgspec.json.encode(event | fields)


def _call(call: str | None, **more: Any) -> Json:
    found = {"name": "search", "id": call, "args": {}, **more}
    return {"functionCall": {key: value for key, value in found.items() if value is not None}}


def _opened(number: int) -> bytes:
    return _event(_call(f"c{number}"), partial=False)


def _anonymous(_: int) -> bytes:
    return _event(_call(None), partial=False)


def _answered(number: int) -> bytes:
    return _event({"functionResponse": {"id": f"c{number}", "name": "search", "response": {}}})


def _answered_by_name(_: int) -> bytes:
    return _event({"functionResponse": {"name": "search", "response": {}}})


def _gated(number: int) -> bytes:
    asked = {"hint": "", "confirmed": False}
    args = {"originalFunctionCall": _call(f"c{number}")["functionCall"], "toolConfirmation": asked}
    call = {"id": f"a{number}", "name": "adk_request_confirmation", "args": args}
    return _event({"functionCall": call})


def _spoken(number: int) -> bytes:
    return _event({"text": "x"}, f"agent{number}", partial=True)


def _delegated(number: int) -> bytes:
    return _event({"text": "x"}, "helper", branch=f"helper@c{number}")


def _repeated(_: int) -> bytes:
    return _event(_call("c"), partial=False)


def _streamed(number: int) -> bytes:
    return _event(_call(f"c{number}", args=None, willContinue=True), partial=True)


_MANY, _SOME = 10_000, 3_000
_RUNS: dict[str, tuple[Make | None, Make, int]] = {
    "calls": (None, _opened, _MANY),
    "calls without ids": (None, _anonymous, _SOME),
    "answers": (_opened, _answered, _MANY),
    "answers, the last first": (_opened, lambda number: _answered(_SOME - 1 - number), _SOME),
    "answers by name": (_anonymous, _answered_by_name, _SOME),
    "questions": (_opened, _gated, _SOME),
    "agents": (None, _spoken, _SOME),
    "delegations": (_opened, _delegated, _SOME),
    "one id again and again": (None, _repeated, _SOME),
    "streams in one model call": (None, _streamed, _SOME),
}


# --------------------------------------------------------------------------- texts


def _text_row(name: str, piece: str, rounds: int) -> Row:
    large, small = (f"Confidence: {piece * (size // len(piece))}" for size in (LARGE, SMALL))
    variants = {
        "large": cpu_per_item(lambda: read_proof_text(large, figures=True), LARGE),
        "small": cpu_per_item(lambda: read_proof_text(small, figures=True), SMALL),
    }
    measured = take_turns(variants, rounds)
    costs = (f"{measured.cost('large') * 1e9:.0f} ns", f"{measured.cost('small') * 1e9:.0f} ns")
    ratio = measured.ratio("large", "small")
    return Row(f"growth, text of {name}: per character of 200 kB, of 50 kB", *costs, ratio, LONGER)


_TEXTS = {
    "answers": "### Summary\nIt burned.\n\n**Confidence:** 92% for a, 90% for b\n**Source:** MTBS, 2022\n",
    "prose": "The source of the river is far away, and nobody has much confidence in it.\n",
    "labels": "confidence ",
    "labels and signs": "(Confidence: ",
    "conditions": "if the confidence is not ",
    "names": "Confidence: a and b and c and ",
    "sources": "Source: a, b; c (d) [e](http://x) ",
    "lists": 'sources: ["a", "b"], ',
    "bars": "Source: a | b · c ",
    "emphasis": "**_`confidence`_** ",
    "struck out": "~~a~~ ~~",
    "pictures": "🟢 ▓░ [█░ ",
    "tables": "| Confidence | Source |\n|---|---|\n| 92% | MTBS |\n",
    "digits": "9",
    "hashes": "#",
    "blanks": " ",
    "laws": "36 CFR 220.6(e)(13) ",
    "announcements": "Confidence:\n",
    "levels": "high high ",
    "faults": "Confidence: maybe\n",
}
