"""The recorder plugin records what a server of ours would, and what the client of the Runner got."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
from collections.abc import Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types
from tests.adk.recorded_runs import RecordedRun, watch
from tests.adk.runs import ORIGIN, Reports, say
from tests.adk.scripted import Scripted, call
from tests.features.recorder.recorded import driven, recordings, runner_of, runner_of_app, seen_in
from tests.patience import PATIENCE
from tests.server.local_server import agent as agent_of_server
from tests.server.local_server import local_server

from adk_prism import Recorder, ScriptedModel
from adk_prism.adk.redaction import Serialiser
from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario
from adk_prism.errors import ignore
from adk_prism.log.entry import AgentEvent, NodeStarted, RunEnded, RunStarted
from adk_prism.models import say as scripted
from adk_prism.testing.laws import check_laws

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

_PROMPTS = {"slow": "slow 0.01", "long": "long 40", "large file": "large file 4"}


def _events(entries: Sequence[Any]) -> list[Any]:
    return [json.loads(e.record.event) for e in entries if type(e.record) is AgentEvent]


class _Told(list[str]):
    """The recorder's log lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, logger="adk_prism.recorder")
        self._caplog = caplog

    @property
    def lines(self) -> list[str]:
        return [r.getMessage() for r in self._caplog.records if r.name == "adk_prism.recorder"]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> _Told:
    return _Told(caplog)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name.replace(" ", "_"))
async def test_a_run_is_recorded_as_a_server_records_it(scenario: Scenario, tmp_path: Path) -> None:
    """The same nodes and events in the same order, the events that were yielded, and the five laws."""
    prompt = _PROMPTS.get(scenario.name, scenario.example)
    expected = await watch(await runner_of_app(tour_app(0.0)), prompt)
    app = tour_app(0.0)
    app.plugins.append(Recorder(file=str(tmp_path)))
    runner, serialiser = await runner_of_app(app), Serialiser(ignore)
    yielded: list[Any] = []
    with suppress(Exception):  # some scenarios fail, and their outcome is compared below
        async for event in driven(runner, prompt):
            yielded += [json.loads(serialiser.event(event))]
    await runner.close()
    seen = seen_in(tmp_path).check()
    assert seen.story == expected.story
    assert (seen.ended.outcome, seen.ended.code) == (expected.ended.outcome, expected.ended.code)
    assert [_comparable(e) for e in _events(seen.entries)] == [_comparable(e) for e in yielded]
    assert seen.states()[-1][2] == expected.states()[-1][2]
    head = seen.entries[0].record
    assert isinstance(head, RunStarted)
    assert head.origin == ORIGIN
    assert json.loads(bytes(head.message))["parts"] == [{"text": prompt}]
    assert check_laws(seen.entries) == []


