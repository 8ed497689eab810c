"""Messages that are taken back: regenerated, edited. Afterwards they were never said."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conformance.chat import text_of
from tests.end_to_end.clients import (
    APPROVE,
    MESSAGES,
    RELEASE,
    RELOAD,
    Player,
    Step,
    new_id,
    open_gate,
    send,
)
from tests.end_to_end.diary import notes, session
from tests.end_to_end.server import Server

ERASE = send("erase page")


@dataclass(frozen=True)
class TakenBack:
    """What is done to a chat, and the messages that are as if they alone had been sent."""

    id: str
    steps: tuple[Step, ...]
    left: tuple[Step, ...]


COUNT = send("count")
LAST = send("what do you see")
TAKEN_BACK = [
    TakenBack("regenerate the last", (COUNT, {"do": "regenerate"}), (COUNT,)),
    TakenBack("regenerate after another", (COUNT, COUNT, {"do": "regenerate"}), (COUNT, COUNT)),
    TakenBack(
        "regenerate an earlier one", (COUNT, COUNT, {"do": "regenerate", "message": 1}), (COUNT,)
    ),
    TakenBack(
        "regenerate again and again",
        (COUNT, COUNT, {"do": "regenerate"}, {"do": "regenerate"}),
        (COUNT, COUNT),
    ),
    TakenBack(
        "edit the last",
        (COUNT, COUNT, {"do": "edit", "message": 2, "text": "hello"}),
        (COUNT, send("hello")),
    ),
    TakenBack(
        "edit the first",
        (COUNT, COUNT, {"do": "edit", "message": 0, "text": "hello"}),
        (send("hello"),),
    ),
    TakenBack(
        "regenerate an approved one",
        (send("hello"), ERASE, APPROVE, {"do": "regenerate"}, APPROVE),
        (send("hello"), ERASE, APPROVE),
    ),
    TakenBack(
        "edit a question",
        (send("hello"), ERASE, {"do": "edit", "message": 2, "text": "count"}),
        (send("hello"), COUNT),
    ),
    TakenBack(
        "regenerate what the list ends with",
        (COUNT, COUNT, {"do": "keep", "messages": 1}, {"do": "regenerate"}),
        (COUNT,),
    ),
    TakenBack(
        "regenerate a list that ends with an answer",
        (COUNT, COUNT, COUNT, {"do": "keep", "messages": 4}, {"do": "regenerate"}),
        (COUNT, COUNT),
    ),
    TakenBack(
        "send after an earlier answer",
        (COUNT, COUNT, COUNT, {"do": "keep", "messages": 2}, send("hello", parent=1)),
        (COUNT, send("hello")),
    ),
    TakenBack(
        "send after an earlier answer that was approved",
        (ERASE, APPROVE, COUNT, {"do": "keep", "messages": 2}, send("hello", parent=1)),
        (ERASE, APPROVE, send("hello")),
    ),
    TakenBack(
        "send after an earlier answer, instead of a question",
        (COUNT, ERASE, RELOAD, {"do": "keep", "messages": 2}, send("hello", parent=1)),
        (COUNT, send("hello")),
    ),
    TakenBack(
        "begin anew",
        (COUNT, COUNT, {"do": "keep", "messages": 0}, send("hello", parent=None)),
        (send("hello"),),
    ),
    TakenBack(
        "after a reload",
        (COUNT, COUNT, RELOAD, {"do": "regenerate", "message": 1}),
        (COUNT,),
    ),
]


@pytest.mark.parametrize("last_only", [False, True], ids=["whole history", "last message"])
@pytest.mark.parametrize("case", TAKEN_BACK, ids=lambda case: case.id)
def test_what_was_taken_back_was_never_said(
    play: Player, server: Server, case: TakenBack, last_only: bool
) -> None:
    """The model's next request, and the state, are those of a chat in which it never was."""
    chat, other = new_id(), new_id()
    result = play(*case.steps, LAST, MESSAGES, app="diary", id=chat, lastOnly=last_only)
    plain = play(*case.left, LAST, app="diary", id=other, lastOnly=last_only)
    assert notes(server, "requests", chat)[-1] == notes(server, "requests", other)[-1]
    assert session(server, chat)["state"] == session(server, other)["state"]
    assert [text_of(m) for m in result.messages] == [text_of(m) for m in plain.messages]
    stored = json.loads(result.requests[-1]["text"])
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]


