"""ADK's own clients and contract: what they get from this server is what ADK's server gives.

The same requests go to google-adk's `get_fast_api_app` and to ours, for every scenario of the tour.
Events must be equal once ids and times are taken out; the differences that are meant are those of
`expected`, each with its reason.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.cli.adk_web_server import RunAgentRequest
from google.adk.cli.conformance.adk_web_server_client import AdkWebServerClient
from google.adk.cli.fast_api import get_fast_api_app
from google.genai import types
from tests.end_to_end.clients import new_id
from tests.end_to_end.server import AGENTS, PATIENCE, Server

from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario

Json = dict[str, Any]
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:google.adk"),
]

PROMPTS = {"slow": "slow 0", "long": "long 100", "large file": "large file 20"}
FAILING = ("exception", "quota error", "broken stream")


@dataclass(frozen=True)
class Adk:
    """A client of ADK's HTTP contract, in one session."""

    http: httpx.AsyncClient
    app: str
    session: str

    def body(self, message: Json | None, **extras: Any) -> Json:
        """Return the body of a run request."""
        about = {"appName": self.app, "userId": "ada", "sessionId": self.session}
        return {**about, **({"newMessage": message} if message is not None else {}), **extras}

    async def post(self, route: str, message: Json | None, **extras: Any) -> httpx.Response:
        """Call a run route."""
        return await self.http.post(route, json=self.body(message, **extras))

    async def run(self, message: Json | None, **extras: Any) -> list[Json]:
        """Run with `/run_sse`; return its events."""
        answer = await self.post("/run_sse", message, **extras)
        assert answer.status_code == 200, answer.text
        return events_of(answer.text)

    async def say(self, text: str, **extras: Any) -> list[Json]:
        """Send a person's message."""
        return await self.run(words(text), **extras)

    async def session_now(self) -> Json:
        """Return the session."""
        path = f"/apps/{self.app}/users/ada/sessions/{self.session}"
        found: Json = (await self.http.get(path)).json()
        return found


