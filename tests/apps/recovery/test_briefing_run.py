"""The whole app on the real Runner: four at once, follow-ups, one briefing, every number computed."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.tools import FunctionTool
from google.genai import types
from tests.app_runner import SESSION, USER, AppRun, AppRunner
from tests.apps.recovery.folders import FIRE, Folder
from tests.laws.events import entries
from tests.loopback_gemini import Json, chunk, serve_gemini

import adk_prism_apps
from adk_prism.features.page.film import fold
from adk_prism.protocols.registry import protocol
from adk_prism_apps.recovery.agent import recovery_app
from adk_prism_apps.recovery.agent_names import SPECIALISTS

BRIEFING = "Give me a recovery briefing for Cedar Creek Fire"


@pytest.fixture(scope="module")
def briefing() -> AppRun:
    """The briefing of the bundled fire, run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADK_PRISM_MODEL", "offline")
        return asyncio.run(ask(BRIEFING))


def final_text(take: AppRun) -> str:
    """Return the coordinator's last words."""
    texts = [
        part.text
        for event in take.whole
        if event.author == "coordinator" and event.content
        for part in event.content.parts or []
        if part.text and not part.thought
    ]
    return texts[-1]


def briefing_data(take: AppRun) -> dict[str, Any]:
    data: Any = take.response("compose_briefing")["data"]
    return dict(data)


async def ask(question: str, folder: Path | None = None) -> AppRun:
    take = await AppRunner(recovery_app(0, folder)).send(question)
    assert take.error is None
    return take


def proofs(take: AppRun) -> dict[str, list[dict[str, Any]]]:
    """Return the proof layers by the agent whose tool gave them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event in take.whole:
        for answer in event.get_function_responses():
            layer = (answer.response or {}).get("proof_layer")
            if layer and answer.name not in SPECIALISTS:
                found.setdefault(event.author, []).append(layer)
    return found


def answers_of(take: AppRun, name: str) -> list[dict[str, Any]]:
    """Return what a specialist answered, call by call."""
    return [answer.response or {} for answer in take.responses if answer.name == name]


def delegations(take: AppRun) -> list[list[str]]:
    """Return the specialists called in each turn of the coordinator."""
    turns = []
    for event in take.whole:
        names = [call.name or "" for call in event.get_function_calls()]
        if event.author == "coordinator" and set(names) & set(SPECIALISTS):
            turns.append(names)
    return turns


def test_a_briefing_asks_all_four_at_once_and_follows_up(briefing: AppRun) -> None:
    take = briefing

    assert delegations(take) == [list(SPECIALISTS), ["burn_analyst", "nepa_advisor"]]


def test_the_specialists_speak_at_the_same_time(briefing: AppRun) -> None:
    """Their words interleave: some specialist speaks between two words of another."""
    take = briefing
    speakers = [event.author for event in take.events if event.partial and event.branch]
    changes = sum(one != other for one, other in pairwise(speakers))

    assert set(speakers) == set(SPECIALISTS)
    assert changes > 10 * len(SPECIALISTS)


def test_every_specialist_has_a_proof_and_the_lowest_is_the_whole(briefing: AppRun) -> None:
    take = briefing
    layers = proofs(take)
    whole = layers["coordinator"][-1]
    sections = briefing_data(take)["sections"]
    stated = {item["specialist"]: item["confidence"] for item in sections}

    assert set(SPECIALISTS) <= layers.keys()
    for name in SPECIALISTS:
        # A later finding of the same name replaces the earlier one: NEPA was screened again.
        last = {layer["finding"]: layer.get("confidence", 1) for layer in layers[name]}
        assert stated[name] == min(last.values())
        assert all(layer["citations"] and layer["reasoning_chain"] for layer in layers[name])
    assert whole["confidence"] == min(stated.values())
    assert whole["confidence_rule"] == "lowest"
    assert f"**Overall Confidence:** {whole['confidence']:.0%}" in take.text


@pytest.mark.parametrize("name", SPECIALISTS)
def test_a_specialists_response_carries_its_proof(briefing: AppRun, name: str) -> None:
    """In the function response itself, the total first; the text states the same total first."""
    for response in answers_of(briefing, name):
        layer = response["proof_layer"]
        parts = layer.get("confidence_by_part") or {"": layer["confidence"]}
        stated = re.search(r"\*\*Confidence:\*\*\s*(\d+)%", str(response["result"]))

        assert list(response) == ["result", "proof_layer"]
        assert next(iter(layer)) == "confidence"
        assert layer["confidence"] == min(parts.values())
        assert stated is not None
        assert stated[1] == f"{layer['confidence']:.0%}".rstrip("%")
        assert all(citation["source"] for citation in layer["citations"])
        assert layer["citations"]
        assert layer["reasoning_chain"]


def test_each_call_of_a_specialist_has_the_proof_of_that_call(briefing: AppRun) -> None:
    """A follow-up carries what it found, and the first answer keeps what it was."""
    burn = [
        set(a["proof_layer"].get("confidence_by_part", ()))
        for a in answers_of(briefing, "burn_analyst")
    ]
    nepa = [
        a["proof_layer"]["confidence_by_part"]["P1"] for a in answers_of(briefing, "nepa_advisor")
    ]

    assert burn == [{"assess_severity", "check_boundary"}, set()]
    assert nepa == [0.405, 0.6075]


@pytest.mark.parametrize("dialect", ["6", "7"])
def test_the_proof_is_in_the_output_of_the_call_on_the_wire(briefing: AppRun, dialect: str) -> None:
    """As AI SDK clients get it, and as ADK's own stream has it."""
    run = entries(line.encode() for line in briefing.lines)
    for protocol_name, dialects in (("ai-sdk", dialect), ("adk", "")):
        reader = protocol(protocol_name).format(dialects).reader()
        payloads = [payload.data for entry in run for payload in reader.feed(entry)]
        frames = [json.loads(data) for data in payloads if data.startswith(b"{")]
        assert carried(frames) >= set(SPECIALISTS)


