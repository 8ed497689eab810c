"""Every scenario of the tour shows, with the real Runner, the ADK mechanism that it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.genai import types
from tests.app_runner import AppRun, AppRunner
from tests.gemini_replies import ANSWER
from tests.loopback_gemini import serve_gemini

import adk_prism
from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario, choose, help_text

APPS = Path(adk_prism.__file__).parent / "apps"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key in the environment turns the scripted models off."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")


@dataclass(frozen=True)
class Case:
    """A scenario and what its run must show. `prompt` is a quicker one than the table's."""

    scenario: str
    shows: Callable[[AppRun], bool]
    fails: bool = False
    prompt: str = ""


def has_part(take: AppRun, field: str) -> bool:
    return any(getattr(part, field) is not None for part in take.parts)


def answers(name: str, key: str) -> Callable[[AppRun], bool]:
    """The tool has answered, and its answer has that key."""
    return lambda take: key in take.response(name) and bool(take.text)


def waits_for(name: str) -> Callable[[AppRun], bool]:
    """A call of that name is open at the end of the run, and marked as long-running."""

    def shows(take: AppRun) -> bool:
        call = take.call(name)
        answered = [answer.id for answer in take.responses]
        open_ids = {i for event in take.whole for i in event.long_running_tool_ids or ()}
        return call.id in open_ids and call.id not in answered

    return shows


def error_codes(take: AppRun) -> list[str]:
    return [event.error_code for event in take.whole if event.error_code]


def media_types(take: AppRun) -> list[str | None]:
    return [part.inline_data.mime_type for part in take.parts if part.inline_data]


def sizes(take: AppRun) -> list[int]:
    blobs = [part.inline_data for part in take.parts if part.inline_data]
    return [len(blob.data or b"") for blob in blobs]


def interleaved(take: AppRun) -> bool:
    """Some agent spoke between two words of another."""
    speakers = [event.author for event in take.events if event.partial and event.branch]
    changes = sum(a != b for a, b in pairwise(speakers))
    return changes >= len(set(speakers))


def state_deltas(take: AppRun) -> list[dict[str, object]]:
    deltas = [event.actions.state_delta for event in take.whole]
    return [delta for delta in deltas if delta]


def thinks_first(take: AppRun) -> bool:
    thought, answer = take.parts
    return bool(thought.thought and thought.thought_signature and not answer.thought)


def streams_arguments(take: AppRun) -> bool:
    contents = [event.content for event in take.events if event.partial and event.content]
    calls = [part.function_call for c in contents for part in c.parts or [] if part.function_call]
    whole = take.call("write_report")
    return any(call.partial_args for call in calls) and {call.id for call in calls} == {whole.id}


def shows_sources(take: AppRun) -> bool:
    (event,) = [event for event in take.whole if event.grounding_metadata]
    grounding = event.grounding_metadata
    assert grounding is not None
    chunks, supports = grounding.grounding_chunks or [], grounding.grounding_supports or []
    spans = [support.segment for support in supports if support.segment]
    quoted = [take.text[span.start_index or 0 : span.end_index] == span.text for span in spans]
    return len(chunks) == 3 and quoted == [True, True] and event.citation_metadata is not None


def runs_the_graph(take: AppRun) -> bool:
    call = take.call("plan_trip").id
    names = {event.node_info.path for event in take.whole if event.output is not None}
    steps = ("brief", "gather", "conclude")
    spoke = {event.author for event in take.whole if event.content}
    wanted = {f"tour@1/plan_trip@{call}/{step}@1" for step in steps}
    return wanted <= names and {"route_planner", "hotel_planner"} <= spoke and interleaved(take)


def survives(take: AppRun) -> bool:
    return error_codes(take) == ["ConnectionError"] and "meaning" in take.response("look_up")


def transfers(take: AppRun) -> bool:
    targets = [event.actions.transfer_to_agent for event in take.whole]
    return "guide" in targets and "guide" in {event.author for event in take.whole}


def reports_progress(take: AppRun) -> bool:
    said = [event for event in take.whole if event.author == "copy_files" and event.content]
    return len(said) == 3 and take.response("copy_files")["copied"] == 3


def hides_the_agent(take: AppRun) -> bool:
    authors = {event.author for event in take.events}
    return authors == {"tour"} and "Bom dia" in str(take.response("translator"))


