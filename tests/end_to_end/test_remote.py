"""Apps of a real `adk api_server`, served here: the same clients, the same answers, the same laws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from tests.conformance.ag_ui import AgUiClient
from tests.conformance.chat import Chat
from tests.conformance.conftest import ag_ui_client as ag_ui_client
from tests.conformance.judge import Judge
from tests.end_to_end.adk_client import Adk, client_of, comparable, expected, opened
from tests.end_to_end.clients import MESSAGES, Client, Player, chat_body, new_id, send, shown
from tests.end_to_end.server import Server, serving
from tests.end_to_end.test_one_run import ag_ui_body, datas
from tests.end_to_end.test_use_chat import CASES, PROMPTS, Case, check
from tests.voice.served import Client as LiveClient
from websockets.asyncio.client import connect

from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario
from adk_prism.features.captures.recording_file import read_run
from adk_prism.testing.laws import check_laws

Json = dict[str, Any]
NEWEST = Client("ai-7", "7")
FAILING = ("exception", "quota error", "broken stream")


@pytest.fixture(scope="module")
def remote(adk_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve apps of ADK's own server, and none of our own."""
    words = [f"{name}={adk_url}" for name in ("tour", "diary")]
    given = [word for each in words for word in ("--remote", each)]
    with serving(tmp_path_factory.mktemp("remote"), *given, agents=None) as found:
        yield found


@pytest.fixture
def play(remote: Server, chat: Chat, judge: Judge) -> Player:
    """The newest chat client, on remote apps."""
    return Player(remote, NEWEST, chat, judge)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_scenario(play: Player, scenario: Scenario) -> None:
    """Each mechanism of a run arrives, is kept as it was shown, and obeys the laws."""
    fails, chat = scenario.name in FAILING, new_id("remote")
    prompt = PROMPTS.get(scenario.name, scenario.example)
    result = play(send(prompt), MESSAGES, fails=fails, id=chat)
    stored = json.loads(result.requests[-1]["text"])
    assert [shown(m, NEWEST) for m in stored] == [shown(m, NEWEST) for m in result.messages]
    run = stored[-1]["id"]
    recording = play.server.http.get(f"/api/runs/{run}/recording").content
    assert check_laws(list(read_run(recording))) == []


ANSWERED = [case for case in CASES if case.id != "not resumable"]
"""The reason of a denial reaches the model through a plugin of ours, which the remote does not have."""


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.id)
def test_answers_continue_the_message(play: Player, case: Case) -> None:
    """Approvals and results of the client's tools reach the remote; the conversation goes on."""
    result = play(send(case.prompt), *case.answers, send("text"), MESSAGES, app=case.app)
    check(result.steps[-3], case)
    stored = json.loads(result.requests[-1]["text"])
    assert [shown(m, NEWEST) for m in stored] == [shown(m, NEWEST) for m in result.messages]


@pytest.fixture
def adk_direct(adk_url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=adk_url, timeout=60)


@pytest.mark.parametrize("prompt", ["text", "tool", "state", "exception", "transfer"])
async def test_adk_routes(remote: Server, adk_direct: httpx.AsyncClient, prompt: str) -> None:
    """A client of ADK's routes sees what it would see on the remote itself."""
    async with opened(client_of(remote), "tour") as ours, opened(adk_direct, "tour") as theirs:
        seen = await ours.say(prompt, streaming=True)
        wanted = await theirs.say(prompt, streaming=True)
        assert comparable(seen) == comparable(expected(wanted))
        assert [e["author"] for e in (await ours.session_now())["events"]] == [
            e["author"] for e in (await theirs.session_now())["events"]
        ]


