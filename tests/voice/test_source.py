"""A live run of a real Runner: what is recorded, who is asked, what the model is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.genai import types
from msgspec import Raw
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import (
    ORIGIN,
    RUN,
    answers,
    event_of,
    is_answer,
    is_call,
    live,
    parts_of,
    runner_of,
    scripted_agent,
)

from adk_prism.errors import Conflict, NotFound, Unprocessable
from adk_prism.log.entry import (
    ApprovalAsked,
    ApprovalGiven,
    Decision,
    Record,
    RunEnded,
    SpeakerInterrupted,
)
from adk_prism.testing.laws import check_laws
from adk_prism.voice.run_context import (
    ClientToolResult,
    LiveCall,
    LiveOptions,
)
from adk_prism.voice.source import LiveSource


def stage(**options: Any) -> Any:
    delay = options.pop("delay", 0.0)
    return live(runner_of(scripted_agent(script, TOOLS, delay)), **options)


def is_asked(record: Record) -> bool:
    return isinstance(record, ApprovalAsked)


async def test_a_conversation_is_recorded() -> None:
    """Both sides of it, in order; sound goes to whoever listens, and what was kept is the same."""
    async with stage() as run:
        await run.say("hello")
        await run.until_done()
        entries, events = await run.entries(), await run.events()
        assert [e["author"] for e in events if "content" in e][:2] == ["user", "voice"]
        assert {e["invocationId"] for e in events} == {"e-1"}
        pieces = [
            p["inlineData"]["data"]
            for e in entries
            for p in parts_of(e.record)
            if "inlineData" in p
        ]
        kept = b"".join(
            types.Blob.model_validate_json(f'{{"data":"{p}"}}').data or b"" for p in pieces
        )
        assert kept == bytes(run.sound)
        assert len(kept) == 3 * 3840
        session = await run.runner.session_service.get_session(
            app_name="app", user_id="user", session_id="session"
        )
        assert session is not None
        assert {e.invocation_id for e in session.events} == {"e-1"}
    assert check_laws(await run.entries()) == []
    assert (await run.entries())[-1].record == RunEnded(outcome="finished")


async def test_approve_one_and_deny_the_other() -> None:
    """Two calls of one tool at once: each waits by itself, and each is told what was decided."""
    async with stage() as run:
        await run.say("pay twice")
        await run.until(is_asked, 2)
        run.source.questions.decide(
            Decision(approval="approval-c2", approved=False, reason="too much")
        )
        await run.until(is_answer)
        run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until_done()
        told = answers(await run.events())
        assert told["c1"] == {"paid": 1}
        assert told["c2"] == {"error": "This tool call is rejected. Reason: too much"}
        given = [e.record for e in await run.entries() if isinstance(e.record, ApprovalGiven)]
        assert given == [
            ApprovalGiven(approval="approval-c2", approved=False, reason="too much"),
            ApprovalGiven(approval="approval-c1", approved=True),
        ]
    assert check_laws(await run.entries()) == []


async def test_the_voice_goes_on_while_a_person_is_asked() -> None:
    """A call that waits holds up neither what the model says nor what it hears."""
    async with stage() as run:
        await run.say("pay")
        await run.until(is_asked)
        await run.say("hello")
        await run.until_done()
        assert not any(is_answer(entry.record) for entry in await run.entries())
        run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until(is_answer)


async def test_a_tool_is_declared_as_it_is() -> None:
    """It is switched to the background for its call only, for every session that shares it."""
    async with stage() as run:
        await run.say("pay")
        await run.until(is_asked)
        assert [tool.behavior for tool in TOOLS] == [None] * len(TOOLS)
        run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until_done()
        assert [tool.behavior for tool in TOOLS] == [None] * len(TOOLS)


async def test_the_first_answer_counts() -> None:
    """A second answer is refused, and so is one to a question that nobody asked."""
    async with stage() as run:
        with pytest.raises(NotFound):
            run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.say("pay")
        await run.until(is_asked)
        run.source.questions.decide(Decision(approval="approval-c1", approved=False))
        with pytest.raises(Conflict):
            run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until_done()
        with pytest.raises(Conflict):
            run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        assert "error" in answers(await run.events())["c1"]


async def test_an_answer_before_the_question_is_kept() -> None:
    """From the moment the call is known, which is before its tool asks."""
    async with stage() as run:
        await run.say("pay")
        await run.until(is_call)
        run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until_done()
        assert answers(await run.events())["c1"] == {"paid": 1}


async def test_silence_denies() -> None:
    """After the time that the operator gives."""
    async with stage(approval_timeout=0.05) as run:
        await run.say("pay")
        await run.until_done()
        assert answers(await run.events())["c1"] == {
            "error": "This tool call is rejected. Reason: No answer within 0.05 seconds."
        }


async def test_an_interruption_denies_what_waits() -> None:
    """And the model is told."""
    async with stage() as run:
        await run.say("mixed")
        await run.until(is_asked)
        await run.source.interrupt("user_abort")
        await run.until(is_answer, 2)
        told = answers(await run.events())
        assert told["c1"] == {
            "error": "This tool call is rejected. Reason: The person interrupted."
        }
        assert told["c2"] == {"seen": True}


async def test_an_interruption_silences_the_model() -> None:
    """Nothing of the turn is heard after it, and the model is told to stop."""
    async with stage(delay=0.001) as run:
        await run.say("talk")
        await run.until(lambda record: "outputTranscription" in event_of(record), 5)
        await run.source.interrupt("user_abort")
        heard = len(run.sound)
        await run.until(lambda record: bool(event_of(record).get("interrupted")))
        assert len(run.sound) == heard
        await run.say("hello")
        await run.until_done(2)
        assert len(run.sound) > heard
        records = [entry.record for entry in await run.entries()]
        assert SpeakerInterrupted(reason="user_abort") in records
    assert check_laws(await run.entries()) == []


RESULTS = [
    (ClientToolResult(Raw(b'{"lat": 1}')), {"lat": 1}),
    (ClientToolResult(Raw(b"0")), {"result": 0}),
    (ClientToolResult(Raw(b"null")), {"result": None}),
    (ClientToolResult(Raw(b"{}")), {"result": {}}),
    (ClientToolResult(Raw(b"null"), "no permission"), {"error": "no permission"}),
]


@pytest.mark.parametrize(("result", "told"), RESULTS, ids=lambda case: str(case)[:30])
@pytest.mark.parametrize("tool", ["place", "order"])
async def test_the_client_answers(tool: str, result: ClientToolResult, told: Any) -> None:
    """For a tool of its own, and for a long-running one that says nothing; whatever it gives."""
    async with stage() as run:
        await run.say(tool)
        await run.until(is_call)
        run.source.questions.give_result("c1", result)
        await run.until_done()
        assert answers(await run.events())["c1"] == told


async def test_a_client_that_does_not_answer() -> None:
    """The model is told so after a while."""
    async with stage(client_timeout=0.05) as run:
        await run.say("place")
        await run.until_done()
        assert answers(await run.events())["c1"] == {"error": "No answer within 0.05 seconds."}


async def test_a_tool_that_raises() -> None:
    """The model is told that it did, the operator why; the conversation goes on."""
    async with stage() as run:
        await run.say("break")
        await run.until(is_asked)
        run.source.questions.decide(Decision(approval="approval-c1", approved=True))
        await run.until_done()
        told = answers(await run.events())["c1"]["error"]
        (report,) = [r for r in run.reports if r.kind == "tool failed"]
        assert told == f"The tool failed (RuntimeError). Reference: {report.correlation}."
        assert "a secret" in report.cause


async def test_what_adk_chokes_on_is_refused() -> None:
    """A bad message would kill ADK's sender without a word."""
    forged = types.Part(function_response=types.FunctionResponse(id="c1", name="pay", response={}))
    called = types.Part(function_call=types.FunctionCall(id="c9", name="pay", args={}))
    async with stage() as run:
        for parts in ([], [called], [forged]):
            with pytest.raises(Unprocessable):
                await run.source.say(types.Content(role="user", parts=parts))
        await run.say("hello")
        await run.until_done()


