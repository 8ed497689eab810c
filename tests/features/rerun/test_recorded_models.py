"""Run again without a model: requests are compared with those of the recording, and answered from it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from google.adk.agents import Context, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.planners import PlanReActPlanner
from google.adk.tools import AgentTool, FunctionTool, ToolContext
from google.adk.workflow import START, FunctionNode, Workflow
from google.genai import types
from pydantic import BaseModel
from tests.adk.scripted import Scripted, call
from tests.features.rerun.test_rerun import answers, differs, ending, refused, rerun, said
from tests.server.local_server import LocalServer, agent
from tests.server.local_server import local_server as any_server

from adk_prism.adk.client_tools import client_tool
from adk_prism.log.entry import AgentEvent

Json = dict[str, Any]
local_server = partial(any_server, model_calls="full")


async def pieces(server: LocalServer, run: str) -> list[str]:
    """Return the texts of a run's partial events."""
    events = [
        json.loads(entry.record.event)
        for entry in await server.entries(run)
        if isinstance(entry.record, AgentEvent)
    ]
    return [e["content"]["parts"][0].get("text", "") for e in events if e.get("partial")]


async def check_same(server: LocalServer, run: str, calls: int, **body: Any) -> Json:
    """Run a message again from the recording, and see that nothing differs."""
    found = await rerun(server, run, models="recorded", **body)
    assert found["models"] == {"recorded": calls, "live": 0, "left": 0}, found
    assert await differs(server, found) == []
    assert found["warnings"] == []
    assert await pieces(server, found["run"]) == await pieces(server, run)
    return found


async def test_a_message_is_answered_without_the_model() -> None:
    """Also its tools, its state, and the pieces in which it was streamed."""
    model = Scripted.saying(call("count", "c1"), call("share", "s", text="x"), "There are two.")
    async with local_server(agent(model)) as server:
        run = await server.say("count")
        found = await check_same(server, run, 3)
        assert len(model.requests) == 3, "the model was not asked again"
        assert await said(server, found["run"]) == "There are two."
        assert await pieces(server, run) == ["There ", "are ", "two. "]


async def test_a_conversation_of_several_messages() -> None:
    """Each message is compared with its own history."""
    model = Scripted.saying("One.", call("count", "c"), "Two.", "Three.")
    async with local_server(agent(model)) as server:
        runs = [await server.say(text) for text in ("first", "second", "third")]
        for run, calls in zip(runs, (1, 2, 1), strict=True):
            await check_same(server, run, calls)
        assert len(model.requests) == 4


def research(model: Scripted) -> LlmAgent:
    """Return an agent that hands over to another, which has a helper in a tool."""
    helper = LlmAgent(name="helper", model=model, instruction="Help.")
    other = LlmAgent(
        name="other",
        model=model,
        description="Knows.",
        tools=[AgentTool(helper), *agent(model).tools],
    )
    return LlmAgent(name="root", model=model, sub_agents=[other])


async def test_transfers_and_agents_in_tools() -> None:
    """Each agent has its own calls."""
    model = Scripted.saying(
        call("transfer_to_agent", "t", agent_name="other"),
        call("helper", "h", request="help me"),
        "I helped.",
        call("count", "c"),
        "All done.",
    )
    async with local_server(research(model)) as server:
        await check_same(server, await server.say("go"), 5)
        assert len(model.requests) == 5


async def test_agents_side_by_side() -> None:
    """They ask at the same time; each gets the answers of its own branch."""

    def one(name: str) -> LlmAgent:
        model = Scripted.saying(call("count", f"c-{name}"), f"{name} counted.")
        return LlmAgent(name=name, model=model, tools=agent(model).tools)

    last = LlmAgent(name="last", model=Scripted.saying("Done."))
    both = ParallelAgent(name="both", sub_agents=[one("a"), one("b"), one("c")])
    async with local_server(SequentialAgent(name="root", sub_agents=[both, last])) as server:
        found = await rerun(server, await server.say("go"), models="recorded")
        assert found["models"] == {"recorded": 7, "live": 0, "left": 0}
        assert "answer" not in await differs(server, found)


class Weather(BaseModel):
    """An answer."""

    city: str
    degrees: int


async def test_structured_output_and_planners() -> None:
    """What they add to a request is compared; what they do with a response is done again."""
    model = Scripted.saying('{"city": "Kiel", "degrees": 9}')
    structured = LlmAgent(name="w", model=model, output_schema=Weather, output_key="weather")
    async with local_server(structured) as server:
        await check_same(server, await server.say("weather"), 1)
    model = Scripted.saying("/*PLANNING*/ I count. /*FINAL_ANSWER*/ One.")
    async with local_server(agent(model, planner=PlanReActPlanner())) as server:
        found = await rerun(server, await server.say("plan"), models="recorded")
        assert found["models"] == {"recorded": 1, "live": 0, "left": 0}
        assert await differs(server, found) == []


