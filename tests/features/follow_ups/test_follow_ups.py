"""Follow-ups and titles: made after the answer, kept beside it, and never in its way."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import BaseAgent, InvocationContext, LlmAgent
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.redis_server import RedisServer
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism import FollowUpRequest, suggest_follow_ups
from adk_prism.errors import UsageError
from adk_prism.features.follow_ups import follow_ups
from adk_prism.features.follow_ups.sources import read_follow_ups
from adk_prism.log.entry import Origin, RunId

CHAT = f"/api/chat/{APP}/{SESSION}"
ORIGIN = Origin(app=APP, user=USER, session=SESSION)
REPLY = json.dumps({"suggestions": ["And then?", "Why?"], "title": "One and two"})


async def suggested(server: LocalServer, **query: Any) -> Any:
    """Return the suggestions of the chat; None if there are none."""
    answer = await server.client.get(f"{CHAT}/suggestions", params=query)
    assert answer.status_code in (200, 204), answer.text
    return answer.json()["suggestions"] if answer.status_code == 200 else None


async def title(server: LocalServer) -> str:
    [listed] = (await server.client.get("/api/conversations")).json()
    found: str = listed["title"]
    return found


def told(server: LocalServer) -> list[str]:
    found = [each for each in server.reports if each.kind == "no follow-ups"]
    return [f"{each.detail} {each.message}".strip() for each in found]


async def test_the_model_of_the_app_suggests_and_names_once() -> None:
    """After the answer, with the conversation as data; a second answer has suggestions of its own."""
    model = Scripted.saying("One.", REPLY, "Two.", '{"suggestions": ["More"]}')
    async with local_server(agent(model), follow_ups="model") as server:
        run = await server.say("Count")
        answer = await server.client.get(f"{CHAT}/suggestions")
        assert answer.json() == {
            "runId": run,
            "messageId": run,
            "suggestions": ["And then?", "Why?"],
            "title": "One and two",
        }
        assert await title(server) == "One and two"
        asked = model.requests[1][0].parts
        assert asked
        assert asked[0].text == "The conversation:\n\nuser: Count\n\nassistant: One."
        await server.say("On")
        assert await suggested(server) == ["More"]
        assert await title(server) == "One and two"
        # What is asked is no part of the session, nor of the run.
        assert "And then?" not in json.dumps(await server.stored())
        assert len(await server.messages()) == 4


async def test_a_key_is_used_only_if_somebody_asked() -> None:
    """By default no model is asked; an app may ask for its own, and the operator has the last word."""
    asks = suggest_follow_ups("model")
    cases: Sequence[tuple[list[BasePlugin], dict[str, Any], int]] = (
        ([], {}, 1),
        ([asks], {}, 2),
        ([asks], {"follow_ups": "off"}, 1),
        ([suggest_follow_ups("off")], {"follow_ups": "model"}, 1),
    )
    for plugins, mode, requests in cases:
        model = Scripted.saying("One.", REPLY)
        async with local_server(agent(model), plugins=plugins, **mode) as server:
            await server.say("Count")
            found = await suggested(server)
            assert (found is not None, len(model.requests)) == (requests == 2, requests)
    with pytest.raises(UsageError, match="must be a function"):
        suggest_follow_ups("always")  # type: ignore[arg-type]


async def test_a_function_of_the_app_suggests_without_the_option() -> None:
    """Async or not; it gets what was said, and whether a title is wanted."""
    seen: list[FollowUpRequest] = []

    def in_a_thread(request: FollowUpRequest) -> list[str]:
        assert threading.current_thread() is not threading.main_thread()
        seen.append(request)
        return [f"More than {request.answer}"]

    async def on_the_loop(request: FollowUpRequest) -> dict[str, Any]:
        seen.append(request)
        return {"suggestions": ["And then?"], "title": "Counting"}

    for function, expected in ((in_a_thread, ["More than One."]), (on_the_loop, ["And then?"])):
        plugins = [suggest_follow_ups(function)]
        async with local_server(agent(Scripted.saying("One.")), plugins=plugins) as server:
            await server.say("Count")
            assert await suggested(server) == expected
            request = seen.pop()
            assert (request.app, request.user_id, request.session_id) == (APP, USER, SESSION)
            assert (request.question, request.answer, request.needs_title) == (
                "Count",
                "One.",
                True,
            )
    with pytest.raises(IndexError):
        seen.pop()


LONG = "x" * 10_000
NO_LIST = '{"suggestions": "Why?"}'
REPLIES: tuple[tuple[Any, list[str] | None], ...] = (
    ("I am afraid that I do not know what you mean.", None),
    ("Sure!\n```json\n" + REPLY + "\n```", ["And then?", "Why?"]),
    ("1. **Why?**\n2) See [this](javascript:alert(1))\n- `done`", ["Why?", "See this", "done"]),
    (json.dumps({"suggestions": [f"Say {n}" for n in range(100)]}), [f"Say {n}" for n in range(4)]),
    (json.dumps({"suggestions": [LONG, "<b>Bold</b><script>x()</script>", 7, None, "", "bold x()"]}),
     ["Bold x()"]),
    (json.dumps(["A\u202eB\nC\u0000"]), ["A B C"]),
    ("{" * 50_000, None),
    (NO_LIST, None),
    ("[]", None),
    (RuntimeError("429 RESOURCE_EXHAUSTED"), None),
    (call("count", "c1"), None),
)  # fmt: skip

FAILING = [reply for reply, _ in REPLIES if isinstance(reply, RuntimeError) or reply == NO_LIST]


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
async def test_what_a_model_says_becomes_short_plain_lines(reply: Any, expected: Any) -> None:
    """Or nothing; the answer stands, and the operator is told of what failed."""
    async with local_server(agent(Scripted.saying("One.", reply)), follow_ups="model") as server:
        run = await server.say("Count")
        assert await suggested(server) == expected
        assert (await server.context.log.summary(RunId(run))).outcome == "finished"
        assert len(told(server)) == (reply in FAILING), server.reports


class Panic(BaseException):
    """What a library may raise that wants to end everything."""


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Panic()], ids=repr)
async def test_a_function_that_exits_ends_nothing(error: BaseException) -> None:
    """In a thread, on the loop, at once: the answer and the server stand, and the operator is told."""

    def in_a_thread(request: FollowUpRequest) -> None:
        raise error

    async def on_the_loop(request: FollowUpRequest) -> None:
        raise error

    for function in (in_a_thread, on_the_loop):
        plugins = [suggest_follow_ups(function)]
        model = Scripted.saying("One.", "Two.")
        async with local_server(agent(model), plugins=plugins) as server:
            await server.say("Count")
            assert await suggested(server) is None
            assert len(told(server)) == 1
            await server.say("On")


async def test_titles_are_short_and_a_persons_own_wins() -> None:
    """Also while one is being made; taken back, it is the first message again, and none is made any more."""
    going, asked = asyncio.Event(), asyncio.Event()

    async def names(request: FollowUpRequest) -> dict[str, Any]:
        asked.set()
        await going.wait()
        return {"title": f"{request.needs_title} and a title of very many words, {'more ' * 40}."}

    plugins = [suggest_follow_ups(names)]
    async with local_server(agent(Scripted.saying("1.", "2.")), plugins=plugins) as server:
        await server.say("Count")
        await asked.wait()
        await server.client.patch(CHAT, json={"title": "Mine"})
        going.set()
        assert await suggested(server) == []
        assert await title(server) == "Mine"
        assert (await server.client.patch(CHAT, json={"title": ""})).json()["title"] == ""
        assert await title(server) == "Count"
        await server.say("On")
        assert await suggested(server) is None
        assert await title(server) == "Count"
        await server.client.delete(CHAT)
    assert read_follow_ups({"title": "word " * 20}).title == "word " * 11 + "word…"


async def test_a_new_message_drops_what_is_made_for_the_old() -> None:
    """It is cancelled; a regenerated answer has its own, and so has the one before it again."""
    waits = asyncio.Event()
    model = Scripted.saying("One.", waits, "Two.", '["Two more"]', "Again.", '["Again more"]')
    async with local_server(agent(model), follow_ups="model") as server:
        run = await server.say("Count")
        await asyncio.wait_for(waits.wait(), 5)
        reading = asyncio.create_task(suggested(server))
        await asyncio.sleep(0)
        await server.say("On")
        assert await suggested(server) == ["Two more"]
        await reading
        assert run not in [each.run for each in server.reports]
        messages = await server.messages()
        body = {"id": SESSION, "trigger": "regenerate-message", "messageId": messages[-1]["id"],
                "messages": messages}  # fmt: skip
        assert (await server.client.post(f"/api/chat/{APP}", json=body)).status_code == 200
        assert await suggested(server) == ["Again more"]


async def test_only_a_finished_answer_has_some() -> None:
    """None while a tool waits, after a failure, for a change of state, or where nothing was said."""
    wait = LlmAgent(name="agent", model=Scripted.saying("", RuntimeError("broken")), tools=[])
    async with local_server(wait, follow_ups="model") as server:
        assert await suggested(server) is None  # of a chat that is not there
        assert (await server.client.get("/api/chat/nobody/x/suggestions")).status_code == 404
        await server.say("Say nothing")
        assert await suggested(server) is None
        await server.say("Fail")
        assert await suggested(server) is None
        assert len(wait.model.requests) == 2  # type: ignore[union-attr]


async def test_copies_and_repetitions_are_not_asked_about() -> None:
    """A fork has no suggestions of its own before somebody speaks in it; it keeps its name."""
    model = Scripted.saying("One.", REPLY, "Two.", REPLY)
    async with local_server(agent(model), follow_ups="model") as server:
        run = await server.say("Count")
        assert await suggested(server)
        fork = await server.fork(run, len(await server.entries(run)))
        await server.entries(fork["run"])
        url = f"/api/chat/{APP}/{fork['session']}/suggestions"
        assert (await server.client.get(url)).status_code == 204
        assert len(model.requests) == 2
        await server.say("On", fork["session"])
        assert (await server.client.get(url)).json()["title"] is None
        assert len(model.requests) == 4


class _Mute(BaseAgent):
    """An agent without a model."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        content = types.Content(role="model", parts=[types.Part(text="Done.")])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


