"""ADK's own server with the recorder plugin, while ours is there, killed, away, and back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.end_to_end.server import Server, free_port, serving, serving_with_adk
from tests.patience import PATIENCE

from adk_prism.runlog.entry import ChildEvent, NodeStarted, RunEnded
from adk_prism.source.recording import read_run
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