async def test_callbacks_that_change_requests_and_responses() -> None:
    """The request is compared after all of them; the response goes through them as a live one does."""

    def ask(callback_context: Context, llm_request: LlmRequest) -> None:
        llm_request.append_instructions(["From the callback."])

    def shout(callback_context: Context, llm_response: Any) -> Any:
        parts = llm_response.content.parts
        parts[0].text = (parts[0].text or "") + "!"
        return llm_response

    model = Scripted.saying("Hello you.")
    root = agent(model, before_model_callback=ask, after_model_callback=shout)
    async with local_server(root) as server:
        run = await server.say("hi")
        found = await rerun(server, run, models="recorded")
        assert found["models"] == {"recorded": 1, "live": 0, "left": 0}
        assert await said(server, found["run"]) == await said(server, run) == "Hello you.!"


async def test_an_approval_and_a_client_tool_are_answered_as_recorded() -> None:
    """In new runs, as they were."""

    def pay(amount: int) -> Json:
        """Pay."""
        return {"paid": amount}

    where = client_tool("where_am_i", "Where the user is.")
    model = Scripted.saying(call("pay", "p", amount=3), call("where_am_i", "w"), "You are home.")
    root = LlmAgent(
        name="agent", model=model, tools=[FunctionTool(pay, require_confirmation=True), where]
    )
    async with local_server(root) as server:
        run = await server.say("pay and tell")
        asked = next(
            part["functionCall"]["id"]
            for event in await server.events(run)
            for part in event["content"]["parts"]
            if part.get("functionCall", {}).get("name") == "adk_request_confirmation"
        )
        for name, call_id, response in (
            ("adk_request_confirmation", asked, {"confirmed": True}),
            ("where_am_i", "w", {"place": "home"}),
        ):
            answer = {"id": call_id, "name": name, "response": response}
            await server.post_run(
                newMessage={"role": "user", "parts": [{"functionResponse": answer}]}
            )
        found = await rerun(server, run, models="recorded")
        assert found["models"] == {"recorded": 3, "live": 0, "left": 0}, found
        assert len(found["runs"]) == len(found["recorded"]) == 3
        assert await said(server, found["runs"][-1]) == "You are home."


async def test_a_model_that_failed_fails_again() -> None:
    """With the same code; a callback that had handled the error handles it again."""
    model = Scripted.saying(ValueError("secret text"))
    async with local_server(agent(model)) as server:
        found = await rerun(server, await server.say("fail"), models="recorded")
        assert await differs(server, found) == []
        end = await ending(server, found["run"])
        assert (end.outcome, end.code) == ("failed", "ValueError")

    def handle(callback_context: Any, llm_request: Any, error: Exception) -> Any:
        from google.adk.models.llm_response import LlmResponse

        return LlmResponse(content=types.ModelContent("Sorry."))

    model = Scripted.saying(ValueError("secret text"))
    async with local_server(agent(model, on_model_error_callback=handle)) as server:
        found = await rerun(server, await server.say("fail"), models="recorded")
        assert await said(server, found["run"]) == "Sorry."
        assert await differs(server, found) == []


async def test_a_changed_instruction_ends_the_run_and_is_shown() -> None:
    """In `recorded`: at the first call of that agent; the calls before it are answered."""
    model = Scripted.saying(call("count", "c1"), "One.", "Two, live.")
    async with local_server(agent(model, instruction="Be brief.\nBe kind.")) as server:
        run = await server.say("count")
        changed = {"agent": "Be brief.\nBe rude."}
        found = await rerun(server, run, models="recorded", instructions=changed)
        difference = found["models"]["difference"]
        assert difference["status"] == "changed"
        assert (difference["agent"], difference["call"], difference["run"]) == ("agent", 1, run)
        [part] = difference["parts"]
        assert part["part"] == "instruction"
        assert "Be kind." in part["before"]
        assert "Be rude." in part["after"]
        assert "Call 1 of agent differs from the recording in: instruction." in found["warnings"]
        end = await ending(server, found["run"])
        assert (end.outcome, end.code) == ("failed", "call-not-recorded")
        assert len(model.requests) == 2


