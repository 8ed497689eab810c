"""What an AG-UI client's input asks for, and how one that cannot be read is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from adk_prism.commands import Answer, AnswerQuestions, ClientRequest, Submit
from adk_prism.errors import Unprocessable
from adk_prism.protocols.ag_ui.requests import CONTEXT_KEY, PROPS_KEY, read_request
from adk_prism.protocols.contract import LARGEST_EXTRAS

Json = dict[str, Any]

ASKED = {"id": "u1", "role": "user", "content": "Where am I?"}
CALLED = {
    "id": "a1",
    "role": "assistant",
    "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
NEXT = {"id": "u2", "role": "user", "content": "And now?"}


def run_input(*messages: Json, **more: Any) -> Json:
    """Return an input as `HttpAgent` posts it."""
    return {
        "threadId": "t1",
        "runId": "r1",
        "state": {},
        "messages": list(messages),
        "tools": [],
        "context": [],
        "forwardedProps": {},
        **more,
    }


def result(call: str, content: Any, **more: Any) -> Json:
    return {
        "id": f"result of {call}",
        "role": "tool",
        "toolCallId": call,
        "content": content,
        **more,
    }


def read(*messages: Json, **more: Any) -> ClientRequest:
    return read_request(run_input(*messages, **more))


def submitted(*messages: Json, **more: Any) -> Submit:
    command = read(*messages, **more).command
    assert isinstance(command, Submit)
    return command


def parts(content: Any) -> list[Json]:
    """Return the genai parts of a user's content."""
    message = submitted({"id": "u1", "role": "user", "content": content})
    found: list[Json] = msgspec.json.decode(message.content)["parts"]
    return found


def test_a_users_message_at_the_end_is_new() -> None:
    """Its thread is the session, its run id the client's; where it belongs, the user's messages say."""
    asked = read(ASKED, CALLED, result("c1", "{}"), NEXT, protocolVersion="1.0")
    assert (asked.session, asked.run, asked.user) == ("t1", "r1", "user")
    message = asked.command
    assert isinstance(message, Submit)
    assert (message.message_id, message.text) == ("u2", "And now?")
    assert message.before.ids == ("u1",)
    assert not message.leaves_questions


def test_unknown_roles_and_keys_are_passed_over() -> None:
    reasoning = {"id": "x", "role": "reasoning", "content": "Hm."}
    activity = {"id": "y", "role": "activity", "activityType": "z", "content": {}}
    other = {"id": "w", "role": "narrator", "content": 5}
    assert submitted(ASKED, NEXT, reasoning, activity, other, brand=1).message_id == "u2"


INLINE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
LINKED = {"fileData": {"fileUri": "https://example.com/a.png", "mimeType": "image/png"}}


@dataclass(frozen=True)
class Content:
    id: str
    given: Any
    expected: list[Json]