CASES = [
    Case("help", lambda take: take.text == help_text()),
    Case("text", lambda take: len(take.events) > 10 and "plain text" in take.text),
    Case("reasoning", thinks_first),
    Case("tool", answers("get_weather", "celsius")),
    Case("streamed arguments", streams_arguments),
    Case("tool error", answers("find_order", "error")),
    Case("exception", lambda take: error_codes(take) == ["RuntimeError"], fails=True),
    Case("recovered error", survives),
    Case("approval", waits_for("adk_request_confirmation")),
    Case("two approvals", lambda take: len(take.calls) == 4 and len(take.responses) == 2),
    Case("sub-agent approval", waits_for("adk_request_confirmation")),
    Case("client tool", waits_for("get_location")),
    Case(
        "mixed batch",
        lambda take: (
            waits_for("get_location")(take)
            and waits_for("adk_request_confirmation")(take)
            and "sky" in take.response("get_weather")
        ),
    ),
    Case("long-running tool", answers("order_print", "ticket")),
    Case("progress", reports_progress),
    Case(
        "code",
        lambda take: has_part(take, "executable_code") and has_part(take, "code_execution_result"),
    ),
    Case("image", lambda take: media_types(take) == ["image/png"] and sizes(take)[0] < 4_096),
    Case("large file", lambda take: sizes(take)[0] > 300 * 1024),
    Case("file reference", lambda take: has_part(take, "file_data")),
    Case("audio", lambda take: media_types(take) == ["audio/wav", "audio/pcm;rate=24000"]),
    Case("voice", lambda take: media_types(take) == ["audio/pcm;rate=24000"]),
    Case("sources", shows_sources),
    Case("state", lambda take: len(state_deltas(take)) == 2 and "trip" in state_deltas(take)[1]),
    Case("artifact", lambda take: take.whole[1].actions.artifact_delta == {"note.txt": 0}),
    Case("transfer", transfers),
    Case("parallel specialists", lambda take: interleaved(take) and take.responses[-3:] != []),
    Case("agent tool", hides_the_agent),
    Case("workflow", runs_the_graph),
    Case("input request", waits_for("adk_request_input")),
    Case("credential request", waits_for("adk_request_credential")),
    Case("max tokens", lambda take: error_codes(take) == ["MAX_TOKENS"] and bool(take.text)),
    Case("safety block", lambda take: error_codes(take) == ["SAFETY"]),
    Case("quota error", lambda take: error_codes(take) == ["RESOURCE_EXHAUSTED"], fails=True),
    Case(
        "broken stream",
        lambda take: error_codes(take) == ["ConnectionError"] and bool(take.events[0].partial),
        fails=True,
    ),
    Case("slow", answers("keep_silent", "silent_for"), prompt="slow 0"),
    Case("long", lambda take: len(take.text.split()) == 300, prompt="long 300"),
    Case(
        "server-side tool",
        lambda take: has_part(take, "tool_call") and has_part(take, "tool_response"),
    ),
    Case("empty answer", lambda take: take.parts == []),
]


def test_every_scenario_has_a_case() -> None:
    assert [case.scenario for case in CASES] == [scenario.name for scenario in SCENARIOS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.scenario)
async def test_scenario(case: Case) -> None:
    """It shows what it names, fails only if it should, and leaves a session that goes on."""
    (scenario,) = [scenario for scenario in SCENARIOS if scenario.name == case.scenario]
    stage = AppRunner(tour_app(delay=0))

    take = await stage.send(case.prompt or scenario.example)
    assert case.shows(take)
    assert (take.error is not None) == case.fails

    after = await stage.send("tool")
    assert after.error is None
    assert answers("get_weather", "celsius")(after)


@dataclass(frozen=True)
class Phrase:
    text: str
    scenario: str | None


PHRASES = [
    Phrase("tool", "tool"),
    Phrase("Show me approval", "approval"),
    Phrase("TWO APPROVALS, please!", "two approvals"),
    Phrase("an approval inside a sub-agent?", "sub-agent approval"),
    Phrase("client-tool", "client tool"),
    Phrase("a tool error", "tool error"),
    Phrase("long 500", "long"),
    Phrase("a long running tool", "long-running tool"),
    Phrase("the source", "sources"),
    Phrase("server side tools", "server-side tool"),
    Phrase("What can you do? help!", "help"),
    Phrase("good morning", None),
    Phrase("toolbox", None),
    Phrase("", None),
]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.text)
def test_any_phrasing_chooses_the_scenario(phrase: Phrase) -> None:
    chosen = choose(phrase.text)

    assert (chosen.name if chosen else None) == phrase.scenario


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_name_and_example_chooses_its_own_scenario(scenario: Scenario) -> None:
    names = (scenario.name, scenario.example, *scenario.also)

    assert {choose(name) for name in names} == {scenario}


async def test_unknown_text_gets_a_hint() -> None:
    take = await AppRunner(tour_app(delay=0)).send("good morning")

    assert "`help`" in take.text


async def test_numbers_may_be_written_as_people_write_them() -> None:
    take = await AppRunner(tour_app(delay=0)).send("a long answer of 1,200 words")

    assert len(take.text.split()) == 1_200


def test_adk_finds_the_app() -> None:
    loader = AgentLoader(str(APPS))

    assert "tour" in loader.list_agents()
    loaded = loader.load_agent("tour")
    assert isinstance(loaded, App)
    assert loaded.name == "tour"


async def test_a_real_model_gets_the_same_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model named in the environment every agent of the tour uses it."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "gemini-x")
    root = tour_app(delay=0).root_agent

    assert root is not None
    agents = [root, *getattr(root, "sub_agents", [])]
    assert {getattr(agent, "model", None) for agent in agents} == {"gemini-x"}
    assert help_text() in str(getattr(root, "instruction", ""))


async def test_the_real_gemini_class_can_declare_every_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All declarations of the root reach the API, those of workflows and client tools too."""
    with serve_gemini(ANSWER) as server:
        monkeypatch.setenv("ADK_PRISM_MODEL", "gemini-2.5-flash")
        monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        take = await AppRunner(tour_app(delay=0)).send("tool")
    (request,) = server.requests
    declared = {item["name"] for item in request["tools"][0]["functionDeclarations"]}

    assert take.text == "It is sunny."
    assert {"get_location", "plan_trip", "clerk", "translator", "transfer_to_agent"} <= declared


async def test_shown_files_are_whole() -> None:
    """The image is a real PNG and the sound a real WAV, in the message and in the history."""
    stage = AppRunner(tour_app(delay=0))
    image, audio = await stage.send("image"), await stage.send("audio")

    blobs = [part.inline_data for take in (image, audio) for part in take.parts]
    contents = [blob.data or b"" for blob in blobs if isinstance(blob, types.Blob)]
    assert [content[:4] for content in contents[:2]] == [b"\x89PNG", b"RIFF"]
    assert len(contents[2]) == 2 * 1_200
