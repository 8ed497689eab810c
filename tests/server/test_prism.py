"""A server in a program: what it serves, and its runs from Python, under the checks of a request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.workflow import Workflow
from google.genai import types
from pydantic import BaseModel
from tests.adk.scripted import Scripted, call

from adk_prism import Prism, PrismError, Settings, client_tool, errors
from adk_prism.features.run_retention import RunRetentionSettings
from adk_prism.log.entry import Origin

AGENTS = Path(__file__).parent / "agents"
QUIET: dict[str, Any] = {"log": "memory:", "sessions": "memory://", "artifacts": "memory://"}


class Guests(BaseModel):
    guests: int


def refund(order: int) -> dict[str, Any]:
    """Give money back."""
    return {"refunded": order}


def support(*turns: Any, tools: tuple[Any, ...] = ()) -> App:
    model = Scripted.saying(*turns)
    agent = LlmAgent(name="support", model=model, tools=list(tools))
    return App(
        name="support",
        root_agent=agent,
        resumability_config=ResumabilityConfig(is_resumable=True),
    )


@asynccontextmanager
async def serving(*turns: Any, tools: tuple[Any, ...] = (), **more: Any) -> AsyncIterator[Prism]:
    settings = Settings(**QUIET, grace=0.1, **more)
    async with Prism(apps={"support": support(*turns, tools=tools)}, settings=settings) as prism:
        yield prism


ASKS = FunctionTool(refund, require_confirmation=True)


# ------------------------------------------------------------------ what is served


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prism({"support": InMemoryRunner(support("hi").root_agent, app_name="support")}),
        lambda: Prism(apps={"support": support("hi")}),
        lambda: Prism(apps={"support": support("hi").root_agent}),
    ],
    ids=["runner", "app", "agent"],
)
async def test_runners_apps_and_agents_are_served(
    make: Callable[[], Prism], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Under the names that they are given; the environment sets the rest."""
    monkeypatch.chdir(tmp_path)
    for name, value in QUIET.items():
        monkeypatch.setenv(f"ADK_PRISM_{name.upper()}", value)
    async with make() as prism:
        run = await prism.runs.wait(await prism.start("support", "hello"))
    assert (run.app, run.outcome) == ("support", "finished")
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_is_served_with_settings_by_name() -> None:
    """As text, as on the command line; a wrong one is refused before anything is opened."""
    async with Prism.from_folder(AGENTS, retention_age="30d", **QUIET) as prism:
        kept = prism.context.settings.of(RunRetentionSettings).retention_age
        assert kept == 30 * 86400
        assert "helper" in prism.context.apps.names()
    with pytest.raises(errors.UsageError, match=r"^retention_age must be a time"):
        Prism.from_folder(AGENTS, retention_age="long")
    with pytest.raises(errors.UsageError, match="There is no folder"):
        Prism.from_folder("nowhere", **QUIET)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"runners": {}, "apps": {}}, "only one of"),
        ({"apps": {"support": "an agent"}}, "'support' is of type str; expected an ADK Runner"),
        ({"apps": {"my-agent": support()}}, "'my-agent' is not a valid app name"),
        ({"apps": {"my-agent": support().root_agent}}, "'my-agent' is not a valid app name"),
    ],
)
def test_what_cannot_be_served_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(errors.UsageError, match=says):
        Prism(**given, settings=Settings(**QUIET))