async def test_auto_goes_on_live_from_the_first_call_that_differs() -> None:
    """The calls before it are not asked again."""
    model = Scripted.saying(call("count", "c1"), "One.")
    later = {"text": "Be brief."}
    root = agent(
        model, instruction=lambda context: later["text"] if context.state.get("count") else ""
    )
    async with local_server(root) as server:
        run = await server.say("count")
        later["text"] = "Be long."
        model.then("One, and much more.")
        found = await rerun(server, run, models="auto")
        assert (found["models"]["recorded"], found["models"]["live"]) == (1, 1)
        assert found["models"]["difference"]["call"] == 2
        assert await said(server, found["run"]) == "One, and much more."
        assert len(model.requests) == 3


async def test_until_a_cursor() -> None:
    """The call at the cursor is the last that is answered from the recording."""
    model = Scripted.saying(call("count", "c1"), call("count", "c2"), "Two.")
    async with local_server(agent(model)) as server:
        run = await server.say("count")
        calls = (await server.client.get(f"/api/runs/{run}/model-calls")).json()
        model.then("Live.")
        found = await rerun(server, run, models="auto", until=calls[1]["cursor"])
        assert (found["models"]["recorded"], found["models"]["live"]) == (2, 1)
        assert await said(server, found["run"]) == "Live."
        found = await rerun(server, run, models="recorded", until=calls[0]["cursor"])
        assert found["models"]["difference"]["status"] == "over"
        assert found["models"]["recorded"] == 1


async def test_without_a_key_auto_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of Gemini's, recorded with an answer of a plugin's."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    model = Scripted.saying("Hello.")
    root = agent(model, instruction="One.")
    async with local_server(root) as server:
        run = await server.say("hi")
        body = {"models": "auto", "model": "gemini-2.5-flash", "instructions": {"agent": "Two."}}
        found = await rerun(server, run, **body)
        assert (found["models"]["recorded"], found["models"]["live"]) == (0, 0)
        assert any("there is no API key" in warning for warning in found["warnings"])
        names = [part["part"] for part in found["models"]["difference"]["parts"]]
        assert names == ["model", "instruction"]


async def test_a_clock_is_pointed_out_and_can_be_ignored() -> None:
    """By a rule of a name, or a regular expression; a rule that is none is refused."""
    now = {"time": "2026-01-01 10:00"}
    model = Scripted.saying("Morning.")
    async with local_server(agent(model, instruction=lambda _: f"It is {now['time']}.")) as server:
        run = await server.say("hi")
        now["time"] = "2026-03-04 11:12:13"
        found = await rerun(server, run, models="recorded")
        difference = found["models"]["difference"]
        assert difference["rules"] == ["clock"]
        assert "--ignore clock" in difference["detail"]
        assert "'2026-01-01 10:00', now '2026-03-04 11:12:13'" in difference["detail"]
        for rule in ("clock", r"It is [^.]*\."):
            found = await rerun(server, run, models="recorded", ignore=[rule])
            assert found["models"] == {"recorded": 1, "live": 0, "left": 0}
            assert await differs(server, found) == ["requests"]
        assert "is not a regular expression" in await refused(
            server, run, 400, models="recorded", ignore=["("]
        )


async def test_a_tool_that_changed_or_went_away() -> None:
    """Its declaration is part of the request."""
    model = Scripted.saying(call("count", "c1"), "One.")
    root = agent(model)
    async with local_server(root) as server:
        run = await server.say("count")
        kept = root.tools
        root.tools = kept[1:]
        found = await rerun(server, run, models="recorded")
        [part] = found["models"]["difference"]["parts"]
        assert (part["part"], part["after"]) == ("tools/count", "")
        root.tools = kept
        await check_same(server, run, 2)


async def test_an_agent_that_is_made_while_the_app_runs() -> None:
    """It has no copy, and is answered all the same."""
    model = Scripted.saying("Made.")

    async def make(ctx: Context) -> AsyncIterator[Event]:
        made = LlmAgent(name="made", model=model, instruction="Say.", mode="single_turn")
        yield Event(output=await ctx.run_node(made, "go"))

    flow = Workflow(name="flow", edges=[(START, FunctionNode(func=make, rerun_on_resume=True))])
    async with local_server(flow) as server:
        run = await server.say("go")
        found = await rerun(server, run, models="recorded")
        assert found["models"] == {"recorded": 1, "live": 0, "left": 0}
        assert len(model.requests) == 1


async def test_recordings_that_do_not_have_the_requests() -> None:
    """What to do is said."""
    async with any_server(agent(Scripted.saying("Hi.")), model_calls="summary") as server:
        detail = await refused(server, await server.say("hi"), 422, models="recorded")
        assert "--model-calls full" in detail
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        run = await server.say("hi")
        assert "another model" in await refused(
            server, run, 422, models="recorded", model="scripted"
        )
        assert "`models` must be" in await refused(server, run, 422, until=3)
        assert "`models` must be" in await refused(server, run, 422, ignore=["clock"])


