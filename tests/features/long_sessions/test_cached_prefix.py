"""What the model gets is what ADK would have sent, whatever the session has been through."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.models import Gemini
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import ToolContext
from google.genai import types
from tests.adk.own_service import OwnSessionService
from tests.adk.random_conversations import PIXEL, ROOTS, Conversation
from tests.adk.runs import ORIGIN, run, say
from tests.adk.scripted import Scripted, Turn, call
from tests.gemini_replies import ANSWER, THOUGHT_AND_TOOL
from tests.loopback_gemini import Json, serve_gemini

from adk_prism import cache_prefix
from adk_prism.adk.sessions import Sessions
from adk_prism.features.long_sessions import prefix, session_cache
from adk_prism.features.long_sessions.cached_prefix import give_whole_requests
from adk_prism.features.long_sessions.prefix import PrefixPlaceholder, prefix_of
from adk_prism.features.long_sessions.session_cache import SessionCache

TURNS = 30
NEVER_SHORT = {"delegating"}


class Watched(SessionCache):
    """Counts the runs that began with a short session."""

    short = 0

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        session = await super().get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )
        self.short += session is not None and prefix_of(session) is not None
        return session


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sessions cut as often as can be."""
    monkeypatch.setattr(session_cache, "SHORTEST", 4)
    monkeypatch.setattr(prefix, "KEPT", 3)
    monkeypatch.setattr(prefix, "LONGEST", 8)


async def _requests(conversation: Conversation, turns: int = TURNS) -> list[dict[str, Any]]:
    await conversation.begin()
    for _ in range(turns):
        await conversation.go_on()
    return conversation.model.requests