def test_state_that_was_there_before_survives(play: Player, server: Server) -> None:
    """What the session was created with, and what a state change brought, is not taken back."""
    chat = new_id()
    path = f"/apps/diary/users/user/sessions/{chat}"
    server.http.post(path, json={"count": 40}).raise_for_status()
    server.http.patch(path, json={"stateDelta": {"mood": "good"}}).raise_for_status()
    play(COUNT, {"do": "regenerate"}, {"do": "regenerate"}, app="diary", id=chat)
    assert session(server, chat)["state"] == {"count": 41, "seen_41": True, "mood": "good"}


def test_a_message_that_was_never_stored_is_taken_back(play: Player) -> None:
    """The run failed before ADK had the message: there is nothing to rewind, and it can be edited."""
    steps = (
        send("please sing"),
        send("sing"),
        {"do": "edit", "message": 2, "text": "please dance"},
    )
    result = play(*steps, RELOAD, app="moody", fails=True)
    texts = ["please sing", "Gladly: please sing", "please dance", "Gladly: please dance"]
    assert [text_of(m) for m in result.messages] == texts


@pytest.mark.parametrize("step", [{"do": "regenerate"}, {"do": "edit", "message": 2, "text": "5"}])
def test_an_answer_to_a_question_goes_with_its_question(play: Player, step: Step) -> None:
    """ADK takes back whole invocations, so the answer alone is refused and stays; the message that led
    to the question can be taken back, and the answer with it."""
    chat = new_id()
    asked = (send("input request"), send('{"guests": 4}'))
    refused = play(*asked, step, RELOAD, id=chat)
    assert [r["status"] for r in refused.posts] == [200, 200, 409]
    assert "'guests': 4" in refused.text
    again = play(RELOAD, {"do": "edit", "message": 0, "text": "text"}, RELOAD, id=chat)
    assert [text_of(m) for m in again.messages[::2]] == ["text"]


def test_an_empty_list_of_a_client_that_sends_all_messages_begins_anew(
    play: Player, server: Server
) -> None:
    """As `setMessages([])` leaves it, and again after that."""
    empty: Step = {"do": "keep", "messages": 0}
    chat, other = new_id(), new_id()
    result = play(COUNT, COUNT, empty, COUNT, empty, COUNT, LAST, app="diary", id=chat)
    plain = play(COUNT, LAST, app="diary", id=other)
    assert notes(server, "requests", chat)[-1] == notes(server, "requests", other)[-1]
    assert [text_of(m) for m in result.messages] == [text_of(m) for m in plain.messages]


# ------------------------------------------------------------------ a page that is not up to date

PAGES: dict[str, dict[str, object]] = {
    "whole history": {},
    "last messages": {"lastOnly": True},
    "our transport": {"prism": {}},
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("other", [COUNT, {"do": "regenerate"}], ids=["sent", "regenerated"])
def test_a_stale_page_is_told_so_and_changes_nothing(
    play: Player, server: Server, other: Step, page: dict[str, object]
) -> None:
    """Another tab went on meanwhile. What it did stays; a reload, or a name for the branch, is enough."""
    chat = new_id()
    stale = play(COUNT, app="diary", id=chat, **page).messages
    play(RELOAD, other, app="diary", id=chat, **page)
    before = server.http.get(f"{server.chat('diary')}/{chat}/messages").json()
    refused = play(send("hello"), app="diary", id=chat, messages=stale, **page)
    assert refused.status == "error"
    assert refused.posts[-1]["status"] == 409
    assert refused.posts[-1]["responseHeaders"]["x-prism-problem"] == "stale-conversation"
    assert "has continued elsewhere" in (refused.error or "")
    assert server.http.get(f"{server.chat('diary')}/{chat}/messages").json() == before
    again = play(RELOAD, send("hello"), app="diary", id=chat, **page)
    assert [m["id"] for m in again.messages[:-2]] == [m["id"] for m in before]
    named = play(send("hello", parent=1), app="diary", id=chat, messages=stale, **page)
    assert [text_of(m) for m in named.messages[-2:]] == ["hello", "You said: hello"]


def test_our_transport_names_a_branch_of_what_its_page_has_shown(
    play: Player, server: Server
) -> None:
    """Also of what it has loaded: edits of assistant-ui say only which messages are left."""
    chat, keep = new_id(), {"do": "keep", "messages": 2}
    sliced = play(COUNT, COUNT, keep, send("hello"), app="diary", id=chat, prism={})
    assert sliced.posts[-1]["body"]["parentId"] == sliced.messages[1]["id"]
    assert len(server.http.get(f"{server.chat('diary')}/{chat}/messages").json()) == 4
    emptied = play(
        RELOAD, COUNT, {"do": "keep", "messages": 0}, send("hello"), app="diary", id=chat, prism={}
    )
    assert emptied.posts[-1]["body"]["parentId"] is None
    assert len(server.http.get(f"{server.chat('diary')}/{chat}/messages").json()) == 2


# ------------------------------------------------------------------ messages that never arrived

NEVER_ARRIVED: dict[str, tuple[Step, ...]] = {
    "regenerate": ({"do": "regenerate"},),
    "regenerate by id": ({"do": "regenerate", "message": -1},),
    "edit": ({"do": "edit", "message": -1, "text": "count"},),
    "regenerate, and again": ({"do": "regenerate"}, {"do": "regenerate"}),
}


@pytest.mark.parametrize("last_only", [False, True], ids=["whole history", "last message"])
@pytest.mark.parametrize("lost", ["offline", 503])
@pytest.mark.parametrize("first", [(), (COUNT,)], ids=["first message", "later message"])
@pytest.mark.parametrize("steps", NEVER_ARRIVED.values(), ids=NEVER_ARRIVED)
def test_a_message_that_never_arrived_is_sent_by_a_retry(
    play: Player,
    server: Server,
    steps: tuple[Step, ...],
    first: tuple[Step, ...],
    lost: str | int,
    last_only: bool,
) -> None:
    """The server takes it as new, once, where the page shows it."""
    chat = new_id()
    missed = send("count", lost=lost)
    result = play(*first, missed, *steps, MESSAGES, app="diary", id=chat, lastOnly=last_only)
    assert (result.status, result.error) == ("ready", None)
    stored = json.loads(result.requests[-1]["text"])
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]
    assert session(server, chat)["state"]["count"] == len(first) + 1