CONTENTS = (
    Content("a string", "Hello", [{"text": "Hello"}]),
    Content("text parts", [{"type": "text", "text": "Hello"}], [{"text": "Hello"}]),
    Content(
        "an image's bytes",
        [{"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}],
        [INLINE],
    ),
    Content(
        "a data URL as bytes",
        [{"type": "image", "source": {"type": "data", "value": "data:image/png;base64,AAAA"}}],
        [INLINE],
    ),
    Content(
        "a data URL as a URL",
        [{"type": "image", "source": {"type": "url", "value": "data:image/png;base64,AAAA"}}],
        [INLINE],
    ),
    Content(
        "a link",
        [
            {
                "type": "image",
                "source": {
                    "type": "url",
                    "value": "https://example.com/a.png",
                    "mimeType": "image/png",
                },
            }
        ],
        [LINKED],
    ),
    Content(
        "a provider's file",
        [
            {
                "type": "document",
                "source": {"type": "file", "value": "files/1", "provider": "google"},
            }
        ],
        [{"fileData": {"fileUri": "files/1", "mimeType": "application/octet-stream"}}],
    ),
    Content(
        "a named document",
        [
            {
                "type": "document",
                "source": {"type": "data", "value": "AAAA", "mimeType": "application/pdf"},
                "metadata": {"filename": "a.pdf"},
            }
        ],
        [
            {
                "inlineData": {
                    "mimeType": "application/pdf",
                    "data": "AAAA",
                    "displayName": "a.pdf",
                }
            }
        ],
    ),
    Content(
        "old binary bytes", [{"type": "binary", "mimeType": "image/png", "data": "AAAA"}], [INLINE]
    ),
    Content(
        "an old binary link",
        [{"type": "binary", "mimeType": "image/png", "url": "https://example.com/a.png"}],
        [LINKED],
    ),
)


@pytest.mark.parametrize("case", CONTENTS, ids=lambda case: case.id)
def test_content_becomes_genai_parts(case: Content) -> None:
    assert parts(case.given) == case.expected


def test_tool_messages_at_the_end_are_results() -> None:
    """JSON objects and lists are values; anything else stays the string that the client sent."""
    command = read(
        ASKED,
        CALLED,
        result("c1", '{"lat": 1}'),
        result("c2", "42"),
        result("c3", "plain"),
        result("c4", "", error="No signal"),
        result("c5", [{"type": "text", "text": "[1,"}, {"type": "text", "text": "2]"}]),
    ).command
    assert isinstance(command, Answer)
    assert command.repeats
    given = {a.call: msgspec.json.decode(a.output or b"") for a in command.answers}
    assert given == {
        "c1": {"lat": 1},
        "c2": "42",
        "c3": "plain",
        "c4": {"error": "No signal"},
        "c5": [1, 2],
    }


def test_resume_answers_questions_whatever_the_list_ends_with() -> None:
    command = read(
        ASKED,
        CALLED,
        result("c1", '{"approved": true}'),
        resume=[
            {
                "interruptId": "i1",
                "status": "resolved",
                "payload": {
                    "approved": True,
                    "payload": {"days": 2},
                    "reason": "fine",
                    "editedArgs": {"a": 1},
                },
            },
            {"interruptId": "i2", "status": "cancelled"},
            {"interruptId": "i3", "status": "resolved", "payload": "red"},
            {"interruptId": "i4", "status": "resolved", "payload": False},
        ],
    ).command
    assert isinstance(command, AnswerQuestions)
    first, second, third, fourth = command.answers
    assert first.decision is not None
    assert first.decision.approved
    assert msgspec.json.decode(first.decision.payload) == {"days": 2}
    assert first.decision.reason == "fine"
    assert msgspec.json.decode(first.input) == {"a": 1}
    assert second.is_cancelled
    assert second.decision is not None
    assert not second.decision.approved
    assert third.decision is None
    assert msgspec.json.decode(third.response) == "red"
    assert fourth.decision is not None
    assert not fourth.decision.approved
    assert [given.call for given in command.results] == ["c1"]
    assert command.message is None


def test_a_message_beside_a_resume_is_kept() -> None:
    command = read(ASKED, NEXT, resume=[{"interruptId": "i1", "status": "cancelled"}]).command
    assert isinstance(command, AnswerQuestions)
    assert command.message is not None
    assert command.message.message_id == "u2"


def test_state_context_props_and_tools() -> None:
    """The context goes where ag-ui-adk puts it; props are for apps that declare them."""
    context = [{"description": "page", "value": "cart"}]
    asked = read(
        ASKED,
        state={"a": 1},
        context=context,
        forwardedProps={"userId": "ann", "token": "s"},
        tools=[
            {"name": "show", "description": "Show.", "parameters": {"type": "object"}},
            {"name": "hide", "description": "Hide."},
        ],
    )
    assert asked.state == {"a": 1, CONTEXT_KEY: context}
    assert asked.declared_state == {PROPS_KEY: {"userId": "ann", "token": "s"}}
    assert asked.user == "ann"
    assert asked.tools == {
        "show": {"description": "Show.", "parameters": {"type": "object"}},
        "hide": {"description": "Hide."},
    }


def test_a_context_that_is_empty_again_is_emptied() -> None:
    assert read(ASKED, state={CONTEXT_KEY: [{"value": "old"}]}).state == {CONTEXT_KEY: []}
    assert read(ASKED).state == {}


def test_instructions_count_with_the_message_they_come_before() -> None:
    told = {"id": "s", "role": "developer", "content": "Be brief."}
    assert read(told, ASKED).has_instructions
    assert not read(told, ASKED, CALLED, NEXT).has_instructions


REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([], "must be a JSON object"),
    "no thread": ({**run_input(ASKED), "threadId": ""}, "`threadId`"),
    "no run": ({**run_input(ASKED), "runId": 5}, "`runId`"),
    "no messages": ({"threadId": "t", "runId": "r"}, "`messages`"),
    "messages are no list": (run_input() | {"messages": "hi"}, "`messages`"),
    "a message that is none": (run_input() | {"messages": ["hi"]}, "`messages`"),
    "nothing new": (run_input(ASKED, CALLED), "nothing to answer"),
    "an empty list": (run_input(), "nothing to answer"),
    "an empty message": (run_input({**ASKED, "content": ""}), "neither text nor files"),
    "content of a wrong kind": (run_input({**ASKED, "content": 5}), "`content`"),
    "a part that is none": (run_input({**ASKED, "content": ["hi"]}), "must be an object"),
    "an unknown part": (run_input({**ASKED, "content": [{"type": "smell"}]}), "'smell'"),
    "media without source": (run_input({**ASKED, "content": [{"type": "image"}]}), "`source`"),
    "an unknown source": (
        run_input({**ASKED, "content": [{"type": "image", "source": {"type": "x", "value": "y"}}]}),
        "`source`",
    ),
    "a data URL in plain text": (
        run_input(
            {
                **ASKED,
                "content": [{"type": "image", "source": {"type": "url", "value": "data:,hi"}}],
            }
        ),
        "base64",
    ),
    "a binary part of nothing": (
        run_input({**ASKED, "content": [{"type": "binary", "mimeType": "a/b"}]}),
        "`data`, `url` or the `id`",
    ),
    "an id that is no string": (run_input({**ASKED, "id": 5}), "`id`"),
    "a result of no call": (run_input(ASKED, {"role": "tool", "content": "x"}), "`toolCallId`"),
    "a result of a wrong kind": (run_input(ASKED, result("c1", {"a": 1})), "`content`"),
    "state is no object": (run_input(ASKED, state=[1]), "`state`"),
    "props are no object": (run_input(ASKED, forwardedProps="x"), "`forwardedProps`"),
    "tools are no list": (run_input(ASKED, tools={"f": {}}), "`tools`"),
    "a tool without a name": (run_input(ASKED, tools=[{"description": "x"}]), "`name`"),
    "resume is no list": (run_input(ASKED, resume={"interruptId": "i"}), "`resume`"),
    "a resume of nothing": (run_input(ASKED, resume=[{"status": "resolved"}]), "`interruptId`"),
    "an unknown status": (
        run_input(ASKED, resume=[{"interruptId": "i", "status": "maybe"}]),
        "'maybe'",
    ),
    "one interrupt twice": (
        run_input(ASKED, resume=[{"interruptId": "i", "status": "cancelled"}] * 2),
        "once",
    ),
    "too much metadata": (
        run_input({**ASKED, "metadata": {"x": "y" * LARGEST_EXTRAS}}),
        str(LARGEST_EXTRAS),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_with_what_was_expected(name: str) -> None:
    body, words = REFUSED[name]
    with pytest.raises(Unprocessable, match=r".") as refusal:
        read_request(body)
    assert words in refusal.value.detail