def _same(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> None:
    for number, (mine, plain) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == plain, f"request {number}"
        assert mine["kinds"] <= {types.Content}


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("seed", [5])
async def test_every_request_is_the_one_that_adk_builds(root: str, seed: int) -> None:
    """Contents, config and tools, of every request of a conversation, to the last field."""
    plain = await _requests(Conversation(root, seed, InMemorySessionService()))
    hot = Watched(InMemorySessionService())
    _same(await _requests(Conversation(root, seed, hot, plugins=[cache_prefix()])), plain)
    assert (hot.short > 5) == (root not in NEVER_SHORT)


@pytest.mark.usefixtures("often")
async def test_replicas_that_take_turns(tmp_path: Path) -> None:
    """Each is told by the session's revision what another one has done to it."""
    plain = await _requests(Conversation("handing_over", 3, InMemorySessionService()), 20)
    replicas = [Watched(SqliteSessionService(str(tmp_path / "sessions.db"))) for _ in range(3)]
    ours = Conversation("handing_over", 3, *replicas, plugins=[cache_prefix()])
    _same(await _requests(ours, 20), plain)
    assert all(replica.short for replica in replicas)


async def test_a_long_conversation() -> None:
    """With the sizes as they are."""
    plain = await _requests(Conversation("alone", 2, InMemorySessionService()), 45)
    hot = Watched(InMemorySessionService())
    ours = Conversation("alone", 2, hot, plugins=[cache_prefix()])
    _same(await _requests(ours, 45), plain)
    assert hot.short > 10


# --------------------------------------------------------------------------- one thing at a time


async def _runner(
    root: LlmAgent, service: BaseSessionService | None = None, turns: int = 8, **app: Any
) -> Runner:
    """Return a Runner of an app that asked for it, with a session that can be cut."""
    service = service or Watched(InMemorySessionService())
    plugins: list[BasePlugin] = [cache_prefix(), *app.pop("plugins", [])]
    runner = Runner(
        app=App(name=ORIGIN.app, root_agent=root, plugins=plugins, **app), session_service=service
    )
    await Sessions(service).create(ORIGIN)
    for number in range(turns):
        await run(runner, message=say(f"Message {number}."))
    return runner


def _short(runner: Runner) -> int:
    assert isinstance(runner.session_service, Watched)
    return runner.session_service.short


@pytest.mark.usefixtures("often")
async def test_the_model_stays_what_it_is() -> None:
    """The same object, of its own class, with all it has; others of its class are left alone."""
    model, other = Scripted.saying(*["Yes."] * 10), Scripted()
    kind = type(model)
    runner = await _runner(LlmAgent(name="root", model=model))
    assert _short(runner) > 3
    assert runner.agent.canonical_model is model  # type: ignore[attr-defined]
    assert isinstance(model, kind)
    assert type(model).__name__ == "Scripted"
    assert type(other) is kind
    assert [len(contents) for contents in model.requests] == list(range(1, 16, 2))


def get_weather(city: str) -> dict[str, str]:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


async def _sent(plugins: list[BasePlugin], service: BaseSessionService) -> list[Json]:
    """Return what ADK's own client sends in ten turns: texts, calls and a picture with a name."""
    with serve_gemini(
        *[reply for _ in range(5) for reply in (THOUGHT_AND_TOOL, ANSWER, ANSWER)]
    ) as server:
        model = Gemini(model="gemini-2.5-flash", base_url=server.url)
        root = LlmAgent(name="root", model=model, tools=[get_weather])
        runner = Runner(
            app=App(name=ORIGIN.app, root_agent=root, plugins=plugins), session_service=service
        )
        await Sessions(service).create(ORIGIN)
        for number in range(10):
            message = say(f"Message {number}.")
            message.parts = [*(message.parts or []), types.Part(inline_data=PIXEL)]
            await run(runner, message=message)
        return server.requests


@pytest.mark.usefixtures("often")
async def test_the_bytes_that_go_to_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK's own model class, which changes the parts that it is given, sends what it sends without."""
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")
    hot = Watched(InMemorySessionService())
    ours = await _sent([cache_prefix()], hot)
    assert ours == await _sent([], InMemorySessionService())
    assert hot.short > 5
    assert [len(body["contents"]) for body in ours[-2:]] == [27, 29]


@pytest.mark.usefixtures("often")
async def test_a_model_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ADK makes of a name is kept by the agent, and puts prefixes back as well."""
    from google.adk.models.registry import LLMRegistry

    model = Scripted.saying(*["Yes."] * 10)
    monkeypatch.setattr(LLMRegistry, "new_llm", staticmethod(lambda name: model))
    child = LlmAgent(name="child", description="takes its parent's model")
    runner = await _runner(LlmAgent(name="root", model="scripted", sub_agents=[child]))
    assert _short(runner) > 3
    assert [len(contents) for contents in model.requests] == list(range(1, 16, 2))


@pytest.mark.usefixtures("often")
async def test_whoever_is_given_a_request_is_given_all_of_it() -> None:
    """Plugins and callbacks, before the model and after it failed."""
    seen: list[int] = []

    class Looks(BasePlugin):
        async def before_model_callback(
            self, *, callback_context: CallbackContext, llm_request: LlmRequest
        ) -> None:
            del callback_context
            seen.append(len(llm_request.contents))
            assert not any(isinstance(each, PrefixPlaceholder) for each in llm_request.contents)

    root = LlmAgent(name="root", model=Scripted.saying(*["Yes."] * 10))
    runner = await _runner(root, plugins=[Looks(name="looks")])
    assert _short(runner) > 3
    assert seen == list(range(1, 16, 2))


@pytest.mark.usefixtures("often")
async def test_whoever_comes_after_an_agent_sees_all_events() -> None:
    """What was said may be kept then, as a memory of all of it."""
    counts: list[int] = []

    def remember(callback_context: CallbackContext) -> None:
        counts.append(len(callback_context.session.events))

    root = LlmAgent(
        name="root", model=Scripted.saying(*["Yes."] * 10), after_agent_callback=remember
    )
    runner = await _runner(root)
    assert _short(runner) > 3
    assert counts == list(range(2, 17, 2))


@pytest.mark.usefixtures("often")
async def test_an_id_that_was_used_before_brings_all_events_back() -> None:
    """ADK pairs calls with answers by their ids over the whole session."""
    lengths: list[int] = []

    def look(tool_context: ToolContext) -> str:
        """Look."""
        lengths.append(len(tool_context.session.events))
        return "seen"

    turns: list[Turn] = [call("look", "once"), "Yes.", *["Yes."] * 6, call("look", "once"), "Yes."]
    runner = await _runner(LlmAgent(name="root", model=Scripted.saying(*turns), tools=[look]))
    assert _short(runner) > 3
    assert lengths == [2, 18]


def _summing_up() -> dict[str, Any]:
    return {
        "events_compaction_config": EventsCompactionConfig(compaction_interval=99, overlap_size=1)
    }


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("app", [_summing_up], ids=["compaction"])
async def test_apps_that_read_all_events_get_them(app: Any) -> None:
    """Whatever they declare."""
    root = LlmAgent(name="root", model=Scripted.saying(*["Yes."] * 10))
    assert _short(await _runner(root, **app())) == 0


async def test_an_app_that_did_not_ask(often: None) -> None:
    """Its sessions are as they were."""
    del often
    hot = Watched(InMemorySessionService())
    app = App(name=ORIGIN.app, root_agent=LlmAgent(name="root", model=Scripted()))
    runner = Runner(app=app, session_service=hot)
    await Sessions(hot).create(ORIGIN)
    for _ in range(8):
        await run(runner, message=say("hi"))
    assert hot.short == 0


async def test_a_service_of_ones_own_is_used_as_it_is(often: None) -> None:
    """It is asked for all events."""
    del often
    model = Scripted.saying(*["Yes."] * 10)
    await _runner(LlmAgent(name="root", model=model), OwnSessionService())
    assert [len(contents) for contents in model.requests] == list(range(1, 16, 2))


class _Model(BaseLlm):
    seen: list[LlmRequest] = []  # noqa: RUF012 - pydantic copies it

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        self.seen.append(llm_request)
        yield LlmResponse()


async def test_a_model_that_gets_whole_requests() -> None:
    """It stays the object that it was, and an instance of its class."""
    model, request = _Model(model="m"), LlmRequest()
    assert give_whole_requests(model)
    assert give_whole_requests(model)
    async for _ in model.generate_content_async(request):
        pass
    assert model.seen == [request]
    assert isinstance(model, _Model)
    assert (model.model, type(model).__name__) == ("m", "_Model")
