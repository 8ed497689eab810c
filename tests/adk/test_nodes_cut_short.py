"""Runs that are stopped, runs side by side, and watching that goes wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from google.adk.agents import SequentialAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import BaseNode, Workflow
from tests.adk.recorded_runs import RecordedRun, entries, recorder, watch
from tests.adk.runs import ORIGIN, Reports, drain, new_runner, say
from tests.patience import PATIENCE
from tests.recordings.shapes import agent, calling

from adk_prism.adk.internals.log_lines import LEVEL, NODE_LOGGER
from adk_prism.adk.nodes import SIGNALS
from adk_prism.adk.plugin import NAME
from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import LogError
from adk_prism.log.entry import AgentEvent, NodeEnded, NodeStarted, Origin, Record, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.models import Call, Fail, Pause, Say, Turn, read_conversation
from adk_prism.runs.recorder import RunRecorder

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

TALKING = Turn((Say("I talk until "), Pause(60), Say("you stop me.")))


async def _stopped(runner: Runner, after: str) -> RecordedRun:
    """Stop a run once a node of that name has started and the loop has turned a little."""
    log, reports = MemoryLog(), Reports()
    await log.open()
    recording, _ = recorder(runner, log, reports, message=say("go"))
    running = asyncio.create_task(recording.record())
    await _until(recording, log, after)
    recording.stop()
    await asyncio.wait_for(running, PATIENCE)
    return RecordedRun(await entries(log), reports)


async def _until(recording: RunRecorder, log: MemoryLog, name: str) -> None:
    await asyncio.wait_for(asyncio.shield(recording.started), PATIENCE)
    async for batch in log.read(RunId("run-1"), follow=True):
        if any(isinstance(e.record, NodeStarted) and e.record.name == name for e in batch):
            break
    for _ in range(20):
        await asyncio.sleep(0)


async def hang() -> None:
    """Hang."""
    await asyncio.Event().wait()


def _text() -> BaseNode:
    return agent("talker", lambda request: TALKING)


def _tool() -> BaseNode:
    return agent("patient", calling(Call("hang"), then="Never."), tools=[hang])


def _workflow() -> BaseNode:
    async def wait(node_input: Any) -> str:
        await hang()
        return "never"

    return Workflow(name="flow", edges=[("START", (wait, agent("talker", lambda r: TALKING)))])


def _sequence() -> BaseNode:
    return SequentialAgent(name="steps", sub_agents=[agent("talker", lambda request: TALKING)])


def _hidden() -> BaseNode:
    inner = agent("inner", calling(Call("hang"), then="x"), description="Inner.", tools=[hang])
    return agent(
        "root", calling(Call("inner", {"request": "x"}), then="Never."), tools=[AgentTool(inner)]
    )


@pytest.mark.parametrize(
    ("make", "until"),
    [
        (_text, "talker"),
        (_tool, "hang"),
        (_workflow, "talker"),
        (_hidden, "hang"),
    ],
    ids=["text", "tool", "workflow", "hidden"],
)
async def test_what_runs_when_a_run_is_stopped_is_cancelled(make: Any, until: str) -> None:
    """Every node has one end, and it is *cancelled*, whether ADK told of it or the run's end did."""
    seen = (await _stopped(await new_runner(make()), until)).check()
    assert seen.ended.outcome == "cancelled"
    statuses = {f"{n.kind} {n.name}": seen.status(n.name, n.kind) for n in seen.starts}
    assert set(statuses.values()) == {"cancelled"}, statuses


async def test_a_run_whose_task_is_cancelled_ends_its_nodes() -> None:
    """As when a server gives up on it. (An older root hears ADK's abort only at its next event.)"""
    log, reports = MemoryLog(), Reports()
    await log.open()
    recording, _ = recorder(await new_runner(_sequence()), log, reports, message=say("go"))
    running = asyncio.create_task(recording.record())
    await _until(recording, log, "talker")
    running.cancel()
    await asyncio.wait([running])
    seen = RecordedRun(await entries(log), reports).check()
    assert seen.ended.code == "server_stopped"
    assert seen.status("talker") == seen.status("steps") == "cancelled"


async def test_a_source_that_is_closed_leaves_nothing_running() -> None:
    """No flushing task, no listening plugin: what happens after the end is not seen."""
    emitted: list[Record] = []

    async def emit(record: Record) -> None:
        emitted.append(record)

    runner = await new_runner(_tool())
    source = RunnerSource(runner, RunRequest(run="r", origin=ORIGIN, message=say("go")), nodes=True)
    records = source.records(emit)
    async for record in records:
        if isinstance(record, AgentEvent) and b'"partial":true' not in record.event:
            break
    await records.aclose()
    before = len(emitted)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(emitted) == before
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


# --------------------------------------------------------------------------- side by side


