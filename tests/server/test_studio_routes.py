"""The Studio's routes: one run per request, gone on with anywhere, refused where it should be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import OPEN, talking

from adk_prism.errors import Diagnostic
from adk_prism.features.captures.streams import SseDecoder, SseEvent
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

Json = dict[str, Any]
STREAM = "/api/studio/tour/stream"


@pytest.fixture
async def tour(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """A server of the bundled apps, offline."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    monkeypatch.setenv("ADK_PRISM_OFFLINE_DELAY", "0")
    async with talking(create_app(None, settings)) as client:
        yield client


def events(answer: httpx.Response) -> list[SseEvent]:
    """The events of a stream."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return list(SseDecoder().feed(answer.content))


def names(answer: httpx.Response) -> list[str]:
    """The events' names, a trace's own for a trace."""
    return [
        json.loads(event.data)["type"] if event.event == "trace" else event.event
        for event in events(answer)
    ]


async def say(client: httpx.AsyncClient, words: str, **about: Any) -> httpx.Response:
    return await client.post(STREAM, json={"input": words, **about})


# --------------------------------------------------------------------------- runs


async def test_post_and_get_stream_the_same_run(tour: httpx.AsyncClient) -> None:
    """A session is made on demand, under the id that is asked for or under a new one."""
    posted = await say(tour, "tool", session_id="mine")
    got = await tour.get(STREAM, params={"input": "tool", "session_id": "other"})
    assert names(posted) == names(got)
    assert names(posted)[0] == "session"
    assert names(posted)[-2:] == ["done", "end"]
    assert events(posted)[0].data == "mine"
    run = posted.headers["x-prism-run"]
    assert all(event.id.startswith(f"{run}:") for event in events(posted))
    made_up = events(await say(tour, "tool"))[0].data
    assert made_up not in ("", "mine")
    assert (await tour.get(f"/apps/tour/users/user/sessions/{made_up}")).status_code == 200


async def test_the_text_is_the_answer(tour: httpx.AsyncClient) -> None:
    said = [event.data for event in events(await say(tour, "tool")) if event.event == "chunk"]
    expected = "I look at the weather.It is sunny in Lisbon, 21 degrees (synthetic)."
    assert "".join(said) == expected


async def test_a_failed_run_ends_with_its_error(tour: httpx.AsyncClient) -> None:
    """A good answer with a bad end: the first byte was out before anybody knew."""
    answer = await say(tour, "exception")
    assert names(answer)[-1] == "error"
    assert "end" not in names(answer)
    error = json.loads(events(answer)[-1].data)
    assert error["code"]
    assert error["correlation"]


async def test_a_key_starts_one_run(tour: httpx.AsyncClient) -> None:
    """An EventSource that loses its connection before the first event asks the same again."""
    params = {"input": "tool", "key": "k1"}
    first, again = await tour.get(STREAM, params=params), await tour.get(STREAM, params=params)
    assert first.content == again.content
    assert len((await tour.get("/api/runs")).json()) == 1
    other = await tour.get(STREAM, params={**params, "input": "help"})
    assert other.status_code == 422


# --------------------------------------------------------------------------- going on


async def test_last_event_id_goes_on_at_every_position(tour: httpx.AsyncClient) -> None:
    """Seen and rest are the whole, and no other run is started; after the end there is nothing: 204."""
    whole = await say(tour, "state", session_id="s")
    found = events(whole)
    for index, event in enumerate(found):
        params = {"input": "state", "session_id": "s"}
        answer = await tour.get(STREAM, params=params, headers={"last-event-id": event.id})
        if index == len(found) - 1:
            assert answer.status_code == 204
            assert answer.content == b""
        else:
            assert events(answer) == found[index + 1 :]
    assert len((await tour.get("/api/runs")).json()) == 1


async def test_a_post_goes_on_as_well(tour: httpx.AsyncClient) -> None:
    """Whole entries may be named, too: all of the last one is all of the run."""
    run = (await say(tour, "tool")).headers["x-prism-run"]
    last = (await tour.get(f"/api/runs/{run}")).json()["cursor"]
    for cursor, status in ((last, 204), (last - 1, 200)):
        answer = await tour.post(STREAM, json={}, headers={"last-event-id": f"{run}:{cursor}"})
        assert answer.status_code == status


@dataclass(frozen=True)
class Bad:
    position: str
    status: int


BAD = (
    Bad("nonsense", 400),
    Bad("12.3", 400),
    Bad("run-1:x", 400),
    Bad("run-1:1.1", 404),
    Bad("{run}:1.99", 400),
    Bad("{run}:9999", 400),
)


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.position)
async def test_positions_that_are_none(tour: httpx.AsyncClient, case: Bad) -> None:
    """A problem before the first byte, never an empty stream and never another run."""
    run = (await say(tour, "tool")).headers["x-prism-run"]
    position = case.position.format(run=run)
    answer = await tour.get(STREAM, params={"input": "x"}, headers={"last-event-id": position})
    assert answer.status_code == case.status
    assert answer.headers["content-type"] == "application/problem+json"
    assert len((await tour.get("/api/runs")).json()) == 1


async def test_a_position_of_another_app(client: httpx.AsyncClient) -> None:
    """A client that confuses its apps is told so, and does not see the other one's run."""
    started = await client.post("/api/studio/helper/stream", json={"input": "x"})
    position = f"{started.headers['x-prism-run']}:1.1"
    answer = await client.get("/api/studio/flow/stream", headers={"last-event-id": position})
    assert answer.status_code == 400