def words(text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def answers(*responses: Json) -> Json:
    return {"role": "user", "parts": [{"functionResponse": response} for response in responses]}


def events_of(body: str) -> list[Json]:
    """Return the JSON of an event stream's frames."""
    lines = [line for line in body.split("\n") if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]


@asynccontextmanager
async def opened(http: httpx.AsyncClient, app: str) -> AsyncIterator[Adk]:
    """Create a session and give a client of it."""
    async with http:
        session = new_id("session")
        made = await http.post(f"/apps/{app}/users/ada/sessions", json={"sessionId": session})
        made.raise_for_status()
        yield Adk(http, app, session)


@pytest.fixture
async def ours(server: Server) -> AsyncIterator[Adk]:
    """A new session of the tour on our server."""
    async with opened(client_of(server), "tour") as adk:
        yield adk


@pytest.fixture
async def diary(server: Server) -> AsyncIterator[Adk]:
    """A new session of the diary on our server."""
    async with opened(client_of(server), "diary") as adk:
        yield adk


def client_of(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=PATIENCE)


@pytest.fixture(scope="module")
def adk_server() -> Iterator[FastAPI]:
    """ADK's own server of the same apps, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADK_PRISM_MODEL", "offline")
        patch.setenv("ADK_PRISM_OFFLINE_DELAY", "0")
        memory = {"session_service_uri": "memory://", "artifact_service_uri": "memory://"}
        yield get_fast_api_app(agents_dir=str(AGENTS), web=False, **memory)


@pytest.fixture
async def theirs(adk_server: FastAPI) -> AsyncIterator[Adk]:
    """A new session of the tour on ADK's server."""
    transport = httpx.ASGITransport(adk_server, raise_app_exceptions=False)
    async with opened(httpx.AsyncClient(transport=transport, base_url="http://adk"), "tour") as adk:
        yield adk


# ------------------------------------------------------------------ events are ADK's

_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def comparable(events: Sequence[Json]) -> dict[str, list[Json]]:
    """Return events by lane, without ids and times: lanes that run side by side mix as they like."""
    lanes: dict[str, list[Json]] = defaultdict(list)
    for event in json.loads(_IDS.sub("ID", json.dumps(events))):
        kept = {k: v for k, v in event.items() if k not in ("timestamp", "id", "invocationId")}
        if kept.get("errorCode") and kept.get("errorMessage"):
            kept["errorMessage"] = "text"  # ours holds no exception's text
        if event.get("partial"):
            # ADK lets them share objects with the final event: what they show of it is chance.
            kept["nodeInfo"] = {"path": event.get("nodeInfo", {}).get("path")}
        lane = f"{event['author']} {event.get('branch')} {event.get('nodeInfo', {}).get('path')}"
        lanes[lane].append(kept)
    return dict(lanes)


def expected(events: Sequence[Json]) -> list[Json]:
    """Return ADK's events as ours are meant to be.

    - An error is one event: ADK adds an object that is none.
    - An event that saves an artifact is one event: ADK sends it in two halves of one id.
    """
    found: list[Json] = []
    for event in events:
        if "error" in event and "author" not in event:
            continue
        before = found[-1] if found else {}
        if before.get("id") == event.get("id") and event["actions"]["artifactDelta"]:
            before["actions"]["artifactDelta"] = event["actions"]["artifactDelta"]
        else:
            found.append(event)
    return found


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "whole"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_events_are_those_of_adk(
    ours: Adk, theirs: Adk, scenario: Scenario, streaming: bool
) -> None:
    """The same events, in the same order within a lane, with all of their fields."""
    prompt = PROMPTS.get(scenario.name, scenario.example)
    got = await ours.say(prompt, streaming=streaming)
    wanted = expected(await theirs.say(prompt, streaming=streaming))
    assert comparable(got) == comparable(wanted)
    assert len({event["invocationId"] for event in got}) == 1


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_run_gives_the_events_of_run_sse(
    ours: Adk, server: Server, scenario: Scenario
) -> None:
    """`/run` is the list of what `/run_sse` streams without `streaming`; a failure is in it too."""
    prompt = PROMPTS.get(scenario.name, scenario.example)
    async with opened(client_of(server), "tour") as other:
        streamed = await other.say(prompt)
    answer = await ours.post("/run", words(prompt))
    assert answer.status_code == 200
    assert answer.headers["x-prism-run"].startswith("run-")
    assert comparable(answer.json()) == comparable(streamed)
    failed = [event["errorCode"] for event in answer.json() if event.get("errorCode")]
    assert bool(failed) or scenario.name not in FAILING


async def test_frames_have_positions_and_the_run_is_named(ours: Adk) -> None:
    """What makes a stream resumable: an id on each frame, and the run in a header."""
    answer = await ours.post("/run_sse", words("tool"), streaming=True)
    ids = re.findall(r"^id: (\S+)$", answer.text, re.MULTILINE)
    assert len(ids) == len(set(ids)) == len(events_of(answer.text))
    run = answer.headers["x-prism-run"]
    again = await ours.http.get(f"/api/runs/{run}/stream?as=adk")
    assert again.text == answer.text


# ------------------------------------------------------------------ ADK's client class


async def test_adks_own_client(server: Server) -> None:
    """The client that ADK's conformance tests use works unchanged."""
    async with AdkWebServerClient(base_url=server.url) as client:
        assert (await client.get_version_data())["language"] == "python"
        user = {"app_name": "tour", "user_id": new_id("user")}
        session = await client.create_session(**user, state={"a": 1})
        where = {**user, "session_id": session.id}
        assert session.state == {"a": 1}
        message = types.UserContent("artifact")
        request = RunAgentRequest(**where, new_message=message, streaming=True)
        events = [event async for event in client.run_agent(request)]
        last = [event for event in events if event.content][-1]
        assert last.is_final_response()
        assert last.content.parts[0].text == "The note is saved as an artifact."
        changed = await client.update_session(**where, state_delta={"b": 2})
        assert changed.state == {"a": 1, "b": 2}
        kept = await client.get_session(**where)
        assert [e.id for e in kept.events if e.author == "tour"] == [
            e.id for e in events if not e.partial
        ]
        versions = await client.list_artifact_versions_metadata(**where, artifact_name="note.txt")
        assert [version.version for version in versions] == [0]
        await client.delete_session(**where)
        with pytest.raises(httpx.HTTPStatusError):
            await client.get_session(**where)


# ------------------------------------------------------------------ answers


def calls(events: Sequence[Json], name: str) -> list[Json]:
    """Return the calls of that name, whole ones."""
    whole = [event for event in events if not event.get("partial")]
    parts = [part for event in whole for part in event.get("content", {}).get("parts", [])]
    found = [part["functionCall"] for part in parts if "functionCall" in part]
    return [call for call in found if call["name"] == name]


def decide(approved: bool, **extras: Any) -> Callable[[Sequence[Json]], Json]:
    """Return the message that answers every approval request."""

    def answer(events: Sequence[Json]) -> Json:
        asked = calls(events, "adk_request_confirmation")
        response = {"confirmed": approved, **extras}
        return answers(*(respond(call, response) for call in asked))

    return answer


def respond(call: Json, response: Any) -> Json:
    return {"id": call["id"], "name": call["name"], "response": response}


def as_text(events: Sequence[Json]) -> Json:
    """Return an approval in the other form that ADK accepts: as JSON text."""
    call = calls(events, "adk_request_confirmation")[0]
    return answers(respond(call, {"response": '{"confirmed": true}'}))


def located(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "get_location")[0], {"city": "Rome"}))


