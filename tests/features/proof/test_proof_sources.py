"""What a proof shows is true: no piece of a source, no source twice, no quarrel with a replaced answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.features.proof.proofs import asked, delegated, last, replied, with_agents
from tests.laws.events import Json, answer, call, entries, event, text

from adk_prism.features.proof.model import Citation, Proof, ProofOrigin, unique_citations

PARRY = "Parry, Filip, Willits & Parks 1996 (PNW-GTR-376)"
PROSE = f"**Confidence:** 80%\n**Source:** {PARRY}; adk-prism, project-defined. See FSM 2523."


def layer(number: float | None = 0.8, *sources: str, **more: Any) -> Json:
    stated = {} if number is None else {"confidence": number}
    return {**stated, "citations": [{"source": source} for source in sources], **more}


def used(name: str, call_id: str, tool: str, given: Json, said: str) -> tuple[Json, ...]:
    """A specialist that calls a tool, speaks in its lane, and answers."""
    inner = f"{call_id}-{tool}"
    return (
        event(asked(name, call_id), path="root@1"),
        delegated(call(tool, inner, {"n": call_id}), name, call_id),
        delegated(answer(tool, inner, {"result": "x", "proof_layer": given}), name, call_id),
        delegated(text(said), name, call_id),
        event(replied(name, call_id, said), path="root@1"),
    )


def proofs(*events: Json, agents: tuple[str, ...] = ()) -> dict[str, Proof]:
    run = entries(events)
    return last(with_agents(run, *agents) if agents else run)


def sources(proof: Proof) -> list[str]:
    return [citation.source for citation in proof.citations]


# --------------------------------------------------------------------------- prose beside data


@dataclass(frozen=True)
class Beside:
    """Events in which sources are given as data and named in prose, and what a subject then cites."""

    id: str
    events: tuple[Json, ...]
    subject: str
    cites: tuple[str, ...]
    agents: tuple[str, ...] = ()


BESIDE = (
    Beside(
        "tools of a specialist cite",
        (*used("cruise", "c1", "salvage", layer(0.8, PARRY), PROSE), event(text("Done."))),
        "proof-cruise",
        (PARRY,),
    ),
    Beside(
        "a specialist's answer carries its proof",
        (
            event(asked("cruise", "c1")),
            event(replied("cruise", "c1", PROSE, proof_layer=layer(0.8, PARRY))),
            event(text("Done.")),
        ),
        "proof-cruise",
        (PARRY,),
    ),
    Beside(
        "a tool of the root cites for the whole",
        (
            event(call("compose", "c1")),
            event(answer("compose", "c1", {"proof_layer": layer(0.8, PARRY)})),
            event(text(PROSE)),
        ),
        "proof",
        (PARRY,),
        ("root", "cruise"),
    ),
    Beside(
        "a layer without citations leaves the prose",
        (*used("cruise", "c1", "salvage", layer(0.8), "**Source:** MTBS"), event(text("Done."))),
        "proof-cruise",
        ("MTBS",),
    ),
    Beside(
        "another call of the same specialist is read",
        (
            *used("cruise", "c1", "salvage", layer(0.8, PARRY), PROSE),
            event(asked("cruise", "c2", "prices"), path="root@1"),
            event(replied("cruise", "c2", "**Source:** Random Lengths"), path="root@1"),
            event(text("Done.")),
        ),
        "proof-cruise",
        (PARRY, "Random Lengths"),
    ),
)


@pytest.mark.parametrize("case", BESIDE, ids=lambda case: case.id)
def test_where_sources_are_data_the_prose_is_not_read_for_more(case: Beside) -> None:
    """A list of names in a sentence is a worse source of sources than the tool that has them."""
    assert tuple(sources(proofs(*case.events, agents=case.agents)[case.subject])) == case.cites


# --------------------------------------------------------------------------- each once


def cited(source: str, reference: str = "", uri: str = "", **more: Any) -> Citation:
    origin: ProofOrigin = more.pop("origin", "computed")
    return Citation(source, origin, 1, reference, uri, **more)


def named(source: str, reference: str = "", uri: str = "", **more: Any) -> Citation:
    return cited(source, reference, uri, origin="parsed", **more)


@dataclass(frozen=True)
class Same:
    id: str
    given: tuple[Citation, ...]
    left: tuple[str, ...]


SAME = (
    Same(
        "case and signs",
        (cited("MTBS — 2022", "p. 3"), cited("mtbs 2022", "P 3")),
        ("MTBS — 2022",),
    ),
    Same(
        "sections of one law",
        (
            cited("36 CFR 220.6", "(e)(13)", "https://e.gov"),
            cited("36 CFR 220.6", "(e)(11)", "https://e.gov"),
        ),
        ("36 CFR 220.6", "36 CFR 220.6"),
    ),
    Same(
        "addresses apart",
        (cited("Report", uri="https://a.org"), cited("Report", uri="https://b.org")),
        ("Report",) * 2,
    ),
    Same(
        "one address",
        (cited("Report", uri="http://www.a.org/"), cited("report", uri="https://a.org")),
        ("Report",),
    ),
    Same(
        "a name in a text",
        (named("Key & Benson 2006"), cited("Key & Benson 2006", "RMRS-GTR-164")),
        ("Key & Benson 2006",),
    ),
    Same(
        "a name with its mark",
        (named("Sectors", "synthetic"), cited("Sectors (synthetic)", "rows")),
        ("Sectors (synthetic)",),
    ),
    Same(
        "a law in full",
        (cited("36 CFR 220.6", "(e)(13)"), named("36 CFR 220.6(e)(13)")),
        ("36 CFR 220.6",),
    ),
    Same(
        "an address in a text",
        (named("https://a.org/x", uri="https://a.org/x"), cited("Map", uri="https://a.org/x")),
        ("Map",),
    ),
    Same("another name", (named("MTBS"), cited("RAVG")), ("MTBS", "RAVG")),
)


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.id)
def test_a_source_is_listed_once(case: Same) -> None:
    """By title, section and address; in the order of first sight."""
    assert tuple(citation.source for citation in unique_citations(case.given)) == case.left


def test_the_whole_says_who_used_a_source() -> None:
    """One line, with every specialist who cites it."""
    run = (
        *used("burn", "c1", "severity", layer(0.8, "Sectors", "MTBS"), "Done."),
        *used("trail", "c2", "closures", layer(0.9, "sectors"), "Done."),
        event(text("All done.")),
    )
    found = {c.source: (c.by, c.used_by) for c in proofs(*run)["proof"].citations}
    assert found == {"Sectors": ("burn", ["burn", "trail"]), "MTBS": ("burn", ["burn"])}


# --------------------------------------------------------------------------- replaced answers

FIRST = layer(0.71, "Rules", finding="nepa.screen")
AGAIN = layer(0.76, "Rules", finding="nepa.screen")


def test_a_replaced_finding_takes_what_was_said_of_it_along() -> None:
    """71 % was right when it was said; a follow-up found 76 %, and neither number is wrong."""
    run = (
        *used("nepa", "c1", "screen", FIRST, "**Confidence:** 71%"),
        *used("nepa", "c2", "screen", AGAIN, "**Confidence:** 76%"),
        event(text("**Overall Confidence:** 76%")),
    )
    found = proofs(*run)
    assert [reading.value for reading in found["proof-nepa"].readings] == [0.76, 0.76]
    assert found["proof-nepa"].confidence == found["proof"].confidence == 0.76
    assert found["proof-nepa"].disagreements == found["proof"].disagreements == []


def test_of_two_findings_only_the_replaced_one_goes() -> None:
    """What the first answer said of the other still holds."""
    both = "## Screening\n**Confidence:** 71%\n## Dates\n**Confidence:** 90%"
    run = (
        event(asked("nepa", "c1"), path="root@1"),
        delegated(call("screen", "t1"), "nepa", "c1"),
        delegated(answer("screen", "t1", {"proof_layer": FIRST}), "nepa", "c1"),
        delegated(call("dates", "t2"), "nepa", "c1"),
        delegated(answer("dates", "t2", {"proof_layer": layer(0.9)}), "nepa", "c1"),
        delegated(text(both), "nepa", "c1"),
        event(replied("nepa", "c1", both), path="root@1"),
        *used("nepa", "c2", "screen", AGAIN, "**Confidence:** 76%"),
        event(text("Done.")),
    )
    found = proofs(*run)["proof-nepa"]
    stated = [reading.value for reading in found.readings if reading.origin == "parsed"]
    assert sorted(filter(None, stated)) == [0.76, 0.9]
    assert found.disagreements == []


def test_a_text_that_contradicts_the_tool_of_its_own_call_still_does() -> None:
    """Another call's number does not excuse it."""
    run = (
        *used("nepa", "c1", "screen", layer(0.71, finding="a"), "**Confidence:** 95%"),
        *used("nepa", "c2", "dates", layer(0.95, finding="b"), "**Confidence:** 95%"),
        event(text("Done.")),
    )
    found = proofs(*run)["proof-nepa"].disagreements
    assert [(d.stated, d.relation) for d in found] == [(0.95, "higher")]


