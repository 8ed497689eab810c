"""The scripted model gives what ADK's own model adapters give, and always the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.recordings.determinism import start_counting

from adk_prism.models import Call, Fail, Pause, Say, ScriptedModel, Show, Step, Think, Turn
from adk_prism.models.script import beats_of, words_of

ARGUMENTS = {
    "title": "Light and prisms",
    "nothing": None,
    "yes": True,
    "copies": 2,
    "tags": ["one", "two words"],
    "deep": {"er": {"odd key": "x"}},
}


async def play(turn: Turn, stream: bool = True, **fields: object) -> list[LlmResponse]:
    model = ScriptedModel(script=lambda request: turn, **fields)
    request = LlmRequest(contents=[types.UserContent("four words of prompt")])
    return [response async for response in model.generate_content_async(request, stream=stream)]


def parts_of(responses: Sequence[LlmResponse]) -> list[types.Part]:
    contents = [response.content for response in responses if response.content]
    return [part for content in contents for part in content.parts or []]


def call_ids(responses: Sequence[LlmResponse]) -> list[str | None]:
    return [part.function_call.id for part in parts_of(responses) if part.function_call]


@dataclass(frozen=True)
class Case:
    id: str
    steps: tuple[Step, ...]


FILE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
CASES = [
    Case("text", (Say("A  few\nwords, with spaces. "),)),
    Case("thought", (Think("Hm, hm.", b"signed"), Say("Yes."))),
    Case("call", (Say("I call."), Call("add", {"a": 1}))),
    Case("streamed call", (Call("add", ARGUMENTS, streamed=True),)),
    Case("two calls", (Call("add", {"a": 1}), Call("add", {"a": 2}))),
    Case("file between texts", (Say("Before "), Show(FILE), Say("after."))),
    Case("pause", (Say("Before "), Pause(0), Say("after."))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_stream_is_partials_and_then_everything_once(case: Case) -> None:
    """All chunks are partial; one aggregate follows; it says what one response would say."""
    *partials, aggregate = await play(Turn(case.steps))
    (whole,) = await play(Turn(case.steps), stream=False)

    assert [partial.partial for partial in partials] == [True] * len(partials)
    assert aggregate.partial is False
    assert whole.partial is None
    assert _contents(aggregate) == _contents(whole)
    for last in (partials[-1], aggregate, whole):
        assert last.finish_reason is types.FinishReason.STOP
        assert last.usage_metadata is not None
        assert last.usage_metadata.prompt_token_count == 4
    assert all(partial.finish_reason is None for partial in partials[:-1])


def _contents(response: LlmResponse) -> list[dict[str, object]]:
    """The parts, without the ids that only a stream needs before ADK gives them."""
    parts = [part.model_dump(exclude_none=True) for part in parts_of([response])]
    for part in parts:
        part.get("function_call", {}).pop("id", None)
    return parts


async def test_preview_and_call_share_an_id() -> None:
    responses = await play(Turn((Call("add", {"a": 1}, streamed=True), Call("add", {"a": 2}))))
    first, second = call_ids(responses[-1:])

    assert first
    assert second
    assert first != second
    assert set(call_ids(responses)) == {first, second}


async def test_a_given_id_is_kept() -> None:
    (whole,) = await play(Turn((Call("add", id="mine"),)), stream=False)
    *_, aggregate = await play(Turn((Call("add", id="mine", streamed=True),)))

    for response in (whole, aggregate):
        (part,) = parts_of([response])
        assert part.function_call is not None
        assert part.function_call.id == "mine"


async def test_dropped_ids_are_nowhere() -> None:
    responses = await play(Turn((Call("add", {"a": 1}, streamed=True),)), call_ids="dropped")

    assert call_ids(responses) == [None] * 4


async def test_streamed_arguments_arrive_in_pieces() -> None:
    *partials, _ = await play(Turn((Call("write", ARGUMENTS, streamed=True),)))

    calls = [part.function_call for part in parts_of(partials) if part.function_call]
    assert calls[0].name == "write"
    assert calls[0].will_continue is True
    assert calls[-1].will_continue is None
    pieces = [piece for call in calls for piece in call.partial_args or []]
    assert [(piece.json_path, piece.string_value) for piece in pieces[:3]] == [
        ("$.title", "Light "),
        ("$.title", "and "),
        ("$.title", "prisms"),
    ]
    assert [piece.will_continue for piece in pieces[:3]] == [True, True, None]
    paths = [piece.json_path for piece in pieces[3:]]
    assert paths[:4] == ["$.nothing", "$.yes", "$.copies", "$.tags[0]"]
    assert paths[-1] == "$.deep.er['odd key']"


@dataclass(frozen=True)
class Ending:
    id: str
    turn: Turn
    streamed: tuple[str | None, bool]
    whole: tuple[str | None, bool]


SAID = (Say("Some words"),)
ENDINGS = [
    Ending("stop", Turn(SAID), (None, True), (None, True)),
    Ending(
        "max tokens",
        Turn(SAID, finish_reason=types.FinishReason.MAX_TOKENS),
        # The same end of an answer: ADK calls it an error in a stream, and not otherwise.
        ("MAX_TOKENS", True),
        (None, True),
    ),
    Ending(
        "safety",
        Turn(SAID, finish_reason=types.FinishReason.SAFETY, finish_message="No."),
        ("SAFETY", True),
        ("SAFETY", False),
    ),
    Ending(
        "refused prompt",
        Turn(SAID, blocked=types.BlockedReason.PROHIBITED_CONTENT),
        ("PROHIBITED_CONTENT", False),
        ("PROHIBITED_CONTENT", False),
    ),
    Ending("nothing", Turn(), (None, False), (None, False)),
]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.id)
async def test_endings(ending: Ending) -> None:
    """How a turn ended is the error code and whether there is content, as with `Gemini`."""
    *_, aggregate = await play(ending.turn)
    (whole,) = await play(ending.turn, stream=False)

    assert (aggregate.error_code, bool(aggregate.content)) == ending.streamed
    assert (whole.error_code, bool(whole.content)) == ending.whole


async def test_a_failing_turn_has_said_what_came_before() -> None:
    turn = Turn((Say("One two"), Fail(OSError("gone"))))
    model = ScriptedModel(script=lambda request: turn)
    responses = model.generate_content_async(LlmRequest(), stream=True)

    said = [await anext(responses), await anext(responses)]
    assert [part.text for part in parts_of(said)] == ["One ", "two"]
    with pytest.raises(OSError, match="gone"):
        await anext(responses)
    with pytest.raises(OSError, match="gone"):
        await play(turn, stream=False)


async def test_a_turn_may_refuse_to_stream() -> None:
    (only,) = await play(Turn(SAID, streams=False))

    assert only.partial is False
    assert [part.text for part in parts_of([only])] == ["Some words"]


async def test_sources_ride_on_the_last_chunk_and_on_the_aggregate() -> None:
    grounding = types.GroundingMetadata(web_search_queries=["prism"])
    citations = types.CitationMetadata(citations=[types.Citation(uri="https://example.com")])
    first, *_, last, aggregate = await play(
        Turn((Say("Two words"),), grounding=grounding, citations=citations)
    )

    assert first.grounding_metadata is None
    for response in (last, aggregate):
        assert response.grounding_metadata == grounding
        assert response.citation_metadata == citations


async def test_the_same_request_gives_the_same_responses() -> None:
    turn = Turn((Think("Hm.", b"s"), Say("I call."), Call("add", ARGUMENTS, streamed=True)))
    takes = []
    for _ in range(2):
        start_counting()
        takes.append([response.model_dump_json() for response in await play(turn)])

    assert takes[0] == takes[1]


@pytest.mark.parametrize("text", ["", " ", "one", "one ", "  two\n\nthree  ", "ü 你好 🌈"])
def test_words_make_up_the_text(text: str) -> None:
    assert "".join(words_of(text)) == text


def test_arguments_must_be_json() -> None:
    usage = types.GenerateContentResponseUsageMetadata()
    with pytest.raises(TypeError, match=r"\$\.when is object"):
        list(beats_of(Turn((Call("add", {"when": object()}, streamed=True),)), usage, "scripted"))
