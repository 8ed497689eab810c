"""Agents and tools are seen to start and end, in the order of causes, with the right parents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from google.adk.agents import (
    BaseAgent,
    Context,
    InvocationContext,
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext, exit_loop
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from tests.adk.recorded_runs import entries, raw, recorder, watch
from tests.adk.runs import Reports, new_runner, say
from tests.recordings.shapes import agent, calling

from adk_prism.adk.request import CallAnswer
from adk_prism.log.entry import Decision, NodeStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.models import Call, Fail, Pause, Say, Turn, read_conversation
from adk_prism.models import say as saying

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


class _Failing(BaseAgent):
    """Reports an error in an event of its own, which names no path, and may go on."""

    recovers: bool = False

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name, invocation_id=ctx.invocation_id, error_code="BOOM")
        if self.recovers:
            content = types.Content(role="model", parts=[types.Part(text="Fine.")])
            yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


@pytest.mark.parametrize(("recovers", "status"), [(False, "failed"), (True, "finished")])
@pytest.mark.parametrize("is_inside", [False, True])
async def test_an_error_event_of_a_custom_agent_fails_its_node(
    *, recovers: bool, status: str, is_inside: bool
) -> None:
    """Unless the agent says something else after it; the node that it runs in is not touched by it."""
    failing = _Failing(name="custom", recovers=recovers)
    root = SequentialAgent(name="root", sub_agents=[failing]) if is_inside else failing
    seen = await watch(await new_runner(root))
    assert f"< custom {status}" in " ".join(seen.story)


async def test_an_agent_with_a_tool() -> None:
    """The agent is around everything; the tool ends before its answer is told."""
    root = agent("root", calling(Call("add", {"a": 1, "b": 2}, "c1"), then="Three."), tools=[add])
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == [
        "> agent root",
        "root: text, call add",
        "> tool add",
        "< add finished",
        "root: answer add",
        "root: text",
        "< root finished",
    ]
    assert seen.node("add").call == "c1"
    assert seen.parents() == {"agent root": "", "tool add": "agent root"}
    assert seen.node("root").path == "root@1"


async def test_the_same_tool_again_is_its_next_iteration() -> None:
    """Starts are counted by name within the node around them."""

    def script(request: LlmRequest) -> Turn:
        answers = len(read_conversation(request).answers)
        return saying("Done.") if answers == 2 else Turn((Call("add", {"a": answers, "b": 1}),))

    seen = (await watch(await new_runner(agent("root", script, tools=[add])))).check()
    assert [n.iteration for n in seen.starts if n.name == "add"] == [1, 2]


async def test_tools_side_by_side() -> None:
    """Both stand in the agent, each with its call, and end in the order in which they are done."""

    async def wait(name: str, turns: int) -> dict[str, str]:
        """Wait a little."""
        for _ in range(turns):
            await asyncio.sleep(0)
        return {"waited": name}

    calls = (
        Call("wait", {"name": "a", "turns": 9}, "c1"),
        Call("wait", {"name": "b", "turns": 2}, "c2"),
    )
    root = agent("root", calling(*calls, then="Both."), tools=[wait])
    seen = (await watch(await new_runner(root))).check()
    assert [(n.call, n.parent) for n in seen.starts[1:]] == [("c1", "n1"), ("c2", "n1")]
    assert [end.node for end in seen.ends] == ["n3", "n2", "n1"]


# --------------------------------------------------------------------------- older composite roots


async def test_a_sequence_of_agents() -> None:
    steps = [agent("first", "One."), agent("second", "Two.")]
    root = SequentialAgent(name="steps", sub_agents=[*steps])
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == [
        "> workflow steps",
        "> agent first",
        "first: text",
        "< first finished",
        "> agent second",
        "second: text",
        "< second finished",
        "< steps finished",
    ]
    assert seen.parents()["agent second"] == "workflow steps"


async def test_agents_side_by_side() -> None:
    """Both run in the node around them, each in its own branch."""
    speakers = [agent("left", "One two three."), agent("right", "Uno dos tres.")]
    root = ParallelAgent(name="both", sub_agents=[*speakers])
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents() == {
        "workflow both": "",
        "agent left": "workflow both",
        "agent right": "workflow both",
    }
    assert [seen.node(name).branch for name in ("left", "right")] == ["both.left", "both.right"]
    assert seen.story[:3] == ["> workflow both", "> agent left", "> agent right"]
    assert seen.story[-1] == "< both finished"


async def test_the_rounds_of_a_loop_are_counted() -> None:
    def script(request: LlmRequest) -> Turn:
        said = sum(1 for content in request.contents if content.role == "model")
        return saying(f"Round {said + 1}.") if said < 2 else Turn((Call("exit_loop"),))

    rounds = agent("rounds", script, tools=[exit_loop])
    root = LoopAgent(name="circle", sub_agents=[rounds], max_iterations=5)
    seen = (await watch(await new_runner(root))).check()
    assert [line for line in seen.story if "rounds" in line and line[0] in "<>"] == [
        "> agent rounds",
        "< rounds finished",
        "> agent rounds#2",
        "< rounds#2 finished",
        "> agent rounds#3",
        "< rounds#3 finished",
    ]
    assert seen.parents()["tool exit_loop"] == "agent rounds#3"


async def test_an_agent_that_a_callback_answers_for_ends_when_the_next_begins() -> None:
    """ADK says nothing of the end of such an agent: it is inferred, and marked so."""

    def answer(callback_context: Context) -> types.Content:
        return types.ModelContent("Not today.")

    closed = agent("closed", "Never said.", before_agent_callback=answer)
    root = SequentialAgent(name="steps", sub_agents=[closed, agent("open", "Welcome.")])
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == [
        "> workflow steps",
        "> agent closed",
        "closed: text",
        "< closed finished~",
        "> agent open",
        "open: text",
        "< open finished",
        "< steps finished",
    ]


async def test_what_a_later_callback_says_still_belongs_to_the_agent() -> None:
    """Where ADK's node runner tells the end, it is after the agent's own last callback."""

    def remark(callback_context: Context) -> types.Content:
        callback_context.state["remarked"] = True
        return types.ModelContent("One more thing.")

    root = agent("root", "Hello.", after_agent_callback=remark)
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == ["> agent root", "root: text", "root: text", "< root finished"]


# --------------------------------------------------------------------------- other agents


async def test_a_transfer_ends_the_agent_that_hands_over() -> None:
    """The successor still stands below it, as its path says."""
    desk = agent("desk", "The desk speaks.", description="A desk.")
    handing = Turn((Call("transfer_to_agent", {"agent_name": "desk"}),))
    root = agent("front", lambda request: handing, sub_agents=[desk])
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == [
        "> agent front",
        "front: call transfer_to_agent",
        "> tool transfer_to_agent",
        "< transfer_to_agent finished",
        "front: answer transfer_to_agent",
        "< front finished",
        "> agent desk",
        "desk: text",
        "< desk finished",
    ]
    assert seen.parents()["agent desk"] == "agent front"


async def test_the_next_message_goes_to_the_agent_that_took_over() -> None:
    """Its path names agents that do not run: it stands alone then."""
    desk = agent("desk", "The desk speaks.", description="A desk.")
    handing = Turn((Call("transfer_to_agent", {"agent_name": "desk"}),))
    runner = await new_runner(agent("front", lambda request: handing, sub_agents=[desk]))
    await watch(runner)
    seen = (await watch(runner, run="run-2")).check()
    assert seen.story == ["> agent desk", "desk: text", "< desk finished"]
    assert seen.node("desk").parent == ""


async def test_specialists_side_by_side() -> None:
    """Each runs in the tool that calls it, and carries the call; so does one that is called twice."""
    echo = agent("echo", "I echo.", mode="single_turn", description="Echoes.")
    calls = (Call("echo", {"request": "a"}, "c1"), Call("echo", {"request": "b"}, "c2"))
    root = agent("caller", calling(*calls, then="Both."), sub_agents=[echo])
    seen = (await watch(await new_runner(root))).check()
    tools = {n.node: n.call for n in seen.starts if n.kind == "tool"}
    agents = [n for n in seen.starts if n.kind == "agent" and n.name == "echo"]
    assert sorted(tools.values()) == ["c1", "c2"]
    assert sorted(n.call for n in agents) == ["c1", "c2"]
    assert all(tools[n.parent] == n.call for n in agents)


async def test_a_specialist_that_fails_does_not_fail_its_caller() -> None:
    """ADK answers the call with the error; the tool has an answer, and the run goes on."""
    child = agent(
        "child",
        lambda request: Turn((Say("I try"), Fail(ValueError("synthetic")))),
        mode="single_turn",
        description="Fails.",
    )
    root = agent(
        "parent", calling(Call("child", {"request": "x"}), then="So be it."), sub_agents=[child]
    )
    seen = (await watch(await new_runner(root))).check()
    assert seen.status("child", "agent") == "failed ValueError"
    assert seen.status("child", "tool") == "finished"
    assert seen.status("parent") == "finished"
    failed = seen.story.index("child: ValueError")
    assert seen.story[failed + 1] == "< child failed ValueError"


async def test_a_task_is_one_node_from_call_to_answer() -> None:
    """The agent that delegates is entered again for the answer, and stays one node."""

    def picker(request: LlmRequest) -> Turn:
        texts = [p.text for c in request.contents for p in c.parts or [] if p.text]
        return (
            Turn((Call("finish_task", {"result": "blue"}),))
            if "blue" in texts
            else saying("Which?")
        )

    def boss(request: LlmRequest) -> Turn:
        if read_conversation(request).answer("picker") is not None:
            return saying("Blue it is.")
        return Turn((Say("I ask."), Call("picker", {"request": "Find it"}, "c1")))

    child = agent("picker", picker, mode="task", description="Picks a colour.")
    runner = await new_runner(agent("boss", boss, sub_agents=[child]))
    asked = (await watch(runner, "paint it")).check()
    assert asked.story == [
        "> agent boss",
        "boss: text, call picker",
        "> agent picker",
        "picker: text",
        "< picker finished",
        "< boss finished",
    ]
    assert asked.node("picker").call == "c1"
    done = (await watch(runner, "blue", run="run-2")).check()
    assert done.story[0] == "> agent boss"
    assert done.story[-2:] == ["boss: text", "< boss finished"]
    assert done.parents()["agent picker"] == "agent boss"


async def test_a_task_beside_a_tool() -> None:
    """Here ADK runs the delegating tool, for nothing: it is open until the task has answered."""

    def boss(request: LlmRequest) -> Turn:
        if read_conversation(request).answer("picker") is not None:
            return saying("Done.")
        return Turn((Call("add", {"a": 1, "b": 2}), Call("picker", {"request": "x"}, "c1")))

    picker = agent(
        "picker",
        lambda request: Turn((Call("finish_task", {"result": "blue"}),)),
        mode="task",
        description="Picks.",
    )
    root = agent("boss", boss, tools=[FunctionTool(add)], sub_agents=[picker])
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents()["agent picker"] == "tool picker"
    assert seen.status("picker", "agent") == seen.status("picker", "tool") == "finished"
    answered = seen.story.index("boss: answer picker")
    assert seen.story[answered - 1] == "< picker finished"
    assert seen.status("boss") == "finished"


# --------------------------------------------------------------------------- hidden runs


async def test_agents_behind_tools_are_seen() -> None:
    """Their nodes and events stand below the tool; also when two of them run side by side."""

    def helper(name: str) -> LlmAgent:
        script = calling(Call("add", {"a": 1, "b": 2}), then=f"{name} is done.")
        return agent(name, script, description="Helps.", tools=[add])

    helpers = [AgentTool(helper("left")), AgentTool(helper("right"))]
    calls = (Call("left", {"request": "x"}, "c1"), Call("right", {"request": "y"}, "c2"))
    seen = (
        await watch(
            await new_runner(agent("root", calling(*calls, then="Both."), tools=[*helpers]))
        )
    ).check()
    for name, call in (("left", "c1"), ("right", "c2")):
        tool, inner = seen.node(name, "tool"), seen.node(name, "agent")
        assert (inner.parent, inner.call, tool.call) == (tool.node, call, call)
        adds = [n for n in seen.starts if n.name == "add" and n.parent == inner.node]
        assert len(adds) == 1
        told = [line for line in seen.story if line.startswith(f"({name}) ")]
        assert told == [
            f"({name}) {name}: text, call add",
            f"({name}) {name}: answer add",
            f"({name}) {name}: text",
        ]
        start, end = seen.story.index(f"> tool {name}"), seen.story.index(f"< {name} finished")
        assert all(start < seen.story.index(line) for line in told)
        assert end > seen.story.index(told[-2])


async def test_hidden_runs_nest() -> None:
    innermost = agent("inner", "Deep down.", description="Inner.")
    middle = agent(
        "middle",
        calling(Call("inner", {"request": "x"}, "c2"), then="Up again."),
        description="Middle.",
        tools=[AgentTool(innermost)],
    )
    root = agent(
        "root",
        calling(Call("middle", {"request": "x"}, "c1"), then="Top."),
        tools=[AgentTool(middle)],
    )
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents() == {
        "agent root": "",
        "tool middle": "agent root",
        "agent middle": "tool middle",
        "tool inner": "agent middle",
        "agent inner": "tool inner",
    }
    assert "(inner) inner: text" in seen.story


async def test_an_older_composite_behind_a_tool() -> None:
    steps = SequentialAgent(
        name="steps", description="Steps.", sub_agents=[agent("one", "1."), agent("two", "2.")]
    )
    root = agent(
        "root",
        calling(Call("steps", {"request": "x"}, "c1"), then="Done."),
        tools=[AgentTool(steps)],
    )
    seen = (await watch(await new_runner(root))).check()
    assert seen.parents() == {
        "agent root": "",
        "tool steps": "agent root",
        "workflow steps": "tool steps",
        "agent one": "workflow steps",
        "agent two": "workflow steps",
    }
    assert "(steps) two: text" in seen.story


async def test_an_exception_in_a_hidden_run() -> None:
    """The hidden agent, the tool and the agent above fail, each with its own end."""
    broken = agent("broken", lambda request: Turn((Fail(ValueError("x")),)), description="Breaks.")
    root = agent(
        "root", calling(Call("broken", {"request": "x"}), then="Never."), tools=[AgentTool(broken)]
    )
    seen = (await watch(await new_runner(root))).check()
    assert seen.ended.outcome == "failed"
    assert seen.status("broken", "agent") == "failed ValueError"
    assert seen.status("broken", "tool") == "failed ValueError"
    assert seen.status("root") == "failed ValueError"


# --------------------------------------------------------------------------- people


def pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


@pytest.mark.parametrize(("approved", "status"), [(True, "finished"), (False, "cancelled")])
async def test_a_tool_that_asks_a_person_waits(approved: bool, status: str) -> None:
    """So does its agent. In the run that goes on, the tool runs, or is refused."""
    gated = FunctionTool(pay, require_confirmation=True)
    runner = await new_runner(
        agent("root", calling(Call("pay", {"amount": 5}, "c1"), then="Done."), tools=[gated]),
        resumable=True,
    )
    asked = (await watch(runner)).check()
    assert asked.status("pay") == asked.status("root") == "waiting"
    assert asked.ended.outcome == "waiting"
    decision = Decision(approval=asked.asked(), approved=approved)
    done = (await watch(runner, run="run-2", decisions=[decision])).check()
    assert done.story == [
        "> agent root",
        "> tool pay",
        f"< pay {status}",
        "root: answer pay",
        "root: text",
        "< root finished",
    ]
    assert done.node("pay").call == "c1"


async def test_a_question_inside_a_specialist_makes_all_around_it_wait() -> None:
    clerk = agent(
        "clerk",
        calling(Call("pay", {"amount": 5}), then="Paid."),
        mode="single_turn",
        description="Pays.",
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    root = agent("boss", calling(Call("clerk", {"request": "x"}), then="Done."), sub_agents=[clerk])
    runner = await new_runner(root, resumable=True)
    asked = (await watch(runner)).check()
    assert [line for line in asked.story if line.startswith("<")] == [
        "< pay waiting",
        "< clerk waiting",
        "< clerk waiting~",
        "< boss waiting",
    ]
    decision = Decision(approval=asked.asked(), approved=True)
    done = (await watch(runner, run="run-2", decisions=[decision])).check()
    assert done.ended.outcome == "finished"
    assert done.status("boss") == "finished"


async def test_a_tool_of_the_client_waits_and_one_with_a_ticket_is_done() -> None:
    def locate() -> None:
        """Ask the device."""

    def order() -> dict[str, str]:
        """Order."""
        return {"ticket": "1"}

    tools = [LongRunningFunctionTool(locate), LongRunningFunctionTool(order)]
    root = agent(
        "root", calling(Call("locate", {}, "c1"), Call("order"), then="Done."), tools=tools
    )
    runner = await new_runner(root, resumable=True)
    seen = (await watch(runner)).check()
    assert (seen.status("locate"), seen.status("order")) == ("waiting", "finished")
    assert seen.status("root") == "waiting"
    answer = CallAnswer(call="c1", name="locate", response=raw({"city": "Porto"}))
    done = (await watch(runner, run="run-2", answers=[answer])).check()
    assert done.story == ["> agent root", "root: text", "< root finished"]


async def test_an_agent_beside_one_that_waits_is_cancelled() -> None:
    """ADK cancels the siblings of a run that waits."""
    payer = agent(
        "payer",
        calling(Call("pay", {"amount": 5}), then="Paid."),
        mode="single_turn",
        description="Pays.",
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    talker = agent(
        "talker",
        lambda request: Turn((Say("I talk "), Pause(5), Say("and talk."))),
        mode="single_turn",
        description="Talks.",
    )
    calls = (Call("payer", {"request": "x"}), Call("talker", {"request": "x"}))
    root = agent("boss", calling(*calls, then="Done."), sub_agents=[payer, talker])
    seen = (await watch(await new_runner(root, resumable=True))).check()
    assert seen.status("talker", "agent") == "cancelled"
    assert seen.status("talker", "tool") == "cancelled"
    assert seen.status("payer", "agent") == "waiting"
    assert seen.status("boss") == "waiting"


# --------------------------------------------------------------------------- failures


async def test_an_exception_in_a_tool() -> None:
    def broken() -> None:
        """Break."""
        raise OSError("synthetic")

    root = agent("root", calling(Call("broken"), then="Never."), tools=[broken])
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == [
        "> agent root",
        "root: text, call broken",
        "> tool broken",
        "< broken failed OSError",
        "root: OSError",
        "< root failed OSError",
    ]


async def test_a_tool_that_answers_with_an_error_has_failed() -> None:
    def find(number: int) -> dict[str, str]:
        """Find."""
        return {"error": "There is none."}

    root = agent("root", calling(Call("find", {"number": 7}), then="None."), tools=[find])
    seen = (await watch(await new_runner(root))).check()
    assert (seen.status("find"), seen.status("root")) == ("failed", "finished")


async def test_an_unknown_tool_has_failed() -> None:
    root = agent("root", calling(Call("nothing"), then="There is none."), tools=[add])
    seen = (await watch(await new_runner(root))).check()
    assert seen.status("nothing").startswith("failed")
    assert seen.status("root") == "finished"


async def test_an_agents_failure_comes_after_its_last_words() -> None:
    """ADK tells of it before the pieces that were streamed are out."""
    words = Say("I say many words before it happens.")
    root = agent("root", lambda request: Turn((words, Fail(ConnectionError("synthetic")))))
    seen = (await watch(await new_runner(root))).check()
    assert seen.story == ["> agent root", "root: ConnectionError", "< root failed ConnectionError"]


async def test_failures_below_an_older_root_are_told_with_the_end_of_the_run() -> None:
    """There is no error event: the Runner just raises."""
    broken = agent("broken", lambda request: Turn((Say("I begin"), Fail(ValueError("synthetic")))))
    seen = (
        await watch(await new_runner(SequentialAgent(name="steps", sub_agents=[broken])))
    ).check()
    assert seen.story == [
        "> workflow steps",
        "> agent broken",
        "< broken failed ValueError",
        "< steps failed ValueError",
    ]
    assert seen.ended.outcome == "failed"


async def test_a_model_that_was_cut_off_has_not_failed() -> None:
    """ADK writes the finish reason into the error code."""
    cut = Turn((Say("Cut off in the mid"),), finish_reason=types.FinishReason.MAX_TOKENS)
    seen = (await watch(await new_runner(agent("root", lambda request: cut)))).check()
    assert seen.status("root") == "finished"


async def test_a_start_is_written_before_what_starts_goes_on() -> None:
    log = MemoryLog()
    await log.open()
    found: list[str] = []

    async def look(tool_context: ToolContext) -> dict[str, bool]:
        """Look."""
        found.extend(e.record.name for e in await entries(log) if isinstance(e.record, NodeStarted))
        return {"ok": True}

    runner = await new_runner(agent("root", calling(Call("look"), then="Seen."), tools=[look]))
    recording, _ = recorder(runner, log, Reports(), message=say("go"))
    await recording.record()
    assert found == ["root", "look"]