def _comparable(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the reference that each serialising draws anew."""
    return {k: v for k, v in event.items() if k != "errorMessage"}


async def test_an_answer_is_a_run_of_its_own(tmp_path: Path) -> None:
    """The run that an approval waits for, and the one that goes on with the answer as its first event."""
    app = tour_app(0.0)
    app.plugins.append(Recorder(file=str(tmp_path)))
    runner = await runner_of_app(app)
    asked = [event async for event in driven(runner, "approval")]
    (request,) = [
        made
        for event in asked
        for made in event.get_function_calls()
        if made.name == "adk_request_confirmation" and not event.partial
    ]
    response = types.FunctionResponse(
        id=request.id, name=request.name, response={"confirmed": True}
    )
    answer = types.Content(role="user", parts=[types.Part(function_response=response)])
    [event async for event in driven(runner, new_message=answer)]
    await runner.close()
    first, second = recordings(tmp_path)
    assert [each[-1].record for each in (first, second)] == [
        RunEnded(outcome="waiting"),
        RunEnded(outcome="finished"),
    ]
    assert "functionResponse" in _events(second)[0]["content"]["parts"][0]
    assert check_laws(first) == check_laws(second) == []


class _Shouts(BasePlugin):
    """Replaces the words of every event, and nothing else of it."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        del invocation_context
        if event.content is None or not event.content.parts or not event.content.parts[0].text:
            return None
        loud = types.Part(text=event.content.parts[0].text.upper())
        return Event(author=event.author, content=types.Content(role="model", parts=[loud]))


@pytest.mark.parametrize("is_first", [True, False])
async def test_what_other_plugins_make_of_events_is_recorded(
    is_first: bool, tmp_path: Path
) -> None:
    """Wherever the recorder stands among them."""
    recorder, shouts = Recorder(file=str(tmp_path)), _Shouts("shouts")
    plugins = (recorder, shouts) if is_first else (shouts, recorder)
    agent = LlmAgent(name="agent", model=Scripted.saying("hello there"))
    runner, serialiser = await runner_of(agent, *plugins), Serialiser(ignore)
    yielded = [json.loads(serialiser.event(event)) async for event in driven(runner)]
    await runner.close()
    assert _events(seen_in(tmp_path).entries) == yielded
    assert "HELLO" in json.dumps(yielded)


# ------------------------------------------------------------------ whoever drives the Runner


async def test_a_run_that_is_cancelled_ends(tmp_path: Path) -> None:
    """ADK tells no plugin of it."""
    began, recorder = asyncio.Event(), Recorder(file=str(tmp_path))
    runner = await runner_of(LlmAgent(name="agent", model=Scripted.saying(began)), recorder)

    async def drive() -> None:
        async for _ in driven(runner):
            pass

    task = asyncio.create_task(drive())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    async with asyncio.timeout(PATIENCE):
        while not (found := recordings(tmp_path)) or not isinstance(found[0][-1].record, RunEnded):
            gc.collect()
            await asyncio.sleep(0.05)  # between two looks
    assert found[0][-1].record == RunEnded(outcome="cancelled")
    assert check_laws(found[0]) == []


@pytest.mark.parametrize(("text", "outcome"), [("", "finished"), ("Once", "cancelled")])
async def test_a_reader_that_stops(text: str, outcome: str, tmp_path: Path) -> None:
    """After the last word the run is finished; in the middle of it, cancelled."""
    agent = LlmAgent(name="agent", model=Scripted.saying("Once upon a time"))
    runner = await runner_of(agent, Recorder(file=str(tmp_path)))
    async with aclosing(driven(runner)) as events:
        async for event in events:
            if event.is_final_response() if not text else text in str(event.content):
                break
    await runner.close()
    assert seen_in(tmp_path).ended.outcome == outcome


async def test_a_reader_that_takes_each_event_in_a_task_of_its_own(tmp_path: Path) -> None:
    """The nodes of an older agent, which runs in the task that asks, are the same."""

    def agent() -> SequentialAgent:
        model = Scripted.saying(call("ping", "c1"), "one", "two")
        first = LlmAgent(name="first", model=model, tools=[ping])
        return SequentialAgent(
            name="root", sub_agents=[first, LlmAgent(name="second", model=model)]
        )

    def ping() -> str:
        return "pong"

    expected = await watch(await runner_of(agent()))
    runner = await runner_of(agent(), Recorder(file=str(tmp_path)))
    events = driven(runner)
    while await asyncio.create_task(anext(events, None)) is not None:
        pass
    await runner.close()
    assert seen_in(tmp_path).story == expected.story


async def test_runs_at_the_same_time_are_kept_apart(tmp_path: Path) -> None:
    """Also where one task reads them by turns."""
    recorder = Recorder(file=str(tmp_path))
    agents = [LlmAgent(name=f"a{i}", model=Scripted.saying(f"I am {i}")) for i in range(3)]
    runners = [await runner_of(agent, recorder) for agent in agents]
    reading = [driven(runner) for runner in runners]
    while reading:
        reading = [each for each in reading if await anext(each, None) is not None]
    for runner in runners:
        await runner.close()
    found = recordings(tmp_path)
    said = [{event["author"] for event in _events(entries)} for entries in found]
    assert sorted(map(sorted, said)) == [["a0"], ["a1"], ["a2"]]
    assert all(entries[-1].record == RunEnded(outcome="finished") for entries in found)


def test_a_runner_that_is_called_without_a_loop(tmp_path: Path) -> None:
    """`Runner.run` has a thread and a loop of its own."""
    agent = LlmAgent(name="agent", model=Scripted.saying("hello"))
    runner = asyncio.run(runner_of(agent, Recorder(file=str(tmp_path))))
    list(runner.run(user_id=ORIGIN.user, session_id=ORIGIN.session, new_message=say("go")))
    asyncio.run(runner.close())
    assert seen_in(tmp_path).check().ended.outcome == "finished"


# ------------------------------------------------------------------ what must not disturb an agent


async def test_it_says_once_that_it_is_on(tmp_path: Path, told: _Told) -> None:
    """And where the records go."""
    runner = await runner_of(
        LlmAgent(name="agent", model=Scripted.saying("a", "b")), Recorder(file=str(tmp_path))
    )
    for _ in range(2):
        [event async for event in driven(runner)]
    await runner.close()
    assert told.lines == [f"adk-prism recorder is on: runs go to {tmp_path}."]


@pytest.mark.parametrize("url", ["prism.example", "http://user:secret@127.0.0.1:1", "ftp://x"])
async def test_a_recorder_that_cannot_work_says_why(url: str, told: _Told) -> None:
    """One line, without a password; and the agent answers."""
    runner = await runner_of(
        LlmAgent(name="agent", model=Scripted.saying("hello")), Recorder(url, token="t")
    )
    assert [event async for event in driven(runner)]
    (line,) = told.lines
    assert line.startswith("adk-prism recorder is off: ")
    assert "secret" not in line


async def test_the_environment_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: _Told
) -> None:
    """`adk web --extra_plugins` passes a name and nothing else."""
    Recorder(name="adk_prism.Recorder")
    monkeypatch.setenv("ADK_PRISM_RECORD_URL", "https://prism.example/agents/")
    Recorder(name="adk_prism.Recorder")
    monkeypatch.setenv("ADK_PRISM_RECORD_FILE", str(tmp_path))
    Recorder(name="adk_prism.Recorder")
    places = [line.removeprefix("adk-prism recorder is on: runs go to ") for line in told.lines]
    assert places == ["http://127.0.0.1:8000.", "https://prism.example/agents.", f"{tmp_path}."]


