"""Text is read for confidence only where an app or a view asks for it: no ordinary chat pays for it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.features.proof.proofs import asked, replied
from tests.laws.events import answer, call, entries, event, text

from adk_prism.extension import installed
from adk_prism.facts.model import Annotated
from adk_prism.facts.run_reader import Reader
from adk_prism.features.page.film import fold
from adk_prism.log.entry import Entry

STATED = event(text("It burns. Confidence: 90% (Source: MTBS)"))
LAYER = {"result": "3 found", "proof_layer": {"confidence": 0.8, "citations": []}}
WORKFLOW = event(text("Done. Confidence: 90%"), author="writer", path="root@1/writer@1")


def streamed(run: list[Entry]) -> list[str]:
    """Return the ids of the proofs that a stream of the server carries."""
    reader = Reader([make() for make in installed().annotators()])
    facts = (fact for entry in run for fact in reader.feed(entry))
    return [fact.id for fact in facts if isinstance(fact, Annotated)]


@pytest.mark.parametrize(
    "events",
    [
        [STATED],
        [event(call("search", "c1")), event(answer("search", "c1", {"hits": 3})), STATED],
        [WORKFLOW, STATED],
    ],
    ids=["text", "tool", "workflow"],
)
def test_the_stream_of_an_ordinary_app_reads_no_text(events: list[Any]) -> None:
    """Whatever its answers say: no function that reads text runs."""
    run = list(entries(events))
    called: set[str] = set()
    sys.setprofile(lambda frame, *_: called.add(frame.f_code.co_filename))
    try:
        found = streamed(run)
    finally:
        sys.setprofile(None)
    assert found == []
    assert any("/features/proof/" in file for file in called)
    assert not [file for file in called if "/features/proof/prose/" in file]


@pytest.mark.parametrize(
    ("events", "ids"),
    [
        (
            [event(call("search", "c1")), event(answer("search", "c1", LAYER)), STATED],
            ["proof-search-c1", "proof"],
        ),
        (
            [event(asked("burn", "c1")), event(replied("burn", "c1", "Confidence: 90%")), STATED],
            ["proof-burn", "proof"],
        ),
    ],
    ids=["layer", "specialist"],
)
def test_an_app_with_layers_or_specialists_asks_for_it(events: list[Any], ids: list[str]) -> None:
    """A tool that returns a `proof_layer`, or an agent that runs another one."""
    assert streamed(list(entries(events))) == ids


def test_a_view_asks_for_it() -> None:
    """Whoever opens the panel sees what the text states."""
    proof = fold(list(entries([STATED]))).at(None, "proof")["proof"]
    assert proof["answer"]["confidence"] == 0.9
