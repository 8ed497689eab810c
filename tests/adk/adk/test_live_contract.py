"""What live runs need of ADK's insides, checked against the installed versions."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable

import pytest
from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.genai import types

from adk_prism.adk.internals import Capability, log_lines
from adk_prism.adk.internals import runner as agents
from adk_prism.voice.run_context import RequestQueue


@pytest.mark.parametrize(
    "capability",
    [log_lines.CANCELLATIONS, agents.LIVE_AGENTS, agents.LIVE_TOOLS],
    ids=lambda each: each.name,
)
def test_the_inside_is_as_known(capability: Capability) -> None:
    """Its probe finds no reason against it."""
    assert capability.probe() is None


# --------------------------------------------------------------------------- cancelled calls


def test_disabled_logging_is_noticed() -> None:
    """Cancelled calls cannot be seen then, and the probe says so."""
    logging.disable(logging.DEBUG)
    try:
        assert "logging is disabled" in (log_lines.CANCELLATIONS.probe() or "")
    finally:
        logging.disable(logging.NOTSET)


def test_the_operators_log_is_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    """The logger has its own level again afterwards, and writes what it wrote before, no more."""
    logger = logging.getLogger(log_lines.LIVE_LOGGER)
    with log_lines.watch_cancellations(lambda _: None):
        logger.debug("not written")
        logger.warning("written")
        with caplog.at_level(logging.DEBUG, log_lines.LIVE_LOGGER):
            logger.debug("written, too")
    assert logger.level == logging.NOTSET
    assert not logger.filters
    assert [record.getMessage() for record in caplog.records] == ["written", "written, too"]


async def test_only_the_run_of_the_context_is_told() -> None:
    """Not a run beside it, and not a live run inside one of its tools."""
    message = types.LiveServerMessage(
        tool_call_cancellation=types.LiveServerToolCallCancellation(ids=["c1"])
    )
    logger = logging.getLogger(log_lines.LIVE_LOGGER)

    async def run(name: str, *, in_tool: bool = False) -> None:
        with log_lines.watch_cancellations(lambda ids: told.append((name, *ids))):
            await asyncio.sleep(0)
            if in_tool:
                log_lines.CANCEL_CALLS.set(None)
            logger.debug("Got LLM Live message: %s", message)

    told: list[tuple[str, ...]] = []
    await asyncio.gather(run("one"), run("two"), run("three", in_tool=True))
    assert told == [("one", "c1"), ("two", "c1")]


def test_adk_still_ignores_cancellations() -> None:
    """Once ADK handles them itself, the filter can go."""
    assert "tool_call_cancellation" not in inspect.getsource(GeminiLlmConnection)


# --------------------------------------------------------------------------- the request queue

PUT: dict[str, Callable[[LiveRequestQueue], None]] = {
    "send": lambda queue: queue.send(LiveRequest(audio_stream_end=True)),
    "send_content": lambda queue: queue.send_content(types.UserContent("hello")),
    "send_realtime": lambda queue: queue.send_realtime(types.Blob(data=b"1", mime_type="a/b")),
    "send_activity_start": lambda queue: queue.send_activity_start(),
    "send_activity_end": lambda queue: queue.send_activity_end(),
    "send_audio_stream_end": lambda queue: queue.send_audio_stream_end(),
    "close": lambda queue: queue.close(),
}


@pytest.mark.parametrize("name", PUT)
async def test_our_queue_gives_what_adks_gives(name: str) -> None:
    """Whatever is put by a method of ADK's class."""
    ours, theirs = RequestQueue(lambda _: False), LiveRequestQueue()
    for queue in (ours, theirs):
        PUT[name](queue)
    assert await ours.get() == await theirs.get()
    assert ours.closed == theirs.closed


def test_our_queue_overrides_all_of_adks() -> None:
    """So nothing is put into the private queue of ADK's class, which nobody reads."""
    public = {name for name in vars(LiveRequestQueue) if not name.startswith("_")}
    assert public == {*PUT, "get", "closed"}
    assert public <= set(vars(RequestQueue))