async def test_two_runs_of_one_runner_do_not_mix() -> None:
    """Each run has its own nodes, counted from one, though they share plugin, agents and loop."""

    async def echo(word: str) -> dict[str, str]:
        """Echo."""
        for _ in range(5):
            await asyncio.sleep(0)
        return {"word": word}

    def script(request: Any) -> Turn:
        conversation = read_conversation(request)
        if conversation.answers:
            return Turn((Say("Done."),))
        return Turn((Call("echo", {"word": conversation.prompt}),))

    runner = await new_runner(agent("root", script, tools=[echo]))
    for name in ("s1", "s2"):
        await Sessions(runner.session_service).create(Origin(app="app", user="u", session=name))
    log, reports = MemoryLog(), Reports()
    await log.open()
    runs = []
    for name in ("s1", "s2"):
        origin = Origin(app="app", user="u", session=name)
        recording, _ = recorder(
            runner, log, reports, f"run-{name}", origin=origin, message=say(name)
        )
        runs.append(recording.record())
    await asyncio.gather(*runs)
    for name in ("s1", "s2"):
        seen = RecordedRun(await entries(log, f"run-{name}"), reports).check()
        assert [n.name for n in seen.starts] == ["root", "echo"]
        assert f'"word":"{name}"' in str([e.record for e in seen.entries])
        other = "s2" if name == "s1" else "s1"
        assert f'"word":"{other}"' not in str([e.record for e in seen.entries])


async def test_two_runs_driven_by_one_task_do_not_mix() -> None:
    """Older agents run in the task of whoever asks; the place of each run is kept between steps."""

    def make() -> SequentialAgent:
        return SequentialAgent(
            name="steps", sub_agents=[agent("one", "A b c."), agent("two", "D e f.")]
        )

    seen: dict[str, list[Record]] = {"left": [], "right": []}
    driven = []
    for name in seen:

        async def emit(record: Record, name: str = name) -> None:
            seen[name].append(record)

        request = RunRequest(run=name, origin=ORIGIN, message=say("go"))
        driven.append(RunnerSource(await new_runner(make()), request, nodes=True).records(emit))
    while driven:
        for records in list(driven):
            if await anext(records, None) is None:
                driven.remove(records)
    for records in seen.values():
        nodes = {r.node: r for r in records if isinstance(r, NodeStarted)}
        assert [n.name for n in nodes.values()] == ["steps", "one", "two"]
        assert [n.parent for n in nodes.values()] == ["", "n1", "n1"]
        assert [r.node for r in records if isinstance(r, NodeEnded)] == ["n2", "n3", "n1"]


async def test_a_runner_that_runs_unwatched_is_as_it_was() -> None:
    """The plugin stays with the Runner, and is silent without an observer."""
    runner = await new_runner(_humming())
    await watch(runner)
    assert [p.name for p in runner.plugin_manager.plugins].count(NAME) == 1
    unwatched = RunnerSource(runner, RunRequest(run="r", origin=ORIGIN, message=say("go")))
    _, events = await drain(unwatched.records())
    assert events
    with_emit = RunnerSource(runner, RunRequest(run="r", origin=ORIGIN, message=say("go")))

    async def emit(record: Record) -> None:
        raise AssertionError("nothing is emitted unless nodes are wanted")

    assert (await drain(with_emit.records(emit)))[1]


def hum() -> dict[str, bool]:
    """Hum."""
    return {"ok": True}


def _humming() -> BaseNode:
    return agent("root", calling(Call("hum"), then="Done."), tools=[hum])


async def test_an_agent_in_a_loop_of_its_own_is_not_seen() -> None:
    """Another thread's loop can write nothing into this run's log; the tool itself is seen."""
    inner = Workflow(name="inner", edges=[("START", _shout)])

    async def apart() -> None:
        async for _ in (await new_runner(inner)).run_async(
            user_id="u", session_id="s", new_message=say("go")
        ):
            pass

    async def elsewhere() -> dict[str, bool]:
        """Run something in another thread."""
        await asyncio.to_thread(lambda: asyncio.run(apart()))
        return {"ok": True}

    root = agent("root", calling(Call("elsewhere"), then="Done."), tools=[elsewhere])
    seen = (await watch(await new_runner(root))).check()
    assert [n.name for n in seen.starts] == ["root", "elsewhere"]


async def test_an_agent_behind_a_tool_without_plugins_is_seen_to_run() -> None:
    """ADK's own lines tell of it; of what it says there is nothing."""
    inner = agent("inner", "Hidden words.", description="Inner.")
    hidden = AgentTool(inner, include_plugins=False)
    root = agent("root", calling(Call("inner", {"request": "x"}), then="Done."), tools=[hidden])
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents()["agent inner"] == "tool inner"
    assert not [line for line in seen.story if line.startswith("(")]


async def test_the_plugin_comes_before_those_that_answer() -> None:
    """ADK asks no further plugin once one has answered; the tool that did not run is still seen."""

    class Answering(BasePlugin):
        async def before_tool_callback(self, **_: Any) -> dict[str, Any]:
            return {"instead": True}

    runner = await new_runner(_humming())
    runner.plugin_manager.register_plugin(Answering("answering"))
    seen = (await watch(runner)).check()
    assert seen.status("hum") == "finished"