def carried(frames: list[dict[str, Any]]) -> set[str]:
    """Return the specialists whose answers carry a total, in the frames of either protocol."""
    names = {f["toolCallId"]: f["toolName"] for f in frames if f.get("toolName")}
    found = set()
    for frame in frames:
        if frame.get("type") == "tool-output-available":
            answers = [(names[frame["toolCallId"]], frame["output"])]
        else:
            parts = (frame.get("content") or {}).get("parts") or []
            given = [part["functionResponse"] for part in parts if "functionResponse" in part]
            answers = [(answer["name"], answer["response"]) for answer in given]
        found |= {
            n
            for n, out in answers
            if isinstance(out, dict) and "confidence" in out.get("proof_layer", {})
        }
    return found


def test_what_the_proof_of_a_briefing_shows_is_true(briefing: AppRun) -> None:
    """Every source is one that a tool cited, each once with who used it; nothing disagrees."""
    shown = fold(entries(line.encode() for line in briefing.lines)).at(None, "proof")["proof"]
    known = {
        c["source"] for layers in proofs(briefing).values() for x in layers for c in x["citations"]
    }
    for proof in (shown["answer"], *shown["specialists"]):
        names = [(c["source"], c.get("reference")) for c in proof["citations"]]
        assert {source for source, _ in names} <= known
        assert len(names) == len(set(names))
        assert not proof.get("disagreements")
        assert not proof.get("unread")
    users = {c["source"]: c.get("used_by") for c in shown["answer"]["citations"]}
    assert users["Scenario sectors (synthetic)"] == ["burn_analyst", "trail_assessor"]
    assert len(users) == len(shown["answer"]["citations"])


def test_the_headings_of_a_briefing(briefing: AppRun) -> None:
    text = final_text(briefing)

    assert "**Overall Confidence:** 60%" in text
    assert "**Recommended Actions:**\n1. " in text
    assert "(Confidence: 61% for P1, 81% for P2, 81% for P3, 81% for P4)" in text


async def test_one_subject_alone_shows_the_basis_of_each_proposal() -> None:
    take = await ask("Which NEPA pathway fits the recovery work at Cedar Creek Fire?")

    assert final_text(take).count("**Regulatory Basis:** 36 CFR 220.6(e)") == 4


async def test_a_specialist_without_a_finding_has_no_proof(folder: Folder) -> None:
    """Data that cannot be used: the text names the file, and nothing stands beside it."""
    folder.path("proposals.csv").unlink()
    take = await ask("Which NEPA pathway fits the recovery work?", folder.root)

    assert [list(answer) for answer in answers_of(take, "nepa_advisor")] == [["result"]]


