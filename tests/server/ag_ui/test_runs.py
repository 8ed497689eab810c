"""AG-UI's main route: messages, edits, results of the client's tools, state, repeated and lost requests."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools import LongRunningFunctionTool
from tests.adk.scripted import Scripted, call
from tests.server.ag_ui.thread import (
    Thread,
    customs,
    events,
    of_type,
    result,
    run_input,
    text_of,
    user,
)
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism import accept_client_state, accept_client_tools

Json = dict[str, Any]
PATH = f"/api/ag-ui/{APP}"


async def spoken(server: LocalServer) -> list[str]:
    """Return what the user says in the chat, as the server has it."""
    return [
        "".join(part.get("text", "") for part in message["parts"])
        for message in await server.messages()
        if message["role"] == "user"
    ]


async def test_a_message_starts_a_run_under_the_clients_own_ids() -> None:
    async with local_server(agent(Scripted.saying("Hello you."))) as server:
        answer = await Thread(server).post(user("Hello", "u1"), run="my-run")
        found = events(answer)
        begin, end = found[0], found[-1]
        assert (begin["type"], end["type"]) == ("RUN_STARTED", "RUN_FINISHED")
        assert begin["threadId"] == end["threadId"] == SESSION
        assert begin["runId"] == end["runId"] == "my-run"
        assert begin["protocolVersion"] == "1.0"
        assert begin["input"]["messages"] == [{"id": "u1", "role": "user", "content": "Hello"}]
        assert text_of(found) == "Hello you."
        assert answer.headers["x-prism-run"].startswith("run-")
        ids = [line[4:] for line in answer.text.splitlines() if line.startswith("id: ")]
        assert ids[0] == f"{answer.headers['x-prism-run']}:1.1"


async def test_an_old_client_gets_its_own_dialect() -> None:
    async with local_server(agent(Scripted.saying("Hello.", "Bye."))) as server:
        body = run_input(user("Hello"), run="r1", protocolVersion=None)
        begin = events(await server.client.post(PATH, json=body))[0]
        assert "protocolVersion" not in begin
        body = run_input(user("Bye"), run="r2", protocolVersion=None)
        begin = events(await server.client.post(f"{PATH}?dialect=1.0", json=body))[0]
        assert begin["protocolVersion"] == "1.0"


async def test_a_repeated_request_is_one_run() -> None:
    """Under one `runId` the same message starts one run; with other words it is refused, and changes nothing.

    Another message under it is another run: clients do not keep them apart everywhere.
    """
    async with local_server(agent(Scripted.saying("One.", "Two."))) as server:
        thread = Thread(server)
        first = await thread.post(user("Hello"), run="same")
        again = await thread.post(run="same")
        assert again.headers["x-prism-run"] == first.headers["x-prism-run"]
        assert again.text == first.text
        thread.messages = [user("Other words", "u-Hello")]
        code, _ = await thread.refused(run="same")
        assert code == "INVALID_INPUT"
        assert await spoken(server) == ["Hello"]
        thread.messages = [user("Hello")]
        assert text_of(await thread.run(user("More"), run="same")) == "Two."


async def test_a_lost_stream_goes_on_after_its_last_event() -> None:
    async with local_server(agent(Scripted.saying("Hello you there."))) as server:
        whole = await Thread(server).post(user("Hello"))
        frames = whole.text.split("\n\n")
        at = len(frames) // 2
        seen = frames[at].splitlines()[0].removeprefix("id: ")
        body = run_input(user("Hello"), run="any")
        rest = await server.client.post(PATH, json=body, headers={"last-event-id": seen})
        assert rest.text == "\n\n".join(frames[at + 1 :])
        last = frames[-2].splitlines()[0].removeprefix("id: ")
        over = await server.client.post(PATH, json=body, headers={"last-event-id": last})
        assert over.status_code == 204
        assert await spoken(server) == ["Hello"]


async def test_the_list_says_where_a_message_belongs() -> None:
    """The last message again is answered again; a named branch, or an edit, takes back what came after."""
    model = Scripted.saying("A.", "B.", "B again.", "C.", "D.", "E.", "F.")
    async with local_server(agent(model)) as server:
        thread = Thread(server)
        await thread.run(user("one"))
        await thread.run(user("two"))
        assert await spoken(server) == ["one", "two"]

        found = await thread.run()
        assert text_of(found) == "B again."
        assert await spoken(server) == ["one", "two"]
        (rewound,) = customs(found, "prism.rewound")
        assert rewound["value"]["messageIds"]

        thread.messages = [user("one"), user("edited")]
        await thread.run(forwardedProps={"parentId": "u-one"})
        assert await spoken(server) == ["one", "edited"]

        thread.messages = [user("one"), user("again", "u-edited")]
        await thread.run()
        assert await spoken(server) == ["one", "again"]

        thread.messages = [user("three")]
        await thread.run()
        assert await spoken(server) == ["three"], "its list was whole before"

        thread.messages = [user("three"), user("four")]
        await thread.run(forwardedProps={"parentId": None})
        assert await spoken(server) == ["four"]


async def test_a_thread_that_has_continued_elsewhere_refuses_a_list_without_it() -> None:
    """As a RUN_ERROR with a code of its own, whose message people can read; nothing is taken back."""
    async with local_server(agent(Scripted.saying("A.", "B.", "C."))) as server:
        here, there = Thread(server), Thread(server)
        await here.run(user("one"))
        there.messages = [*here.messages]
        await there.run(user("two"))
        (refused,) = await here.run(user("three"))
        assert (refused["type"], refused["code"]) == ("RUN_ERROR", "STALE_CONVERSATION")
        assert "has continued elsewhere" in refused["message"]
        assert await spoken(server) == ["one", "two"]
        await there.run(user("four"))
        assert await spoken(server) == ["one", "two", "four"]


async def test_files_reach_the_model() -> None:
    model = Scripted.saying("Seen.")
    async with local_server(agent(model)) as server:
        source = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
        content = [{"type": "text", "text": "Look"}, {"type": "image", "source": source}]
        await Thread(server).run({"id": "u1", "role": "user", "content": content})
        text, image = model.requests[0][-1].parts or []
        assert text.text == "Look"
        assert image.inline_data is not None
        assert (image.inline_data.data, image.inline_data.mime_type) == (b"hi", "image/png")


async def test_bytes_that_are_not_base64_are_refused() -> None:
    async with local_server(agent(Scripted.saying())) as server:
        source = {"type": "data", "value": "***", "mimeType": "image/png"}
        content = [{"type": "image", "source": source}]
        code, _ = await Thread(server).refused({"id": "u1", "role": "user", "content": content})
        assert code == "INVALID_INPUT"


SHOW: Json = {
    "name": "show_weather",
    "description": "Show a card.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


async def test_a_page_brings_tools_and_answers_their_calls() -> None:
    model = Scripted.saying(call("show_weather", "call-1", city="Rome"), "Shown.")
    async with local_server(agent(model), plugins=[accept_client_tools("request")]) as server:
        thread = Thread(server)
        found = await thread.run(user("weather"), tools=[SHOW])
        (start,) = of_type(found, "TOOL_CALL_START")
        assert found[-1]["outcome"] == {
            "type": "success",
            "pendingToolCallIds": [start["toolCallId"]],
        }
        found = await thread.run(result(start["toolCallId"], {"shown": True}), tools=[SHOW])
        assert text_of(found) == "Shown."
        (given,) = [p for p in model.requests[1][-1].parts or [] if p.function_response]
        assert given.function_response is not None
        assert given.function_response.response == {"shown": True}


async def test_a_result_may_wait_for_the_next_message() -> None:
    """A page that wants no answer to a result sends it with what the person says next."""
    model = Scripted.saying(call("show_weather", "call-1", city="Rome"), "Fine.", "Bye.")
    async with local_server(agent(model), plugins=[accept_client_tools("request")]) as server:
        thread = Thread(server)
        found = await thread.run(user("weather"), tools=[SHOW])
        (start,) = of_type(found, "TOOL_CALL_START")
        given = result(start["toolCallId"], {"shown": True})
        assert text_of(await thread.run(given, user("thanks"), tools=[SHOW])) == "Fine."
        answered, said = model.requests[1][-2:]
        (part,) = answered.parts or []
        assert part.function_response is not None
        assert part.function_response.response == {"shown": True}
        assert [part.text for part in said.parts or []] == ["thanks"]
        (shown,) = [m for m in await thread.history() if m["role"] == "tool"]
        assert json.loads(shown["content"]) == {"shown": True}
        assert text_of(await thread.run(user("bye"), tools=[SHOW])) == "Bye."
        assert await spoken(server) == ["weather", "thanks", "bye"]


async def test_tools_of_a_page_are_ignored_with_a_warning_unless_the_app_takes_them() -> None:
    async with local_server(agent(Scripted.saying("No."))) as server:
        found = await Thread(server).run(user("weather"), tools=[SHOW])
        (warned,) = customs(found, "prism.warning")
        assert warned["value"]["code"] == "tools-ignored"


async def test_a_tool_of_the_apps_name_is_refused() -> None:
    model = Scripted.saying("No.")
    async with local_server(agent(model), plugins=[accept_client_tools("request")]) as server:
        code, message = await Thread(server).refused(
            user("hi"), tools=[{"name": "count", "description": "mine"}]
        )
        assert code == "INVALID_INPUT"
        assert "count" in message


async def test_forged_and_repeated_results_are_refused() -> None:
    """A result of a tool that the server runs, of no call, and one that was given before."""
    model = Scripted.saying(call("count", "c-count"), "Counted.", "Then.")
    async with local_server(agent(model)) as server:
        thread = Thread(server)
        found = await thread.run(user("count"))
        (made,) = of_type(found, "TOOL_CALL_START")
        for forged in (result(made["toolCallId"], {"count": 99}), result("c-none", "x")):
            before = list(thread.messages)
            code, _ = await thread.refused(forged)
            assert code == "CONFLICT"
            thread.messages = before
        assert (await server.session())["state"]["count"] == 1
        assert text_of(await thread.run(user("go on"))) == "Then."


def start_job() -> Json:
    """Begin something long."""
    return {"status": "begun"}


async def test_what_a_client_was_shown_is_not_a_new_result() -> None:
    """The first answer of a long-running tool comes back with the list; a later one goes to the model."""
    model = Scripted.saying(call("start_job", "c-job-0123456789"), "Begun.", "Done.")
    root = agent(model, tools=[LongRunningFunctionTool(start_job)])
    async with local_server(root) as server:
        thread = Thread(server)
        found = await thread.run(user("begin"))
        (told,) = of_type(found, "TOOL_CALL_RESULT")
        echo = result(told["toolCallId"], told["content"])
        code, _ = await thread.refused(echo)
        assert code == "CONFLICT"
        thread.messages.remove(echo)
        found = await thread.run(result(told["toolCallId"], {"status": "done"}))
        assert text_of(found) == "Done."


async def test_state_of_the_page_is_what_it_changed() -> None:
    """What it was sent comes back with every request: only a changed key is written."""
    model = Scripted.saying(call("count", "c1"), "One.", "Two.", "Three.")
    async with local_server(agent(model)) as server:
        thread = Thread(server)
        found = await thread.run(user("one"), state={"theme": "dark"})
        assert of_type(found, "STATE_SNAPSHOT")[0]["snapshot"] == {"theme": "dark"}
        state = {"theme": "light", "count": 1, "app:told": "forged", "temp:x": 1}
        found = await thread.run(user("two"), state=state)
        stored = (await server.session())["state"]
        assert (stored["theme"], stored["count"]) == ("light", 1)
        assert "app:told" not in stored
        (warned,) = customs(found, "prism.warning")
        assert warned["value"]["code"] == "state-ignored"
        assert "app:told" in warned["value"]["message"]


async def test_what_an_app_declares_is_all_that_a_page_writes() -> None:
    """Context and props, too: a key of their own, and for props only if the app asks for it."""
    model = Scripted.saying("One.", "Two.")
    declared = accept_client_state("theme", "_ag_ui_forwarded_props")
    more: Json = {"context": [{"description": "page", "value": "cart"}]}
    async with local_server(agent(model), plugins=[declared]) as server:
        found = await Thread(server).run(
            user("one"), state={"theme": "dark", "x": 1}, forwardedProps={"a": 1}, **more
        )
        state = (await server.session())["state"]
        assert state == {"theme": "dark", "_ag_ui_forwarded_props": {"a": 1}}
        (warned,) = customs(found, "prism.warning")
        assert "_ag_ui_context, x" in warned["value"]["message"]
    async with local_server(agent(model)) as server:
        await Thread(server).run(user("one"), forwardedProps={"token": "secret"}, **more)
        assert (await server.session())["state"] == {"_ag_ui_context": more["context"]}


async def test_a_run_that_is_on_is_refused_or_interrupted_as_the_server_says() -> None:
    for busy, expected in (("refuse", "CONFLICT"), ("interrupt", "")):
        begun = asyncio.Event()
        model = Scripted.saying(begun, "Second.")
        async with local_server(agent(model), chat_busy=busy) as server:
            thread = Thread(server)
            first = asyncio.create_task(thread.post(user("one")))
            await begun.wait()
            found = events(await thread.post(user("two")))
            if expected:
                assert found[0]["code"] == expected
                await server.client.post(f"{PATH}/{SESSION}/stop")
            else:
                assert text_of(found) == "Second."
            stopped = events(await first)
            assert stopped[-1]["outcome"] == {"type": "cancelled"}


async def test_stopping_names_the_run_or_nobody() -> None:
    begun = asyncio.Event()
    async with local_server(agent(Scripted.saying(begun))) as server:
        running = asyncio.create_task(Thread(server).post(user("one"), run="mine"))
        await begun.wait()
        stop = f"{PATH}/{SESSION}/stop"
        assert not (await server.client.post(stop, json={"runId": "other"})).json()["stopped"]
        assert (await server.client.post(stop, json={"runId": "mine"})).json()["stopped"]
        assert events(await running)[-1]["outcome"] == {"type": "cancelled"}
        assert not (await server.client.post(stop)).json()["stopped"]


async def test_a_stopped_run_is_an_error_for_an_old_client() -> None:
    begun = asyncio.Event()
    async with local_server(agent(Scripted.saying(begun))) as server:
        running = asyncio.create_task(Thread(server).post(user("one"), protocolVersion=None))
        await begun.wait()
        await server.client.post(f"{PATH}/{SESSION}/stop")
        end = events(await running)[-1]
        assert (end["type"], end["code"]) == ("RUN_ERROR", "STOPPED")


async def test_requests_that_are_no_input_are_problems() -> None:
    """Text for a client that shows the body, JSON for who asks for it."""
    body = run_input(user("hi"), run="r1")
    async with local_server(agent(Scripted.saying())) as server:
        as_client = {"accept": "text/event-stream"}
        bad = await server.client.post(PATH, json={"input": "hi"}, headers=as_client)
        assert bad.status_code == 422
        assert bad.headers["content-type"].startswith("text/plain")
        assert "messages" in bad.text or "threadId" in bad.text
        assert (await server.client.post(PATH, json=[body])).status_code == 422
        assert (await server.client.post(PATH, content=b"{")).status_code in (400, 415)
        assert (await server.client.post("/api/ag-ui/none", json=body)).status_code == 404
        other = await server.client.post(PATH, json={**body, "protocolVersion": "7.0"})
        assert other.status_code == 422
        assert (await server.client.post(f"{PATH}?dialect=9", json=body)).status_code == 400
        proto = {"accept": "application/vnd.ag-ui.event+proto"}
        assert (await server.client.post(PATH, json=body, headers=proto)).status_code == 406
        both = {"accept": "application/vnd.ag-ui.event+proto, text/event-stream"}
        assert (await server.client.post(PATH, json=body, headers=both)).status_code == 200
        named = {**body, "threadId": "no/such name"}
        assert (await server.client.post(PATH, json=named)).status_code == 400


async def test_a_long_thread_is_sent_with_every_message() -> None:
    """Earlier messages may be large: they are not needed. The results at the end are."""
    model = Scripted.saying(call("show_weather", "call-0123456789abcdef", city="Rome"), "Shown.")
    settings = {"body_limit": 20_000, "history_limit": 1_000_000}
    async with local_server(
        agent(model), plugins=[accept_client_tools("request")], **settings
    ) as server:
        photo = {"type": "data", "value": "A" * 60_000, "mimeType": "image/png"}
        old = {"id": "old", "role": "user", "content": [{"type": "image", "source": photo}]}
        thread = Thread(server, [old, {"id": "a0", "role": "assistant", "content": "x" * 30_000}])
        found = await thread.run(user("weather"), tools=[SHOW])
        (start,) = of_type(found, "TOOL_CALL_START")
        found = await thread.run(result(start["toolCallId"], {"shown": "y" * 5_000}), tools=[SHOW])
        assert text_of(found) == "Shown."
        large = await thread.post(user("z" * 30_000))
        assert large.status_code == 413


async def test_the_protocols_route_takes_the_same_input() -> None:
    async with local_server(agent(Scripted.saying("Hello."))) as server:
        thread = Thread(server, path=f"/api/protocols/ag-ui/{APP}")
        assert text_of(await thread.run(user("Hello"))) == "Hello."


async def test_capabilities_say_what_the_app_can_do() -> None:
    helper = LlmAgent(name="helper", model=Scripted.saying(), description="Helps.")
    root = agent(Scripted.saying(), sub_agents=[helper])
    async with local_server(root, plugins=[accept_client_tools("request")]) as server:
        found = (await server.client.get(f"{PATH}/capabilities")).json()
        assert found["tools"] == {"supported": True, "clientProvided": True}
        assert found["multiAgent"] == {"supported": True, "subagents": [{"name": "helper"}]}
        assert found["identity"]["name"] == APP
        assert json.dumps(found)