async def test_an_app_without_a_model_needs_a_function() -> None:
    """The operator is told once."""
    async with local_server(_Mute(name="mute"), follow_ups="model") as server:
        for _ in range(2):
            await server.say("Go")
            assert await suggested(server) is None
        assert told(server) == ["The root agent asks no model: declare a function `follow_ups`."]
    function = suggest_follow_ups(lambda _: ["More"])
    async with local_server(_Mute(name="mute"), plugins=[function]) as server:
        await server.say("Go")
        assert await suggested(server) == ["More"]


async def test_what_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client waits as long as it wants to, at most; a function in a thread holds up nobody else."""
    monkeypatch.setattr(follow_ups, "PATIENCE", 0.05)
    free = threading.Event()
    plugins = [suggest_follow_ups(lambda _: free.wait(30))]
    async with local_server(agent(Scripted.saying("One.")), plugins=plugins) as server:
        await server.say("Count")
        assert await suggested(server, wait=0) is None
        assert await suggested(server, wait=5) is None
        assert told(server) == ["They took longer than 0.05 seconds."]
        answer = await server.client.get(f"{CHAT}/suggestions", params={"wait": 31})
        assert answer.status_code == 422
    free.set()


async def test_a_conversation_that_is_deleted_meanwhile_keeps_nothing() -> None:
    """Neither suggestions nor a title, and nobody is told of a failure."""
    going, asked = asyncio.Event(), asyncio.Event()

    async def suggests(request: FollowUpRequest) -> Any:
        asked.set()
        await going.wait()
        return {"suggestions": ["More"], "title": "Counting"}

    plugins = [suggest_follow_ups(suggests)]
    async with local_server(agent(Scripted.saying("One.")), plugins=plugins) as server:
        run = await server.say("Count")
        await asked.wait()
        url = f"/apps/{APP}/users/{USER}/sessions/{SESSION}"
        assert (await server.client.delete(url)).status_code == 200
        reading = asyncio.create_task(server.client.get(f"{CHAT}/suggestions"))
        going.set()
        assert (await reading).status_code in (204, 404)
        assert not await server.context.log.side.list([RunId(run), ORIGIN])
        assert told(server) == []


async def test_a_server_that_goes_down_waits_for_no_suggestion() -> None:
    """Whoever waits is answered, and the model is not asked to the end."""
    waits = asyncio.Event()
    model = Scripted.saying("One.", waits)
    async with local_server(agent(model), follow_ups="model") as server:
        await server.say("Count")
        await asyncio.wait_for(waits.wait(), 5)
        reading = asyncio.create_task(suggested(server))
        await asyncio.sleep(0)
        await server.context.lifecycle.drain(0.1)
        assert await asyncio.wait_for(reading, 2) is None
        assert told(server) == []


async def test_few_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait; of those that are too many there are none."""
    monkeypatch.setattr(follow_ups, "MOST_WAITING", 5)
    now, most, free = 0, 0, asyncio.Event()

    async def suggests(request: FollowUpRequest) -> list[str]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await free.wait()
        now -= 1
        return ["More"]

    plugins = [suggest_follow_ups(suggests)]
    async with local_server(agent(Scripted.saying()), plugins=plugins) as server:
        for number in range(7):
            await server.say("Go", f"chat-{number}")
        free.set()
        found = [
            (await server.client.get(f"/api/chat/{APP}/chat-{number}/suggestions")).status_code
            for number in range(7)
        ]
        assert (most, found) == (follow_ups.MOST_AT_ONCE, [200] * 5 + [204] * 2)
        assert told(server) == ["Too many wait to be made."] * 2


