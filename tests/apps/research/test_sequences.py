"""The contract's four sequences, event by event, through `/run_sse`, with no key and no network."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.apps.research.talk import Talk

SEARCH = "search_sample_library"
ASKED = [f"call {SEARCH}", "call adk_request_confirmation", f"answer {SEARCH}"]
PLANNED = ["box", "call propose_search", "answer propose_search", "box", "text", *ASKED]
FOUND = ["box", f"call {SEARCH}", f"answer {SEARCH}", "box", "text"]

GOOD = "counterfactual explanations"
LOW = "AI transparency"
"""Found, but far less than the library has on it under other names."""


async def test_a_successful_search(talk: Talk) -> None:
    """Question, plan, ok, call, result, box, receipt; nothing is searched before the ok."""
    planned = await talk.say(f"What is known about {GOOD}?")
    assert planned.shape == PLANNED
    assert "SEARCH PLAN" in planned.text
    plan = planned.written["pending_search_plan"]
    assert plan["query"] == GOOD
    assert plan["database"].startswith("sample library")
    assert (plan["mode"], plan["tool"]) == ("offline", SEARCH)
    assert plan["rationale"]
    assert plan["alternative"]
    assert re.match(r"\d+-\d+ papers", plan["expected_results"])
    assert planned.written["next_action"]["owner"] == "researcher"
    assert planned.written["next_action"]["action"] == "approve_search"
    assert "papers_found" not in planned.written

    found = await talk.say("OK")
    assert found.shape == FOUND
    approved, result = found.deltas
    assert approved["user_approval"] == "ok"
    assert datetime.fromisoformat(approved["approval_timestamp"]).tzinfo is not None
    papers = found.response(SEARCH)["papers"]
    assert result["papers_found"] == len(papers) == found.response(SEARCH)["count"] > 10
    assert result["databases_searched"] == [plan["database"]]
    assert result["pending_search_plan"] is None
    assert result["stage"] == "retrieval"
    [receipt] = result["search_history"]
    stamp = datetime.fromisoformat(receipt["timestamp"])
    assert stamp.tzinfo is not None
    assert f"[{stamp:%H:%M}] Searched sample library" in found.text
    assert receipt["results_count"] == len(papers)
    assert receipt["filters_applied"] == []
    assert receipt["mode"] == "offline"
    assert str(receipt["next"]) in found.text
    await talk.counts_add_up()


async def test_the_panel_of_a_view_shows_it(talk: Talk) -> None:
    """What the run changed, the receipt that it brought, and the box as the session has it."""
    await talk.say(GOOD)
    await talk.say("ok")
    runs = (await talk.adk.http.get("/api/runs", params={"session": talk.adk.session})).json()
    last = next(run["run"] for run in runs if run["outcome"] == "finished")
    view = (await talk.adk.http.get(f"/api/runs/{last}/view", params={"panel": "grounding"})).json()
    shown = view["grounding"]
    box = (await talk.grounding()).values
    assert shown["box"] == {name: box[name] for name in box if name != "search_history"}
    changed = {change["key"].removeprefix("grounding:") for change in shown["changed"]}
    assert changed >= {"papers_found", "databases_searched", "pending_search_plan", "stage"}
    [receipt] = shown["receipts"]
    assert receipt["new"] is True
    assert receipt["time"] == box["search_history"][0]["timestamp"][11:16]
    assert (shown["step"], shown["unreadable"]) == ({"number": 2, "of": 4}, [])


async def test_a_failure_with_help_and_its_recovery(talk: Talk) -> None:
    """Too little was found: the class with its numbers, a ready remedy, a new plan, more papers."""
    await talk.say(LOW)
    low = await talk.say("ok")
    assert low.shape == FOUND
    failure = low.written["last_search_failure"]
    assert failure["type"] in ("database_coverage_gap", "too_few_results")
    context = failure["context"]
    assert 0 < context["results_count"] < context["expected_count"]
    assert context["rule"]
    assert set(failure["remedies"]) == {"primary", "fallback", "ask_researcher"}
    assert low.written["next_action"] == {
        "owner": "researcher",
        "action": "refine",
        "target": context["database"],
        "due": "now",
    }
    assert "SEARCH HELP" in low.text
    assert failure["remedies"]["primary"] in low.text

    refined = await talk.say("Try Synonyms")
    assert refined.shape == [w.replace("propose_search", "choose_remedy") for w in PLANNED]
    assert refined.written["last_search_failure"] is None
    assert refined.written["pending_search_plan"]["query"] != LOW

    found = await talk.say("ok")
    assert found.response(SEARCH)["count"] > low.response(SEARCH)["count"]
    box = (await talk.grounding()).box()
    assert box.last_search_failure is None
    assert len(box.search_history) == 2
    assert box.papers_found > low.response(SEARCH)["count"]
    await talk.counts_add_up()


@pytest.mark.parametrize("route", ["/run", "/run_sse"])
async def test_a_state_only_update(talk: Talk, route: str) -> None:
    """The panel changes the box: one event with that change and nothing else; no model is called."""
    delta = {"grounding:search_assumptions": ["Clinical applications only", "2020-present"]}
    answer = await talk.adk.post(route, {"role": "system", "parts": []}, stateDelta=delta)
    assert answer.status_code == 200
    text = answer.text.removeprefix(answer.text[: answer.text.index("{")])
    assert text.count('"invocationId"') == 1
    assert (await talk.state()) == delta
    session = await talk.adk.session_now()
    [event] = session["events"]
    assert event["actions"]["stateDelta"] == delta
    assert "content" not in event


async def test_a_short_run_and_then_the_whole(talk: Talk) -> None:
    """Ten papers, the question whether to proceed, and the plan waits again; nothing counts twice."""
    await talk.say(GOOD)
    short = await talk.say("Short Run")
    assert short.shape == [*FOUND, *ASKED]
    call = short.parts("functionCall")[0]
    assert call["args"]["limit"] == 10
    result = short.deltas[1]
    assert result["papers_found"] == 10
    assert result["preview_mode"] is True
    assert result["search_history"][0]["preview"] is True
    assert result["pending_search_plan"]["query"] == GOOD
    assert result["next_action"]["action"] == "approve_search"
    assert "Proceed with full search?" in short.text

    full = await talk.say("ok")
    assert full.written["preview_mode"] is False
    assert full.written["pending_search_plan"] is None
    count = full.response(SEARCH)["count"]
    assert count > 10
    box = (await talk.grounding()).box()
    assert box.papers_found == count
    assert [each.new_count for each in box.search_history] == [10, count - 10]
    await talk.counts_add_up()


async def test_filters_of_the_panel_are_planned_with(talk: Talk) -> None:
    """Sent with the question, in the panel's spelling."""
    filters = {"year": ">=2021", "fields": ["Computer Science"]}
    planned = await talk.say(GOOD, stateDelta={"grounding:current_filters": filters})
    assert planned.written["pending_search_plan"]["filters"] == filters
    found = await talk.say("ok")
    assert {p["year"] for p in found.response(SEARCH)["papers"]} <= set(range(2021, 2027))
    [receipt] = found.written["search_history"]
    assert receipt["filters_applied"] == ["year>=2021", "fields=Computer Science"]