async def test_it_is_an_application_itself() -> None:
    """Mounted below a route, with the lifespan of its host, or served alone."""
    prism = Prism(apps={"support": support("hi")}, settings=Settings(**QUIET))
    host = FastAPI(lifespan=prism.lifespan)
    host.mount("/agents", prism)
    transport = httpx.ASGITransport(host)
    async with (
        host.router.lifespan_context(host),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        assert (await client.get("/agents/list-apps")).json() == ["support"]
        run = await prism.start("support", "hello")
        shown = (await client.get(f"/agents/api/runs/{run.id}")).json()
    assert (shown["run"], shown["session"]) == (run.id, run.session)


async def test_the_first_use_starts_it_and_after_its_end_it_takes_nothing() -> None:
    prism = Prism(apps={"support": support("hi")}, settings=Settings(**QUIET))
    run = await prism.start("support", "hello")
    assert (await prism.runs.wait(run)).outcome == "finished"
    async with prism:
        pass
    with pytest.raises(errors.Draining, match="shutting down"):
        await prism.start("support", "hello")
    with pytest.raises(errors.LogError):
        await prism.runs.get(run)


async def test_the_end_waits_for_runs_and_then_ends_them() -> None:
    """A run that goes on is over, and in the log, when the block is left."""
    going = asyncio.Event()
    async with serving(going) as prism:
        run = await prism.start("support", "hello")
        await going.wait()
        following = asyncio.create_task(_all(prism.stream(run, "adk")))
        await asyncio.sleep(0)
    assert '"errorCode":"server_stopped"' in (await following)[-1].data


# ------------------------------------------------------------------ runs from Python


async def test_a_run_is_started_followed_and_listed() -> None:
    """The same frames as over HTTP, and from a position on the rest of them."""
    async with serving("one two three", "and more") as prism:
        run = await prism.start(
            "support", "hello", user="ann", session="s1", state={"user:tier": 1}
        )
        frames = [frame async for frame in prism.stream(run)]
        transport = httpx.ASGITransport(prism.asgi())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.get(f"/api/runs/{run.id}/stream?as=ai-sdk")
        assert [f"data: {frame.data}" for frame in frames] == [
            line for line in answer.text.splitlines() if line.startswith("data: ")
        ]
        assert [f"id: {frame.position}" for frame in frames] == [
            line for line in answer.text.splitlines() if line.startswith("id: ")
        ]
        middle = frames[3].position
        assert [f async for f in prism.stream(run.id, after=middle)] == frames[4:]
        over = await prism.runs.get(run.id)
        assert (over.user, over.session, over.outcome) == ("ann", "s1", "finished")
        assert [f async for f in prism.stream(run, after=str(over.cursor))] == []
        again = await prism.start("support", "more", user="ann", session="s1")
        await prism.start("support", "alone", user="bob")
        assert [each.id for each in await prism.runs.list(user="ann")] == [again.id, run.id]
        assert len(await prism.runs.list(limit=2)) == 2
        sessions = prism.context.apps.sessions("support")
        state = await sessions.state(Origin(app="support", user="ann", session="s1"))
        assert state["user:tier"] == 1


@pytest.mark.parametrize("protocol", ["adk", "ai-sdk", "ag-ui", "studio"])
async def test_a_run_is_followed_in_every_protocol(protocol: str) -> None:
    """While it goes on; positions are those of the stream over HTTP."""
    async with serving("one two") as prism:
        run = await prism.start("support", "hello")
        frames = [frame async for frame in prism.stream(run, protocol)]
        assert "one" in "".join(frame.data for frame in frames)
        rest = [f async for f in prism.stream(run, protocol, after=frames[0].position)]
        assert rest == frames[1:]


async def test_a_message_may_have_parts() -> None:
    """A genai `Content`, with files."""
    async with serving("a picture") as prism:
        part = types.Part(inline_data=types.Blob(data=b"GIF89a", mime_type="image/gif"))
        run = await prism.start("support", types.Content(parts=[part]))
        assert (await prism.runs.wait(run)).outcome == "finished"


async def test_a_run_is_stopped() -> None:
    """And stays as it is when it is over."""
    going = asyncio.Event()
    async with serving(going) as prism:
        run = await prism.start("support", "hello")
        await going.wait()
        assert run.outcome is None
        assert (await prism.stop(run)).outcome == "cancelled"
        assert (await prism.stop(run.id)).outcome == "cancelled"
        assert [f.data async for f in prism.stream(run)][-1] == "[DONE]"


async def test_a_key_starts_one_run() -> None:
    async with serving("one", "two") as prism:
        first = await prism.start("support", "hello", session="s", key="k")
        await prism.runs.wait(first)
        assert (await prism.start("support", "hello", session="s", key="k")).id == first.id
        with pytest.raises(errors.Unprocessable, match="used with another request"):
            await prism.start("support", "other", session="s", key="k")


# ------------------------------------------------------------------ questions


@pytest.mark.parametrize(
    ("decision", "shown"),
    [(True, '"refunded":7'), ({"approved": False, "reason": "too late"}, "rejected")],
)
async def test_an_approval_is_answered(decision: Any, shown: str) -> None:
    """The run that continues is another one, of the same message."""
    turns = (call("refund", "c1", order=7), "Done.")
    async with serving(*turns, tools=(ASKS,)) as prism:
        run = await prism.runs.wait(await prism.start("support", "give it back"))
        assert run.outcome == "waiting"
        (question,) = await prism.runs.questions(run)
        assert (question.kind, question.tool, question.input) == (
            "approval", "refund", {"order": 7},
        )  # fmt: skip
        again = await prism.answer(run, {question.id: decision})
        assert (again.message, again.session) == (run.message, run.session)
        assert shown in "".join([f.data async for f in prism.stream(again, "adk")])
        assert await prism.runs.questions(run) == []
        with pytest.raises(errors.Expired, match="open questions are none"):
            await prism.answer(run, {question.id: True})


async def test_the_result_of_a_client_tool_is_given() -> None:
    turns = (call("place", "c1"), "In Bergen.")
    async with serving(*turns, tools=(client_tool("place", "Where"),)) as prism:
        run = await prism.runs.wait(await prism.start("support", "where am I"))
        (question,) = await prism.runs.questions(run)
        assert (question.kind, question.tool) == ("client tool", "place")
        again = await prism.answer(run, {question.id: {"city": "Bergen"}})
        assert "In" in "".join([f.data async for f in prism.stream(again)])
        assert (await prism.runs.get(again)).outcome == "finished"


async def test_an_input_is_given() -> None:
    """What does not fit its schema leaves the question open."""

    async def ask(node_input: Any) -> AsyncGenerator[RequestInput, None]:
        yield RequestInput(interrupt_id="q-1", message="How many?", response_schema=Guests)

    def tell(node_input: Any) -> dict[str, Any]:
        return {"answer": node_input}

    booking = Workflow(name="booking", edges=[("START", ask, tell)])
    async with Prism(apps={"booking": booking}, settings=Settings(**QUIET, grace=0.1)) as prism:
        run = await prism.runs.wait(await prism.start("booking", "a table"))
        (question,) = await prism.runs.questions(run)
        assert (question.kind, question.tool, question.input["message"]) == (
            "input",
            "",
            "How many?",
        )
        assert question.schema["properties"]["guests"]["type"] == "integer"
        with pytest.raises(errors.Unprocessable, match="guests"):
            await prism.answer(run, {question.id: {"guests": "many"}})
        again = await prism.answer(run, {question.id: {"guests": 4}})
        assert '"guests":4' in "".join([f.data async for f in prism.stream(again, "adk")])


async def test_questions_are_answered_together() -> None:
    turns = ([call("refund", "c1", order=7), call("refund", "c2", order=8)], "Done.")
    async with serving(*turns, tools=(ASKS,)) as prism:
        run = await prism.runs.wait(await prism.start("support", "give it back"))
        first, second = await prism.runs.questions(run)
        with pytest.raises(errors.QuestionsOpen, match=second.id):
            await prism.answer(run, {first.id: True})
        for wrong in ("yes", None, {}, {"approved": 1}, {"approved": True, "reason": 3}):
            with pytest.raises(errors.Unprocessable, match="answer with true or false"):
                await prism.answer(run, {first.id: wrong, second.id: True})
        again = await prism.answer(run, {first.id: True, second.id: False})
        assert (await prism.runs.wait(again)).outcome == "finished"


# ------------------------------------------------------------------ what is refused


@dataclass(frozen=True)
class Refused:
    id: str
    error: type[PrismError]
    says: str
    ask: Callable[[Prism], Any]


REFUSED = [
    Refused("app", errors.NotFound, "There is no app 'other'", lambda p: p.start("other", "hi")),
    Refused("empty", errors.Unprocessable, "is empty", lambda p: p.start("support", "")),
    Refused(
        "no parts", errors.Unprocessable, "is empty",
        lambda p: p.start("support", types.Content(parts=[])),
    ),
    Refused("user", errors.UsageError, "user", lambda p: p.start("support", "hi", user="a\0")),
    Refused("session", errors.UsageError, "session", lambda p: p.start("support", "hi", session="a/b")),
    Refused("key", errors.UsageError, "Idempotency-Key", lambda p: p.start("support", "hi", key="a\n")),
    Refused("run", errors.NotFound, "run-none", lambda p: p.runs.get("run-none")),
    Refused("waited run", errors.NotFound, "run-none", lambda p: p.runs.wait("run-none")),
    Refused("stopped run", errors.NotFound, "run-none", lambda p: p.stop("run-none")),
    Refused("asked run", errors.NotFound, "run-none", lambda p: p.runs.questions("run-none")),
    Refused("answered run", errors.NotFound, "run-none", lambda p: p.answer("run-none", {})),
    Refused("streamed run", errors.NotFound, "run-none", lambda p: _all(p.stream("run-none"))),
    Refused("limit", errors.UsageError, "from 1 to 1000, got 0", lambda p: p.runs.list(limit=0)),
]  # fmt: skip


async def _all(frames: Any) -> list[Any]:
    return [frame async for frame in frames]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_bad_input_is_refused(case: Refused) -> None:
    """With a sentence, and nothing has begun."""
    async with serving("hi") as prism:
        with pytest.raises(case.error) as told:
            await case.ask(prism)
        assert case.says in told.value.detail
        assert await prism.runs.list() == []


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"protocol": "soap"}, errors.UsageError, "Unknown protocol 'soap'"),
        ({"dialect": "99"}, errors.UsageError, "Unknown dialect '99'"),
        ({"after": "here"}, errors.BadPosition, "is not a position"),
        ({"after": "9999"}, errors.BadPosition, "past the end"),
        ({"after": "1.99"}, errors.BadPosition, "is not in this stream"),
        ({"after": "run-2:1.1"}, errors.BadPosition, "belongs to another run"),
    ],
)
async def test_a_bad_stream_is_refused(given: Any, error: type[PrismError], says: str) -> None:
    """Before its first frame."""
    async with serving("hi") as prism:
        run = await prism.runs.wait(await prism.start("support", "hello"))
        with pytest.raises(error, match=says):
            await _all(prism.stream(run, **given))