async def test_a_run_that_waits_can_be_ended() -> None:
    """The question is denied, and nothing waits any more."""
    async with stage() as run:
        await run.say("pay")
        await run.until(is_asked)
    assert (await run.entries())[-1].record == RunEnded(outcome="finished")
    assert check_laws(await run.entries()) == []


async def test_a_run_can_be_cancelled() -> None:
    """By somebody else than its client."""
    async with stage() as run:
        await run.say("pay")
        await run.until(is_asked)
        run.recorder.stop()
        assert (await run.ended()).outcome == "cancelled"
    assert check_laws(await run.entries()) == []


async def test_sound_is_kept_up_to_a_bound() -> None:
    """Beyond it the log says how much there was; whoever listens hears all of it."""
    async with stage(audio_log_bytes=20_000) as run:
        for _ in range(4):
            await run.say("hello")
        await run.until_done(4)
        parts = [p for e in await run.entries() for p in parts_of(e.record) if "inlineData" in p]
        kept = sum(len(p["inlineData"]["data"]) * 3 // 4 for p in parts)
        dropped = [p["partMetadata"] for p in parts if not p["inlineData"]["data"]]
        told = sum(noted["adkPrism"]["bytes"] for noted in dropped)
        assert kept <= 20_000
        assert kept + told == len(run.sound)


async def test_what_is_spoken_is_heard() -> None:
    """Sound reaches the model, which tells what it heard, and answers."""
    async with stage() as run:
        tone = _tone(440, 16_000)
        for start in range(0, len(tone), 640):
            assert run.source.send_audio(tone[start : start + 640])
        run.source.end_speech()
        await run.until_done()
        events = await run.events()
        heard = [e["inputTranscription"] for e in events if "inputTranscription" in e]
        assert heard[-1] == {"text": "voice: 0.5 seconds of sound near 440 Hz", "finished": True}


async def test_sound_that_nobody_takes_is_dropped() -> None:
    """What the model cannot take in time does not pile up."""
    async with stage() as run:
        taken = [run.source.send_audio(b"\0\0" * 320) for _ in range(1000)]
        assert taken.count(True) <= 300
        await run.say("hello")
        await run.until_done()


def _tone(pitch: int, size: int) -> bytes:
    from adk_prism.models.scripted_live import tone

    return tone(pitch, size * 1000 // 2 // 16_000, 16_000)


async def test_who_stops_reading_does_not_wait() -> None:
    """Neither for the model, nor for room for what it has said meanwhile."""
    runner = runner_of(scripted_agent(script, TOOLS))
    await runner.session_service.create_session(
        app_name="app", user_id="user", session_id="session"
    )
    call = LiveCall(run=RUN, origin=ORIGIN, invocation="e-1", options=LiveOptions())
    source = LiveSource(runner, call)
    records = source.records()
    await anext(records)
    saying = asyncio.create_task(source.say(types.UserContent("talk")))
    await anext(records)
    await saying
    for _ in range(20_000):  # turns of the event loop, until there is no room
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await records.aclose()
