"""The AI SDK's provider for OpenAI reads every recording in both protocols."""

from __future__ import annotations

import json
import subprocess
from typing import Any, NamedTuple

import pytest
from tests.conftest import Node
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, with_reference
from adk_prism.facts.run_reader import Reader
from adk_prism.features.openai import chat, responses

NAMES = [*RECORDINGS, *CAPTURES]
SPECS = {"chat": chat.SPEC, "responses": responses.SPEC}


class Read(NamedTuple):
    """What an application gets of one stream."""

    parts: list[str]
    errors: list[str]


@pytest.fixture(scope="module")
def read(node: Node) -> dict[tuple[str, str], Read]:
    """All streams, read by one process, by protocol and recording."""
    cases = [(api, name) for api in SPECS for name in NAMES]
    streams = [{"api": api, "body": _body(api, name)} for api, name in cases]
    command = [node.binary, node.folder / "openai_provider.mjs"]
    done = subprocess.run(
        command, check=True, capture_output=True, input=json.dumps(streams).encode()
    )
    return dict(zip(cases, (Read(**each) for each in json.loads(done.stdout)), strict=True))


def _body(api: str, name: str) -> str:
    reader = SPECS[api].format().reader()
    payloads = (payload for entry in load(name) for payload in reader.feed(entry))
    return "".join(f"data: {payload.data.decode()}\n\n" for payload in payloads)


def _facts(name: str) -> list[Any]:
    reader = Reader()
    return [item for entry in load(name) for item in reader.feed(entry)]


@pytest.mark.parametrize("api", SPECS)
@pytest.mark.parametrize("name", NAMES)
def test_it_objects_to_nothing(name: str, api: str, read: dict[tuple[str, str], Read]) -> None:
    """A run that failed is an error with our text; any other has none, and ends."""
    found, over = read[api, name], _facts(name)[-1]
    if over.outcome in BROKEN:
        assert found.errors == [with_reference(over)]
    else:
        assert found.errors == []
        assert found.parts[-1] == "finish"


@pytest.mark.parametrize("name", ["code", "x_code_executor"])
def test_code_is_a_tool_call_with_its_result(name: str, read: dict[tuple[str, str], Read]) -> None:
    """The provider builds the call out of the code's own events."""
    parts = read["responses", name].parts
    assert parts.index("tool-call") < parts.index("tool-result")


def test_sources_come_with_their_text(read: dict[tuple[str, str], Read]) -> None:
    """ADK tells them when the text is over; a client takes them before its end."""
    parts = read["responses", "sources"].parts
    assert parts.index("source") < parts.index("text-end")
    *_, over = _body("responses", "sources").strip().split("\n\n")
    [message] = json.loads(over.removeprefix("data: "))["response"]["output"]
    cited = [item for item in _facts("sources") if isinstance(item, fact.SourceCited)]
    urls = [each["url"] for each in message["content"][0]["annotations"]]
    assert urls == [item.uri for item in cited if item.uri.startswith("https://")]
