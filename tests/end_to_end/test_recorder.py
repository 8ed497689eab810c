"""ADK's own server with the recorder plugin, while ours is there, killed, away, and back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.end_to_end.server import Server, free_port, serving, serving_with_adk
from tests.patience import PATIENCE
from websockets.asyncio.client import connect

from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.entry import ChildEvent, NodeStarted, RunEnded
from adk_prism.testing.laws import check_laws

Json = dict[str, Any]
LOG = "adk.log"


@dataclass
class Story:
    """What ADK's server answered, by prompt, and our server at the end."""

    server: Server
    folder: Path
    answers: dict[str, list[Json]] = field(default_factory=dict)

    def run_of(self, prompt: str) -> str:
        """Return the run that recorded a prompt, when it is over."""
        invocation = self.answers[prompt][0]["invocationId"]
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for each in self.server.http.get("/api/runs?" + urlencode({"app": "tour"})).json():
                if each["invocation"] == invocation and each["outcome"] is not None:
                    return str(each["run"])
            time.sleep(0.1)  # between two looks
        raise AssertionError(f"{prompt!r} was not recorded: {(self.folder / LOG).read_text()}")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Talk to ADK's server while ours is there, is killed in the middle of an answer, and is away."""
    folder, port = tmp_path_factory.mktemp("recorder"), free_port()
    at = ("--port", str(port))
    answers: dict[str, list[Json]] = {}
    plugin = ("--extra_plugins", "adk_prism.Recorder")
    where = {"ADK_PRISM_RECORD_URL": f"http://127.0.0.1:{port}"}
    with serving_with_adk(folder, *plugin, **where) as adk:
        with serving(folder, *at) as first:
            for prompt in ("workflow", "agent tool", "exception"):
                answers[prompt] = talk(adk, prompt)
            answers["long 3000"] = talk(adk, "long 3000", kill=first)
        answers["tool"] = talk(adk, "tool")
        with serving(folder, *at) as second:
            yield Story(second, folder, answers)


