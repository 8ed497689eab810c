"""Chat Completions, as OpenAI's own client uses them: histories, tools, approvals, bad input."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import openai
import pytest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.features.openai.conftest import assistant, sessions, talking, talking_over_a_socket, user
from tests.server.local_server import APP

from adk_prism import accept_client_tools
from adk_prism.log.sqlite.store import SqliteLog


async def _answer(client: openai.AsyncOpenAI, messages: list[Any], **more: Any) -> Any:
    found = await client.chat.completions.create(model=APP, messages=messages, **more)
    return found.choices[0]


async def test_the_apps_are_the_models() -> None:
    """Each by its name; another one is not found."""
    async with talking(Scripted.saying()) as (client, _):
        assert [model.id async for model in client.models.list()] == [APP]
        assert (await client.models.retrieve(APP)).id == APP
        with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-9'"):
            await client.models.retrieve("gpt-9")


async def test_a_history_goes_on_with_its_conversation() -> None:
    """No id is sent, and there is one session, of which the model sees everything once."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with talking(model) as (client, server):
        messages = [{"role": "system", "content": "Be brief."}, user("first")]
        for text in ("second", "third", None):
            said = (await _answer(client, messages)).message.content
            messages += [assistant(said), user(text or "")]
        assert len(await sessions(server)) == 1
        asked = [part.text for content in model.requests[-1] for part in content.parts or ()]
        assert [text.strip() for text in asked] == ["first", "One.", "second", "Two.", "third"]


async def test_a_message_that_is_sent_again_is_another_version() -> None:
    """Clients regenerate an answer so: the conversation does not get the message twice."""
    model = Scripted.saying("One.", "Two.", "Two again.")
    async with talking(model) as (client, server):
        first = [user("first")]
        said = (await _answer(client, first)).message.content
        messages = [*first, assistant(said), user("second")]
        await _answer(client, messages)
        again = await _answer(client, messages)
        assert again.message.content.strip() == "Two again."
        (session,) = await sessions(server)
        shown = await server.messages(session)
        assert [part["text"].strip() for each in shown for part in each["parts"] if "text" in part] == [
            "first", "One.", "second", "Two again.",
        ]  # fmt: skip
        answer = await server.client.get(f"/api/chat/{APP}/{session}/versions")
        assert answer.json()


async def test_two_conversations_that_begin_alike_are_kept_apart() -> None:
    """By what the assistant said."""
    async with talking(Scripted.saying("Hello.", "Good day.", "Fine.", "Well.")) as (
        client,
        server,
    ):
        one = [user("hi"), assistant((await _answer(client, [user("hi")])).message.content)]
        two = [user("hi"), assistant((await _answer(client, [user("hi")])).message.content)]
        await _answer(client, [*one, user("how are you?")])
        await _answer(client, [*two, user("how are you?")])
        first, second = await sessions(server)
        for session, said in ((first, "Hello."), (second, "Good day.")):
            assert said in str(await server.messages(session))
            assert len(await server.messages(session)) == 4


@pytest.mark.parametrize("edited", ["I never said this.", "One. "])
async def test_a_history_that_fits_no_conversation_is_the_history_of_a_new_one(edited: str) -> None:
    """An answer that was edited counts as it is now; white space does not make it another."""
    model = Scripted.saying("One.", "Two.")
    async with talking(model) as (client, server):
        await _answer(client, [user("first")])
        await _answer(client, [user("first"), assistant(edited), user("second")])
        asked = [part.text for content in model.requests[-1] for part in content.parts or ()]
        assert [text.strip() for text in asked] == ["first", edited.strip(), "second"]
        assert len(await sessions(server)) == (1 if edited.strip() == "One." else 2)


async def test_another_process_finds_the_conversation(tmp_path: Path) -> None:
    """Nothing is kept beside the log and the session."""
    service = InMemorySessionService()
    said = ""
    for messages in ([user("first")], [user("first"), assistant("One."), user("second")]):
        log = SqliteLog(tmp_path / "runs.db")
        async with talking(Scripted.saying("One."), log=log, service=service) as (client, server):
            said = (await _answer(client, messages)).message.content
            assert len(await sessions(server)) == 1
    assert said


