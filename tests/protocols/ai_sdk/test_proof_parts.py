"""`data-proof` in a stream: when it is sent, under which id, and that the real clients keep it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.judge import READERS, Judge, Sdk
from tests.features.proof.proofs import asked, replied
from tests.laws.events import entries, event, text
from tests.recordings.library import HERE, load

from adk_prism.cli import main
from adk_prism.log.entry import Entry
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.history import rebuild
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]

CAPTURE = HERE / "raw" / "x_recovery_capture.jsonl"


def chunks(run: tuple[Entry, ...] | list[Entry], dialect: str = "6") -> list[Json]:
    reader = protocol("ai-sdk").format(dialect).reader()
    payloads = (payload.data for entry in run for payload in reader.feed(entry))
    return [msgspec.json.decode(data) for data in payloads if data != b"[DONE]"]


def proofs(run: tuple[Entry, ...] | list[Entry]) -> list[tuple[str, float | None]]:
    found = (chunk for chunk in chunks(run) if chunk["type"] == "data-proof")
    return [(chunk["id"], chunk["data"]["confidence"]) for chunk in found]


def test_each_specialist_and_then_the_whole() -> None:
    """Four ids and one; whoever asked back first is sent when it has something to say."""
    assert proofs(load("raw/x_recovery_capture")) == [
        ("proof-burn_analyst", 0.92),
        ("proof-trail_assessor", 0.9),
        ("proof-cruising_assistant", 0.91),
        ("proof-nepa_advisor", 0.9),
        ("proof", 0.9),
    ]


def test_a_proof_follows_its_answer_and_comes_before_the_end() -> None:
    """A client can show it beside the call that it proves."""
    kinds = [chunk["type"] for chunk in chunks(load("raw/x_recovery_capture"))]
    assert kinds.index("data-proof") == kinds.index("tool-output-available") + 4
    assert (
        kinds.index("finish") - max(n for n, kind in enumerate(kinds) if kind == "data-proof") <= 2
    )


def test_nothing_is_sent_where_nobody_gives_any() -> None:
    """Neither in a plain chat nor for a specialist who only asks back."""
    assert proofs(load("text")) == []
    asks = (
        event(asked("burn", "c1")),
        event(replied("burn", "c1", "Which?")),
        event(text("Which?")),
    )
    assert proofs(entries(asks)) == []


def test_who_gave_none_is_named_once_somebody_gives_any() -> None:
    """In the proof of the whole: absence is told beside what there is."""
    run = entries(
        (
            event(asked("burn", "c1"), asked("trail", "c2")),
            event(replied("burn", "c1", "Confidence: 90%"), replied("trail", "c2", "Which?")),
            event(text("Done.")),
        )
    )
    assert proofs(run) == [("proof-burn", 0.9), ("proof", 0.9)]
    (whole,) = (c["data"] for c in chunks(run) if c.get("id") == "proof")
    assert whole["specialists"] == [
        {"name": "burn", "origin": "parsed", "confidence": 0.9},
        {"name": "trail", "origin": "absent", "confidence": None},
    ]


@pytest.mark.parametrize(("sdk", "dialect"), READERS, ids=lambda value: str(value))
def test_the_real_clients_take_it(
    sdk: Sdk, dialect: str, judge: Judge, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """`replay --as ai-sdk` of the capture: one part per specialist and one for the whole, once complete."""
    assert main(["replay", str(CAPTURE), "--as", "ai-sdk", "--dialect", dialect]) == 0
    body = capfdbinary.readouterr().out
    verdict = judge(body, sdk)
    assert verdict.ok, verdict.why
    assert verdict.message is not None
    parts = [part for part in verdict.message["parts"] if part["type"] == "data-proof"]
    assert [part["id"] for part in parts] == [
        "proof-burn_analyst",
        "proof-trail_assessor",
        "proof-cruising_assistant",
        "proof-nepa_advisor",
        "proof",
    ]
    values = [[reading["value"] for reading in part["data"]["readings"]] for part in parts[:4]]
    assert values == [[0.92], [0.9], [0.91], [0.9, 0.95]]
    assert body.count(b'"type":"finish"') == body.count(b"[DONE]") == 1


def test_our_message_is_the_clients(judge: Judge) -> None:
    """A page that is loaded later shows the same proofs."""
    run = load("raw/x_recovery_capture")
    projection = SPEC.make(protocol("ai-sdk").format().options, run[0])
    frames = [frame for entry in run for frame in projection.feed(entry)]
    body = b"".join(b"data: %b\n\n" % SPEC.payload(frame).data for frame in frames)
    verdict = judge(body, "ai-6")
    assert verdict.message is not None
    assert rebuild(frames)["parts"] == verdict.message["parts"]
