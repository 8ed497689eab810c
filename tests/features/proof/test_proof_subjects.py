"""Whose proof it is, when it is told, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from tests.features.proof.proofs import asked, delegated, given, last, replied, told, with_agents
from tests.laws.events import Json, answer, call, entries, event, text
from tests.recordings.library import RECORDINGS, load

from adk_prism.features.proof.model import Proof
from adk_prism.features.proof.subject_proof import ANSWERS
from adk_prism.log.entry import ChildEvent, Continues, Entry, to_raw

SURE = "**Confidence:** 92%\n**Source:** MTBS"
LAYER = {"confidence": 0.8, "citations": ["plots"], "reasoning_chain": ["Counted."]}

STOCK = (
    event(call("stock", "c1", {"sku": 1})),
    event(answer("stock", "c1", {"result": "3", "proof_layer": LAYER})),
    event(text("There are 3.")),
)


@dataclass(frozen=True)
class Case:
    """Events, and the proofs that are told."""

    id: str
    events: tuple[Json, ...]
    told: tuple[str, ...]
    agents: tuple[str, ...] = ()


CASES = (
    Case("a plain chat has none", (event(text("Hello, 3 times.")),), ()),
    Case("nor has one that only sounds like it", (event(text("I am confident.")),), ()),
    Case(
        "an answer that states one",
        (event(text("So it is. Confidence: 90%")),),
        ("3 proof parsed 0.9",),
    ),
    Case(
        "a specialist behind AgentTool, and the whole that says nothing",
        (event(asked("burn", "c1")), event(replied("burn", "c1", SURE)), event(text("Done."))),
        ("3 proof-burn parsed 0.92", "5 proof parsed 0.92"),
    ),
    Case(
        "four at once",
        (
            event(*(asked(name, name) for name in "abcd")),
            event(*(replied(name, name, f"Confidence: 9{n}%") for n, name in enumerate("abcd"))),
            event(text("Overall confidence: 90%")),
        ),
        (
            *(
                f"3 proof-{name} parsed 0.9{n}".replace("0.90", "0.9")
                for n, name in enumerate("abcd")
            ),
            "5 proof parsed 0.9",
        ),
    ),
    Case(
        "a specialist who asks back is absent, and nothing is told of the whole",
        (
            event(asked("burn", "c1")),
            event(replied("burn", "c1", "Which fire?")),
            event(text("Which?")),
        ),
        ("3 proof-burn absent None",),
    ),
    Case(
        "and has one when it is asked again",
        (
            event(asked("burn", "c1")),
            event(replied("burn", "c1", "Which fire?")),
            event(asked("burn", "c2")),
            event(replied("burn", "c2", SURE)),
            event(text("Done.")),
        ),
        ("3 proof-burn absent None", "5 proof-burn parsed 0.92", "7 proof parsed 0.92"),
    ),
    Case(
        "a specialist that fails is absent",
        (
            event(asked("burn", "c1")),
            event(answer("burn", "c1", {"error": "no"})),
            event(text("So?")),
        ),
        ("3 proof-burn absent None",),
        ("root", "burn"),
    ),
    Case(
        "a word has no number",
        (
            event(asked("burn", "c1")),
            event(replied("burn", "c1", "Confidence: High")),
            event(text(".")),
        ),
        ("3 proof-burn parsed None", "5 proof parsed None"),
    ),
    Case(
        "a specialist whose own output streams: its last word, not the answer that repeats it",
        (
            event(asked("burn", "c1"), path="root@1"),
            delegated(text("I look."), "burn", "c1", partial=True),
            delegated(call("measure", "c2"), "burn", "c1"),
            delegated(answer("measure", "c2", {"acres": 3}), "burn", "c1"),
            delegated(text(SURE), "burn", "c1"),
            event(replied("burn", "c1", SURE), path="root@1"),
            event(text("Done."), path="root@1"),
        ),
        ("6 proof-burn parsed 0.92", "9 proof parsed 0.92"),
    ),
    Case(
        "a specialist's tools speak for it, also where its text says nothing",
        (
            event(asked("burn", "c1"), path="root@1"),
            delegated(call("measure", "c2"), "burn", "c1"),
            delegated(answer("measure", "c2", {"proof_layer": LAYER}), "burn", "c1"),
            delegated(text("All measured."), "burn", "c1"),
            event(replied("burn", "c1", "All measured."), path="root@1"),
            event(text("Done."), path="root@1"),
        ),
        ("5 proof-burn computed 0.8", "8 proof computed 0.8"),
    ),
    Case(
        "also where it never came to a last word",
        (
            event(asked("burn", "c1"), path="root@1"),
            delegated(call("measure", "c2"), "burn", "c1"),
            delegated(answer("measure", "c2", {"proof_layer": LAYER}), "burn", "c1"),
        ),
        ("5 proof-burn computed 0.8",),
    ),
    Case(
        "a specialist's answer with a layer of its own",
        (
            event(asked("burn", "c1")),
            event(replied("burn", "c1", "So.", proof_layer=LAYER)),
            event(text("Done.")),
        ),
        ("3 proof-burn computed 0.8", "5 proof computed 0.8"),
    ),
    Case(
        "a tool with a layer, in an app of one agent",
        STOCK,
        ("3 proof-stock-c1 computed 0.8", "5 proof computed 0.8"),
        ("agent",),
    ),
    Case(
        "a tool with a layer, where nobody knows the agents",
        STOCK,
        ("5 proof-stock-c1 computed 0.8", "5 proof computed 0.8"),
    ),
    Case(
        "a root's tool before its specialist, where nobody knows the agents",
        (
            *STOCK[:2],
            event(asked("burn", "c2")),
            event(replied("burn", "c2", "Confidence: 90%")),
            event(text("Done.")),
        ),
        ("5 proof-burn parsed 0.9", "7 proof computed 0.8"),
    ),
    Case(
        "two turns of a capture",
        (*STOCK, event(text("And?"), author="user"), event(text("Confidence: 70%"))),
        ("5 proof-stock-c1 computed 0.8", "7 proof parsed 0.7"),
    ),
    Case(
        "a root's own tool, in an app of several, speaks for the whole",
        (
            event(call("compose", "c1")),
            event(answer("compose", "c1", {"result": "3", "proof_layer": LAYER})),
            event(text("There are 3.")),
        ),
        ("5 proof computed 0.8",),
        ("root", "burn"),
    ),
    Case(
        "an ordinary tool's text is no proof",
        (
            event(call("read_file", "c1", {"name": "a"})),
            event(answer("read_file", "c1", {"result": SURE})),
            event(text("Read.")),
        ),
        (),
    ),
    Case(
        "an agent with an output schema",
        (
            event(call("burn", "c1", {"fire": 1})),
            event(answer("burn", "c1", {"summary": "hot", "confidence": 0.7, "sources": ["MTBS"]})),
            event(text("Done.")),
        ),
        ("3 proof-burn parsed 0.7", "5 proof parsed 0.7"),
        ("root", "burn"),
    ),
    Case(
        "an answer that is no text",
        (
            event(call("burn", "c1", {"fire": 1})),
            event(answer("burn", "c1", {"result": [1, None, {"a": "Confidence: 92%"}]})),
            event(text("Done.")),
        ),
        ("3 proof-burn absent None",),
        ("root", "burn"),
    ),
    Case(
        "agents of a workflow that state one; who speaks last gives the answer",
        (
            event(text("Confidence: 80%"), author="burn", path="flow@1/burn@1"),
            event(text("Overall confidence: 80%"), author="sum", path="flow@1/sum@1"),
        ),
        ("2 proof-burn parsed 0.8", "3 proof-sum parsed 0.8", "4 proof parsed 0.8"),
    ),
    Case(
        "a workflow's node that returns one",
        (
            event(author="flow", path="flow@1/measure@1", output={"proof_layer": LAYER}),
            event(text("Done."), author="flow", path="flow@1"),
        ),
        ("2 proof-measure computed 0.8", "4 proof computed 0.8"),
    ),
    Case(
        "of a capture with several turns, the answer is the last one's",
        (
            event(text("Confidence: 50%")),
            event(text("And now?"), author="user"),
            event(text("Confidence: 70%")),
        ),
        ("5 proof parsed 0.7",),
    ),
    Case(
        "text that goes with a call is not the answer",
        (
            event(text("Confidence: 50%"), call("look", "c1")),
            event(answer("look", "c1", {"result": 1})),
            event(text("Confidence: 70%")),
        ),
        ("5 proof parsed 0.7",),
    ),
    Case(
        "thoughts are not said",
        (event({"text": "Confidence: 50%", "thought": True}, text("So.")),),
        (),
    ),
    Case(
        "what was only streamed is no answer: the capture was cut",
        (event(text("Confidence"), partial=True), event(text(": 70%"), partial=True)),
        (),
    ),
)


def test_what_was_only_streamed_counts_at_the_end_of_a_run() -> None:
    """Its end says that nothing was to follow."""
    events = (event(text("Confidence"), partial=True), event(text(": 70%"), partial=True))
    assert told(entries(events, "finished")) == ["4 proof parsed 0.7"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_proofs_are_told(case: Case) -> None:
    """`cursor id origin confidence`, one for each fact."""
    run = entries(case.events)
    assert tuple(told(with_agents(run, *case.agents))) == case.told


@pytest.mark.parametrize("outcome", ["failed", "cancelled", "waiting", "incomplete"])
def test_a_run_without_an_answer_has_no_proof_of_the_whole(outcome: str) -> None:
    """What specialists gave is told all the same."""
    events = (event(asked("burn", "c1")), event(replied("burn", "c1", SURE)), event(text(SURE)))
    assert told(entries(events, outcome)) == ["3 proof-burn parsed 0.92"]  # type: ignore[arg-type]


def test_a_child_run_inside_a_tool_speaks_for_it() -> None:
    """AgentTool's own events are recorded beside the parent's; its tools prove its answer."""
    inner = [event(call("measure", "x1")), event(answer("measure", "x1", {"proof_layer": LAYER}))]
    run = entries(
        (event(asked("burn", "c1")), event(replied("burn", "c1", "Hot.")), event(text(".")))
    )
    children = [ChildEvent(call="c1", event=to_raw(item)) for item in inner]
    records = [*(e.record for e in run[:2]), *children, *(e.record for e in run[2:])]
    log = [Entry(cursor, 0.0, record) for cursor, record in enumerate(records, 1)]
    proof = last(log)["proof-burn"]
    assert (proof.origin, proof.confidence) == ("computed", 0.8)
    assert [(step.text, step.cursor) for step in proof.reasoning_chain] == [
        ("Was asked: go", 2),
        ("Called measure", 3),
        ("measure answered", 4),
        ("Counted.", 4),
        ("Answered: Hot.", 5),
    ]


def test_a_specialist_that_goes_on_in_a_later_run() -> None:
    """The message that it belongs to waited for a person; its call is of the run before."""
    continues = Continues(message="run-0", open_calls={"c1": "burn"})
    events = (
        delegated(text(SURE), "burn", "c1"),
        event(replied("burn", "c1", SURE)),
        event(text("Done.")),
    )
    run = entries(events, "finished", continues)
    assert told(run) == ["2 proof-burn parsed 0.92", "5 proof parsed 0.92"]


def test_the_chain_is_the_sequence_of_calls_and_answers() -> None:
    """Even where nobody states a reason, and with the entry of each link."""
    events = (
        event(call("a", "c1"), call("b", "c2")),
        event(answer("b", "c2", {"error": "no"})),
        event(answer("a", "c1", {"result": 1})),
        event(text("Confidence: 90%\n**Reasoning:**\n- Both were asked.")),
    )
    proof = last(entries(events))["proof"]
    assert [(step.text, step.kind, step.cursor, step.origin) for step in proof.reasoning_chain] == [
        ("Called a", "call", 2, "computed"),
        ("Called b", "call", 2, "computed"),
        ("b failed", "answer", 3, "computed"),
        ("a answered: 1", "answer", 4, "computed"),
        ("Both were asked.", "stated", 5, "parsed"),
    ]


def _measured(number: int, confidence: float, depth: int) -> tuple[Json, Json]:
    made = call("measure", f"m{number}", {"depth": depth})
    layer = {"confidence": confidence, "citations": [f"gauge {number}"]}
    return (
        delegated(made, "burn", "c1"),
        delegated(answer("measure", f"m{number}", {"proof_layer": layer}), "burn", "c1"),
    )


def _burned(*tools: Json) -> Proof:
    run = entries((event(asked("burn", "c1")), *tools, delegated(text("So."), "burn", "c1")))
    return last(run)["proof-burn"]


def test_another_question_adds_to_a_proof() -> None:
    """Of several numbers the lowest counts, and all are kept."""
    proof = _burned(*_measured(1, 0.9, 1), *_measured(2, 0.7, 2), *_measured(3, 0.8, 3))
    assert [reading.value for reading in proof.readings] == [0.9, 0.7, 0.8]
    assert (proof.confidence, proof.derivation) == (0.7, "lowest of 3 computed, by measure")
    assert len(proof.citations) == 3


def test_the_same_question_again_replaces_its_answer() -> None:
    """What a tool says last of the same thing is what it says."""
    proof = _burned(*_measured(1, 0.6, 1), *_measured(2, 0.9, 1))
    assert [reading.value for reading in proof.readings] == [0.9]
    assert (proof.confidence, proof.derivation) == (0.9, "computed by measure")


def test_a_finding_that_is_named_is_replaced() -> None:
    """However differently the tool was asked: the answer with better input is the one that counts."""
    first = {"finding": "screening", "confidence": 0.7, "citations": [{"source": "old"}]}
    again = {"finding": "screening", "confidence": 0.9, "citations": [{"source": "new"}]}
    tools = [
        delegated(part, "burn", "c1")
        for number, layer in enumerate((first, again))
        for part in (
            call("screen", f"m{number}", {"acres": number}),
            answer("screen", f"m{number}", {"proof_layer": layer}),
        )
    ]
    proof = _burned(*tools)
    assert [reading.value for reading in proof.readings] == [0.9]
    assert [citation.source for citation in proof.citations] == ["new"]


def test_old_answers_are_counted_when_there_are_too_many() -> None:
    """A specialist that is asked for ever has a proof of bounded size."""
    tools = [item for n in range(ANSWERS + 3) for item in _measured(n, 0.5 + n / 100, n)]
    proof = _burned(*tools)
    assert len(proof.readings) == ANSWERS
    assert proof.readings[-1].value == pytest.approx(0.5 + (ANSWERS + 2) / 100)
    assert proof.omitted >= 6


def test_the_same_specialist_twice_at_once() -> None:
    """Each lane belongs to its own call; both answers stand."""
    events = (
        event(asked("burn", "c1"), asked("burn", "c2")),
        delegated(text("Confidence: 90%"), "burn", "c1"),
        delegated(text("Confidence: 70%"), "burn", "c2"),
        event(replied("burn", "c1", "Confidence: 90%"), replied("burn", "c2", "Confidence: 70%")),
        event(text("Done.")),
    )
    assert told(entries(events)) == [
        "3 proof-burn parsed 0.9",
        "4 proof-burn parsed 0.7",
        "7 proof parsed 0.7",
    ]
    proof = last(entries(events))["proof-burn"]
    assert [reading.value for reading in proof.readings] == [0.9, 0.7]
    assert proof.subject.calls == ["c1", "c2"]


def test_a_proof_costs_no_more_late_than_early() -> None:
    """Ten thousand tools with a proof: each proof is its own, and small."""
    events: list[Json] = []
    for number in range(2_000):
        events.append(event(call("stock", f"c{number}", {"sku": number})))
        events.append(event(answer("stock", f"c{number}", {"proof_layer": LAYER})))
    found = given(entries([*events, event(text("Done."))]))
    assert len(found) == 2_001
    assert all(len(proof.readings) == 1 for _, _, proof in found[:-1])


def test_most_recordings_have_no_proof() -> None:
    """None of the tour's scenes states one; its specialists are absent, and nothing is sent of that."""
    proofs = {name: given(load(name)) for name in RECORDINGS}
    assert {proof.origin for found in proofs.values() for _, _, proof in found} <= {"absent"}


def test_hostile_values_are_written_as_they_can_be() -> None:
    """Whatever a layer holds, its proof can be sent."""
    citation = {"source": "a", "__proto__": 1, "n": 10**30, "x": "\ud800"}
    layer = {"confidence": 0.5, "citations": [citation], "reasoning_chain": [{"n": 10**30}]}
    run = entries([event(call("t", "c1")), event(answer("t", "c1", {"proof_layer": layer}))])
    proof = last(run)["proof-t-c1"]
    assert proof.citations[0].source == "a"
    assert proof.citations[0].details == {"(__proto__)": 1, "n": 10**30, "x": "\ufffd"}
    assert msgspec.json.decode(msgspec.json.encode(proof))["confidence"] == 0.5
