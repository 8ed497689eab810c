"""Run again: the same message with another model or instruction, tools answered from the recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Context, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.events import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.sessions.session import Session
from google.adk.tools import (
    AgentTool,
    BaseTool,
    FunctionTool,
    LongRunningFunctionTool,
    ToolContext,
    exit_loop,
)
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.workflow import START, FunctionNode, Workflow
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.security.people import BOB, ROOT, headers, house
from tests.server.local_server import APP, LocalServer, agent, local_server

from adk_prism.adk.client_tools import client_tool
from adk_prism.adk.request import REPEATS
from adk_prism.log.entry import RunEnded, RunStarted

Json = dict[str, Any]


async def rerun(server: LocalServer, run: str, **body: Any) -> Json:
    """Run a message again, and return the answer when it is over."""
    answer = await server.client.post(f"/api/runs/{run}/rerun", json=body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    assert answer.headers["x-prism-run"] == found["run"] == found["runs"][0]
    return found


async def refused(server: LocalServer, run: str, status: int, **body: Any) -> str:
    answer = await server.client.post(f"/api/runs/{run}/rerun", json=body)
    assert answer.status_code == status, answer.text
    return str(answer.json()["detail"])


async def ending(server: LocalServer, run: str) -> RunEnded:
    end = (await server.entries(run))[-1].record
    assert isinstance(end, RunEnded)
    return end


async def answers(server: LocalServer, run: str) -> list[Json]:
    """Return the results of a run's calls, in order."""
    parts = [
        p for e in await server.events(run) for p in (e.get("content") or {}).get("parts") or []
    ]
    return [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]


async def said(server: LocalServer, run: str) -> str:
    events = [e for e in await server.events(run) if e.get("content")]
    return str(events[-1]["content"]["parts"][-1].get("text") or "").strip()


async def differs(server: LocalServer, found: Json) -> list[str]:
    both = {"a": found["recorded"][0], "b": found["runs"][0]}
    answer = await server.client.get("/api/compare", params=both)
    assert answer.status_code == 200, answer.text
    compared: list[str] = answer.json()["differs"]
    return compared


def writer(file: Path) -> Callable[..., Json]:
    """Return a tool with effects: a file, state, an artifact."""

    async def write(text: str, mode: str, tool_context: ToolContext) -> Json:
        """Write a file."""
        with file.open("a") as opened:
            opened.write(text)
        tool_context.state["written"] = text
        part = types.Part(inline_data=types.Blob(data=text.encode(), mime_type="text/plain"))
        return {"version": await tool_context.save_artifact("copy.txt", part), "mode": mode}

    return write  # type: ignore[return-value] # ADK awaits it


async def test_a_tool_is_answered_and_not_called(tmp_path: Path) -> None:
    """Its file is not written again; its state and artifact are in the new session, and nowhere else."""
    file = tmp_path / "out.txt"
    model = Scripted.saying(
        call("write", "w1", text="a", mode="x"),
        "Written.",
        call("write", "w9", mode="x", text="a"),
        "Done!",
    )
    async with local_server(agent(model, tools=[writer(file)])) as server:
        run = await server.say("write")
        assert file.read_text() == "a"
        found = await rerun(server, run)
        assert file.read_text() == "a"
        assert found["recorded"] == [run]
        assert await answers(server, found["run"]) == [{"version": 0, "mode": "x"}]
        assert (await server.session(found["session"]))["state"] == {"written": "a"}
        where = f"/apps/{APP}/users/user/sessions/{found['session']}/artifacts/copy.txt"
        assert (await server.client.get(where)).json()["inlineData"]["data"] == "YQ=="
        assert await differs(server, found) == ["answer"]
        head = (await server.entries(found["run"]))[0].record
        assert isinstance(head, RunStarted)
        repeats = REPEATS.read(head)
        assert repeats is not None
        assert repeats.run == run
        assert found["warnings"] == []


async def test_the_history_is_that_of_the_message() -> None:
    """What was said before is there, what came after is not; the state is that of the moment."""
    model = Scripted.saying(
        call("count", "c1"), "One.", call("count", "c2"), "Two.", call("count", "c3"), "Three."
    )
    async with local_server(agent(model)) as server:
        runs = [await server.say(text) for text in ("first", "second", "third")]
        model.then(call("count", "c4"), "Again.")
        found = await rerun(server, runs[1])
        texts = [p.text for c in model.requests[-2] for p in c.parts or [] if p.text]
        assert "first" in texts
        assert "second" in texts
        assert "third" not in texts
        assert await answers(server, found["run"]) == [{"count": 2}]
        assert (await server.session(found["session"]))["state"] == {"count": 2}
        assert (await server.session())["state"] == {"count": 3}