def talk(adk: str, prompt: str, kill: Server | None = None) -> list[Json]:
    """Send a prompt; kill our server when a part of its answer is recorded. Return the events."""
    with httpx.Client(base_url=adk, timeout=PATIENCE) as http:
        session = http.post("/apps/tour/users/ann/sessions").json()["id"]
        message = {"role": "user", "parts": [{"text": prompt}]}
        body = {"appName": "tour", "userId": "ann", "sessionId": session, "newMessage": message}
        found: list[Json] = []
        with http.stream("POST", "/run_sse", json={**body, "streaming": True}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    found.append(json.loads(line[6:]))
                if kill is not None and len(found) == 100:
                    _wait_for_part(kill, found[0]["invocationId"])
                    kill.kill()
                    kill = None
    return found


def _wait_for_part(server: Server, invocation: str) -> None:
    while True:
        runs = server.http.get("/api/runs?app=tour").json()
        if any(each["invocation"] == invocation and each["cursor"] > 10 for each in runs):
            return


PROMPTS = ["workflow", "agent tool", "exception", "long 3000", "tool"]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_nothing_is_missing(story: Story, prompt: str) -> None:
    """Every event that ADK's server answered, in its order, and the five laws; in full after a kill too."""
    run = story.run_of(prompt)
    text = story.server.http.get(f"/api/runs/{run}/recording").content
    entries = list(read_run(text))
    recorded = [e.record for e in entries]
    frames = story.server.http.get(f"/api/runs/{run}/stream?as=adk").text.splitlines()
    events = [json.loads(line[6:]) for line in frames if line.startswith("data: ")]
    answered = [event for event in story.answers[prompt] if "author" in event]
    assert [_comparable(e) for e in events] == [_comparable(e) for e in answered]
    assert check_laws(entries) == []
    assert any(isinstance(record, NodeStarted) for record in recorded)
    assert any(isinstance(record, ChildEvent) for record in recorded) == (prompt == "agent tool")
    ended = recorded[-1]
    assert isinstance(ended, RunEnded)
    assert ended.outcome == ("failed" if prompt == "exception" else "finished")


def _comparable(event: Json) -> Json:
    """Return an event without the text of an exception, which ADK tells its clients and we do not."""
    return {key: value for key, value in event.items() if key != "errorMessage"}


def test_the_log_of_adk_says_what_happened_once(story: Story) -> None:
    """On, away, back: one line each, however many events there were."""
    story.run_of("tool")
    lines = [line for line in (story.folder / LOG).read_text().splitlines() if "recorder" in line]
    said = [line for line in lines if "adk-prism recorder" in line]
    assert [
        sum(word in line for line in said) for word in (" is on", "does not take", "is back")
    ] == [
        1,
        1,
        1,
    ]
    assert len(said) == 3, said


# ------------------------------------------------------------------ adk web, and agents that misbehave


async def test_adk_web_as_its_page_uses_it(tmp_path: Path) -> None:
    """The page is served, chats and talks; each run is recorded, the conversation is one."""
    with serving(tmp_path) as ours:
        plugin = ("--extra_plugins", "adk_prism.Recorder")
        where = {"ADK_PRISM_RECORD_URL": ours.url}
        with serving_with_adk(tmp_path, *plugin, command="web", **where) as adk:
            async with httpx.AsyncClient(base_url=adk, timeout=PATIENCE) as http:
                page = await http.get("/dev-ui/?app=tour")
                assert "<app-root" in page.text
                assert "tour" in (await http.get("/list-apps?relative_path=./")).json()
                session = (await http.post("/apps/tour/users/user/sessions")).json()["id"]
            answers = [_say(adk, session, prompt) for prompt in ("state", "tool")]
            await _talk_live(adk, session)
            found = _conversation(ours, 3)
        runs = ours.http.get("/api/runs", params={"session": found["session"]}).json()
        for run, answer in zip(runs, answers, strict=False):
            assert run["invocation"] == answer[0]["invocationId"]
        for run in runs:
            text = ours.http.get(f"/api/runs/{run['run']}/recording").content
            assert check_laws(list(read_run(text))) == []
        shown = ours.http.get(f"/api/chat/tour/{found['session']}/messages").json()
        assert [m["role"] for m in shown] == ["user", "assistant"] * 3


def _say(adk: str, session: str, prompt: str, app: str = "tour") -> list[Json]:
    """Send a message as the page does; return the events."""
    message = {"role": "user", "parts": [{"text": prompt}]}
    body = {"appName": app, "userId": "user", "sessionId": session, "newMessage": message}
    answer = httpx.post(f"{adk}/run_sse", json={**body, "streaming": True}, timeout=PATIENCE)
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


async def _talk_live(adk: str, session: str) -> None:
    query = urlencode({"app_name": "tour", "user_id": "user", "session_id": session})
    async with connect(f"ws{adk.removeprefix('http')}/run_live?{query}") as socket:
        said = {"content": {"role": "user", "parts": [{"text": "text"}]}}
        await socket.send(json.dumps(said))
        async with asyncio.timeout(PATIENCE):
            while not json.loads(await socket.recv()).get("turnComplete"):
                pass
        await socket.send(json.dumps({"close": True}))


def _conversation(ours: Server, count: int) -> Json:
    """Wait until so many runs of one recorded session are over; return it as it is listed."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        listed: list[Json] = ours.http.get("/api/conversations").json()
        for each in listed:
            runs = ours.http.get("/api/runs", params={"session": each["session"]}).json()
            if [run["outcome"] is not None for run in runs] == [True] * count:
                return each
        time.sleep(0.1)  # between two looks
    raise AssertionError(f"not recorded: {listed}")


HOSTILE = Path(__file__).parent.parent / "security" / "hostile"


def test_agents_that_misbehave(tmp_path: Path) -> None:
    """In ADK's server: a panic fails its run, a client that leaves cancels one that hangs."""
    with serving(tmp_path) as ours:
        plugin = ("--extra_plugins", "adk_prism.Recorder")
        where = {"ADK_PRISM_RECORD_URL": ours.url}
        with serving_with_adk(tmp_path, *plugin, agents=HOSTILE, **where) as adk:
            for session, prompt in (
                ("s1", "work panic"),
                ("s2", "work cancelled"),
                ("s3", "work hang"),
            ):
                httpx.post(f"{adk}/apps/hostile/users/user/sessions", json={"sessionId": session})
                with suppress(httpx.HTTPError):
                    _say_briefly(adk, session, prompt)
            ends = {}
            until = time.monotonic() + PATIENCE
            while len(ends) < 3 and time.monotonic() < until:
                runs = ours.http.get("/api/runs?app=hostile").json()
                ends = {each["run"]: each["outcome"] for each in runs if each["outcome"]}
                time.sleep(0.1)  # between two looks
        assert sorted(ends.values()) == ["cancelled", "failed", "finished"]
        for run in ends:
            text = ours.http.get(f"/api/runs/{run}/recording").content
            assert check_laws(list(read_run(text))) == []


def _say_briefly(adk: str, session: str, prompt: str) -> None:
    """Send a message; leave after the tool's call."""
    message = {"role": "user", "parts": [{"text": prompt}]}
    body = {"appName": "hostile", "userId": "user", "sessionId": session, "newMessage": message}
    with httpx.stream("POST", f"{adk}/run_sse", json=body, timeout=PATIENCE) as answer:
        for line in answer.iter_lines():
            if "hang" in prompt and "functionCall" in line:
                return
