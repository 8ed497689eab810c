"""Which turn a posted list names: what the chat has after it is taken back, and the stream says so."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server, texts

from adk_prism.log.entry import RunStarted, pack, unpack
from adk_prism.log.sqlite.store import SqliteLog

Json = dict[str, Any]
SYSTEM: Json = {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]}


def user(name: str, text: str = "") -> Json:
    found: Json = {"role": "user", "parts": [{"type": "text", "text": text or name or "again"}]}
    return {"id": name, **found} if name else found


def assistant(name: str) -> Json:
    found: Json = {"role": "assistant", "parts": [{"type": "text", "text": "…"}]}
    return {"id": name, **found} if name else found


async def post(stage: LocalServer, *messages: Json, **body: Any) -> httpx.Response:
    trigger = "submit-message"
    sent = {"id": SESSION, "trigger": trigger, "messages": list(messages), **body}
    return await stage.client.post(f"/api/chat/{APP}", json=sent)


async def post_named(stage: LocalServer, *messages: Json, **body: Any) -> httpx.Response:
    """Post a list whose message names the one before it: a version is continued on purpose."""
    named = {"parentId": messages[-2]["id"]} if len(messages) > 1 else {}
    return await post(stage, *messages, **named, **body)


def chunks(answer: httpx.Response) -> list[Json]:
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def rewound(answer: httpx.Response) -> list[list[str]]:
    return [c["data"]["messageIds"] for c in chunks(answer) if c["type"] == "data-rewound"]


def is_stale(answer: httpx.Response) -> bool:
    """Tell the refusal of a client that does not show the latest messages."""
    assert "has continued elsewhere" in answer.text
    return answer.headers["x-prism-problem"] == "stale-conversation"


class Talk:
    """A chat of three turns: u1 a1 u2 a2 u3 a3, and the names of its messages."""

    def __init__(self, stage: LocalServer) -> None:
        self.stage = stage
        self.ids: dict[str, str] = {}

    async def begin(self) -> None:
        shown: list[Json] = []
        for number in ("1", "2", "3"):
            shown.append(user(f"u{number}"))
            answer = await post(self.stage, *shown)
            assert answer.status_code == 200, answer.text
            assert rewound(answer) == []
            self.ids[f"a{number}"] = answer.headers["x-prism-run"]
            shown.append(assistant(self.ids[f"a{number}"]))

    def message(self, name: str) -> Json:
        """`u9`, `a1`, `s` (system), `u` or `a` (without an id), `x1` (the client's own)."""
        if name == "s":
            return SYSTEM
        kind, known = name[0], self.ids.get(name, name if name[1:] else "")
        return user(known) if kind == "u" else assistant(known)

    def name(self, message: str) -> str:
        return next((name for name, known in self.ids.items() if known == message), message)

    async def shown(self) -> list[str]:
        told = await self.stage.messages()
        return [texts(message) for message in told if message["role"] != "system"]


@dataclass(frozen=True)
class Case:
    """What is posted to a chat of u1 a1 u2 a2 u3 a3, and what becomes of it."""

    id: str
    posts: str
    kept: int = 3
    """Turns that stay before the new one."""
    body: Json = field(default_factory=dict)
    refused: int = 0
    gone: str | None = None
    """Names of the messages that the stream says are gone; by default those after the kept turns."""

    def announced(self) -> list[list[str]]:
        names = [f"{kind}{n}" for n in range(self.kept + 1, 4) for kind in "ua"]
        return [self.gone.split() if self.gone is not None else names] if self.kept < 3 else []


CLIENT = {"history": "client"}
AFTER_1 = {"parentId": "a1"}
CASES = [
    Case("the whole list", "u1 a1 u2 a2 u3 a3 u9"),
    Case("after the first answer, by name", "u1 a1 u9", kept=1, body=AFTER_1),
    Case("after the second answer, by name", "u1 a1 u2 a2 u9", kept=2, body={"parentId": "a2"}),
    Case("only the end of the list, by name", "a1 u9", kept=1, body=AFTER_1),
    Case("after a message whose answer was lost", "u1 a1 u2 a2 u3 u9"),
    Case("after an earlier message, by name", "u1 a1 u2 u9", kept=2, body={"parentId": "u2"}),
    Case("a system message between", "u1 a1 s u9", kept=1, body=AFTER_1),
    Case("nothing before it", "u9", kept=0),
    Case("a system message and nothing else", "s u9", kept=0),
    Case("only the last, and its parent", "u9", kept=1, body=AFTER_1),
    Case("only the last, and the head as parent", "u9", body={"parentId": "a3"}),
    Case("only the last, and an unknown parent", "u9", body={"parentId": "nobody"}),
    Case("no message is the parent", "u9", kept=0, body={"parentId": None}),
    Case("no message is the parent, whatever is listed", "a3 u9", kept=0, body={"parentId": None}),
    Case("the list counts, not the parent", "a3 u9", body=AFTER_1),
    Case("the parent counts where the list has no id", "a u9", kept=1, body=AFTER_1),
    Case("one message is the whole history", "u9", kept=0, body=CLIENT),
    Case("one message and a system message are the whole history", "s u9", kept=0, body=CLIENT),
    Case("the whole history, up to the head", "u1 a1 u2 a2 u3 a3 u9", body=CLIENT),
    Case("the whole history, cut", "u1 a1 u9", kept=1, body=CLIENT),
    Case("the whole history, begun by the app", "x1 x2 u9", kept=0, body=CLIENT),
    Case("the whole history, with a notice of the app", "u1 a1 x1 u9", kept=1, body=CLIENT),
    Case("messages of the app alone", "x1 x2 u9"),
    Case("messages of the app first", "x1 u1 a1 u9", kept=1, body=AFTER_1),
    Case("an unknown message before", "u1 a1 x1 u9"),
    Case("a message before without an id", "u1 a1 a u9"),
    Case("no ids at all", "u a u"),
    Case("a known id takes its place", "u1 a1 u2", kept=1, gone="a2 u3 a3"),
    Case("a known id alone", "u2", kept=1, gone="a2 u3 a3"),
    Case("a known id after an earlier message", "u1 a1 u3", kept=1, gone="u2 a2 a3"),
    Case("a known id twice", "u2 u2", kept=1, gone="a2 u3 a3"),
    Case("a history of another kind", "u9", body={"history": "server"}, refused=422),
    Case("a parent that is no text", "u9", body={"parentId": 1}, refused=422),
    Case("a list without the last turns", "u1 a1 u9", refused=409),
    Case("a list without the last turn", "u1 a1 u2 a2 u9", refused=409),
    Case("the end of such a list", "a1 u9", refused=409),
    Case("a list that ends with an earlier message", "u1 a1 u2 u9", refused=409),
    Case("such a list and another parent", "u1 a1 u9", body={"parentId": "a3"}, refused=409),
    Case("such a list with a system message", "u1 a1 s u9", refused=409),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_message_before_the_new_one_decides(case: Case) -> None:
    """What stays is what the client shows; the model is sent that and nothing else."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.", "Five.")
    async with local_server(agent(model)) as stage:
        talk = Talk(stage)
        await talk.begin()
        body = dict(case.body)
        if "parentId" in body:
            body["parentId"] = talk.ids.get(body["parentId"], body["parentId"])
        answer = await post(stage, *map(talk.message, case.posts.split()), **body)
        assert answer.status_code == (case.refused or 200), answer.text
        before = ["u1", "One.", "u2", "Two.", "u3", "Three."]
        if case.refused:
            assert await talk.shown() == before
            assert answer.status_code != 409 or is_stale(answer)
            return
        said = texts(talk.message(case.posts.split()[-1]))
        left = before[: 2 * case.kept]
        assert await talk.shown() == [*left, said, "Four."]
        sent = [part.text for c in model.requests[-1] for part in c.parts or () if part.text]
        assert sent == [*left, said]
        announced = [[talk.name(each) for each in found] for found in rewound(answer)]
        assert announced == case.announced()


AGAIN = [
    Case("no list", "", kept=2, gone="a3"),
    Case("the list ends with a message", "u1 a1 u2", kept=1, gone="a2 u3 a3"),
    Case("only that message", "u2", kept=1, gone="a2 u3 a3"),
    Case("the list ends with an answer", "u1 a1", kept=0, gone="a1 u2 a2 u3 a3"),
    Case("a system message last", "u1 s", kept=0, gone="a1 u2 a2 u3 a3"),
    Case("the id counts, not the list", "u1", body={"messageId": "a3"}, kept=2, gone="a3"),
    Case("an unknown answer", "u1 a1 u2 x9", refused=404),
    Case("an unknown id", "u1", body={"messageId": "nobody"}, refused=404),
    Case("a message without an id", "u1 a1 u", refused=422),
    Case("nothing but a system message", "s", refused=422),
]


@pytest.mark.parametrize("case", AGAIN, ids=lambda case: case.id)
async def test_the_list_says_which_answer_is_regenerated(case: Case) -> None:
    """Without `messageId` its last entry; an entry that the chat does not know regenerates nothing."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model)) as stage:
        talk = Talk(stage)
        await talk.begin()
        named = {key: talk.ids.get(value, value) for key, value in case.body.items()}
        messages = [talk.message(name) for name in case.posts.split()]
        answer = await post(stage, *messages, trigger="regenerate-message", **named)
        assert answer.status_code == (case.refused or 200), answer.text
        before = ["u1", "One.", "u2", "Two.", "u3", "Three."]
        if case.refused:
            assert await talk.shown() == before
            return
        assert await talk.shown() == [*before[: 2 * case.kept + 1], "Four."]
        announced = [[talk.name(each) for each in found] for found in rewound(answer)]
        assert announced == case.announced()


@pytest.mark.parametrize("named", [{}, {"messageId": "u9"}], ids=["by the list", "by its id"])
async def test_a_message_that_never_arrived_is_sent(named: Json) -> None:
    """It is new to the chat, so it is said at its end."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model)) as stage:
        talk = Talk(stage)
        await talk.begin()
        messages = [talk.message(name) for name in ("u3", "a3", "u9")]
        answer = await post(stage, *messages, trigger="regenerate-message", **named)
        assert (answer.status_code, rewound(answer)) == (200, [])
        assert await talk.shown() == ["u1", "One.", "u2", "Two.", "u3", "Three.", "u9", "Four."]


async def test_what_was_taken_back_is_an_earlier_version() -> None:
    """Whoever goes on from it, or answers it again, has that conversation again (`test_versions`)."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.")
    async with local_server(agent(model)) as stage:
        talk = Talk(stage)
        await talk.begin()
        taken = await post(
            stage, talk.message("u1"), talk.message("a1"), user("u9"), parentId=talk.ids["a1"]
        )
        assert rewound(taken)
        old = [talk.message(name) for name in ("u1", "a1", "u2", "a2")]
        again: Json = {"trigger": "regenerate-message"}
        for messages, body, kept in (
            ([*old, user("u8")], {"parentId": talk.ids["a2"]}, ["u1", "One.", "u2", "Two.", "u8"]),
            ([user("u8")], {"parentId": talk.ids["a2"]}, ["u1", "One.", "u2", "Two.", "u8"]),
            ([user("u8")], {"parentId": "u2"}, ["u1", "One.", "u2", "Two.", "u8"]),
            ([talk.message("a1"), user("u9")], {"parentId": talk.ids["a1"]}, ["u1", "One.", "u9"]),
            (old[:3], again, ["u1", "One.", "u2"]),
            ([], again | {"messageId": talk.ids["a3"]}, ["u1", "One.", "u2", "Two.", "u3"]),
        ):
            model.then("Again.")
            answer = await post(stage, *messages, **body)
            assert answer.status_code == 200, answer.text
            assert await talk.shown() == [*kept, "Again."]


async def test_earlier_answers_stay_in_the_log_and_are_announced_again(tmp_path: Any) -> None:
    """A run that was taken back can be streamed; a replay, and another server, say what was taken back."""
    service = SqliteSessionService(f"{tmp_path}/sessions.db")
    log = tmp_path / "runs.db"
    async with local_server(
        agent(Scripted.saying("One.", "Two.", "Three.", "Four.")),
        service=service,
        log=SqliteLog(log),
    ) as stage:
        talk = Talk(stage)
        await talk.begin()
        answer = await post(stage, user("u9"), parentId=talk.ids["a1"])
        run = answer.headers["x-prism-run"]
    async with local_server(
        agent(Scripted.saying("Five.")), service=service, log=SqliteLog(log)
    ) as stage:
        for known in (run, talk.ids["a2"]):
            again = await stage.client.get(f"/api/runs/{known}/stream?as=ai-sdk")
            assert again.status_code == 200
            assert rewound(again) == (rewound(answer) if known == run else [])
        parts = (await stage.messages())[-1]["parts"]
        assert [part["data"] for part in parts if part["type"] == "data-rewound"] == [
            {"messageIds": rewound(answer)[0]}
        ]


def test_a_log_without_the_ids_is_read() -> None:
    """As they were written before."""
    kind, payload = pack(RunStarted(run="r", origin={}))  # type: ignore[arg-type]
    assert b"rewound" not in payload
    old = payload.replace(b'"origin":{}', b'"origin":{"app":"a","user":"u","session":"s"}')
    record = unpack(kind, old)
    assert isinstance(record, RunStarted)
    assert record.rewound == []


@pytest.mark.parametrize("busy", ["interrupt", "wait", "refuse"])
async def test_a_branch_while_the_last_answer_runs(busy: str) -> None:
    """It is decided like any other message: interrupted and taken back, after its end, or refused."""
    held = asyncio.Event()
    model = Scripted.saying("One.", held, "Three.")
    async with local_server(agent(model), chat_busy=busy) as stage:
        first = await post(stage, user("u1"))
        one = first.headers["x-prism-run"]
        going = asyncio.create_task(post(stage, user("u1"), assistant(one), user("u2")))
        await held.wait()
        branch = asyncio.create_task(post(stage, user("u9"), parentId=one))
        if busy == "wait":
            await stage.client.post(f"/api/chat/{APP}/{SESSION}/stop")
        answer = await branch
        if busy == "refuse":
            assert answer.status_code == 409
            await stage.client.post(f"/api/chat/{APP}/{SESSION}/stop")
            await going
            return
        assert answer.status_code == 200, answer.text
        assert rewound(answer) == [["u2", (await going).headers["x-prism-run"]]]
        assert [texts(m) for m in await stage.messages()] == ["u1", "One.", "u9", "Three."]


async def test_two_branches_at_once_are_two_decisions() -> None:
    """The second is decided after the first: what it goes on from is there, and the first is not."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.", "Five.")
    async with local_server(agent(model), chat_busy="wait") as stage:
        talk = Talk(stage)
        await talk.begin()
        parent = talk.ids["a1"]
        both = await asyncio.gather(*(post(stage, user(n), parentId=parent) for n in ("u8", "u9")))
        assert [answer.status_code for answer in both] == [200, 200]
        found = await talk.shown()
        assert found[:2] == ["u1", "One."]
        assert len(found) == 4
        announced = sorted(len(rewound(answer)[0]) for answer in both)
        assert announced == [2, 4]


async def test_a_key_that_was_used_takes_nothing_back_again() -> None:
    """The same key and body attach to the run that there is."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four.", "Five.")
    async with local_server(agent(model)) as stage:
        talk = Talk(stage)
        await talk.begin()
        body = {
            "id": SESSION,
            "messages": [user("u9")],
            "parentId": talk.ids["a1"],
        }
        headers = {"idempotency-key": "once"}
        runs = set()
        for _ in range(2):
            answer = await stage.client.post(f"/api/chat/{APP}", json=body, headers=headers)
            assert answer.status_code == 200
            runs.add(answer.headers["x-prism-run"])
        assert len(runs) == 1
        assert await talk.shown() == ["u1", "One.", "u9", "Four."]