async def test_a_message_that_only_the_session_has() -> None:
    """Of a run without a log, the session's events are the recording; shared state stays as it is."""
    turns = (call("share", "s", text="a"), "Told.")
    model = Scripted.saying(*turns * 2)
    async with local_server(agent(model)) as server:
        where = {"app_name": APP, "user_id": "user", "session_id": "far"}
        await server.runner.session_service.create_session(**where)
        said_there = {"user_id": "user", "session_id": "far"}
        async for _ in server.runner.run_async(new_message=types.UserContent("hi"), **said_there):
            pass
        listed = {"app": APP, "user": "user", "session": "far"}
        [run] = (await server.client.get("/api/runs", params=listed)).json()
        found = await rerun(server, run["run"])
        assert await differs(server, found) == []
        assert (await server.session(found["session"]))["state"]["user:told"] == "a"


async def test_equal_calls_are_answered_in_order_and_one_more_fails() -> None:
    """Two side by side and one after them; a fourth has no answer, and the tool is not called for it."""
    model = Scripted.saying(
        [call("count", "a"), call("count", "b")],
        call("count", "c"),
        "Three.",
        [call("count", "d"), call("count", "e")],
        call("count", "f"),
        call("count", "g"),
        "Never said.",
    )
    async with local_server(agent(model)) as server:
        found = await rerun(server, await server.say("count"))
        given = await answers(server, found["run"])
        assert given[:3] == [{"count": 1}, {"count": 2}, {"count": 3}]
        assert given[3]["error"].startswith("Call not recorded: count({}).")
        end = await ending(server, found["run"])
        assert (end.outcome, end.code) == ("failed", "call-not-recorded")
        assert len(model.requests) == 6, "the model was not asked again"
        assert (await server.session(found["session"]))["state"]["count"] == 3


async def test_a_call_with_other_arguments_fails_with_its_name_and_arguments() -> None:
    """The text is bounded; an app's own callback for errors of tools cannot hide it."""
    big = "x" * 5000
    model = Scripted.saying(
        call("note", "n1", text="one"), "Noted.", call("note", "n2", text=big), "Fine."
    )
    hides = agent(model, on_tool_error_callback=lambda **_: {"fine": True})
    async with local_server(hides) as server:
        found = await rerun(server, await server.say("note"))
        [error] = await answers(server, found["run"])
        assert error["error"].startswith('Call not recorded: note({"text":"xxx')
        assert "only with other arguments (1 times)" in error["error"]
        assert len(error["error"]) < 500
        assert (await ending(server, found["run"])).outcome == "failed"


async def test_live_tools_are_called() -> None:
    """On request only."""
    model = Scripted.saying(
        call("count", "c1"), "One.", call("count", "c2"), call("count", "c3"), "!"
    )
    async with local_server(agent(model)) as server:
        found = await rerun(server, await server.say("count"), tools="live")
        assert await answers(server, found["run"]) == [{"count": 1}, {"count": 2}]
        assert (await ending(server, found["run"])).outcome == "finished"


async def test_shared_state_of_a_recorded_tool_is_not_stored_again() -> None:
    """The run sees it; the user and the app keep what they have."""
    model = Scripted.saying(
        call("share", "s1", text="old"), "Told.", call("share", "s2", text="new"), "!"
    )
    seen: list[Json] = []

    def look(callback_context: Any, llm_request: Any) -> None:
        del llm_request
        seen.append(dict(callback_context.state.to_dict()))

    async with local_server(agent(model, before_model_callback=look)) as server:
        run = await server.say("share")
        await server.say("share newer", session="other")
        model.then(call("share", "s3", text="old"), "Again.")
        found = await rerun(server, run)
        assert "user:told" not in seen[-2], "it came after the message"
        assert seen[-1]["user:told"] == "old"
        state = (await server.session(found["session"]))["state"]
        assert (state["told"], state["user:told"], state["app:told"]) == ("old", "new", "new")


# ---------------------------------------------------------------------- changes