async def test_ag_ui_and_studio(remote: Server, ag_ui_client: AgUiClient) -> None:
    """The other protocols work on a remote app as they do on any."""
    async with client_of(remote) as http:
        body = ag_ui_body(new_id("thread"), "tool")
        answer = await http.post("/api/ag-ui/tour", json=body, headers={"accept": "*/*"})
        assert answer.status_code == 200, answer.text
        run = answer.headers["x-prism-run"]
        seen = await http.get(f"/api/runs/{run}/stream", params={"as": "ag-ui"})
        assert "RUN_FINISHED" in seen.text
        said = {"input": "tool", "session_id": new_id("studio")}
        studio = await http.post("/api/studio/tour/stream", json=said)
        assert "event: end" in studio.text
        assert "sunny" in studio.text


async def test_state(remote: Server) -> None:
    """State is read, changed with a message, and changed without one."""
    async with opened(client_of(remote), "tour") as adk:
        where = f"/apps/tour/users/ada/sessions/{adk.session}"
        patched = await adk.http.patch(where, json={"stateDelta": {"color": "green"}})
        assert patched.json()["state"]["color"] == "green"
        only_state = await adk.run({"role": "user", "parts": []}, stateDelta={"color": "blue"})
        assert [e["actions"]["stateDelta"] for e in only_state] == [{"color": "blue"}]
        await adk.say("text", stateDelta={"size": 3})
        state = (await adk.session_now())["state"]
        assert (state["color"], state["size"]) == ("blue", 3)


async def test_artifacts(remote: Server) -> None:
    """What the agent saved is read from its server."""
    async with opened(client_of(remote), "tour") as adk:
        await adk.say("artifact")
        where = f"/apps/tour/users/ada/sessions/{adk.session}/artifacts"
        names = (await adk.http.get(where)).json()
        assert names
        part = (await adk.http.get(f"{where}/{names[0]}")).json()
        assert part["inlineData"]["data"] or part["text"]


async def test_what_a_remote_lacks(remote: Server) -> None:
    """Each refusal is a problem with the reason, and `GET /api/apps` says it before."""
    async with opened(client_of(remote), "tour") as adk:
        events = await adk.say("text")
        told = (await adk.http.get("/api/apps/tour")).json()
        assert told["remote"] is True
        assert told["live"] is None  # Its server does not say; a live run will.
        invocation = events[-1]["invocationId"]
        where = f"/apps/tour/users/ada/sessions/{adk.session}"
        rewind = await adk.http.post(f"{where}/rewind", json={"invocationId": invocation})
        assert rewind.status_code == 501, rewind.text
        assert told["lacks"]["rewind"] in rewind.json()["detail"]
        [run] = (await adk.http.get("/api/runs", params={"session": adk.session})).json()
        again = await adk.http.post(f"/api/runs/{run['run']}/rerun", json={})
        assert again.status_code == 501, again.text
        assert told["lacks"]["rerun"] in again.json()["detail"]


async def test_fork(remote: Server) -> None:
    """A new session on the remote with what was said and the state; an open approval is asked no more."""
    async with opened(client_of(remote), "tour") as adk:
        for prompt in ("tool", "state", "approval"):
            await adk.say(prompt)
        runs = (await adk.http.get("/api/runs", params={"session": adk.session})).json()
        before = await adk.session_now()
        body = {
            "at": runs[-1]["cursor"],
            "newMessage": {"role": "user", "parts": [{"text": "text"}]},
        }
        answer = await adk.http.post(f"/api/runs/{runs[-1]['run']}/fork", json=body)
        assert answer.status_code == 200, answer.text
        forked = answer.json()
        assert forked["goesOn"] == "turn"
        await adk.http.get(f"/api/runs/{forked['run']}/stream")
        where = f"/apps/tour/users/ada/sessions/{forked['session']}"
        there = (await adk.http.get(where)).json()
        said = [
            part["text"]
            for event in there["events"]
            for part in (event.get("content") or {}).get("parts") or []
            if "text" in part and event["author"] == "user"
        ]
        assert said == ["tool", "state", "approval", "text"]
        assert "adk_request_confirmation" not in json.dumps(there["events"])
        kept = {k: v for k, v in before["state"].items() if not k.startswith(("user:", "app:"))}
        assert kept.items() <= there["state"].items()
        assert (await adk.session_now())["events"] == before["events"]
        copy = {"at": runs[0]["cursor"]}
        again = await adk.http.post(f"/api/runs/{runs[0]['run']}/fork", json=copy)
        assert again.json()["goesOn"] == "nothing", again.text