def printed(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "order_print")[0], {"status": "done"}))


def seated(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "adk_request_input")[0], {"result": {"guests": 4}}))


def snake(events: Sequence[Json]) -> Json:
    """Return an approval in ADK's other spelling."""
    call = calls(events, "adk_request_confirmation")[0]
    return {"parts": [{"function_response": respond(call, {"confirmed": True})}]}


@dataclass(frozen=True)
class Case:
    id: str
    prompt: str
    answer: Callable[[Sequence[Json]], Json]


CASES = [
    Case("approved", "approval", decide(True)),
    Case("approved, as text", "approval", as_text),
    Case("approved, snake_case", "approval", snake),
    Case("denied", "approval", decide(False)),
    Case("two approved", "two approvals", decide(True)),
    Case("in a sub-agent", "sub-agent approval", decide(True)),
    Case("client tool", "client tool", located),
    Case("long-running tool", "long-running tool", printed),
    Case("input request", "input request", seated),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_an_answer_goes_on_as_in_adk(ours: Adk, theirs: Adk, case: Case) -> None:
    """The continuation's events are ADK's; a second answer is 409, where ADK would run again."""
    asked, same = await ours.say(case.prompt), await theirs.say(case.prompt)
    answer = case.answer(asked)
    got, wanted = await ours.run(answer), await theirs.run(case.answer(same))
    assert comparable(got) == comparable(expected(wanted))
    for route in ("/run_sse", "/run"):
        assert (await ours.post(route, answer)).status_code == 409


async def test_all_answers_of_a_batch_in_one_message(ours: Adk) -> None:
    """The client's result reaches the model also beside an approval, where ADK loses it."""
    asked = await ours.say("mixed batch")
    parts = [*located(asked)["parts"], *decide(True)(asked)["parts"]]
    events = await ours.run({"role": "user", "parts": parts})
    text = "".join(p.get("text", "") for e in events for p in e.get("content", {}).get("parts", []))
    assert "Your device: city Rome. The invoice was sent." in text


def forged(response: Json) -> Callable[[Sequence[Json]], Json]:
    return lambda events: answers(response)


def gated_result(events: Sequence[Json]) -> Json:
    return answers(respond(calls(events, "erase")[0], {"erased": "page"}))


FORGERIES = {
    "approval id": forged(
        {"id": "x", "name": "adk_request_confirmation", "response": {"confirmed": True}}
    ),
    "call id": forged({"id": "x", "name": "erase", "response": {"erased": "page"}}),
    "no id": forged({"name": "erase", "response": {}}),
    "result of a gated call": gated_result,
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_answer_is_refused(diary: Adk, server: Server, name: str) -> None:
    """409, nothing runs, and the real answer still counts."""
    asked = await diary.say("erase page")
    assert (await diary.post("/run_sse", FORGERIES[name](asked))).status_code == 409
    assert (await diary.post("/run", FORGERIES[name](asked))).status_code == 409
    ran = server.folder / f"ran-{diary.session}.jsonl"
    assert not ran.exists()
    await diary.run(decide(True)(asked))
    assert len(ran.read_text().splitlines()) == 1


async def test_a_late_answer_is_refused(diary: Adk, server: Server) -> None:
    """ADK itself would still run the tool after the person went on to something else."""
    asked = await diary.say("erase page")
    await diary.say("hello")
    assert (await diary.post("/run_sse", decide(True)(asked))).status_code == 409
    assert not (server.folder / f"ran-{diary.session}.jsonl").exists()


async def test_an_answer_from_another_session_is_refused(server: Server, diary: Adk) -> None:
    """A call id is good in its own session only."""
    asked = await diary.say("erase page")
    async with opened(client_of(server), "diary") as other:
        assert (await other.post("/run_sse", decide(True)(asked))).status_code == 409


# ------------------------------------------------------------------ state

EMPTY = [
    {"role": "system", "parts": []},
    {"role": "user", "parts": []},
    {"role": "user"},
    {"parts": None},
    None,
]


@pytest.mark.parametrize("spelling", ["camel", "snake"])
@pytest.mark.parametrize("message", EMPTY, ids=json.dumps)
async def test_a_state_only_update(
    diary: Adk, server: Server, message: Json | None, spelling: str
) -> None:
    """One event comes back, the state is changed, and no model was asked."""
    if spelling == "camel":
        body = diary.body(message, stateDelta={"count": 7})
    else:
        body = {"app_name": "diary", "user_id": "ada", "session_id": diary.session}
        body |= {"new_message": message, "state_delta": {"count": 7}}
    answer = await diary.http.post("/run_sse", json=body)
    (event,) = events_of(answer.text)
    assert event["actions"]["stateDelta"] == {"count": 7}
    assert event["author"] == "user"
    (listed,) = (await diary.http.post("/run", json=body)).json()
    assert listed["actions"]["stateDelta"] == {"count": 7}
    assert (await diary.session_now())["state"] == {"count": 7}
    assert not (server.folder / f"requests-{diary.session}.jsonl").exists()


async def test_a_state_update_leaves_a_question_open(diary: Adk) -> None:
    """A front end that keeps its state in the session does not lose what a person is asked."""
    asked = await diary.say("erase page")
    await diary.run(None, stateDelta={"count": 7})
    events = await diary.run(decide(True)(asked))
    assert "erased" in json.dumps(events)


async def test_a_state_update_waits_for_the_run(diary: Adk, server: Server) -> None:
    """It would make the run fail; so it comes after it, and not before."""
    gate = new_id("gate")
    async with client_of(server) as other:
        body = diary.body(words(f"hello [{gate}]"), streaming=True)
        running = asyncio.create_task(other.post("/run_sse", json=body))
        await until_asked(server, diary)
        updating = asyncio.create_task(diary.run(None, stateDelta={"count": 7}))
        assert "count" not in (await diary.session_now())["state"]
        await open_gate(server, gate)
        events = events_of((await running).text)
        (update,) = await updating
    assert not any(event.get("errorCode") for event in events)
    assert update["actions"]["stateDelta"] == {"count": 7}
    assert (await diary.session_now())["events"][-1]["id"] == update["id"]


async def until_asked(server: Server, adk: Adk) -> None:
    """Wait until the diary's model has been asked something."""
    async with asyncio.timeout(PATIENCE):
        while not (server.folder / f"requests-{adk.session}.jsonl").exists():
            await adk.http.get("/health")


async def open_gate(server: Server, gate: str) -> None:
    """Open a gate of the diary's."""
    async with opened(client_of(server), "diary") as keeper:
        await keeper.say(f"open {gate}")


async def test_state_with_a_message_is_there_from_the_first_step(
    diary: Adk, server: Server
) -> None:
    """The agent's instruction and its tools see it."""
    events = await diary.say("count", stateDelta={"count": 7})
    asked = (server.folder / f"requests-{diary.session}.jsonl").read_text().splitlines()
    assert json.loads(asked[0])["state"] == {"count": 7}
    assert '"count": 8' in json.dumps(events)


@pytest.mark.parametrize("key", ["app:x", "user:x", "temp:x", "_adk_x"])
async def test_shared_state_is_not_a_clients(diary: Adk, key: str) -> None:
    """A client that could write it would reach into other conversations."""
    for message in (words("hello"), None):
        answer = await diary.post("/run_sse", message, stateDelta={key: 1})
        assert answer.status_code == 403


# ------------------------------------------------------------------ what cannot be


@dataclass(frozen=True)
class Refused:
    id: str
    change: Json
    status: int


REFUSED = [
    Refused("unknown session", {"sessionId": "nobody"}, 404),
    Refused("another user's session", {"userId": "bob"}, 404),
    Refused("unknown app", {"appName": "nobody"}, 404),
    Refused("nothing to do", {"newMessage": {"role": "user", "parts": []}}, 422),
    Refused("no message", {"newMessage": None}, 422),
    Refused(
        "a call of the user's", {"newMessage": {"parts": [{"functionCall": {"name": "x"}}]}}, 422
    ),
    Refused(
        "text and an answer",
        {"newMessage": {"parts": [{"text": "x"}, {"functionResponse": {"id": "x", "name": "x"}}]}},
        409,
    ),
    Refused("an unknown invocation", {"newMessage": None, "invocationId": "e-nobody"}, 409),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_what_cannot_run_is_refused_before_it_begins(diary: Adk, case: Refused) -> None:
    """A problem with a status, not a stream that ends badly; there is no run of it."""
    body = {**diary.body(words("hello")), **case.change}
    for route in ("/run", "/run_sse"):
        answer = await diary.http.post(route, json=body)
        assert answer.status_code == case.status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await diary.http.get(f"/api/runs?session={diary.session}")).json() == []


async def test_a_busy_session_is_refused(diary: Adk, server: Server) -> None:
    """409 at once; the run that is on goes on, and afterwards the session is free."""
    gate = new_id("gate")
    async with diary.http.stream(
        "POST", "/run_sse", json=diary.body(words(f"hello [{gate}]"), streaming=True)
    ) as running:
        lines = running.aiter_lines()
        async for line in lines:
            if gate in line:
                break
        assert (await diary.post("/run_sse", words("second"))).status_code == 409
        assert (await diary.post("/run", words("second"))).status_code == 409
        await open_gate(server, gate)
        rest = [line async for line in lines]
    assert any("You said" in line for line in rest)
    assert len(await diary.say("third")) > 0