def test_the_follow_up_carries_the_acres_of_the_cruise(briefing: AppRun) -> None:
    """What the NEPA advisor asked for is what the cruising assistant found."""
    take = briefing
    requests = [
        str((call.args or {}).get("request")) for call in take.calls if call.name == "nepa_advisor"
    ]

    assert "acres:228" in requests[1]
    assert "How many acres does P1 cover" not in final_text(take)


def test_the_briefing_says_what_is_synthetic_and_ends_as_a_screening_aid(briefing: AppRun) -> None:
    take = briefing
    text = final_text(take)

    for subject in ("Fire Severity", "Infrastructure Damage", "Timber Salvage", "NEPA Pathway"):
        assert f"**{subject} (synthetic):**" in text
    assert "127,311 acres, 70% contained on 2022-11-02" in text
    assert text.splitlines()[-1].startswith("Screening aid, not legal advice")
    assert "as of 2022-12-01" in text


def test_nothing_that_earlier_material_had_wrong_is_said(briefing: AppRun) -> None:
    """No fixed MTBS class, no 63.6 or 42 %, no other acreage, no salvage limit of 4,200 acres."""
    # Contents only: the digits of an event's id or time may be any.
    text = "\n".join(e.content.model_dump_json() for e in briefing.whole if e.content)

    for wrong in ("127,341", "127,831", "63.6", "GTR-850", "Russell", "2022-10-14", "Type III"):
        assert wrong not in text
    assert not re.search(r"220\.6\(e\)\(13\)[^.;]*4,?200", text)


async def test_a_narrow_question_asks_one_specialist() -> None:
    take = await ask("Can hikers use the Lakeshore Loop?")

    assert delegations(take) == [["trail_assessor"]]
    assert take.response("evaluate_closures")["data"]["by_status"]["close"] == ["T01"]  # type: ignore[index]


def test_the_words_of_the_offline_model_come_from_the_tools(briefing: AppRun) -> None:
    """The final text is the briefing's result, and each specialist's text is its tools'."""
    take = briefing
    assert final_text(take) == take.response("compose_briefing")["result"]
    burn = str(take.response("assess_severity")["result"])
    answers = [answer.response or {} for answer in take.responses if answer.name == "burn_analyst"]

    assert burn in str(answers[0]["result"])


async def test_an_unknown_fire_gets_an_honest_answer() -> None:
    take = await ask("Give me a recovery briefing for the Bootleg Fire")

    assert delegations(take) == []
    assert "There is no data about 'Bootleg Fire' here" in take.text
    assert "Cedar Creek Fire" in take.text


@pytest.mark.parametrize("question", ["", "   ", "hello", "What is the capital of France?"])
async def test_an_empty_or_foreign_question_gets_help_and_no_specialist(question: str) -> None:
    take = await ask(question)

    assert delegations(take) == []
    assert "I coordinate recovery" in take.text


async def test_an_empty_message_in_a_chat_does_not_repeat_the_last_answer() -> None:
    stage = AppRunner(recovery_app(0))
    await stage.send("When did the Cedar Creek Fire start?")
    take = await stage.send("")

    assert "I coordinate recovery" in take.text


async def test_a_very_long_question_is_answered_by_its_beginning() -> None:
    """What is very long is not compared with the vocabulary: what comes late is not read."""
    filler = "and so on " * 400
    take = await ask(f"Which trails are closed? {filler}{'timber volume under NEPA ' * 4_000}")

    assert delegations(take) == [["trail_assessor"]]


async def test_a_question_about_the_incident_needs_no_specialist() -> None:
    take = await ask("When did the Cedar Creek Fire start?")

    assert delegations(take) == []
    assert "2022-08-01" in take.text


async def test_a_second_question_does_not_mix_with_the_first() -> None:
    """Findings of an earlier run stay in the state and out of the next briefing."""
    stage = AppRunner(recovery_app(0))
    await stage.send(BRIEFING)
    take = await stage.send("And which trails are closed?")
    sections = briefing_data(take)["sections"]

    assert [item["specialist"] for item in sections] == ["trail_assessor"]


async def test_the_day_travels_to_the_specialists() -> None:
    take = await ask("Which categorical exclusion fits our proposals as of November 2026?")
    rules = {row["rule"] for row in take.response("screen_nepa")["data"]["proposals"]}  # type: ignore[index]

    assert rules == {"7 CFR 1b.4(d)(36)", "7 CFR 1b.4(d)(34)", "7 CFR 1b.4(d)(26)"}
    assert "has ended" in take.text