def test_an_answer_may_rest_on_the_follow_up_alone() -> None:
    """Where only texts state numbers, nobody says that the second one replaced the first."""
    run = (
        event(asked("nepa", "c1", "screen")),
        event(replied("nepa", "c1", "Confidence: 60%")),
        event(asked("nepa", "c2", "screen, with 228 acres")),
        event(replied("nepa", "c2", "Confidence: 85%")),
        event(text("**Overall Confidence:** 85%")),
    )
    assert proofs(*run)["proof"].disagreements == []


# --------------------------------------------------------------------------- totals and parts


def test_a_specialists_own_layer_sums_up_and_does_not_count_again() -> None:
    """Its tools gave the same numbers in this call; a source that only the sum cites is kept."""
    said = "**Confidence:** 70%"
    run = (
        event(asked("burn", "c1"), path="root@1"),
        delegated(call("severity", "t1"), "burn", "c1"),
        delegated(answer("severity", "t1", {"proof_layer": layer(0.7, "MTBS")}), "burn", "c1"),
        delegated(text(said), "burn", "c1"),
        event(replied("burn", "c1", said, proof_layer=layer(0.7, "MTBS", "RAVG")), path="root@1"),
        event(text("Done.")),
    )
    found = proofs(*run)["proof-burn"]
    assert [reading.origin for reading in found.readings] == ["computed", "parsed"]
    assert found.derivation == "computed by severity"
    assert sources(found) == ["MTBS", "RAVG"]


