"""Known values that are cut at the border of two deltas; and the remembered frames against the whole rule."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adk.scripted import Scripted
from tests.security.test_redaction import leaving
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.adk.secret_forms import REDACTED
from adk_prism.adk.secrets import Secrets
from adk_prism.adk.stream_redaction import FEWEST_HELD, RunRedaction
from adk_prism.log.entry import AgentEvent
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

Json = dict[str, Any]
KNOWN = "s3cr3t-of-the-app"
LONGER = KNOWN + "-and-more"
TEXT = f"so: {KNOWN} is it; ssss s3cr3 {LONGER}, s3cr3t-of, {KNOWN}{KNOWN}. s3c"


def delta(text: str, author: str = "a", *, partial: bool = True, **more: Any) -> bytes:
    """Return an event as ADK writes it."""
    event = {
        "content": {"parts": [{"text": text}], "role": "model"},
        "partial": partial,
        **more,
        "invocationId": "e-1",
        "author": author,
        "actions": {"stateDelta": {}},
        "id": str(uuid.uuid4()),
        "timestamp": 1763430000.123,
    }
    return msgspec.json.encode(event)


def texts(out: Sequence[tuple[str, bytes]], author: str = "a") -> list[str]:
    """Return the streamed texts of an agent."""
    events = [json.loads(data) for kind, data in out if kind == "AgentEvent"]
    return [
        part["text"]
        for event in events
        if event["author"] == author and event.get("partial")
        for part in event["content"]["parts"]
    ]


def is_redacted(text: str, expected: str, secrets: Secrets) -> bool:
    """Return whether a text is the expected one, but for the first characters of values."""
    begun = {value[:size] for value in secrets.values for size in range(FEWEST_HELD)}
    between = f"(?:{'|'.join(map(re.escape, begun))}){re.escape(REDACTED)}"
    return re.fullmatch(between.join(map(re.escape, expected.split(REDACTED))), text) is not None


def streamed(secrets: Secrets, pieces: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """Give deltas, as the log does, and the end of the run; return what is stored."""
    redaction, out = RunRedaction(secrets), []
    for data in pieces:
        if redaction.passes(data):
            out.append(("AgentEvent", data))
        else:
            out += redaction.feed("AgentEvent", data)
    return out + redaction.feed("RunEnded", b'{"type":"RunEnded","outcome":"cancelled"}')


@pytest.mark.parametrize("at", range(1, len(TEXT)))
def test_a_value_is_found_across_any_border(at: int) -> None:
    """Wherever a text is cut, the joined deltas are the redacted text: nothing is lost, nothing shown."""
    secrets = Secrets([KNOWN, LONGER])
    out = streamed(secrets, [delta("Now, "), delta(TEXT[:at]), delta(TEXT[at:])])
    joined = "".join(texts(out))
    assert is_redacted(joined, "Now, " + secrets.text(TEXT), secrets)
    assert KNOWN not in joined


@pytest.mark.parametrize("size", range(1, 12))
def test_a_value_in_many_pieces_of_parallel_agents(size: int) -> None:
    """Three agents stream the same secret at once, each in its own pieces."""
    secrets = Secrets([KNOWN, LONGER])
    lanes = [
        [delta(TEXT[n : n + step], name) for n in range(0, len(TEXT), step)]
        for name, step in (("a", size), ("b", size + 1), ("c", 3))
    ]
    mixed = [data for row in zip_longest(*lanes) for data in row if data is not None]
    out = streamed(secrets, mixed)
    for name in "abc":
        assert is_redacted("".join(texts(out, name)), secrets.text(TEXT), secrets)
        assert all(KNOWN not in piece for piece in texts(out, name))


def test_the_whole_text_comes_after_what_was_held() -> None:
    """The deltas before an aggregate are complete, and equal to it; another agent's are not touched."""
    secrets, whole = Secrets([KNOWN]), "ends with s3cr3t"
    redaction = RunRedaction(secrets)
    given = [
        delta("ends "),
        delta("with s3cr3t"),
        delta("b: s3cr3", "b"),
        delta(whole, partial=False),
    ]
    out = [each for data in given for each in redaction.feed("AgentEvent", data)]
    assert "".join(texts(out)) == whole
    assert json.loads(out[-1][1])["content"]["parts"][0]["text"] == whole
    assert texts(out, "b") == ["b: "]
    out += redaction.feed("RunEnded", b"{}")
    assert texts(out, "b") == ["b: ", "s3cr3"]
    ids = [json.loads(data)["id"] for kind, data in out if kind == "AgentEvent"]
    assert ids[1] == ids[3], "the rest of a delta has its id"


def test_nothing_is_held_that_cannot_become_a_known_value() -> None:
    """Each delta is stored as it came, byte for byte."""
    pieces = [delta(text) for text in ("What ", "a day", " x3cr", "\n\n", "t-of-the-app", "“ü”")]
    assert [data for _, data in streamed(Secrets([KNOWN]), pieces)][:-1] == pieces