async def test_the_rest_of_the_work(talk: Talk) -> None:
    """Synthesis with a citation or a mark on every sentence, counts that are checked, two files."""
    await talk.say(GOOD)
    await talk.say("ok")
    synthesis = await talk.say("synthesise")
    assert synthesis.written["stage"] == "synthesis"
    sentences = [
        line for line in synthesis.text.split("References")[0].splitlines() if line[:2] == "- "
    ]
    assert len(sentences) > 3
    assert all(re.search(r"\[(?:[\d, ]+|uncited)\]\.$", each) for each in sentences)
    checked = await talk.say("validate")
    assert checked.written["stage"] == "validation"
    assert "WRONG" not in checked.text
    exported = await talk.say("export the strategy")
    assert "# Search strategy" in exported.text
    assert "Duplicates removed: 0" in exported.text
    files = [each for e in exported.events for each in (e["actions"].get("artifactDelta") or {})]
    assert files == ["search-strategy.md", "prisma-counts.json"]


DOCUMENT = Path(__file__).parents[3] / "docs" / "protocols" / "grounding.md"


@pytest.mark.parametrize("by", ["words", "confirmation"])
async def test_a_turn_is_what_its_document_says(talk: Talk, by: str) -> None:
    """No event ends the turn; the call that waits comes before its approval; results match by id."""
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert "The end of the stream is the end of the turn." in text
    assert "The call that waits for approval is in the stream before it is approved." in text
    planned = await talk.say(GOOD)
    names = [call["name"] for call in planned.parts("functionCall")]
    assert names == ["propose_search", SEARCH, "adk_request_confirmation"]
    waiting = planned.parts("functionCall")[1]["id"]
    unsearched = planned.parts("functionResponse")[-1]
    assert (unsearched["id"], set(unsearched["response"])) == (waiting, {"error"})
    found = await (talk.confirm(True) if by == "confirmation" else talk.say("ok"))
    [result] = [each for each in found.parts("functionResponse") if "papers" in each["response"]]
    assert (result["id"] == waiting) == (by == "confirmation")
    assert found.calls == ([] if by == "confirmation" else [SEARCH])
    for turn in talk.turns:
        assert not any(event.get("turnComplete") for event in turn.events)
    assert any(waiting_ids(event) for event in planned.events)


def waiting_ids(event: dict[str, Any]) -> list[str]:
    """Return the ids of calls that an event says are waited for."""
    return list(event.get("longRunningToolIds") or ())