def test_parts_are_shown_and_the_total_counts() -> None:
    """A mean of parts is no less the total because a part is lower."""
    given = layer(0.7, confidence_by_part={"P1": 0.5, "P2": 0.9, "P3": 3})
    said = "**Confidence:** 70%\n- P1 confidence: 50%\n- P2 confidence: 90%"
    found = proofs(*used("nepa", "c1", "screen", given, said), event(text("Done.")))["proof-nepa"]
    parts = [(reading.about, reading.value) for reading in found.readings if reading.part]
    assert found.confidence == 0.7
    assert parts == [("P1", 0.5), ("P2", 0.9)]
    assert found.disagreements == []
    assert [unread.reason for unread in found.unread] == ["not between 0 and 100 %"]


@pytest.mark.parametrize("parts", [[0.5], "half", 0.5])
def test_parts_that_are_no_object_are_shown_as_unread(parts: Any) -> None:
    given = layer(0.7, confidence_by_part=parts)
    found = proofs(*used("nepa", "c1", "screen", given, "x"), event(text("Done.")))["proof-nepa"]
    assert found.confidence == 0.7
    assert [unread.reason for unread in found.unread] == ["not an object"]


def test_parts_without_a_total_count_by_themselves() -> None:
    given = layer(None, confidence_by_part={"P1": 0.5, "P2": 0.9})
    found = proofs(*used("nepa", "c1", "screen", given, "x"), event(text("Done.")))["proof-nepa"]
    assert (found.confidence, [reading.part for reading in found.readings]) == (0.5, [False, False])