async def test_a_client_that_names_its_conversation_has_it() -> None:
    """By `conversation`, `metadata`, or Open WebUI's header."""
    async with talking(Scripted.saying("One.", "Two.", "Three.")) as (client, server):
        await _answer(client, [user("a")], extra_body={"conversation": "mine"})
        await _answer(client, [user("b")], metadata={"session_id": "mine"})
        await _answer(client, [user("c")], extra_headers={"x-openwebui-chat-id": "mine"})
        assert await sessions(server) == ["mine"]
        assert len(await server.messages("mine")) == 6


async def test_users_of_open_webui_have_conversations_of_their_own() -> None:
    """All come with one key; the header tells them apart, unless the body names the user."""
    async with talking(Scripted.saying("One.", "Two.", "Three.")) as (client, server):
        for name, about in (("ada", {}), ("bob", {}), ("eve", {"user": "ada"})):
            headers = {"x-openwebui-user-id": name, "x-openwebui-chat-id": f"chat-of-{name}"}
            await _answer(client, [user("a")], extra_headers=headers, **about)
        runs = await server.context.log.list(app=APP)
        assert [run.origin.user for run in runs] == ["ada", "bob", "ada"]


TASKS = [
    "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>",
    "### Task:\nYou are an autocompletion system.\n### **Instructions**:\n<text>hi</text>",
    "Provide a concise, 5-word-or-less title for the conversation, and nothing else.\nConversation:\n",
    "Analyze this conversation and provide:\n1. The detected language of it\n2. A title",
]


@pytest.mark.parametrize("task", TASKS)
async def test_what_clients_ask_a_model_beside_the_conversation_is_refused(task: str) -> None:
    """It would stop the answer of the conversation that it is about, and run the agent's tools."""
    async with talking(Scripted.saying("One.", "Two.")) as (client, server):
        named = {"x-openwebui-chat-id": "mine"}
        await _answer(client, [user("first")], extra_headers=named)
        with pytest.raises(openai.BadRequestError, match="title, tags or the like"):
            await _answer(client, [user(task)], extra_headers=named)
        # A person may write so, in a conversation.
        quoted = [user("first"), assistant("One."), user(task)]
        assert "Two." in ((await _answer(client, quoted)).message.content or "")
        assert len(await server.context.log.list(app=APP)) == 2


async def test_a_person_may_begin_with_a_task() -> None:
    """Whoever pastes a prompt in the same form is answered."""
    async with talking(Scripted.saying("One.", "Two.")) as (client, _):
        for text in (
            "### Task:\nSum up this.\n<text>a b c</text>",
            "Provide a concise title for a",
        ):
            assert (await _answer(client, [user(text)])).message.content


async def test_tools_of_the_agent_are_reasoning() -> None:
    """Never `tool_calls`, which the client would run."""

    def look(place: str) -> dict[str, str]:
        """Look at a place."""
        return {"seen": place}

    model = Scripted.saying(call("look", "c1", place="Rome"), "A city.")
    async with talking(model, [look]) as (client, _):
        chunks = [
            chunk.choices[0]
            async for chunk in await client.chat.completions.create(
                model=APP, messages=[user("look")], stream=True
            )
        ]
        reasoning = "".join(each.delta.model_extra.get("reasoning_content", "") for each in chunks)
        assert reasoning == '→ look({"place":"Rome"})\n← look: {"seen":"Rome"}\n'
        assert "".join(each.delta.content or "" for each in chunks).strip() == "A city."
        assert [each.finish_reason for each in chunks if each.finish_reason] == ["stop"]
        assert not any(each.delta.tool_calls for each in chunks)


async def test_the_clients_own_tools_are_run_by_the_client() -> None:
    """The app takes them; the result goes on with the same run's conversation."""
    model = Scripted.saying(call("where", "c1"), "You are in Rome.")
    function = {
        "name": "where",
        "description": "Where?",
        "parameters": {"type": "object", "properties": {}},
    }
    tools = [{"type": "function", "function": function}]
    async with talking(model, plugins=[accept_client_tools("request")]) as (client, server):
        asked = await _answer(client, [user("where am I?")], tools=tools)
        assert asked.finish_reason == "tool_calls"
        (made,) = asked.message.tool_calls
        assert (made.function.name, made.function.arguments) == ("where", "{}")
        result = {"role": "tool", "tool_call_id": made.id, "content": '{"city": "Rome"}'}
        history = [user("where am I?"), asked.message.model_dump(exclude_none=True), result]
        done = await _answer(client, history, tools=tools)
        assert done.message.content.strip() == "You are in Rome."
        assert len(await sessions(server)) == 1
        with pytest.raises(openai.APIStatusError):
            await _answer(client, [*history[:-1], {**result, "tool_call_id": "forged"}])