async def test_live(remote: Server) -> None:
    """A typed conversation with sound, through the remote's own route; it is recorded, and read again."""
    chat = new_id("live")
    where = f"ws{remote.url.removeprefix('http')}/api/live/tour?session={chat}"
    async with connect(where) as socket:
        client = LiveClient(socket)
        for prompt in ("text", "tool"):
            await client.say(prompt, chat)
            await client.until_chunk("finish")
        assert client.chunks("data-pcm")
        assert client.chunks("tool-output-available")
        run = client.frames[0]["run"]
        await client.send("close")
        assert (await client.closed())[0] == 1000
    async with client_of(remote) as http:
        entries = list(read_run((await http.get(f"/api/runs/{run}/recording")).content))
        assert check_laws(entries) == []
        stored = (await http.get(f"/api/chat/tour/{chat}/messages")).json()
        assert [m["role"] for m in stored] == ["user", "assistant"] * 2


async def test_graph(remote: Server) -> None:
    """Agents, transfers and tools are drawn as the server describes them."""
    async with client_of(remote) as http:
        graph = (await http.get("/api/studio/tour/graph")).json()
        kinds = {node["id"]: node["kind"] for node in graph["nodes"]}
        assert kinds["tour"] == kinds["tour/guide"] == "agent"
        assert kinds["tour/get_weather"] == "tool"
        drawn = {(each["from"], each["to"], each["kind"]) for each in graph["edges"]}
        assert ("tour", "tour/guide", "transfer") in drawn
        assert "graph" not in (await http.get("/api/apps/tour")).json()["lacks"]


async def test_regenerate_is_refused(remote: Server) -> None:
    """Nothing changes: the message that was to be answered again is still there."""
    async with client_of(remote) as http:
        body = chat_body(new_id("remote"), "text")
        assert (await http.post("/api/chat/tour", json=body)).status_code == 200
        again = await http.post("/api/chat/tour", json={**body, "trigger": "regenerate-message"})
        assert again.status_code == 501
        assert "regenerated" in again.json()["detail"]
        stored = (await http.get(f"/api/chat/tour/{body['id']}/messages")).json()
        assert [m["role"] for m in stored] == ["user", "assistant"]


async def test_stop(remote: Server) -> None:
    """Stopping closes the connection to the remote, and the run is cancelled."""
    async with client_of(remote) as http:
        body = chat_body(new_id("remote"), "slow 60")
        async with http.stream("POST", "/api/chat/tour", json=body) as stream:
            run = stream.headers["x-prism-run"]
            stopped = await http.post(f"/api/chat/tour/{body['id']}/stop")
            assert stopped.is_success
            text = (await stream.aread()).decode()
        assert (await http.get(f"/api/runs/{run}")).json()["outcome"] == "cancelled"
        assert '"type":"abort"' in text


async def test_conversations_list_the_remote(remote: Server, adk_direct: httpx.AsyncClient) -> None:
    """A conversation that only the remote knows can be read here."""
    async with opened(adk_direct, "tour") as theirs, client_of(remote) as http:
        await theirs.run({"role": "user", "parts": [{"text": "text"}]})
        where = f"/api/chat/tour/{theirs.session}/messages?userId=ada"
        messages = (await http.get(where)).json()
        assert [m["role"] for m in messages] == ["user", "assistant"]


def test_events_are_adks(remote: Server) -> None:
    """What is sent on is readable by ADK's own model."""
    session = new_id("plain")
    remote.http.post(f"/apps/tour/users/ada/sessions/{session}")
    body = Adk(None, "tour", session).body(  # type: ignore[arg-type]
        {"role": "user", "parts": [{"text": "tool"}]}, streaming=True
    )
    sent = remote.http.post("/run_sse", json=body)
    assert all(Event.model_validate_json(data) for data in datas(sent.content))
