"""Whole conversations, run again in memory with the code of now."""

from __future__ import annotations

from functools import partial
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool, FunctionTool, ToolContext
from tests.adk.scripted import Scripted, call
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent
from tests.server.local_server import local_server as any_server

from adk_prism.adk.client_tools import client_tool
from adk_prism.features.rerun.rehearsal import (
    CheckedConversation,
    check_conversation,
    last_conversations,
)
from adk_prism.log.entry import Origin

Json = dict[str, Any]
local_server = partial(any_server, model_calls="full")
ORIGIN = Origin(app=APP, user=USER, session=SESSION)


async def check(server: LocalServer, **more: Any) -> CheckedConversation:
    return await check_conversation(server.runner, server.context.log, ORIGIN, **more)


async def chat(server: LocalServer, message: Json, **more: Any) -> None:
    """Send as `useChat` does."""
    body = {"id": SESSION, "messages": [message], "trigger": "submit-message", **more}
    answer = await server.client.post(f"/api/chat/{APP}", json=body)
    assert answer.status_code == 200, answer.text


def user(name: str, text: str) -> Json:
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}


async def test_a_conversation_with_edits_artifacts_and_state() -> None:
    """What was taken back is not run; artifacts and state are as they were. Nothing of it is kept."""

    async def read(tool_context: ToolContext) -> Json:
        """Read the notes."""
        part = await tool_context.load_artifact("notes.txt")
        return {"notes": part.inline_data.data.decode() if part and part.inline_data else ""}

    async def told(callback_context: Any) -> None:
        part = await callback_context.load_artifact("notes.txt")
        callback_context.state["has_notes"] = part is not None

    model = Scripted.saying(
        *(call("note", "n", text="first"), "Noted."),
        "Wrong.",
        *(call("read", "r"), "It says first."),
        *(call("share", "s", text="x"), "Shared."),
    )
    root = agent(
        model,
        tools=[read],
        instruction="Notes: {has_notes?}, shared: {user:told?}.",
        before_agent_callback=told,
    )
    async with local_server(root) as server:
        await chat(server, user("m1", "note it"))
        await chat(server, user("m2", "read wrongly"))
        await chat(server, user("m2", "read it"), messageId="m2")
        where = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"
        await server.client.patch(where, json={"stateDelta": {"count": 7}})
        await chat(server, user("m3", "share it"))
        runs = (await server.client.get("/api/runs")).json()
        before = await server.stored()
        found = await check(server)
        assert found.status == "same", found
        assert [message.calls for message in found.messages] == [2, 2, 2]
        assert (await server.client.get("/api/runs")).json() == runs
        assert await server.stored() == before
        assert len(model.requests) == 7


async def test_messages_that_wait_for_people_and_clients() -> None:
    """They are answered as they were; one that still waits, waits again."""

    def pay(amount: int) -> Json:
        """Pay."""
        return {"paid": amount}

    where = client_tool("where_am_i", "Where the user is.")
    helper = LlmAgent(name="helper", model=Scripted.saying("Helped."))
    model = Scripted.saying(
        *(call("pay", "p1", amount=3), "Paid."),
        *(call("helper", "h", request="now"), "Done."),
        call("where_am_i", "w"),
    )
    tools = [FunctionTool(pay, require_confirmation=True), where, AgentTool(helper)]
    root = LlmAgent(name="agent", model=model, tools=tools)
    async with local_server(root) as server:
        run = await server.say("pay")
        asked = next(
            part["functionCall"]["id"]
            for event in await server.events(run)
            for part in event["content"]["parts"]
            if part.get("functionCall", {}).get("name") == "adk_request_confirmation"
        )
        answer = {"id": asked, "name": "adk_request_confirmation", "response": {"confirmed": True}}
        await server.post_run(newMessage={"role": "user", "parts": [{"functionResponse": answer}]})
        await server.say("help")
        await server.say("where")
        found = await check(server)
        assert found.status == "same", found
        assert [message.calls for message in found.messages] == [2, 3, 1]


async def test_all_messages_or_the_first_that_differs() -> None:
    """Each message has the recorded history, whatever became of those before it."""
    model = Scripted.saying("One.", "Two.", "Three.")
    told = {"first": "Hello."}
    root = agent(model, instruction=lambda context: told["first"])
    async with local_server(root) as server:
        for text in ("a", "b", "c"):
            await server.say(text)
        told["first"] = "Goodbye."
        found = await check(server)
        assert (len(found.messages), found.skipped) == (1, 2)
        found = await check(server, is_whole=True)
        assert [message.status for message in found.messages] == ["differs"] * 3
        assert found.detail == found.messages[0].detail
        found = await check(server, ignore_rules=["Hello|Goodbye"])
        assert found.status == "same"


async def test_a_tool_that_the_recording_does_not_answer() -> None:
    """As where a callback changes the arguments: the call is named."""
    changed = {"on": False}

    model = Scripted.saying(call("note", "n", text="one"), "Noted.")
    root = agent(model)

    def rewrite(callback_context: Any, llm_response: Any) -> Any:
        for part in llm_response.content.parts:
            if part.function_call and changed["on"]:
                part.function_call.args = {"text": "other"}
        return llm_response

    root.after_model_callback = rewrite
    async with local_server(root) as server:
        await server.say("note")
        assert (await check(server)).status == "same"
        changed["on"] = True
        found = await check(server)
        assert found.status == "differs"
        assert found.detail.startswith('Call not recorded: note({"text":"other"}).')


async def test_conversations_that_cannot_be_run_again() -> None:
    """What to do is said; one without a message is the same as it was."""
    async with any_server(agent(Scripted.saying("Hi.")), model_calls="summary") as server:
        await server.say("hi")
        found = await check(server)
        assert found.status == "failed"
        assert "--model-calls full" in found.detail
    async with local_server(agent(Scripted.saying("Hi."))) as server:
        found = await check(server)
        assert (found.status, found.messages) == ("same", [])


async def test_the_last_conversations_of_an_app() -> None:
    """Newest first, without those that are reruns themselves."""
    async with local_server(agent(Scripted.saying("1", "2", "3", "4"))) as server:
        run = await server.say("hi", "one")
        await server.say("hi", "two")
        await server.say("hi again", "one")
        await server.client.post(f"/api/runs/{run}/rerun", json={"models": "recorded"})
        log = server.context.log
        found = await last_conversations(log, APP, 10)
        assert [origin.session for origin in found] == ["one", "two"]
        assert [o.session for o in await last_conversations(log, APP, 1)] == ["one"]
        assert [o.session for o in await last_conversations(log, APP, 1, ["two"])] == ["two"]


async def test_nothing_live_is_called() -> None:
    """No model and no tool, however the code has changed."""
    count = 10
    called: list[str] = []

    def act(text: str) -> Json:
        """Act."""
        called.append(text)
        return {"done": text}

    model = Scripted.saying(*(call("act", f"a{n}", text=str(n)) for n in range(count)), "Done.")
    root = agent(model, tools=[act])
    async with local_server(root) as server:
        await server.say("act")
        root.instruction = "Act now."
        root.tools = [act]
        found = await check(server)
        assert found.status == "differs"
        assert called == [str(n) for n in range(count)]
        assert len(model.requests) == count + 1
        [message] = found.messages
        assert message.difference is not None
        names = {part.part for part in message.difference.parts}
        assert names == {"instruction", "tools/count", "tools/note", "tools/share"}