async def test_an_agent_does_not_wait_for_a_disk_that_is_full(tmp_path: Path, told: _Told) -> None:
    """What cannot be written is kept; one line says so."""
    (tmp_path / "taken").write_text("a file, where a folder is wanted")
    recorder = Recorder(file=str(tmp_path / "taken"))
    runner = await runner_of(LlmAgent(name="agent", model=Scripted.saying(*"abc")), recorder)
    for _ in range(3):
        assert [event async for event in driven(runner)]
    await runner.close()
    assert len([line for line in told.lines if "does not take records now" in line]) == 1


async def test_a_tool_that_blocks_the_loop_does_not_stop_the_sender(tmp_path: Path) -> None:
    """What happened before the tool is delivered while the tool blocks everything else."""
    is_there = threading.Event()

    def block() -> str:
        while not any(b"NodeStarted" in f.read_bytes() for f in tmp_path.glob("*.jsonl")):
            assert not is_there.wait(0.01)  # between two looks
        return "done"

    agent = LlmAgent(name="agent", model=Scripted.saying(call("block", "c1"), "ok"), tools=[block])
    runner = await runner_of(agent, Recorder(file=str(tmp_path)))
    [event async for event in driven(runner)]
    await runner.close()
    assert seen_in(tmp_path).ended.outcome == "finished"