# ------------------------------------------------------------------ only the last message is sent

SNIPPET = re.compile(r"prepareSendMessagesRequest: .*?\}\),\n", re.DOTALL)
ROOT = Path(__file__).parents[2]


def test_the_documents_tell_what_is_tested_here() -> None:
    """The function that the README gives to apps is the one that `lastOnly` uses."""
    files = (
        "tests/node/last_message.mjs",
        "README.md",
        "docs/guides/use-chat.md",
        "docs/protocols/ai-sdk.md",
    )
    found = [SNIPPET.search((ROOT / file).read_text(encoding="utf-8")) for file in files]
    assert len({" ".join(match[0].split()) for match in found if match}) == 1
    assert all(found)


@dataclass(frozen=True)
class LastOnly:
    """A conversation of a client that sends only the last message, and how it ends."""

    id: str
    steps: tuple[Step, ...]
    ends: str
    requests: int


LAST_ONLY = [
    LastOnly("messages", (COUNT, send("hello")), "You said: hello", 2),
    LastOnly("an approval", (send("hi"), ERASE, APPROVE), 'Done: erase {"erased": "page"}', 3),
    LastOnly(
        "a tool of the client",
        (send("hi"), send("locate"), {"do": "output", "output": {"city": "Rome"}}, send("bye")),
        "You said: bye",
        4,
    ),
    LastOnly(
        "several questions",
        (send("batch"), {"do": "output", "output": "Rome"}, APPROVE),
        'Done: count {"count": 1}; erase {"erased": "page"}; locate {"result": "Rome"}',
        3,
    ),
    LastOnly(
        "a reload before an answer",
        (ERASE, RELOAD, APPROVE, send("bye")),
        "You said: bye",
        3,
    ),
]


@pytest.mark.parametrize("case", LAST_ONLY, ids=lambda case: case.id)
def test_the_last_message_is_enough(play: Player, server: Server, case: LastOnly) -> None:
    """Send, answer, go on: as with the whole history, and nothing is taken back by mistake."""
    chat = new_id()
    result = play(*case.steps, app="diary", id=chat, lastOnly=True)
    assert result.text.strip().endswith(case.ends)
    posts = [request["body"] for request in result.posts]
    assert {len(body["messages"]) for body in posts} <= {1, 2}
    assert "data-rewound" not in json.dumps(result.messages)
    stored = server.http.get(f"{server.chat('diary')}/{chat}/messages").json()
    assert [m["id"] for m in stored] == [m["id"] for m in result.messages]


def test_a_running_answer_is_resumed_without_the_history(play: Player) -> None:
    """The page is loaded again while an answer runs."""
    gate = new_id("gate")
    result = play(
        send("hello"),
        send(f"say [{gate}] more", cut={"chunks": 4}),
        {"do": "resume", "hold": {"chunks": 4}},
        open_gate(gate),
        RELEASE,
        app="diary",
        lastOnly=True,
    )
    assert len(result.messages) == 4
    assert result.status == "ready"
