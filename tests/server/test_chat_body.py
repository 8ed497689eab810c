"""A chat's body is kept without its earlier messages, and within limits."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, agent, local_server, texts

from adk_prism.errors import TooLarge, UsageError
from adk_prism.server import request_bodies as chat_body
from adk_prism.server.request_bodies import parse_body, shorten_history

Json = dict[str, Any]


def user(name: str, text: str = "Hi") -> Json:
    return {"parts": [{"type": "text", "text": text}], "id": name, "role": "user"}


ANSWER: Json = {
    "id": "a1",
    "metadata": {"id": "not this one", "role": "user"},
    "role": "assistant",
    "parts": [{"id": "nor this", "messages": [1, {"id": "x"}], "text": 'a "quoted" \\ {[,]}'}],
}
SYSTEM: Json = {"id": "s", "role": "system", "parts": []}
STUB = {"id": "a1", "role": "assistant"}


@dataclass(frozen=True)
class Case:
    """A body, and what is kept of it."""

    id: str
    body: Any
    kept: Any


def posted(*messages: Any, **more: Any) -> Json:
    return {"id": "chat", **more, "messages": list(messages), "trigger": "submit-message"}


ESCAPED = 'a"\\\u2028\\"]}'
U1 = {"id": "u1", "role": "user"}
CASES = [
    Case("one message", posted(user("u1")), posted(user("u1"))),
    Case("a history", posted(user("u1"), ANSWER, user("u2")), posted(U1, STUB, user("u2"))),
    Case("an answer last", posted(user("u1"), ANSWER), posted(U1, ANSWER)),
    Case("a system message", posted(SYSTEM, user("u1")), posted(SYSTEM, user("u1"))),
    Case("no messages", posted(), posted()),
    Case("no list", {"messages": "text", "id": "chat"}, {"messages": "text", "id": "chat"}),
    Case("no ids", posted({"role": "user"}, {}, user("u2")), posted({"role": "user"}, {}, user("u2"))),
    Case("an id that is no text", posted({"id": 7}, user("u2")), posted({}, user("u2"))),
    Case("a long id", posted({"id": "x" * 2000}, user("u2")), posted({}, user("u2"))),
    Case("other values", posted(1, "id", [["id"]], user("u2")), posted(None, None, None, user("u2"))),
    Case("elsewhere", {"a": posted(user("u1"), ANSWER)}, {"a": posted(user("u1"), ANSWER)}),
    Case("as a value", {"x": "messages", "y": [1, 2]}, {"x": "messages", "y": [1, 2]}),
    Case("not an object", [posted(user("u1"), ANSWER)], [posted(user("u1"), ANSWER)]),
    Case("escapes", posted({"id": ESCAPED}, user(ESCAPED)), posted({"id": ESCAPED}, user(ESCAPED))),
    Case("umlauts", posted({"id": "ü😀"}, user("ü")), posted({"id": "ü😀"}, user("ü"))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_kept(case: Case, ascii_only: bool, indent: int | None) -> None:
    """Last messages, short system messages, and role and id of the others."""
    raw = json.dumps(case.body, ensure_ascii=ascii_only, indent=indent).encode()
    assert json.loads(shorten_history(raw, 10_000)) == case.kept


BROKEN = [
    b'{"messages":[{"a":},{}]}',
    b'{"messages":[{"a":1]},{}]}',
    b'{"messages":[,{}]}',
    b'{"messages":[{},]}',
    b'{"messages":[{}',
    b'{"messages":[{"text":"',
    b'{"messages":[{"text":"\\',
    b'{"messages":[{"x":NaN},{}]}',
    b'{"messages":[{"x":"\xff"},{}]}',
    b'{"messages":[{}]}}',
    b"}}}",
    b'"',
    b"",
]


@pytest.mark.parametrize("raw", BROKEN)
def test_what_is_no_json_stays_none(raw: bytes) -> None:
    """It is refused here, or by the parser after it."""
    with pytest.raises(UsageError):
        parse_body(shorten_history(raw, 10_000))


def test_depth_and_number_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b'{"messages":[' + b"[" * 100_000 + b"]" * 100_000 + b",{}]}"
    with pytest.raises(UsageError):
        parse_body(shorten_history(deep, 10**6))
    monkeypatch.setattr(chat_body, "MOST_COMMAS", 1000)
    many = json.dumps(posted(*[user("u")] * 400)).encode()
    with pytest.raises(UsageError, match="more than 1000 values"):
        shorten_history(many, 10**6)


PHOTO = "x" * 5000


@dataclass(frozen=True)
class Size:
    """A body with photos, and whether what is kept of it is too large."""

    id: str
    messages: list[Json]
    too_large: bool


SIZES = [
    Size("one large message", [user("u1", PHOTO)], True),
    Size("large ones before", [user("u1", PHOTO), user("u2", PHOTO), user("u3")], False),
    Size("a large one last", [user("u1"), user("u2", PHOTO)], True),
    Size("many small ones before", [user("u", "x" * 900)] * 50 + [user("u")], False),
    Size("so many that their ids are too much", [user("u" * 50)] * 50, True),
    Size("a large system message before", [{**SYSTEM, "parts": [PHOTO]}, user("u")], False),
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.id)
def test_only_what_is_kept_counts(size: Size) -> None:
    raw = json.dumps(posted(*size.messages)).encode()
    try:
        found = json.loads(shorten_history(raw, 2000))
    except TooLarge:
        assert size.too_large
    else:
        assert not size.too_large
        ids = [message["id"] for message in found["messages"]]
        assert ids == [message["id"] for message in size.messages]


async def test_ten_photos_in_one_chat() -> None:
    """Of 3 MiB each, with the settings as they are: the last request has 40 MiB."""
    photo = "data:image/png;base64," + base64.b64encode(b"p" * 3 * 1024**2).decode()
    file = {"type": "file", "mediaType": "image/png", "url": photo}
    async with local_server(agent(Scripted.saying(*["Seen."] * 10))) as server:
        shown: list[Json] = []
        for number in range(10):
            shown.append({**user(f"u{number}"), "parts": [file]})
            body = {"id": SESSION, "messages": shown}
            answer = await server.client.post(f"/api/chat/{APP}", json=body)
            assert answer.status_code == 200, answer.text[:200]
            run = answer.headers["x-prism-run"]
            shown.append({"id": run, "role": "assistant", "parts": []})


async def test_photos_in_the_history_do_not_count() -> None:
    """Two photos of 3 MiB, and the chat goes on; one message over the limit, or all too long, is refused."""
    photo = "data:image/png;base64," + base64.b64encode(b"p" * 3 * 1024**2).decode()
    file = {"type": "file", "mediaType": "image/png", "url": photo}
    model = Scripted.saying("One.", "Two.", "Three.")
    async with local_server(agent(model), history_limit=20 * 1024**2) as server:
        shown: list[Json] = []
        for number in (1, 2, 3):
            message = user(f"u{number}", f"photo {number}")
            if number < 3:
                message["parts"].insert(0, file)
            shown.append(message)
            body = {"id": SESSION, "messages": shown}
            answer = await server.client.post(f"/api/chat/{APP}", json=body)
            assert answer.status_code == 200, answer.text[:200]
            run = answer.headers["x-prism-run"]
            shown.append({"id": run, "role": "assistant", "parts": []})
        told = await server.messages()
        assert [texts(message) for message in told] == [
            "photo 1", "One.", "photo 2", "Two.", "photo 3", "Three.",
        ]  # fmt: skip

        large = {"id": SESSION, "messages": [user("u", "x" * 9 * 1024**2)]}
        answer = await server.client.post(f"/api/chat/{APP}", json=large)
        assert (answer.status_code, "--body-limit" in answer.text) == (413, True)
        shown.extend([user("u", "x" * 7 * 1024**2)] * 2)
        answer = await server.client.post(
            f"/api/chat/{APP}", json={"id": SESSION, "messages": shown}
        )
        assert (answer.status_code, "--history-limit" in answer.text) == (413, True)


async def test_a_key_is_that_of_the_whole_body() -> None:
    """Bodies that differ only in what is not kept are other bodies."""
    async with local_server(agent(Scripted.saying("One.", "Two."))) as server:
        answers = []
        for text in ("first", "first", "other"):
            body = {"id": SESSION, "messages": [user("x", text), user("u1")]}
            answers.append(
                await server.client.post(
                    f"/api/chat/{APP}", json=body, headers={"idempotency-key": "k"}
                )
            )
        assert [answer.status_code for answer in answers] == [200, 200, 422]
        assert len({answer.headers["x-prism-run"] for answer in answers[:2]}) == 1


TOOL: Json = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "found"}
MORE: Json = {**TOOL, "id": "t2", "toolCallId": "c2"}
THOUGHT: Json = {"id": "h1", "role": "reasoning", "content": "Hm."}

RESULTS = [
    Case("results at the end", posted(user("u1"), TOOL, MORE), posted(U1, TOOL, MORE)),
    Case(
        "results before the last message",
        posted(ANSWER, TOOL, MORE, user("u2")),
        posted(STUB, TOOL, MORE, user("u2")),
    ),
    Case(
        "something between results",
        posted(TOOL, THOUGHT, SYSTEM, user("u2")),
        posted(TOOL, THOUGHT, SYSTEM, user("u2")),
    ),
    Case(
        "results of the past",
        posted(TOOL, user("u1"), MORE, ANSWER, user("u2")),
        posted(TOOL, U1, MORE, STUB, user("u2")),
    ),
    Case(
        "a long result of the past",
        posted({**TOOL, "content": "x" * 2_000}, user("u1"), MORE, ANSWER, user("u2")),
        posted({"id": "t1", "role": "tool"}, U1, MORE, STUB, user("u2")),
    ),
]


@pytest.mark.parametrize("case", RESULTS, ids=lambda case: case.id)
def test_results_are_kept_at_the_end_of_the_list(case: Case) -> None:
    """Where a protocol has them as messages: further up, short ones, which may answer an earlier call."""
    raw = json.dumps(case.body).encode()
    assert json.loads(shorten_history(raw, 10_000, {b'"tool"'})) == case.kept


def test_results_of_the_past_may_be_large_and_those_at_the_end_may_not() -> None:
    large = {**TOOL, "content": "x" * 900}

    def kept(*messages: Json) -> bytes:
        return shorten_history(json.dumps(posted(*messages)).encode(), 2_000, {b'"tool"'})

    assert len(kept(large, large, large, ANSWER, user("u1"))) < 500
    with pytest.raises(TooLarge):
        kept(user("u1"), large, large, large)