async def test_secrets_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the process of the agent knows which they are."""
    monkeypatch.setenv("STRIPE_API_KEY", "a-secret-of-this-process-alone")
    model = Scripted.saying("it is a-secret-of-this-process-alone")
    runner = await runner_of(LlmAgent(name="agent", model=model), Recorder(file=str(tmp_path)))
    await runner.session_service.create_session(
        app_name=ORIGIN.app, user_id="w", session_id="s", state={"user_token": "tok-12345678"}
    )
    [event async for event in driven(runner, "hi", user_id="w")]
    await runner.close()
    (file,) = tmp_path.glob("*.jsonl")
    text = file.read_text()
    assert "tok-12345678" not in text
    whole = [e for e in _events(recordings(tmp_path)[0]) if not e.get("partial")]
    assert "a-secret-of-this-process-alone" not in json.dumps(whole)
    assert file.stat().st_mode & 0o077 == 0


async def test_a_live_run_without_its_sound(tmp_path: Path) -> None:
    """Turns, transcripts and tools are recorded; sound is counted."""
    model = ScriptedModel(script=lambda _: scripted("hello there"), delay=0)
    runner = await runner_of(LlmAgent(name="voice", model=model), Recorder(file=str(tmp_path)))
    queue = LiveRequestQueue()
    queue.send_content(say("hi"))
    where = {"user_id": ORIGIN.user, "session_id": ORIGIN.session}
    config = RunConfig(streaming_mode=StreamingMode.BIDI, response_modalities=["AUDIO"])
    sound = 0
    async with aclosing(
        runner.run_live(**where, live_request_queue=queue, run_config=config)
    ) as events:
        async for event in events:
            parts = (event.content.parts if event.content else None) or []
            sound += sum(len(p.inline_data.data or b"") for p in parts if p.inline_data)
            if event.turn_complete:
                queue.close()
    await runner.close()
    seen = seen_in(tmp_path)
    head = seen.entries[0].record
    assert isinstance(head, RunStarted)
    assert head.live
    assert sound > 1000
    text = json.dumps(_events(seen.entries))
    assert len(text) < sound
    assert "hello" in text
    assert '"bytes"' in text
    typed = [e for e in _events(seen.entries) if e["author"] == "user" and e.get("content")]
    assert [e["content"]["parts"] for e in typed] == [[{"text": "hi"}]]
    assert check_laws(seen.entries) == []


async def test_a_runner_inside_a_tool_belongs_to_the_tool(tmp_path: Path) -> None:
    """A tool may run an agent by itself, with the same recorder: no run of its own, but its child."""
    recorder = Recorder(file=str(tmp_path))
    inner = await runner_of(LlmAgent(name="inner", model=Scripted.saying("deep")), recorder)

    async def ask() -> str:
        return "".join([event.author async for event in driven(inner)])

    agent = LlmAgent(name="outer", model=Scripted.saying(call("ask", "c1"), "ok"), tools=[ask])
    runner = await runner_of(agent, recorder)
    [event async for event in driven(runner)]
    [event async for event in driven(inner)]  # and outside of the tool it is a run
    await runner.close()
    first, second = recordings(tmp_path)
    assert RecordedRun(first, Reports()).check().parents() == {
        "agent outer": "",
        "tool ask": "agent outer",
        "agent inner": "tool ask",
    }
    assert {event["author"] for event in _events(second)} == {"inner"}


async def test_a_server_of_ours_needs_no_recorder(tmp_path: Path, told: _Told) -> None:
    """Its runs are recorded already, and go on as without it; one line says so."""
    recorder = Recorder(file=str(tmp_path))
    async with local_server(
        agent_of_server(Scripted.saying("a", "b")), plugins=[recorder]
    ) as server:
        for text in "12":
            entries = await server.entries(await server.say(text))
            assert entries[-1].record == RunEnded(outcome="finished")
            assert [n.name for e in entries if isinstance(n := e.record, NodeStarted)] == ["agent"]
    assert list(tmp_path.iterdir()) == []
    assert told.lines[1:] == [
        "adk-prism recorder is off for an app: its runs are recorded already."
    ]