async def test_a_busy_conversation_is_as_the_settings_say() -> None:
    going = asyncio.Event()
    async with serving(going, chat_busy="refuse") as prism:
        run = await prism.start("support", "hello", session="s")
        await going.wait()
        with pytest.raises(errors.Conflict, match="This session is running"):
            await prism.start("support", "again", session="s")
        await prism.stop(run)


async def test_a_deleted_conversation_takes_nothing() -> None:
    async with serving("hi", "hi") as prism:
        run = await prism.runs.wait(await prism.start("support", "hello", session="s"))
        await prism.context.runs.deletions.delete(
            Origin(app="support", user="user", session="s"), "ann"
        )
        with pytest.raises(errors.Gone, match="deleted"):
            await prism.start("support", "again", session="s")
        with pytest.raises(errors.Gone, match="deleted"):
            await prism.runs.get(run)
        assert await prism.runs.list() == []


async def test_a_failure_is_the_end_of_the_run() -> None:
    """The text for clients has no exception in it."""
    async with serving(RuntimeError("the-secret")) as prism:
        run = await prism.start("support", "hello")
        frames = [json.loads(frame.data) async for frame in prism.stream(run, "adk")]
        assert (await prism.runs.get(run)).outcome == "failed"
    assert "the-secret" not in json.dumps(frames)