def _pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


@pytest.mark.parametrize(
    ("word", "shown"),
    [("approve", '← _pay: {"paid":5}'), ("Deny: too much", "← _pay was denied")],
)
async def test_an_approval_is_given_in_words(word: str, shown: str) -> None:
    """The question is the end of the answer; a word is no turn of its own afterwards."""
    model = Scripted.saying(call("_pay", "c1", amount=5), "So be it.", "Yes?")
    tool = FunctionTool(_pay, require_confirmation=True)
    async with talking(model, [tool], resumable=True) as (client, server):  # type: ignore[list-item]
        asked = await _answer(client, [user("pay 5")])
        question = asked.message.content
        assert question.startswith('`_pay({"amount":5})` waits for your approval.')
        messages = [user("pay 5"), assistant(question), user(word)]
        decided = await _answer(client, messages)
        assert shown in decided.message.model_extra["reasoning_content"]
        messages += [assistant(decided.message.content), user("and now?")]
        assert (await _answer(client, messages)).message.content.strip() == "Yes?"
        assert len(await sessions(server)) == 1


async def test_a_program_decides_by_id() -> None:
    """What is asked is in the last chunk too; an approval that nobody asked for is refused."""
    model = Scripted.saying(call("_pay", "c1", amount=5), "Paid.")
    tool = FunctionTool(_pay, require_confirmation=True)
    async with talking(model, [tool], resumable=True) as (client, _):  # type: ignore[list-item]
        messages = [user("pay 5")]
        found = await client.chat.completions.create(model=APP, messages=messages)
        (asked,) = found.model_extra["prism"]["approvals"]  # type: ignore[index]
        assert (asked["name"], asked["arguments"]) == ("_pay", '{"amount":5}')
        messages += [assistant(found.choices[0].message.content)]
        forged = {"approvals": [{"id": "forged", "approved": True}]}
        with pytest.raises(openai.ConflictError):
            await _answer(client, messages, extra_body=forged)
        given = {"approvals": [{"id": asked["id"], "approved": True}]}
        assert (
            await _answer(client, messages, extra_body=given)
        ).message.content.strip() == "Paid."


async def test_files_reach_the_model() -> None:
    """Images, files and sound, as data or by address."""
    model = Scripted.saying("Seen.")
    data = base64.b64encode(b"picture").decode()
    content = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"},
        },
        {"type": "input_audio", "input_audio": {"format": "wav", "data": data}},
    ]
    async with talking(model) as (client, _):
        await _answer(client, [{"role": "user", "content": content}])
        parts = model.requests[0][-1].parts or []
        kinds = [part.inline_data.mime_type for part in parts if part.inline_data]
        assert kinds == ["image/png", "application/pdf", "audio/wav"]


async def test_tokens_are_counted() -> None:
    """By kind, with the last chunk of a stream, and in a plain answer."""
    async with talking(Scripted.saying("Yes.")) as (client, _):
        found = await client.chat.completions.create(model=APP, messages=[user("?")])
        assert found.usage is not None
        assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens


@pytest.mark.parametrize("streams", [False, True])
async def test_a_failure_is_an_error_of_the_client(streams: bool) -> None:
    """Plain or streamed: safe text with a reference, never a message."""

    async def ask(client: openai.AsyncOpenAI) -> None:
        found = await client.chat.completions.create(
            model=APP, messages=[user("go")], stream=streams
        )
        if streams:
            async for _ in found:  # type: ignore[union-attr]
                pass

    async with talking(Scripted.saying(RuntimeError("secret"))) as (client, server):
        with pytest.raises(openai.APIError, match="Reference: ") as caught:
            await ask(client)
        assert "secret" not in str(caught.value)
        assert any("secret" in each.message for each in server.reports)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": []}, "non-empty list"),
        ({"messages": "hi"}, "must be a list"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "the role 'robot'"),
        ({"messages": [assistant("x")]}, "must end with"),
        ({"messages": [user("")]}, "neither text nor files"),
        ({"messages": [user("x")], "n": 2}, "`n` must be 1"),
        ({"messages": [user("x")], "modalities": ["text", "audio"]}, "Answers are text"),
        ({"messages": [user("x")], "tools": [{"type": "web_search"}]}, "must be a function"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "a part 'video'"),
        ({"messages": [user("x")], "model": None}, "`model` is missing"),
        ({"messages": [user("x")], "model": "gpt-9"}, "no model 'gpt-9'"),
        (
            {"messages": [user("x"), {"role": "tool", "tool_call_id": "c", "content": "y"}]},
            "no conversation",
        ),
    ],
)
async def test_bad_input_is_refused_in_the_form_of_the_api(body: dict[str, Any], said: str) -> None:
    """What is wrong, as an `error` object; nothing has run."""
    async with talking(Scripted.saying("One.")) as (_, server):
        answer = await server.client.post("/v1/chat/completions", json={"model": APP, **body})
        assert 400 <= answer.status_code < 500
        error = answer.json()["error"]
        assert said in error["message"]
        assert error["type"] == "invalid_request_error"
        assert await sessions(server) == []


async def test_ignored_parameters_are_named() -> None:
    """In a header: a client that sends them gets its answer."""
    async with talking(Scripted.saying("One.")) as (client, _):
        raw = await client.chat.completions.with_raw_response.create(
            model=APP, messages=[user("x")], temperature=0.2, logit_bias={"5": 1}, user="me"
        )
        assert raw.headers["x-prism-ignored"] == "logit_bias, temperature"


async def test_who_closes_the_connection_stops_the_run() -> None:
    """The API has no other way to stop an answer."""
    began = asyncio.Event()
    async with talking_over_a_socket(Scripted.saying(began)) as (client, server):
        stream = await client.chat.completions.create(model=APP, messages=[user("go")], stream=True)
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        await stream.close()
        (run,) = await server.context.log.list(app=APP)
        async for _ in server.context.log.read(run.run, follow=True):
            pass
        assert (await server.context.log.summary(run.run)).outcome == "cancelled"


async def test_one_run_in_every_protocol() -> None:
    """A run that an OpenAI client began is a run like any other."""
    async with talking(Scripted.saying("One.")) as (client, server):
        raw = await client.chat.completions.with_raw_response.create(
            model=APP, messages=[user("x")]
        )
        run = raw.headers["x-prism-run"]
        for protocol in ("adk", "ai-sdk", "ag-ui", "studio", "openai-chat", "openai-responses"):
            answer = await server.client.get(f"/api/runs/{run}/stream", params={"as": protocol})
            assert "One." in answer.text, protocol


async def test_the_same_request_under_one_key_is_one_run() -> None:
    """Also of a client without a name for its conversation, and of a history from elsewhere."""
    histories = [[user("first")], [user("of old"), assistant("Yes."), user("and now?")]]
    async with talking(Scripted.saying("One.", "Two.")) as (client, server):
        for number, messages in enumerate(histories):
            named = {"idempotency-key": f"k{number}"}
            first, again = [
                await client.chat.completions.create(
                    model=APP, messages=messages, extra_headers=named
                )
                for _ in range(2)
            ]
            assert first.id == again.id
        assert len(await server.context.log.list(app=APP)) == 2


async def test_a_conversation_of_another_replica_is_found(tmp_path: Path) -> None:
    """Where this one knows a conversation with the same first words."""
    log, service = SqliteLog(tmp_path / "runs.db"), InMemorySessionService()
    async with talking(Scripted.saying("Theirs."), log=log, service=service) as (client, _):
        await _answer(client, [user("hi")])
    model = Scripted.saying("Ours.", "Going on.")
    again = SqliteLog(tmp_path / "runs.db")
    async with talking(model, log=again, service=service) as (client, server):
        await _answer(client, [user("hi")])
        await _answer(client, [user("hi"), assistant("Theirs."), user("more")])
        assert len(await sessions(server)) == 2
