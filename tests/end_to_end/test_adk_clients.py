"""ADK's own clients and contract: what they get from this server is what ADK's server gives.

The same requests go to `adk api_server` and to ours, for every scenario of the tour.
Events must be equal once ids and times are taken out; the differences that are meant are those of
`adk_client.expected`, each with its reason.
"""

from __future__ import annotations

import re

import httpx
import pytest
from google.adk.cli.adk_web_server import RunAgentRequest
from google.adk.cli.conformance.adk_web_server_client import AdkWebServerClient
from google.genai import types
from tests.end_to_end.adk_client import (
    Adk,
    client_of,
    comparable,
    events_of,
    expected,
    opened,
    words,
)
from tests.end_to_end.clients import new_id
from tests.end_to_end.server import Server
from tests.end_to_end.streams import without_comments

from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario

PROMPTS = {"slow": "slow 0", "long": "long 100", "large file": "large file 20"}
FAILING = ("exception", "quota error", "broken stream")


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
    assert again.content == without_comments(answer.content)


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