def test_a_key_is_not_cut_by_what_is_held() -> None:
    """A delta that ends with a key, of which the last letter begins a known value."""
    key = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvs"
    out = streamed(Secrets([KNOWN]), [delta("key: "), delta(key), delta(" done")])
    assert "".join(texts(out)) == f"key: {REDACTED} done"


SHAPES = {
    "thoughts": lambda text: {"content": {"parts": [{"text": text, "thought": True}]}},
    "two parts": lambda text: {
        "content": {"parts": [{"text": text, "thought": True}, {"text": text}]}
    },
    "a transcript": lambda text: {"outputTranscription": {"text": text, "finished": False}},
    "arguments": lambda text: {
        "content": {
            "parts": [
                {
                    "functionCall": {
                        "id": "c",
                        "partialArgs": [{"jsonPath": "$.q", "stringValue": text}],
                    }
                }
            ]
        }
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["AgentEvent", "ChildEvent"])
def test_every_kind_of_delta(shape: str, kind: str) -> None:
    """Thoughts, transcripts, streamed arguments, and events of an agent inside a tool."""
    redaction, found = RunRedaction(Secrets([KNOWN])), []
    for piece in (f"x {KNOWN[:5]}", KNOWN[5:9], f"{KNOWN[9:]} y", " s3c"):
        event = {"author": "a", "partial": True, "id": "1", **SHAPES[shape](piece)}
        value = {"type": kind, "call": "c", "event": event} if kind == "ChildEvent" else event
        found += redaction.feed(kind, msgspec.json.encode(value))
    found += redaction.feed("RunEnded", b"{}")
    assert all(each[0] in (kind, "RunEnded") for each in found)
    joined = "".join(_said(json.loads(data)) for _, data in found[:-1])
    expected = f"x {REDACTED} y s3c"
    assert joined == expected if shape != "two parts" else sorted(joined) == sorted(expected * 2)
    assert KNOWN[5:] not in joined


def _said(value: Json) -> str:
    event = value.get("event", value)
    found = [event["outputTranscription"]["text"]] if "outputTranscription" in event else []
    for part in event.get("content", {}).get("parts", []):
        pieces = part.get("functionCall", {}).get("partialArgs", [])
        found += [part.get("text", ""), *(piece["stringValue"] for piece in pieces)]
    return "".join(found)


# ------------------------------------------------------------------------------ the cheap path

_SIGNS = st.text("ab-s3", min_size=1, max_size=14)
_VALUES = st.lists(st.text("ab-s3", min_size=8, max_size=12), min_size=1, max_size=4)
_NOISE = st.sampled_from(
    [
        "",
        "a",
        " ",
        "\n",
        '"',
        "\\",
        "ü",
        "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw",
        "password=a1b2c3d4",
    ]
)


@settings(max_examples=500, deadline=None)
@given(_VALUES, st.lists(st.tuples(_SIGNS, _NOISE), max_size=12))
def test_deltas_joined_equal_the_text_redacted_at_once(
    values: list[str], pieces: list[tuple[str, str]]
) -> None:
    """Whatever the values, which may overlap and contain each other, and wherever the text is cut."""
    secrets = Secrets(values)
    plain = [sign for sign, _ in pieces]
    out = streamed(secrets, [delta(piece) for piece in plain])
    assert is_redacted("".join(texts(out)), secrets.without_values("".join(plain)), secrets)


@settings(max_examples=500, deadline=None)
@given(
    _VALUES,
    st.lists(
        st.tuples(_SIGNS, _NOISE, st.sampled_from(["a", "b"]), st.integers(0, 3)), max_size=12
    ),
)
def test_what_passes_is_what_the_whole_rule_leaves_alone(
    values: list[str], pieces: list[tuple[str, str, str, int]]
) -> None:
    """The cheap look decides only that nothing can be found: in what it lets pass there is nothing."""
    secrets = Secrets(values)
    redaction = RunRedaction(secrets)
    for sign, noise, author, count in pieces:
        data = delta(noise + sign, author, usageMetadata={"totalTokenCount": count})
        if redaction.passes(data):
            assert secrets.json(data) is data
            assert redaction.feed("AgentEvent", data) == [("AgentEvent", data)]
        else:
            redaction.feed("AgentEvent", data)


def test_ordinary_deltas_pass() -> None:
    """From the second one on; with counts that differ, too."""
    redaction = RunRedaction(Secrets([KNOWN]))
    pieces = [delta(f" word {n}", usageMetadata={"totalTokenCount": n}) for n in range(9)]
    redaction.feed("AgentEvent", pieces[0])
    assert all(map(redaction.passes, pieces[1:]))
    assert not redaction.passes(delta(" word", customMetadata={"password": "x"}))
    assert not redaction.passes(delta(f" {KNOWN} "))


def test_a_frame_is_looked_at_again_when_a_value_becomes_known() -> None:
    """An app that is loaded later brings its own secrets."""
    secrets = Secrets()
    redaction = RunRedaction(secrets)
    redaction.feed("AgentEvent", delta("x", customMetadata={"note": KNOWN}))
    assert redaction.passes(delta("y", customMetadata={"note": KNOWN}))
    secrets.learn([KNOWN])
    assert not redaction.passes(delta("z", customMetadata={"note": KNOWN}))


# ------------------------------------------------------------------------------ in a server


class Pieces(BaseLlm):
    """Streams given pieces, and then the whole text."""

    model: str = "pieces"
    pieces: list[str]
    hangs: Any = None
    """An event that is set, and never ends the call."""

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        del llm_request, stream
        for piece in self.pieces:
            content = types.Content(role="model", parts=[types.Part(text=piece)])
            yield LlmResponse(content=content, partial=True)
            await asyncio.sleep(0)
        if self.hangs is not None:
            self.hangs.set()
            await asyncio.Event().wait()
        whole = types.Content(role="model", parts=[types.Part(text="".join(self.pieces))])
        yield LlmResponse(content=whole, partial=False)


async def test_parallel_agents_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """No protocol shows a value that was cut, and each agent's text is complete."""
    monkeypatch.setenv("SERVICE_PASS", KNOWN)
    agents = [
        LlmAgent(
            name=name, model=Pieces(pieces=[TEXT[n : n + step] for n in range(0, len(TEXT), step)])
        )
        for name, step in (("one", 4), ("two", 7))
    ]
    async with local_server(ParallelAgent(name="both", sub_agents=agents)) as server:
        run = await server.say("go")
        for name, text in (await leaving(server, run)).items():
            assert KNOWN not in text, name
        expected = Secrets([KNOWN]).text(TEXT)
        messages = json.dumps(await server.messages())
        for name in ("one", "two"):
            streamed = "".join(await _partials(server, run, name))
            assert is_redacted(streamed, expected, Secrets([KNOWN]))
            assert messages.count(json.dumps(streamed)[1:-1]) >= 1, (
                "the whole text is the streamed one"
            )


async def _partials(server: LocalServer, run: str, author: str) -> list[str]:
    events = [
        json.loads(e.record.event)
        for e in await server.entries(run)
        if type(e.record) is AgentEvent
    ]
    return [
        e["content"]["parts"][0]["text"]
        for e in events
        if e.get("partial") and e["author"] == author
    ]


async def test_a_run_that_is_stopped_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was held back is stored before the end."""
    monkeypatch.setenv("SERVICE_PASS", KNOWN)
    reached = asyncio.Event()
    model = Pieces(pieces=["it is ", "done, s3cr3t"], hangs=reached)
    async with local_server(LlmAgent(name="agent", model=model)) as server:
        saying = asyncio.create_task(server.say("go"))
        await reached.wait()
        (run,) = [each.run for each in await server.context.log.list()]
        await server.client.post(f"/api/runs/{run}/cancel")
        await saying
        assert "".join(await _partials(server, run, "agent")) == "it is done, s3cr3t"


AGENT = """
from google.adk.agents import LlmAgent
from tests.security.test_stream_redaction import Pieces

pieces = ["the key is kept-in-", "the-file-1, and known-in-code-22"]
root_agent = LlmAgent(name="agent", model=Pieces(pieces=pieces))
import os
os.environ["CODE_API_KEY"] = "known-in-code-22"
"""


async def test_the_env_file_of_an_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are known as soon as the app is served; so are those that its code sets."""
    monkeypatch.setenv("CODE_API_KEY", "")
    app = tmp_path / "apps" / "filed"
    app.mkdir(parents=True)
    (app / "__init__.py").write_text("from . import agent\n")
    (app / "agent.py").write_text(AGENT)
    (app / ".env").write_text("SOME_APIKEY=kept-in-the-file-1\n")
    served = create_app(
        app.parent, Settings(log="memory:", sessions="memory://", artifacts="memory://")
    )
    async with served.router.lifespan_context(served):
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            body = {"appName": "filed", "userId": "u", "sessionId": "s", "streaming": True}
            await client.post("/apps/filed/users/u/sessions/s")
            said = {"newMessage": {"role": "user", "parts": [{"text": "hi"}]}}
            answer = await client.post("/run_sse", json=body | said)
            assert answer.status_code == 200
            assert f"the key is {REDACTED}, and {REDACTED}" in answer.text
            assert "the-file-1" not in answer.text
            assert "known-in-code-22" not in answer.text


async def test_a_stage_keeps_its_own_text() -> None:
    """Without secrets the events of a run are what the agent streamed."""
    async with local_server(agent(Scripted.saying("one two three"))) as server:
        run = await server.say("go")
        assert "".join(await _partials(server, run, "agent")) == "one two three "
