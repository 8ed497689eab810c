"""P: what proofs cost: compared with reading the facts of a run, and over the length of a text.

The run has ten thousand events: in each round a coordinator calls four specialists at once, each calls two
tools with a `proof_layer` and streams an answer of two kilobytes that states its confidence, and the
coordinator summarises. Ours is a reader with the proof annotator, the reference one without annotators. Two
more runs show the worst cases: only tools, each with a proof, and only specialists behind `AgentTool`, whose
answers are not streamed. The text is a specialist's answer of a megabyte; its cost per character is compared
with that of a quarter of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from adk_prism.facts.run_reader import Annotator, Reader
from adk_prism.features.proof.annotator import ProofAnnotator
from adk_prism.features.proof.prose.answer_reader import read_proof_text
from adk_prism.log.entry import AgentEvent, Entry, Origin, RunEnded, RunStarted
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

EVENTS = 10_000
LARGE, SMALL = 1_000_000, 250_000

Json = dict[str, object]

_STATED = "**Confidence:** 92%\n**Source:** MTBS, Imagery date: 2022-09-15\n"
_PROSE = "The ridges burned hottest, and two of the bridges on the western trail are out.\n"
_ANSWER = f"### Summary\n{_PROSE * 20}### Confidence & Source\n{_STATED}\n"
"""A specialist's answer of about two kilobytes, of which a twentieth states anything."""
_DENSE = f"### Trail 7\n{_PROSE}{_STATED}**Reasoning:** Both were seen.\n\n"


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    rounds = 3 if quick else 7
    runs = {"four specialists": (_team(), 2), "one long answer": (_streamed(), 2)}
    worst = {"tools only": (_tools(), None), "AgentTool only": (_specialists(), None)}
    found = [_run_row(name, *given, rounds) for name, given in (runs | worst).items()]
    texts = {"specialist's text": _ANSWER, "dense text": _DENSE, "labels only": "confidence "}
    return [*found, *(_text_row(name, piece, rounds) for name, piece in texts.items())]


def _run_row(name: str, run: Sequence[Entry], target: float | None, rounds: int) -> Row:
    variants = {
        "ours": cpu_per_item(lambda: _read(run, ProofAnnotator()), len(run)),
        "facts": cpu_per_item(lambda: _read(run), len(run)),
    }
    measured = take_turns(variants, rounds)
    costs = micros(measured.cost("ours")), micros(measured.cost("facts"))
    ratio = measured.ratio("ours", "facts")
    return Row(f"proof, {name}: per event, facts alone", *costs, ratio, target)


def _read(run: Sequence[Entry], *annotators: Annotator) -> int:
    reader = Reader(annotators)
    return sum(len(reader.feed(entry)) for entry in run)


def _text_row(name: str, piece: str, rounds: int) -> Row:
    large, small = (piece * (size // len(piece)) for size in (LARGE, SMALL))
    variants = {
        "large": cpu_per_item(lambda: read_proof_text(large, figures=True), LARGE),
        "small": cpu_per_item(lambda: read_proof_text(small, figures=True), SMALL),
    }
    measured = take_turns(variants, rounds)
    costs = (f"{measured.cost('large') * 1e9:.0f} ns", f"{measured.cost('small') * 1e9:.0f} ns")
    ratio = measured.ratio("large", "small")
    return Row(f"proof, {name}: per character of 1 MB, of 250 kB", *costs, ratio, 1.5)


# --------------------------------------------------------------------------- runs


_LAYER = {"confidence": 0.9, "citations": [{"source": "plots"}], "reasoning_chain": ["Counted."]}


def _team() -> list[Entry]:
    events: list[bytes] = []
    while len(events) < EVENTS:
        start = len(events)
        calls = [_call(f"c{start}-{n}", f"s{n}", {"request": "go"}) for n in range(4)]
        events.append(_event(*calls))
        for number in range(4):
            events += _member(number, f"c{start}-{number}")
        answers = [_answer(f"c{start}-{n}", f"s{n}", {"result": _ANSWER}) for n in range(4)]
        events.append(_event(*answers))
        events += _spoken(_ANSWER, {})
    return _log(events[:EVENTS])


def _member(number: int, call: str) -> list[bytes]:
    """Return what one specialist does: two tools, then its answer, word by word."""
    lane: Json = {"author": f"s{number}", "branch": f"s{number}@{call}"}
    events = []
    for tool in ("measure", "compare"):
        data = {"rows": [{"id": n, "value": 0.5} for n in range(40)], "proof_layer": _LAYER}
        events.append(_event(_call(f"{call}-{tool}", tool, {"fire": "a"}), **lane))
        events.append(_event(_answer(f"{call}-{tool}", tool, data), **lane))
    return [*events, *_spoken(_ANSWER, lane)]


def _streamed() -> list[Entry]:
    words = (_ANSWER * 60).split(" ")[:EVENTS]
    return _log(_spoken(" ".join(words), {}))


def _tools() -> list[Entry]:
    events = []
    for number in range(EVENTS // 2):
        answer = {"n": 3, "proof_layer": _LAYER}
        events.append(_event(_call(f"c{number}", "stock", {"sku": number})))
        events.append(_event(_answer(f"c{number}", "stock", answer)))
    return _log([*events, _event({"text": "Done."})])


def _specialists() -> list[Entry]:
    events = []
    for number in range(EVENTS // 2):
        name = f"s{number % 8}"
        events.append(_event(_call(f"c{number}", name, {"request": "go"})))
        events.append(_event(_answer(f"c{number}", name, {"result": _ANSWER})))
    return _log([*events, _event({"text": "Done."})])


def _spoken(text: str, lane: Json) -> list[bytes]:
    words = text.split(" ")
    deltas = [_event({"text": f"{word} "}, partial=True, **lane) for word in words]
    return [*deltas, _event({"text": " ".join(words)}, **lane)]


def _call(call: str, name: str, args: Json) -> Json:
    return {"functionCall": {"id": call, "name": name, "args": args}}


def _answer(call: str, name: str, response: Json) -> Json:
    return {"functionResponse": {"id": call, "name": name, "response": response}}


def _event(*parts: Json, **fields: object) -> bytes:
    content = {"role": "model", "parts": parts}
    event = {"id": "e", "author": "root", "invocationId": "i", "timestamp": 1.5, "content": content}
    return msgspec.json.encode(event | fields)


def _log(events: Sequence[bytes]) -> list[Entry]:
    origin = Origin(app="app", user="user", session="session")
    records = [RunStarted(run="run", origin=origin), *map(AgentEvent, events)]
    records.append(RunEnded(outcome="finished"))
    return [Entry(cursor, 0.0, record) for cursor, record in enumerate(records, 1)]