# --------------------------------------------------------------------------- watching goes wrong


class _Evil(Mapping[str, Any]):
    """A value that cannot even be looked at."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("evil")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("evil")

    def __len__(self) -> int:
        raise RuntimeError("evil")


async def test_a_state_that_cannot_be_written_does_not_break_the_run() -> None:
    """The operator is told once; the run is as it would be unwatched."""

    def poison(tool_context: ToolContext) -> dict[str, bool]:
        """Poison."""
        tool_context.session.state["evil"] = _Evil()
        return {"ok": True}

    runner = await new_runner(agent("root", calling(Call("poison"), then="Done."), tools=[poison]))
    seen = await watch(runner)
    assert seen.ended.outcome == "finished"
    assert "root: text" in seen.story
    assert [r.kind for r in seen.reports] == ["node not seen"]
    assert "evil" in seen.reports[0].cause
    assert seen.status("root") == "finished"


class _FullLog(MemoryLog):
    """A log that refuses one kind of record."""

    def __init__(self, refused: type) -> None:
        super().__init__()
        self._refused = refused

    async def append(self, run: RunId, records: Any, **how: Any) -> Any:
        if any(isinstance(record, self._refused) for record in records):
            raise LogError("The disk is full.")
        return await super().append(run, records, **how)


@pytest.mark.parametrize("refused", [NodeStarted, NodeEnded])
@pytest.mark.parametrize("make", [_tool, _workflow, _sequence], ids=["tool", "workflow", "legacy"])
async def test_a_log_that_fails_reaches_the_recorder(refused: type, make: Any) -> None:
    """Even where it failed inside a callback, which ADK would wrap: the run is stopped, and fails with it."""
    log, reports = _FullLog(refused), Reports()
    await log.open()
    runner = await new_runner(make() if refused is NodeStarted else _humming())
    recording, _ = recorder(runner, log, reports, message=say("go"))
    await asyncio.wait_for(recording.record(), PATIENCE)
    assert recording.ended is not None
    assert (recording.ended.outcome, recording.ended.code) == ("failed", "log-error")
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


# --------------------------------------------------------------------------- ADK's own lines


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What an operator's handler on ADK's logger is given."""
    got: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            got.append(record.getMessage())

    handler = Handler()
    logger = logging.getLogger("google_adk")
    logger.addHandler(handler)
    yield got
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


async def test_an_operator_reads_no_lines_that_he_did_not_ask_for(lines: list[str]) -> None:
    logging.getLogger("google_adk").setLevel(logging.INFO)
    await watch(await new_runner(agent("root", "Hello.")))
    assert [line for line in lines if line.startswith("node ")] == []


async def test_an_operator_reads_the_lines_that_he_asked_for(lines: list[str]) -> None:
    logging.getLogger("google_adk").setLevel(logging.DEBUG)
    seen = (await watch(await new_runner(agent("root", "Hello.")))).check()
    assert "node root@1 started." in lines
    assert [n.name for n in seen.starts] == ["root"]


async def test_the_logger_is_left_as_it_was_found() -> None:
    logger = logging.getLogger(NODE_LOGGER)
    SIGNALS.detach()
    logger.setLevel(logging.WARNING)
    SIGNALS.attach()
    assert logger.level == LEVEL
    SIGNALS.attach()
    assert logger.filters.count(SIGNALS) == 1
    SIGNALS.detach()
    assert logger.level == logging.WARNING
    assert SIGNALS not in logger.filters
    logger.setLevel(logging.NOTSET)


async def test_without_adks_lines_agents_and_tools_are_seen() -> None:
    """As where logging is switched off as a whole: functions are missed, the rest holds."""
    teller = agent("teller", "I tell.")
    hummer = agent("hummer", calling(Call("hum"), then="Done."), tools=[hum])
    runner = await new_runner(Workflow(name="flow", edges=[("START", _shout, hummer, teller)]))
    logging.disable(logging.DEBUG)
    try:
        seen = await watch(runner)
    finally:
        logging.disable(logging.NOTSET)
    assert [f"{n.kind} {n.name}" for n in seen.starts] == [
        "agent hummer",
        "tool hum",
        "agent teller",
    ]
    assert [seen.status(n) for n in ("hummer", "hum", "teller")] == ["finished"] * 3


async def test_without_adks_lines_a_failure_still_waits_for_its_event() -> None:
    root = agent("root", lambda request: Turn((Say("I say it."), Fail(ValueError("x")))))
    runner = await new_runner(root)
    logging.disable(logging.DEBUG)
    try:
        seen = await watch(runner)
    finally:
        logging.disable(logging.NOTSET)
    assert seen.story == ["> agent root", "root: ValueError", "< root failed ValueError"]


def _shout(node_input: Any) -> str:
    return str(node_input).upper()