async def test_model_and_instruction_reach_the_model_and_not_the_app() -> None:
    """What the model was asked shows both; the app that is served stays as it was."""
    other = Scripted.saying("As told.")
    other.model = "other"
    child = LlmAgent(name="child", model=other, instruction="Help.", description="Helps.")
    root = agent(Scripted.saying("Hello."), instruction=lambda _: "From code.", sub_agents=[child])
    async with local_server(root, model_calls="full") as server:
        run = await server.say("hi")
        found = await rerun(server, run, model="other", instructions={"agent": "Speak as told."})
        [made] = (await server.client.get(f"/api/runs/{found['run']}/model-calls")).json()
        assert made["model"] == "other"
        assert "Speak as told." in made["request"]["config"]["systemInstruction"]
        assert await said(server, found["run"]) == "As told."
        compared = await differs(server, found)
        assert "answer" in compared
        assert "requests" in compared
        head = (await server.entries(found["run"]))[0].record
        assert isinstance(head, RunStarted)
        repeats = REPEATS.read(head)
        assert repeats is not None
        assert (repeats.model, repeats.instructions) == ("other", ["agent"])
        assert {each.model for each in head.agents} == {"other"}
        assert root.model is not other
        assert callable(root.instruction)
        assert child.parent_agent is root
        assert root.sub_agents == [child]


def nested(model: Scripted, file: Path) -> LlmAgent:
    """Return an agent whose tool is an agent with a tool, without the plugins of the app."""
    helper = LlmAgent(name="helper", model=model, tools=[writer(file)], instruction="Help.")
    return LlmAgent(name="agent", model=model, tools=[AgentTool(helper, include_plugins=False)])


async def test_an_agent_in_a_tool_runs_with_its_tools_answered(tmp_path: Path) -> None:
    """The child is asked again, with the change; what it calls is answered from the child's events."""
    file = tmp_path / "out.txt"
    turns = (
        call("helper", "h", request="go"),
        call("write", "w", text="a", mode="x"),
        "Did.",
        "All.",
    )
    helper_with = Scripted.saying(*turns, *turns)
    root = nested(helper_with, file)
    root.tools = [AgentTool(root.tools[0].agent)]  # type: ignore[union-attr] # recorded with its events
    async with local_server(root, model_calls="full") as server:
        run = await server.say("go")
        found = await rerun(server, run, instructions={"helper": "Help less."})
        assert file.read_text() == "a"
        assert (await ending(server, found["run"])).outcome == "finished"
        calls = (await server.client.get(f"/api/runs/{found['run']}/model-calls")).json()
        helped = [each for each in calls if each["agent"] == "helper"]
        assert len(helped) == 2
        assert "Help less." in helped[0]["request"]["config"]["systemInstruction"]


async def test_an_agent_in_a_tool_without_plugins_calls_nothing(tmp_path: Path) -> None:
    """Its calls are not in the recording, so that they fail; they are not made unseen."""
    file = tmp_path / "out.txt"
    turns = (
        call("helper", "h", request="go"),
        call("write", "w", text="a", mode="x"),
        "Did.",
        "All.",
    )
    async with local_server(nested(Scripted.saying(*turns, *turns), file)) as server:
        found = await rerun(server, await server.say("go"))
        assert file.read_text() == "a"
        end = await ending(server, found["run"])
        assert (end.outcome, end.code) == ("failed", "call-not-recorded")


async def test_workflows_and_their_tools(tmp_path: Path) -> None:
    """An agent and a tool that are nodes: the agent is changed, the tool is answered."""
    file = tmp_path / "out.txt"

    def keep(tool_context: ToolContext) -> Json:
        """Write a file."""
        with file.open("a") as opened:
            opened.write("k")
        tool_context.state["kept"] = True
        return {"kept": 1}

    first, last = Scripted.saying("{}", "{}"), Scripted.saying("End.", "Other end.")
    one = LlmAgent(name="one", model=first, instruction="One.")
    two = LlmAgent(name="two", model=last, instruction="Two.")
    flow = Workflow(name="flow", edges=[(START, one, FunctionTool(keep), two)])
    async with local_server(flow, model_calls="full") as server:
        run = await server.say("go")
        assert file.read_text() == "k"
        found = await rerun(server, run, instructions={"two": "Three."})
        assert file.read_text() == "k"
        assert (await ending(server, found["run"])).outcome == "finished"
        assert (await server.session(found["session"]))["state"]["kept"] is True
        calls = (await server.client.get(f"/api/runs/{found['run']}/model-calls")).json()
        assert calls[-1]["request"]["config"]["systemInstruction"].startswith("Three.")