async def test_every_run_can_be_streamed_as_studio(tour: httpx.AsyncClient) -> None:
    """Also one that was started elsewhere; positions have their run's name there, too."""
    asked = {"id": "c", "messages": [{"role": "user", "parts": [{"type": "text", "text": "tool"}]}]}
    run = (await tour.post("/api/chat/tour", json=asked)).headers["x-prism-run"]
    whole = await tour.get(f"/api/runs/{run}/stream", params={"as": "studio"})
    found = events(whole)
    assert found[0].id == f"{run}:1.1"
    rest = await tour.get(
        f"/api/runs/{run}/stream", params={"as": "studio"}, headers={"last-event-id": found[3].id}
    )
    assert events(rest) == found[4:]
    assert (await tour.get(f"/api/runs/{run}/stream?as=studio&dialect=6")).status_code == 400


# --------------------------------------------------------------------------- who may ask

BROWSER: Json = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0"
}

SITES: tuple[tuple[Json, int], ...] = (
    ({}, 200),
    ({"sec-fetch-site": "same-origin"}, 200),
    ({"sec-fetch-site": "none"}, 200),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site", "sec-fetch-dest": "image"}, 403),
    ({"sec-fetch-site": "same-origin", "origin": OPEN}, 200),
    ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
    ({"sec-fetch-site": "cross-site", "origin": "https://good.example"}, 200),
    # Over plain http to a named host, browsers send no Sec-Fetch-Site.
    (BROWSER | {"accept": "image/avif,image/webp,*/*;q=0.8"}, 403),
    (BROWSER | {"accept": "*/*", "referer": "http://evil.example/"}, 403),
    (BROWSER | {"accept": "text/event-stream", "cache-control": "no-cache"}, 403),
    (BROWSER | {"accept": "text/html", "referer": "https://evil.example/a?http://localhost/"}, 403),
    (BROWSER | {"accept": "text/event-stream", "referer": f"{OPEN}/page"}, 200),
    (BROWSER | {"accept": "text/event-stream", "referer": "https://good.example/x"}, 200),
    ({"user-agent": "curl/8.5.0", "accept": "*/*"}, 200),
)


