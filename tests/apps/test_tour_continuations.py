"""What the tour waits for can be answered, on every session service, and the chat goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.answers import decision, decisions, respond, sign_in
from tests.app_runner import SESSION, USER, AppRun, AppRunner

from adk_prism.apps.tour.agent import tour_app

Services = Callable[[Path], BaseSessionService]
SERVICES: dict[str, Services] = {
    "memory": lambda folder: InMemorySessionService(),
    "sqlite": lambda folder: SqliteSessionService(str(folder / "sessions.db")),
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key in the environment turns the scripted models off."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")


@pytest.fixture(params=SERVICES, ids=str)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AppRunner:
    return AppRunner(tour_app(delay=0), SERVICES[request.param](tmp_path))


Answer = Callable[[AppRunner, AppRun], Awaitable[AppRun]]


def decide(approved: bool) -> Answer:
    async def play(stage: AppRunner, first: AppRun) -> AppRun:
        return await stage.answer(*decisions(first, approved))

    return play


def client(name: str, response: dict[str, object]) -> Answer:
    async def play(stage: AppRunner, first: AppRun) -> AppRun:
        return await stage.answer(respond(first.call(name), response))

    return play


async def one_by_one(stage: AppRunner, first: AppRun) -> AppRun:
    """The model is silent until both are decided: that is why the app is resumable."""
    calls = [call for call in first.calls if call.name == "adk_request_confirmation"]
    half = await stage.answer(decision(calls[0], True))
    assert half.text == ""
    return await stage.answer(decision(calls[1], False))


async def client_first(stage: AppRunner, first: AppRun) -> AppRun:
    half = await stage.answer(respond(first.call("get_location"), {"city": "Rome"}))
    assert half.events == []
    return await stage.answer(*decisions(first, True))


async def approval_first(stage: AppRunner, first: AppRun) -> AppRun:
    half = await stage.answer(*decisions(first, True))
    assert half.text == ""
    return await stage.answer(respond(first.call("get_location"), {"city": "Rome"}))


async def credential(stage: AppRunner, first: AppRun) -> AppRun:
    return await stage.answer(sign_in(first.call("adk_request_credential")))


@dataclass(frozen=True)
class Case:
    id: str
    prompt: str
    answer: Answer
    says: str


ALL_THREE = "Your device: city Rome. The invoice was sent. The weather is sunny."
CASES = [
    Case("approved", "approval", decide(True), "The invoice was sent."),
    Case("denied", "approval", decide(False), "The invoice was not approved."),
    Case(
        "two approved",
        "two approvals",
        decide(True),
        "The invoice was sent, and the draft was deleted.",
    ),
    Case(
        "one by one",
        "two approvals",
        one_by_one,
        "The invoice was sent, and the draft was not approved.",
    ),
    Case("clerk approved", "sub-agent approval", decide(True), "reports: The refund is paid."),
    Case("clerk denied", "sub-agent approval", decide(False), "The refund was not approved."),
    Case("client", "client tool", client("get_location", {"city": "Rome"}), "city Rome."),
    Case("batch, client first", "mixed batch", client_first, ALL_THREE),
    Case("batch, approval first", "mixed batch", approval_first, ALL_THREE),
    Case("print", "long-running tool", client("order_print", {"status": "done"}), "status done."),
    Case("input", "input request", client("adk_request_input", {"result": {"guests": 4}}), "4"),
    Case("sign-in", "credential request", credential, "10:00 tour"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_an_answer_continues_the_invocation(stage: AppRunner, case: Case) -> None:
    """The answer's run has the invocation of the question, and ordinary messages still work."""
    first = await stage.send(case.prompt)
    second = await case.answer(stage, first)

    assert second.error is None
    assert second.text.endswith(case.says) or case.says in second.text
    assert {event.invocation_id for event in second.events} == {first.events[0].invocation_id}

    third = await stage.send("text")
    assert "plain text" in third.text
    assert third.events[0].invocation_id != first.events[0].invocation_id


async def test_an_approved_tool_runs_once_and_a_denied_one_never(stage: AppRunner) -> None:
    first = await stage.send("approval")
    gated = first.call("send_invoice")
    second = await stage.answer(*decisions(first, True))

    answers = [answer for answer in second.responses if answer.id == gated.id]
    assert [answer.response for answer in answers] == [
        {"sent": True, "customer": "Ada", "amount": 120.5, "synthetic": True}
    ]


@pytest.mark.parametrize("prompt", ["approval", "client tool", "input request", "workflow"])
async def test_the_same_prompt_works_again_and_again(stage: AppRunner, prompt: str) -> None:
    """What an earlier message left open does not disturb the next one."""
    takes = [await stage.send(prompt) for _ in range(3)]

    assert [take.error for take in takes] == [None] * 3
    shapes = [[(event.author, event.partial) for event in take.whole] for take in takes]
    assert sorted(shapes[0], key=str) == sorted(shapes[1], key=str) == sorted(shapes[2], key=str)


@pytest.mark.parametrize("prompt", ["tool", "approval", "transfer", "workflow", "state"])
async def test_a_rewound_message_leaves_no_trace(stage: AppRunner, prompt: str) -> None:
    """After a rewind the session goes on as if the message had never been sent."""
    await stage.send("text")
    rewound = await stage.send(prompt)
    await stage.runner.rewind_async(
        user_id=USER,
        session_id=SESSION,
        rewind_before_invocation_id=rewound.events[0].invocation_id,
    )
    again = await stage.send(prompt)

    assert again.error is None
    assert again.text == rewound.text
    assert [call.name for call in again.calls] == [call.name for call in rewound.calls]


async def test_after_a_transfer_the_next_message_goes_to_the_root(stage: AppRunner) -> None:
    await stage.send("transfer")
    take = await stage.send("approval")

    assert {event.author for event in take.events} == {"tour"}
    assert (await stage.answer(*decisions(take, True))).text == "The invoice was sent."
