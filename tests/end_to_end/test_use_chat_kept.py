"""What a page shows that is loaded later: decisions, what expired, and what was answered.

Each reload is judged by the SDK: every kept message is one that it accepts, and none makes it post again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.conformance.chat import ChatResult, text_of
from tests.end_to_end.clients import (
    APPROVE,
    DENIED,
    DENY,
    DONE,
    RELOAD,
    Player,
    Step,
    new_id,
    send,
)
from tests.end_to_end.server import Server

Json = dict[str, Any]
ERASE = send("erase page")
EXPIRED = "Expired: the conversation went on before this was answered."


@dataclass(frozen=True)
class Case:
    """What is done, and what the call looks like after a reload."""

    id: str
    steps: tuple[Step, ...]
    state: str
    approval: Json


CASES = (
    Case("approved", (ERASE, APPROVE), DONE, {"approved": True}),
    Case("denied", (ERASE, DENY), DENIED, {"approved": False, "reason": "too expensive"}),
    Case("skipped", (ERASE, send("hello")), DENIED, {"approved": False, "reason": EXPIRED}),
    Case("asked", (ERASE,), "approval-requested", {}),
)


def erased(result: ChatResult) -> Json:
    """Return the call, with its approval but for the id."""
    call = result.call("erase")
    approval = {key: value for key, value in call["approval"].items() if key != "id"}
    return {"state": call["state"], "approval": approval}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_decision_survives_a_reload(play: Player, case: Case) -> None:
    """In every dialect, as the open page holds it; the conversation goes on from there."""
    chat = new_id()
    play(*case.steps, app="diary", id=chat)
    later = play(RELOAD, app="diary", id=chat)
    assert erased(later) == {"state": case.state, "approval": case.approval}
    assert later.posts == []
    marks = [
        part["data"]
        for message in later.messages
        for part in message["parts"]
        if part["type"] == "data-approval"
    ]
    assert [mark.get("status") for mark in marks] == (["expired"] if case.id == "skipped" else [])
    after = play(RELOAD, send("hello again"), app="diary", id=chat)
    assert (after.error, after.text) == (None, "You said: hello again")


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.id)
def test_the_open_page_and_a_later_one_hold_the_same(play: Player, case: Case) -> None:
    """Decisions are no exception."""
    chat = new_id()
    open_page = play(*case.steps, app="diary", id=chat)
    later = play(RELOAD, app="diary", id=chat)
    assert erased(open_page) == erased(later)


def asked(result: ChatResult, kind: str) -> Json:
    """Return the last request of a kind."""
    parts = [part for message in result.messages for part in message["parts"]]
    found: Json = [part["data"] for part in parts if part["type"] == f"data-{kind}-request"][-1]
    return found


def answer(server: Server, chat: str, kind: str, data: Json) -> int:
    """Answer a request as a page with a form of its own does; return the status."""
    part = {"type": f"data-{kind}-response", "data": data}
    message = {"id": f"{kind}-form", "role": "user", "parts": [part]}
    return server.http.post(server.chat(), json={"id": chat, "messages": [message]}).status_code


def test_a_sign_in_is_kept_without_its_secret(play: Player, server: Server) -> None:
    """The person's message is in the history; the credential is nowhere in it."""
    chat = new_id()
    request = asked(play(send("credential request"), id=chat), "credential")
    config = request["request"]["authConfig"]
    config["exchangedAuthCredential"]["oauth2"]["accessToken"] = "synthetic-token"
    data = {"id": request["id"], "response": config}
    assert answer(server, chat, "credential", data) == 200
    later = play(RELOAD, id=chat)
    assert [m["role"] for m in later.messages] == ["user", "assistant"] * 2
    part = {"type": "data-credential-response", "data": {"id": request["id"]}}
    kept = {key: value for key, value in later.messages[2].items() if key != "metadata"}
    assert kept == {"id": "credential-form", "role": "user", "parts": [part]}
    assert "synthetic-token" not in str(later.messages)
    assert text_of(later.messages[3]).startswith("The calendar says")
    assert asked(later, "credential")["status"] == "answered"
    assert later.call("read_calendar")["state"] == DONE
    assert later.messages[1]["parts"][-1]["type"] != "tool-read_calendar"


def test_a_wrong_answer_leaves_the_question_open(play: Player, server: Server) -> None:
    """The client shows the problem; the right answer still counts, and is in the history."""
    chat = new_id()
    request = asked(play(send("input request"), id=chat), "input")
    wrong = play(RELOAD, send("four"), id=chat)
    assert wrong.posts[-1]["status"] == 422
    assert "guests" in (wrong.error or "")
    reloaded = play(RELOAD, id=chat)
    assert [m["role"] for m in reloaded.messages] == ["user", "assistant"]
    assert reloaded.call("book_table")["state"] == "input-available"
    data = {"id": request["id"], "response": {"result": 4}}
    assert answer(server, chat, "input", data) == 200
    later = play(RELOAD, id=chat)
    assert "'guests': 4" in later.text
    fitted = {"id": request["id"], "response": {"result": {"guests": 4}}}
    assert later.messages[2]["parts"] == [{"type": "data-input-response", "data": fitted}]