@pytest.mark.parametrize(("headers", "status"), SITES)
async def test_a_foreign_page_cannot_start_a_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, headers: Json, status: int
) -> None:
    """Not as an image, a link or a frame; a script of an origin that was allowed can."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    allowed = replace(settings, allow_origin=("https://good.example",))
    async with talking(create_app(None, allowed)) as client:
        answer = await client.get(STREAM, params={"input": "help"}, headers=headers)
        runs = (await client.get("/api/runs")).json()
    assert answer.status_code == status
    assert len(runs) == (status == 200)


# --------------------------------------------------------------------------- bad requests

REFUSED: tuple[tuple[str, Any, int], ...] = (
    ("nothing to say", {}, 422),
    ("an empty input", {"input": ""}, 422),
    ("an input that is no text", {"input": 5}, 422),
    ("a session that is no name", {"input": "x", "session_id": "a/b"}, 400),
    ("a user that is no name", {"input": "x", "user_id": " "}, 400),
    ("two things at once", {"input": "x", "answers": [{"id": "a", "approved": True}]}, 422),
    ("answers that are no list", {"answers": {"id": "a"}}, 422),
    ("an answer that says nothing", {"answers": [{"id": "a"}]}, 422),
    ("an answer to nothing", {"answers": [{"result": 1}]}, 422),
    ("a decision that is none", {"answers": [{"id": "a", "approved": "yes"}]}, 422),
    (
        "an approval that nobody asked for",
        {"session_id": "s", "answers": [{"id": "a", "approved": True}]},
        409,
    ),
    (
        "a result that nobody asked for",
        {"session_id": "s", "answers": [{"id": "a", "result": 1}]},
        409,
    ),
    ("no object", ["input"], 422),
)


@pytest.mark.parametrize(("_id", "body", "status"), REFUSED, ids=[case[0] for case in REFUSED])
async def test_bad_requests_are_problems(
    tour: httpx.AsyncClient, _id: str, body: Any, status: int
) -> None:
    """What cannot be is refused before anything starts, and said why."""
    answer = await tour.post(STREAM, json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await tour.get("/api/runs")).json() == []


async def test_a_get_is_checked_as_a_post_is(tour: httpx.AsyncClient) -> None:
    assert (await tour.get(STREAM)).status_code == 422
    assert (await tour.get(STREAM, params={"input": "a\0b"})).status_code == 400


@pytest.mark.parametrize("path", ["stream?input=x", "graph"])
async def test_apps_that_are_not_there(
    client: httpx.AsyncClient, reports: list[Diagnostic], path: str
) -> None:
    """An unknown app is 404; one that does not import is told with a reference, and not its cause."""
    assert (await client.get(f"/api/studio/nowhere/{path}")).status_code == 404
    broken = await client.get(f"/api/studio/broken/{path}")
    assert broken.status_code == 500
    assert broken.headers["content-type"] == "application/problem+json"
    assert "secret" not in broken.text
    assert any("secret-in-the-cause" in report.cause for report in reports)


# --------------------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("prompt", "node", "tool"),
    [("approval", "tour", "send_invoice"), ("sub-agent approval", "clerk", "issue_refund")],
)
async def test_an_approval_is_answered_and_the_run_goes_on(
    tour: httpx.AsyncClient, prompt: str, node: str, tool: str
) -> None:
    """By what the interrupt carried; the node that asked is resumed. A second answer finds nothing."""
    asked = events(await say(tour, prompt, session_id="s"))
    interrupt = json.loads(next(event.data for event in asked if event.event == "interrupt"))
    given = {"id": interrupt["data"]["id"], "call": interrupt["data"]["call"], "approved": True}
    answer = await tour.post(STREAM, json={"session_id": "s", "answers": [given]})
    assert names(answer)[:2] == ["session", "resume"]
    resumed = json.loads(events(answer)[1].data)
    assert resumed["node_id"] == interrupt["node_id"] == node
    results = [json.loads(event.data) for event in events(answer) if event.event == "tool_result"]
    assert (results[0]["name"], results[0].get("status")) == (tool, None)
    again = await tour.post(STREAM, json={"session_id": "s", "answers": [given]})
    assert again.status_code == 409


async def test_a_denial_is_told_with_its_reason(tour: httpx.AsyncClient) -> None:
    asked = events(await say(tour, "approval", session_id="s"))
    about = json.loads(next(event.data for event in asked if event.event == "interrupt"))["data"]
    given = {"id": about["id"], "call": about["call"], "approved": False, "reason": "no"}
    answer = await tour.post(STREAM, json={"session_id": "s", "answers": [given]})
    [result] = [json.loads(event.data) for event in events(answer) if event.event == "tool_result"]
    assert (result["status"], result["error"]) == ("denied", "no")


async def test_the_client_gives_the_result_of_a_tool_that_it_ran(tour: httpx.AsyncClient) -> None:
    """By the call alone: nobody was asked."""
    asked = events(await say(tour, "client tool", session_id="s"))
    call = json.loads(next(event.data for event in asked if event.event == "tool_call"))
    assert json.loads(asked[-2].data)["status"] == "waiting"
    given = {"call": call["id"], "result": {"city": "Rome"}}
    answer = await tour.post(STREAM, json={"session_id": "s", "answers": [given]})
    [result] = [json.loads(event.data) for event in events(answer) if event.event == "tool_result"]
    assert (result["id"], result["result"]) == (call["id"], {"city": "Rome"})
    assert json.loads(events(answer)[1].data)["node_id"] == "tour"


@pytest.mark.parametrize("typed", [False, True])
async def test_an_input_request_is_answered(tour: httpx.AsyncClient, typed: bool) -> None:
    """With a value for its id, or, where nothing else is asked, by simply saying it."""
    asked = events(await say(tour, "input request", session_id="s"))
    interrupt = json.loads(next(event.data for event in asked if event.event == "interrupt"))
    assert (interrupt["type"], interrupt["node_id"]) == ("input", "ask_for_guests")
    result = {"guests": 4, "terrace": True}
    body = {"answers": [{"id": interrupt["data"]["id"], "result": {"result": result}}]}
    answer = await tour.post(
        STREAM, json={"session_id": "s", **({"input": json.dumps(result)} if typed else body)}
    )
    assert names(answer)[-2:] == ["done", "end"]
    assert "The booking says" in "".join(
        e.data for e in events(answer) if e.event == "chunk"
    ).replace("  ", " ")


# --------------------------------------------------------------------------- graph and state


async def test_the_graph_of_an_app(client: httpx.AsyncClient) -> None:
    """Of an agent and of a workflow, as JSON with the documented keys."""
    helper = (await client.get("/api/studio/helper/graph")).json()
    assert {
        "id": "helper->helper/second",
        "from": "helper",
        "to": "helper/second",
        "kind": "transfer",
    } in helper["edges"]
    flow = (await client.get("/api/studio/flow/graph")).json()
    assert [node["id"] for node in flow["nodes"]] == [
        "START",
        "flow",
        "END",
        "flow/START",
        "flow/step",
        "flow/END",
    ]


STRANGE = '''
from google.adk.agents import LlmAgent
from adk_prism.models import Call, ScriptedModel, Turn, read_conversation, say
from datetime import datetime

def note(tool_context) -> str:
    """Write what no JSON can hold."""
    tool_context.state["when"] = datetime(2030, 1, 2)
    tool_context.state["number"] = float("nan")
    tool_context.state["deep"] = {"a": {"b": {"c": {"d": 1}}}}
    return "noted"

def script(request):
    return say("Done.") if read_conversation(request).answers else Turn((Call("note"),))

root_agent = LlmAgent(name="strange", model=ScriptedModel(script=script), tools=[note])
'''


async def test_a_state_that_is_no_json(settings: Settings, tmp_path: Path) -> None:
    """It is shown as far as it can be, in JSON that every client reads."""
    folder = tmp_path / "agents" / "strange"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(STRANGE)
    async with talking(create_app(folder.parent, settings)) as client:
        answer = await client.post("/api/studio/strange/stream", json={"input": "go"})
    assert names(answer)[-2:] == ["done", "end"]
    done = json.loads(events(answer)[-2].data, parse_constant=pytest.fail)
    state = done["state_snapshot"]["output"]
    assert state["deep"] == {"a": {"b": "{… 1 key}"}}
    assert state["number"] is None
    assert "2030-01-02" in state["when"]
