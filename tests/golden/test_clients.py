"""The real AI SDK takes every golden stream, and builds the message that we say it builds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.judge import FIVES, READERS, Judge, Sdk
from tests.golden.streams import MESSAGES, SPANNING, message_of
from tests.recordings.library import RECORDINGS, continues, ended, first_of, load

from adk_prism.log.entry import Continues
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.frames import Frame
from adk_prism.protocols.ai_sdk.history import rebuild
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]

readers = pytest.mark.parametrize(
    ("sdk", "dialect"), READERS, ids=lambda value: str(value).replace("ai-", "")
)


@readers
@pytest.mark.parametrize("name", RECORDINGS)
def test_the_client_takes_each_stream(name: str, sdk: Sdk, dialect: str, judge: Judge) -> None:
    """Schema, order, steps, the chat's status and its readiness to post again: all by the real code."""
    going_on = continues(name)
    prior = _prior(name, going_on, sdk, dialect, judge) if going_on else None
    failed = ended(name).outcome == "failed"
    verdict = judge(_sse(_frames(name, dialect)), sdk, prior, expect_error=failed)
    assert verdict.ok, verdict.why


@readers
@pytest.mark.parametrize("name", [name for name in RECORDINGS if not continues(name)])
def test_our_message_is_the_clients(name: str, sdk: Sdk, dialect: str, judge: Judge) -> None:
    """A page that is loaded later shows what the open one shows."""
    frames = _frames(name, dialect)
    failed = ended(name).outcome == "failed"
    verdict = judge(_sse(frames), sdk, expect_error=failed)
    assert _comparable(rebuild(frames), sdk) == _comparable(verdict.message, sdk)


@readers
@pytest.mark.parametrize("name", SPANNING)
def test_a_message_of_several_runs_can_be_replayed(
    name: str, sdk: Sdk, dialect: str, judge: Judge
) -> None:
    """A client that comes back gets one whole message, asked and answered."""
    frames = message_of(name, dialect)
    verdict = judge(_sse(frames), sdk)
    assert verdict.ok, verdict.why
    assert _comparable(rebuild(frames), sdk) == _comparable(verdict.message, sdk)


def test_every_dialect_is_read() -> None:
    """A dialect that no client of these tests reads would prove nothing."""
    assert {dialect for _, dialect in READERS} == set(MESSAGES.values())


# --------------------------------------------------------------------------- pieces


def _frames(name: str, dialect: str) -> list[Frame]:
    entries = load(name)
    projection = SPEC.make(protocol("ai-sdk").format(dialect).options, entries[0])
    return [frame for entry in entries for frame in projection.feed(entry)]


def _sse(frames: list[Frame]) -> bytes:
    return b"".join(b"data: %b\n\n" % SPEC.payload(frame).data for frame in frames)


def _prior(name: str, going_on: Continues, sdk: Sdk, dialect: str, judge: Judge) -> Json:
    """The message that a client holds when it posts the answers that a run goes on with."""
    message = judge(_sse(_frames(first_of(name), dialect)), sdk).message
    assert message is not None
    return {**message, "parts": [_answered(part, going_on) for part in message["parts"]]}


def _answered(part: Json, going_on: Continues) -> Json:
    call = part.get("toolCallId")
    decision = going_on.decisions.get(call) if call else None
    if decision is not None and "approval" in part:  # dialect 5 answers beside the call
        approval = {**part["approval"], "approved": decision.approved}
        return {**part, "state": "approval-responded", "approval": approval}
    if part.get("state") != "input-available":
        return part
    if call in going_on.answers:
        output = msgspec.json.decode(going_on.answers[call])
        return {**part, "state": "output-available", "output": output}
    if call not in going_on.open_calls:  # answered by a run of which there is no recording
        return {**part, "state": "output-available", "output": None}
    return part


def _comparable(message: Json | None, sdk: Sdk) -> Json:
    """Leave out what a version of the SDK adds of its own, or does not keep."""
    assert message is not None
    parts = [dict(part) for part in message["parts"]]
    for part in parts:
        if part["type"] == "reasoning":
            part.pop("id", None)  # kept on the part since 6.0.253
        if part["type"] == "file" and sdk in ("ai-6.0.0", *FIVES):
            part.pop("providerMetadata", None)  # kept since a later 6
    return {**message, "parts": parts}