class Tools(BaseToolset):
    """A set of tools that is only known when the agent runs."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__()
        self._functions = functions

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        del readonly_context
        return [FunctionTool(each) for each in self._functions]


async def test_older_agents_loops_and_toolsets() -> None:
    """Side by side, in a loop that a tool of ADK ends; equal calls of two agents keep their answers."""
    called: list[str] = []

    def look(tool_context: ToolContext) -> Json:
        """Look."""
        called.append(tool_context.agent_name)
        return {"seen": tool_context.agent_name, "nth": len(called)}

    def looking(name: str) -> LlmAgent:
        turns = (call("look", f"{name}1"), f"{name} looked.")
        return LlmAgent(name=name, model=Scripted.saying(*turns * 4), tools=[Tools(look)])

    judge = (call("exit_loop", "x"),)
    once = ("Again.", *judge)
    ending_agent = LlmAgent(name="judge", model=Scripted.saying(*once * 2), tools=[exit_loop])
    both = ParallelAgent(name="both", sub_agents=[looking("left"), looking("right")])
    loop = LoopAgent(name="loop", max_iterations=5, sub_agents=[both, ending_agent])
    async with local_server(loop) as server:
        run = await server.say("look")
        assert sorted(called) == ["left", "left", "right", "right"]
        found = await rerun(server, run)
        assert len(called) == 4
        assert await differs(server, found) == []
        assert (await ending(server, found["run"])).outcome == "finished"


async def test_callbacks_around_a_recorded_tool_are_in_its_answer() -> None:
    """They are not applied twice; those before it, and other plugins, do not see the call."""
    seen: list[str] = []

    def before(**_: Any) -> None:
        seen.append("before")

    def after(tool_response: Json, **_: Any) -> Json:
        seen.append("after")
        return {"count": tool_response["count"] * 10}

    model = Scripted.saying(*(call("count", "c"), "Ten.") * 2)
    root = agent(model, before_tool_callback=before, after_tool_callback=after)
    async with local_server(root) as server:
        found = await rerun(server, await server.say("count"))
        assert await answers(server, found["run"]) == [{"count": 10}]
        assert seen == ["before", "after"]


async def test_an_agent_that_is_made_while_the_app_runs_is_named() -> None:
    """No change reaches it, and whoever compares has to know."""
    made = LlmAgent(name="made", model=Scripted.saying("Made.", "Made."))

    async def make(ctx: Context) -> None:
        await ctx.run_node(made, "go")

    other = Scripted.saying("First.", "First.")
    first = LlmAgent(name="first", model=other)
    flow = Workflow(
        name="flow", edges=[(START, first, FunctionNode(func=make, rerun_on_resume=True))]
    )
    async with local_server(flow, model_calls="full") as server:
        found = await rerun(server, await server.say("go"), model="scripted")
        assert found["warnings"] == ["Made while the app runs, with a model of their own: made."]


# ---------------------------------------------------------------------- answers of people and clients


def pay(amount: int, tool_context: ToolContext) -> Json:
    """Pay."""
    tool_context.state["paid"] = amount
    return {"paid": amount}


async def decide(server: LocalServer, run: str, approved: bool) -> str:
    events = await server.events(run)
    asked = [
        p["functionCall"]
        for e in events
        for p in (e.get("content") or {}).get("parts") or []
        if (p.get("functionCall") or {}).get("name") == "adk_request_confirmation"
    ]
    response = {
        "id": asked[-1]["id"],
        "name": asked[-1]["name"],
        "response": {"confirmed": approved},
    }
    return await server.post_run(
        newMessage={"role": "user", "parts": [{"functionResponse": response}]}
    )


@pytest.mark.parametrize("approved", [True, False])
async def test_a_recorded_decision_is_given_again(approved: bool) -> None:
    """Both runs of the message are run again; the second may be named, too."""
    turns = (call("pay", "p1", amount=5), "Paid or not.")
    model = Scripted.saying(*turns, *turns)
    root = agent(model, tools=[FunctionTool(pay, require_confirmation=True)])
    async with local_server(root) as server:
        first = await server.say("pay")
        second = await decide(server, first, approved)
        found = await rerun(server, second)
        assert found["recorded"] == [first, second]
        assert len(found["runs"]) == 2
        assert (await ending(server, found["runs"][0])).outcome == "waiting"
        assert (await ending(server, found["runs"][1])).outcome == "finished"
        assert await answers(server, found["runs"][1]) == await answers(server, second)
        state = (await server.session(found["session"]))["state"]
        assert state == ({"paid": 5} if approved else {})


async def test_a_question_without_a_recorded_answer_waits_and_cannot_be_answered() -> None:
    """To approve it later would call the tool of the app as it is served."""
    model = Scripted.saying(call("pay", "p1", amount=5), call("pay", "p2", amount=5))
    async with local_server(
        agent(model, tools=[FunctionTool(pay, require_confirmation=True)])
    ) as server:
        run = await server.say("pay")
        found = await rerun(server, run)
        assert (await ending(server, found["run"])).outcome == "waiting"
        [message] = [m for m in await server.messages(found["session"]) if m["role"] == "assistant"]
        [part] = [p for p in message["parts"] if p.get("toolCallId") == "p2"]
        part |= {"state": "approval-responded"}
        part["approval"] = {"id": part["approval"]["id"], "approved": True}
        body = {"id": found["session"], "messages": [message], "messageId": message["id"]}
        answer = await server.client.post(f"/api/chat/{APP}", json=body)
        assert answer.status_code == 409, answer.text
        assert "run again" in answer.json()["detail"]
        approval = part["approval"]["id"]
        response = {"id": approval, "name": "adk_request_confirmation"}
        said_yes = {"functionResponse": response | {"response": {"confirmed": True}}}
        where = {"appName": APP, "userId": "user", "sessionId": found["session"]}
        body = where | {"newMessage": {"role": "user", "parts": [said_yes]}}
        assert (await server.client.post("/run_sse", json=body)).status_code == 409
        assert "paid" not in (await server.session(found["session"]))["state"]


async def test_results_of_clients_and_of_long_running_tools_are_given_again() -> None:
    """One that had no answer at first, and one that had a first answer and then another."""
    started: list[str] = []

    def order(what: str) -> Json:
        """Order something."""
        started.append(what)
        return {"status": "ordered"}

    turns = (
        [call("locate", "l1"), call("order", "o1", what="tea")],
        "Wait.",
        "There.",
        "Delivered.",
    )
    model = Scripted.saying(*turns, *turns)
    tools = [client_tool("locate", "Where?", {"type": "object"}), LongRunningFunctionTool(order)]
    async with local_server(agent(model, tools=tools)) as server:
        first = await server.say("go")
        given = [("l1", "locate", {"place": "Rome"}), ("o1", "order", {"status": "delivered"})]
        for name, tool, response in given:
            answer = {"id": name, "name": tool, "response": response}
            await server.post_run(
                newMessage={"role": "user", "parts": [{"functionResponse": answer}]}
            )
        found = await rerun(server, first)
        assert started == ["tea"]
        assert len(found["runs"]) == len(found["recorded"]) == 3
        assert [(await ending(server, run)).outcome for run in found["runs"]] == [
            (await ending(server, run)).outcome for run in found["recorded"]
        ]


# ---------------------------------------------------------------------- refusals


async def test_what_cannot_be_run_again_is_refused() -> None:
    """With what was wrong, before anything happens: no session, no run."""
    one, twin = (LlmAgent(name=name, model=Scripted()) for name in ("one", "twin"))
    again = LlmAgent(name="twin", model=Scripted())
    root = SequentialAgent(
        name="root", sub_agents=[one, twin, SequentialAgent(name="s", sub_agents=[again])]
    )
    async with local_server(root) as server:
        run = await server.say("hi")
        before = len(await server.context.log.list())
        text = await refused(server, run, 422, instructions={"nobody": "x"})
        assert "'nobody'" in text
        assert "one, twin" in text
        assert "2 agents named" in await refused(server, run, 422, instructions={"twin": "x"})
        assert "knows no model" in await refused(server, run, 422, model="no-such-model")
        assert "scripted" in await refused(server, run, 422, model="no-such-model")
        await refused(server, run, 413, instructions={"one": "x" * (1024**2 + 1)})
        assert "NUL" in await refused(server, run, 400, instructions={"one": "\0"})
        await refused(server, run, 422, tools="both")
        await refused(server, "none", 404)
        where = {"appName": APP, "userId": "user", "sessionId": "chat", "stateDelta": {"a": 1}}
        changed = await server.client.post("/run_sse", json=where)
        state = changed.headers["x-prism-run"]
        assert "does not answer a message" in await refused(server, state, 422)
        recording = (await server.client.get(f"/api/runs/{run}/recording")).content
        kind = {"content-type": "application/jsonl"}
        sent = await server.client.post("/api/recordings", content=recording, headers=kind)
        copy = sent.json()["run"]
        assert "imported" in await refused(server, copy, 422)
        assert len(await server.context.log.list()) == before + 2
        said_there = {"role": "user", "parts": [{"text": "and now?"}]}
        later = (await server.fork(copy, 1, newMessage=said_there))["run"]
        await server.entries(later)
        assert "recorded elsewhere" in await refused(server, later, 422)


async def test_where_callers_are_known_it_is_for_administrators(tmp_path: Path) -> None:
    """An instruction decides what an app does: the owner of a run may not set it."""
    async with house(tmp_path) as made:
        path = f"/api/runs/{made.bobs.run}/rerun"
        answer = await made.client.post(path, json={}, headers=headers(BOB))
        assert answer.status_code == 403
        assert (await made.client.post(path, json={}, headers=headers(ROOT))).status_code == 200


async def test_the_same_key_is_one_rerun() -> None:
    """A client that lost its answer asks again, and gets the same runs."""
    async with local_server(agent(Scripted.saying("One.", "Two.", "Three."))) as server:
        run = await server.say("hi")
        key = {"idempotency-key": "k"}
        path = f"/api/runs/{run}/rerun"
        found = [(await server.client.post(path, json={}, headers=key)).json() for _ in range(2)]
        assert found[0]["runs"] == found[1]["runs"]


@pytest.mark.parametrize("is_beside", [False, True])
async def test_a_tool_that_failed_fails_again(*, is_beside: bool) -> None:
    """The run that failed in a tool ends as it did, and nothing is called, also beside another call."""
    called: list[str] = []

    def broken(text: str) -> Json:
        """Fail."""
        called.append(text)
        raise LookupError("synthetic")

    asked = [call("broken", "b1", text="x"), *([call("count", "n1")] if is_beside else [])]
    model = Scripted.saying(asked, asked)
    async with local_server(agent(model, tools=[broken])) as server:
        run = await server.say("go")
        before = await ending(server, run)
        found = await rerun(server, run)
        again = await ending(server, found["run"])
        assert (before.outcome, before.code) == ("failed", "LookupError")
        assert (again.outcome, again.code) == ("failed", "LookupError")
        assert called == ["x"]
        assert await answers(server, found["run"]) == []


async def test_a_tool_that_asks_and_goes_on_does_not_stop_the_rerun() -> None:
    """It gave a result beside its question, and the agent went on with that."""

    def ask(tool_context: ToolContext) -> Json:
        """Ask."""
        tool_context.request_confirmation(hint="Later?")
        return {"status": "asked"}

    turns = (call("ask", "a1"), "I have asked, and go on.")
    async with local_server(agent(Scripted.saying(*turns, *turns), tools=[ask])) as server:
        run = await server.say("go")
        found = await rerun(server, run)
        assert await said(server, found["run"]) == await said(server, run)
        assert await answers(server, found["run"]) == await answers(server, run)


async def test_equal_ids_of_agents_side_by_side() -> None:
    """Models that count their calls use the same ids: each agent gets its own answers again."""

    async def look(place: str) -> Json:
        """Look."""
        return {"seen": f"something {place}"}

    def worker(name: str) -> LlmAgent:
        turns = (call("look", "c1", place=name), f"{name} is done.")
        return LlmAgent(name=name, model=Scripted.saying(*turns, *turns), tools=[look])

    root = ParallelAgent(name="both", sub_agents=[worker("left"), worker("right")])
    async with local_server(root) as server:
        run = await server.say("go")
        found = await rerun(server, run)
        assert (await ending(server, found["run"])).outcome == "finished"
        seen = [sorted(str(a) for a in await answers(server, each)) for each in (run, found["run"])]
        assert seen[0] == seen[1]
        assert len(seen[0]) == 2


async def test_preloaded_memory_is_that_of_the_recording() -> None:
    """What the request held of ADK's memory then, not what a search would find now."""
    turns = ("Noted.", "Noted.")
    model = Scripted.saying(*turns)
    memory, root = InMemoryMemoryService(), agent(model, tools=[preload_memory_tool])
    async with local_server(root, memory=memory, model_calls="full") as server:
        await remember(memory, "earlier", "The boat is red.")
        run = await server.say("What colour is the boat?")
        await remember(memory, "later", "The boat was painted blue.")
        await rerun(server, run)
        texts = [
            "".join(part.text or "" for content in request for part in content.parts or ())
            for request in model.requests
        ]
        assert "red" in texts[0]
        assert texts[1] == texts[0]


async def remember(memory: InMemoryMemoryService, session: str, text: str) -> None:
    said = Event(author="user", content=types.UserContent(text))
    await memory.add_session_to_memory(
        Session(id=session, app_name=APP, user_id="user", events=[said])
    )