async def test_one_call_more_than_was_recorded() -> None:
    """It is unknown: there is nothing to compare it with."""
    again = {"more": False}

    model = Scripted.saying("First.")
    first = LlmAgent(name="first", model=model)
    second = LlmAgent(
        name="second",
        model=model,
        before_agent_callback=lambda callback_context: (
            None if again["more"] else types.ModelContent("skipped")
        ),
    )
    async with local_server(SequentialAgent(name="root", sub_agents=[first, second])) as server:
        run = await server.say("go")
        again["more"] = True
        found = await rerun(server, run, models="recorded")
        difference = found["models"]["difference"]
        assert (difference["status"], difference["agent"]) == ("unknown", "second")
        assert found["models"]["recorded"] == 1


async def test_live_tools_with_recorded_models() -> None:
    """Tools are called; if one gives something else, the next request differs."""
    given = {"n": 1}

    def roll() -> Json:
        """Roll."""
        return dict(given)

    model = Scripted.saying(call("roll", "r"), "Rolled.")
    async with local_server(agent(model, tools=[roll])) as server:
        run = await server.say("roll")
        await check_same(server, run, 2, tools="live")
        given["n"] = 2
        found = await rerun(server, run, models="recorded", tools="live")
        difference = found["models"]["difference"]
        assert (difference["call"], difference["parts"][0]["part"]) == (2, "contents/2")
        assert difference["rules"] == ["number"]
        assert (await ending(server, found["run"])).outcome == "failed"
        assert await answers(server, found["run"]) == [{"n": 2}]


async def test_going_on_live_calls_tools_that_have_no_answer() -> None:
    """What was recorded is not done again; what was not is done, and callbacks see its result."""
    called: list[int] = []
    seen: list[str] = []

    def add(number: int) -> Json:
        """Add."""
        called.append(number)
        return {"sum": number}

    later = {"text": "Be brief."}
    model = Scripted.saying(call("count", "c"), call("add", "a1", number=1), "One.")
    root = agent(
        model,
        tools=[add],
        instruction=lambda context: later["text"] if context.state.get("count") else "Count.",
        after_tool_callback=lambda tool, **_: seen.append(tool.name),
    )
    async with local_server(root) as server:
        run = await server.say("add")
        assert (called, seen) == ([1], ["count", "add"])
        later["text"] = "Be long."
        model.then(call("add", "a2", number=1), call("add", "a3", number=2), "Two.")
        found = await rerun(server, run, models="auto", tools="auto")
        assert (found["models"]["recorded"], found["models"]["live"]) == (1, 3)
        assert await answers(server, found["run"]) == [{"count": 1}, {"sum": 1}, {"sum": 2}]
        assert called == [1, 2]
        assert seen == ["count", "add", "add"]
        assert await said(server, found["run"]) == "Two."


async def test_a_response_that_was_too_large_is_not_given_in_part() -> None:
    """The run ends there and says so; `auto` asks the model."""
    model = Scripted.saying("x" * 2_000_000)
    async with local_server(agent(model)) as server:
        run = await server.say("write much")
        found = await rerun(server, run, models="recorded")
        assert found["models"]["difference"]["status"] == "lost"
        assert "too large to be kept whole" in found["models"]["difference"]["detail"]
        model.then("Short.")
        found = await rerun(server, run, models="auto")
        assert await said(server, found["run"]) == "Short."


async def test_a_long_message_and_a_secret_are_compared_as_they_are_kept() -> None:
    """Cut and redacted requests are the same again."""
    secret = "sk-proj-Zx81kQw92LmN4pRt6Vy7Bc3D"
    model = Scripted.saying("Read.", "Done.")
    async with local_server(agent(model, instruction=f"api_key={secret}")) as server:
        runs = [await server.say("word " * 300_000), await server.say(f"My password: {secret}")]
        for run in runs:
            found = await rerun(server, run, models="recorded")
            assert found["models"] == {"recorded": 1, "live": 0, "left": 0}


async def test_ids_of_the_recorded_run_are_no_difference() -> None:
    """A tool that keeps the id of its invocation gives the recorded one."""

    def mark(tool_context: ToolContext) -> Json:
        """Mark."""
        tool_context.state["mark"] = {"by": tool_context.invocation_id}
        return {"by": tool_context.invocation_id}

    model = Scripted.saying(call("mark", "m"), "Marked.")
    async with local_server(agent(model, tools=[mark])) as server:
        await check_same(server, await server.say("mark"), 2)