async def test_secrets_are_not_kept() -> None:
    """A note is redacted as all that is stored, whoever wrote it."""
    plugins = [suggest_follow_ups(lambda _: ["Use AIzaSyA1234567890abcdefghijklmnopqrstuv"])]
    async with local_server(agent(Scripted.saying("One.")), plugins=plugins) as server:
        await server.say("Count")
        [found] = await suggested(server)
        assert "AIzaSy" not in found


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


async def test_another_replica_gives_them_out(redis: RedisServer) -> None:
    """The one that recorded the run makes them, once; a client of the other waits for them, too."""
    questions: list[str] = []
    going, asked = asyncio.Event(), asyncio.Event()

    async def suggests(request: FollowUpRequest) -> list[str]:
        questions.append(request.question)
        asked.set()
        await going.wait()
        return ["More"]

    plugins = [suggest_follow_ups(suggests)]
    root = agent(Scripted.saying("One."))
    async with (
        local_server(root, plugins=plugins, log=redis.url) as one,
        local_server(root, plugins=plugins, log=redis.url) as two,
    ):
        await one.say("Count")
        reading = [asyncio.create_task(suggested(each)) for each in (one, two)]
        await asked.wait()
        going.set()
        assert await asyncio.gather(*reading) == [["More"]] * 2
        assert questions == ["Count"]


async def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    """Also with the feature off: they are stored beside the run. Deleted with it, they are gone."""
    log = f"sqlite:///{tmp_path / 'runs.db'}"
    plugins = [suggest_follow_ups(lambda _: ["More"])]
    async with local_server(agent(Scripted.saying("One.")), plugins=plugins, log=log) as server:
        await server.say("Count")
        assert await suggested(server) == ["More"]
    async with local_server(agent(Scripted.saying()), log=log, follow_ups="off") as server:
        assert await suggested(server) == ["More"]
        found: httpx.Response = await server.client.delete(CHAT)
        assert found.status_code == 200
        assert (await server.client.get(f"{CHAT}/suggestions")).status_code == 410
