"""Commands that look at a run log show what was sent to models: in exported traces, and in comparisons."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.features.model_calls.recorded_calls import conversing
from tests.features.otlp.test_export import Collector, spans
from tests.features.otlp.test_export import collector as collector

from adk_prism.cli import main
from adk_prism.features.otlp.export import LONGEST
from adk_prism.log.sqlite.store import SqliteLog

Json = dict[str, Any]
PICTURE = types.UserContent(
    [types.Part(text="Look."), types.Part.from_bytes(data=b"\xfb\xff" * 40, mime_type="image/png")]
)


def look(at: str) -> Json:
    """Look at something."""
    return {"seen": at}


async def recorded(folder: Path, *messages: Any, say: Callable[[int], str] = str) -> str:
    """Record runs of one session in a file; return its URL."""
    turns = [call("look", "c1", at="owl"), *(say(n) for n in range(len(messages)))]
    root = LlmAgent(
        name="root", model=Scripted.saying(*turns), tools=[look], instruction="Be brief, {name?}."
    )
    async with conversing(root, log=SqliteLog(folder / "runs.db")) as talk:
        for each in messages:
            await talk.send(each)
    return f"sqlite:///{folder}/runs.db"


def model_spans(collector: Collector) -> list[Json]:
    return [
        span["attributes"]
        for span in spans(collector.requests[-1][2])
        if span["attributes"]["openinference.span.kind"] == "LLM"
    ]


async def test_a_trace_has_requests_and_answers(tmp_path: Path, collector: Collector) -> None:
    """Instruction, messages, tools and the answer, in both conventions, of a log that is only read."""
    log = await recorded(tmp_path, PICTURE)
    before = (tmp_path / "runs.db").read_bytes()
    words = ["export", "run-1", "--log", log, "--otlp", collector.url]
    assert await asyncio.to_thread(main, words) == 0
    assert (tmp_path / "runs.db").read_bytes() == before
    first, second = model_spans(collector)
    assert json.loads(first["gen_ai.input.messages"]) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Look."},
                {"type": "blob", "mime_type": "image/png"},
            ],
        }
    ]
    (told,) = json.loads(first["gen_ai.system_instructions"])
    assert told["content"].startswith("Be brief")
    assert json.loads(first["gen_ai.tool.definitions"])[0]["name"] == "look"
    assert first["llm.input_messages.0.message.role"] == "system"
    assert first["llm.input_messages.1.message.content"] == "Look."
    assert '"look"' in first["llm.tools.0.tool.json_schema"]
    (answer,) = json.loads(first["gen_ai.output.messages"])
    assert answer["parts"][0]["type"] == "tool_call"
    said = [each["role"] for each in json.loads(second["gen_ai.input.messages"])]
    assert said == ["user", "assistant", "tool"]
    assert second["output.value"] == "0"


async def test_long_conversations_keep_their_latest_messages(
    tmp_path: Path, collector: Collector
) -> None:
    """The attribute stays JSON of a size that collectors take, and says what is missing."""
    log = await recorded(tmp_path, *["x" * 9000] * 5, "y" * 500_000, say=lambda n: "é" * 9000)
    for run, last in (("run-5", "x" * 9000), ("run-6", "yyyy")):
        words = ["export", run, "--log", log, "--otlp", collector.url]
        assert await asyncio.to_thread(main, words) == 0
        (about,) = model_spans(collector)
        messages = json.loads(about["gen_ai.input.messages"])
        assert "earlier messages are not in this trace" in messages[0]["parts"][0]["content"]
        assert messages[-1]["parts"][0]["content"].startswith(last)
        assert max(len(str(value)) for value in about.values()) <= LONGEST


async def test_requests_of_a_log_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another instruction is found in two runs of a SQLite file."""
    root = LlmAgent(name="root", model=Scripted.saying("Yes.", "Yes."), instruction="Be brief.")
    async with conversing(root, log=SqliteLog(tmp_path / "runs.db")) as talk:
        await talk.send()
        root.instruction = "Be verbose."
        await talk.send()
    words = ["compare", "run-1", "run-2", "--log", f"sqlite:///{tmp_path}/runs.db"]
    assert await asyncio.to_thread(main, [*words, "--fail-on", "requests"]) == 1
    printed = capsys.readouterr()
    assert "requests" in printed.err
    assert "model's instruction" in printed.out