async def test_the_same_question_gives_the_same_words(briefing: AppRun) -> None:
    again = await ask(BRIEFING)
    assert final_text(again) == final_text(briefing)


@pytest.mark.parametrize("events", [3, 120, 1_500])
async def test_a_run_that_broke_off_ends_in_the_same_briefing(
    briefing: AppRun, events: int
) -> None:
    """Cut before the delegation, among the four specialists, and among the follow-ups."""
    stage = AppRunner(recovery_app(0))
    question = types.UserContent(BRIEFING)
    run = stage.runner.run_async(
        user_id=USER,
        session_id=SESSION,
        new_message=question,
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    async with aclosing(run):
        seen = [await anext(run) for _ in range(events)]
    take = await stage.resume(seen[-1].invocation_id)

    assert take.error is None
    assert final_text(take) == final_text(briefing)


async def test_a_fire_of_the_users_own(folder: Folder) -> None:
    """Another fire in the same layout is answered about; the bundled one is then not there."""
    (folder.root / FIRE).rename(folder.root / "alder-2024")
    path = folder.root / "alder-2024" / "incident.json"
    incident = json.loads(path.read_text())
    incident |= {"fire_id": "alder-2024", "name": "Alder Fire", "aliases": []}
    path.write_text(json.dumps(incident))
    own = await ask("Alder Fire: which trails are closed?", folder.root)
    gone = await ask("Cedar Creek Fire: which trails are closed?", folder.root)

    assert "close: T01, T02" in own.text
    assert "There is no data about 'Cedar Creek Fire' here" in gone.text


def test_a_real_model_takes_the_place_of_every_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADK_PRISM_MODEL", "gemini-x")
    root = recovery_app(0).root_agent
    agents = [root, *getattr(root, "sub_agents", [])]

    assert {getattr(agent, "model", None) for agent in agents} == {"gemini-x"}
    assert [agent.name for agent in agents if agent] == ["coordinator", *SPECIALISTS]


def calls(name: str, **args: Any) -> list[Json]:
    return [chunk({"functionCall": {"name": name, "args": args}}, finish="STOP")]


def says(text: str) -> list[Json]:
    return [chunk({"text": text}, finish="STOP")]


async def test_the_same_app_runs_on_the_real_gemini_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow question, step by step as a real model would take it; the numbers are the tools'."""
    replies = (
        calls("find_fire", question="Cedar Creek"),
        calls("nepa_advisor", request=f"fire_id:{FIRE} question:Which exclusion fits?"),
        calls("screen_nepa", fire_id=FIRE, activity="salvage", acres=180, temp_road_miles=0.2),
        says("It may fit."),
        calls("compose_briefing", asked=["nepa_advisor"]),
        says("Done."),
    )
    with serve_gemini(*replies) as server:
        monkeypatch.setenv("ADK_PRISM_MODEL", "gemini-2.5-flash")
        monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        take = await AppRunner(recovery_app(0)).send("Which exclusion fits 180 acres of salvage?")
    declared = [
        {item["name"] for item in request["tools"][0]["functionDeclarations"]}
        for request in server.requests
    ]

    assert take.error is None
    assert declared[0] >= {"find_fire", "compose_briefing", *SPECIALISTS}
    assert declared[2] == {"screen_nepa", "check_citation"}
    assert briefing_data(take)["sections"][0]["confidence"] == pytest.approx(3 / 4 * 0.9, abs=1e-4)
    assert final_text(take) == "Done."


@pytest.mark.parametrize("name", SPECIALISTS)
def test_every_tool_of_a_specialist_can_be_declared(name: str) -> None:
    """Each argument has a description that a model can read; the context is no argument."""
    root = recovery_app(0).root_agent
    (agent,) = [agent for agent in getattr(root, "sub_agents", []) if agent.name == name]
    for function in agent.tools:
        declaration = FunctionTool(function)._get_declaration()
        assert declaration is not None
        assert declaration.description
        shape: Any = declaration.parameters_json_schema or declaration.parameters
        assert "tool_context" not in str(shape)
        assert "fire_id" in str(shape)


def test_it_is_an_app_that_adk_finds() -> None:
    loader = AgentLoader(str(Path(adk_prism_apps.__file__).parent))
    loaded = loader.load_agent("recovery")

    assert "recovery" in loader.list_agents()
    assert isinstance(loaded, App)
