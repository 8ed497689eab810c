"""Conversations of the AI SDK's fifth major version, in its own dialect, with the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conformance.chat import Chat, text_of
from tests.conformance.judge import FIVES, Judge
from tests.end_to_end.clients import (
    APPROVE,
    DENY,
    DONE,
    FAILED,
    MESSAGES,
    RELOAD,
    RESUME,
    Client,
    Player,
    new_id,
    send,
    shown,
)
from tests.end_to_end.server import Server
from tests.end_to_end.test_use_chat import CASES, Case

DOCUMENT = Path(__file__).parents[2] / "docs" / "protocols" / "ai-sdk.md"
HELPER = Path(__file__).parents[1] / "node" / "approval.mjs"

CLIENTS = [Client(sdk, "5") for sdk in FIVES]


@pytest.fixture(params=CLIENTS, ids=str)
def play(request: pytest.FixtureRequest, server: Server, chat: Chat, judge: Judge) -> Player:
    """Return a client of v5."""
    return Player(server, request.param, chat, judge)


def test_the_helper_is_the_documented_one() -> None:
    """What the tests answer approvals with is what a reader copies."""
    assert HELPER.read_text().rstrip() in DOCUMENT.read_text()


NOT_IN_5 = {"one by one", "failing client tool", "not resumable", "batch, approval first"}
"""5.0.0's helper does not send beside a call that failed or still waits, and its chat can report no
failure of a tool."""
ANSWERED = [case for case in CASES if case.id not in NOT_IN_5]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.id)
def test_answers_continue_the_message(play: Player, case: Case) -> None:
    """Approvals by the helper, client tools by the SDK: the message goes on under its id, and what is
    kept of it is what the client holds."""
    result = play(send(case.prompt), *case.answers, send("text"), MESSAGES, app=case.app)
    assert result.error is None
    assert [m["role"] for m in result.messages] == ["user", "assistant"] * 2
    answer = result.messages[1]
    assert text_of(answer).endswith(case.says)
    states = {p["type"]: p["state"] for p in answer["parts"] if "toolCallId" in p}
    # A v5 client knows no `output-denied`.
    assert states == {f"tool-{t}": DONE if s == DONE else FAILED for t, s in case.states.items()}
    stored = [shown(m, play.client) for m in json.loads(result.requests[-1]["text"])]
    mine = [shown(m, play.client) for m in result.messages]
    mine[1]["parts"] = [p for p in mine[1]["parts"] if p["type"] != "data-approval-response"]
    assert stored == mine


def test_a_result_beside_a_kept_approval_is_sent_by_hand(play: Player) -> None:
    """The approved call waits for the client's tool, so the SDK's own helper sends nothing."""
    located = {"do": "output", "tool": "get_location", "output": {"city": "Rome"}}
    result = play(send("mixed batch"), APPROVE, located, {"do": "continue"})
    assert result.text.endswith(
        "Your device: city Rome. The invoice was sent. The weather is sunny."
    )


def test_an_approval_says_what_became_of_it(play: Player) -> None:
    """The part that asked tells the decision, also to a page that is loaded later."""
    result = play(send("approval"), RELOAD, DENY, RELOAD)
    asked = [p["data"] for p in result.messages[1]["parts"] if p["type"] == "data-approval-request"]
    assert [(each["state"], each.get("reason")) for each in asked] == [("denied", "too expensive")]


def test_a_decision_is_taken_once(play: Player, server: Server) -> None:
    """The answer given again, or for an approval that was never asked, is refused."""
    result = play(send("approval"), APPROVE)
    again = result.posts[-1]["body"]
    assert server.http.post(server.chat("tour"), json=again).status_code == 409
    forged = json.loads(json.dumps(again).replace("data-approval-request", "data-other"))
    answer = server.http.post(server.chat("tour"), json=forged)
    assert answer.status_code == 422
    assert "data-approval-request" in answer.text


@pytest.mark.parametrize("sdk", ["ai-5.0.0", "ai-6.0.0"])
@pytest.mark.parametrize(
    "query", ["?dialect={}", "?userId=user&dialect={}", "?dialect={}&userId=user"]
)
def test_resume_finds_the_chat_behind_a_query(
    server: Server, chat: Chat, sdk: str, query: str
) -> None:
    """`DefaultChatTransport` writes the chat's id behind the query of `api`."""
    url = server.chat("tour") + query.format(sdk[3])
    script = {"sdk": sdk, "url": url, "id": new_id(), "limits": {"seconds": 60}}
    steps = [send("slow 5", cut={"chunks": 4}), {**RESUME, "from": "here"}]
    result = chat({**script, "steps": steps})
    resumed = result.requests[-1]
    assert resumed["method"] == "GET"
    assert resumed["status"] in (200, 204)
