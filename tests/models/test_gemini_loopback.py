"""The events of ADK's real `Gemini` class, read from a server on the loopback interface.

These are the shapes that the rest of the project relies on; the scripted model is held against
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models import Gemini
from google.genai import types
from tests.app_runner import AppRun, AppRunner
from tests.gemini_replies import STREAMS
from tests.loopback_gemini import serve_gemini

from adk_prism.models import Call, Say, ScriptedModel, Think, Turn, read_conversation, say


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client insists on a key; the server does not look at it."""
    monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")


def get_weather(city: str) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


async def run(name: str, streaming: StreamingMode = StreamingMode.SSE) -> AppRun:
    with serve_gemini(*STREAMS[name]) as server:
        model = Gemini(model="gemini-2.5-flash", base_url=server.url)
        root = LlmAgent(name="gemini", model=model, tools=[get_weather])
        return await AppRunner(App(name="loopback", root_agent=root), streaming=streaming).send(
            "go"
        )


def shape(event: Event) -> tuple[bool | None, tuple[str, ...]]:
    """An event as: partial or not, and the kinds of its parts."""
    return event.partial, tuple(_kind(part) for part in _parts(event))


def _parts(event: Event) -> Sequence[types.Part]:
    return (event.content.parts or []) if event.content else []


def _kind(part: types.Part) -> str:
    if part.function_call:
        return "call"
    if part.function_response:
        return "response"
    return "thought" if part.thought else "text"


async def test_thought_text_and_tool() -> None:
    take = await run("thought_and_tool")

    assert [shape(event) for event in take.events] == [
        (True, ("thought",)),
        (True, ("thought",)),
        (True, ("text",)),
        (True, ("text",)),
        (True, ("call",)),
        (False, ("thought", "text", "call")),
        (None, ("response",)),
        (True, ("text",)),
        (True, ("text",)),
        (True, ("text",)),
        (False, ("text", "text")),
    ]
    assert len({event.id for event in take.events[:6]}) == 1
    assert len({event.id for event in take.events}) == 3
    previewed, called = (_parts(take.events[i])[-1] for i in (4, 5))
    assert previewed.function_call == called.function_call
    assert called.thought_signature == b"signature"
    assert _parts(take.events[-1])[-1].text == ""
    usages = [event.usage_metadata is not None for event in take.events]
    assert [i for i, has_usage in enumerate(usages) if has_usage] == [4, 5, 9, 10]


async def test_arguments_in_pieces() -> None:
    take = await run("partial_arguments")

    pieces = [_parts(event)[0].function_call for event in take.events[:4]]
    assert [piece and piece.name for piece in pieces] == ["get_weather", None, None, None]
    assert [bool(piece and piece.will_continue) for piece in pieces] == [True, True, True, False]
    assert len({piece and piece.id for piece in pieces}) == 1
    assert take.call("get_weather").args == {"city": "Paris"}
    assert take.call("get_weather").id == (pieces[0] and pieces[0].id)
    assert take.error is None


async def test_max_tokens_is_an_error_in_a_stream_only() -> None:
    streamed, whole = await run("max_tokens"), await run("max_tokens", StreamingMode.NONE)

    assert [event.error_code for event in streamed.events] == [None, None, "MAX_TOKENS"]
    assert streamed.text == whole.text == "cut off text"
    (only,) = whole.events
    assert (only.finish_reason, only.error_code) == (types.FinishReason.MAX_TOKENS, None)


async def test_a_filter_sends_an_error_on_a_partial_event_too() -> None:
    take = await run("safety")

    assert [event.error_code for event in take.events] == [None, "SAFETY", "SAFETY"]
    assert [event.partial for event in take.events] == [True, True, False]
    assert take.text == "hm "
    assert take.error is None


async def test_quota_is_an_error_event_and_then_raised() -> None:
    take = await run("quota")

    (event,) = take.events
    assert event.error_code == "RESOURCE_EXHAUSTED"
    assert getattr(take.error, "code", None) == 429


async def test_the_scripted_model_gives_the_same_events() -> None:
    """The same story, told by both: equal but for ids, times, names and the empty last chunk."""

    def script(request: Any) -> Turn:
        if read_conversation(request).answers:
            return say("It is sunny.")
        thought = Think("Where is it? In Paris.")
        return Turn((thought, Say("Let me look."), Call("get_weather", {"city": "Paris"})))

    root = LlmAgent(name="gemini", model=ScriptedModel(script=script), tools=[get_weather])
    scripted = await AppRunner(App(name="loopback", root_agent=root)).send("go")
    real = await run("thought_and_tool")

    def told(take: AppRun) -> list[Any]:
        return [(shape(event)[0], event.finish_reason, event.author) for event in take.whole]

    assert told(scripted) == told(real)
    assert scripted.text == real.text
    assert [set(event.model_fields_set) for event in scripted.whole] == [
        set(event.model_fields_set) for event in real.whole
    ]
