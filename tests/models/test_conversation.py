"""A script sees the latest prompt and what was answered since, without ADK's own remarks."""

from __future__ import annotations

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_prism.models import Answer, read_conversation


def called(name: str) -> types.Content:
    return types.ModelContent(types.Part(function_call=types.FunctionCall(name=name, args={})))


def answered(name: str, **response: object) -> types.Content:
    answer = types.FunctionResponse(name=name, response=dict(response))
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


def test_answers_belong_to_the_latest_prompt() -> None:
    contents = [
        types.UserContent("first"),
        called("add"),
        answered("add", sum=1),
        types.ModelContent("One."),
        types.UserContent("second"),
        called("add"),
        answered("add", sum=2),
        answered("add", sum=3),
    ]
    conversation = read_conversation(LlmRequest(contents=contents))

    assert conversation.prompt == "second"
    assert conversation.answers == (Answer("add", {"sum": 2}), Answer("add", {"sum": 3}))
    assert conversation.answer("add") == {"sum": 3}
    assert conversation.answer("subtract") is None


def test_what_another_agent_did_is_not_a_prompt() -> None:
    relayed = types.UserContent(["For context: below is a transcript", "[guide] said: hello"])
    conversation = read_conversation(LlmRequest(contents=[types.UserContent("go"), relayed]))

    assert conversation.prompt == "go"


def test_remarks_of_adk_are_not_part_of_a_delegated_prompt() -> None:
    delegated = types.UserContent(['{"request": "go"}', "You will not get another message."])

    assert read_conversation(LlmRequest(contents=[delegated])).prompt == '{"request": "go"}'


def test_an_empty_request_has_an_empty_prompt() -> None:
    assert read_conversation(LlmRequest()).prompt == ""
