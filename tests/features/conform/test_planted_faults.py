"""Each fault that is planted in a good server is found, by its own check and by no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.features.conform import (
    adk_server,
    ag_ui_server,
    ai_sdk_server,
    openai_server,
    studio_server,
)
from tests.features.conform.planted import ANY_STREAM, Planted, before, streams
from tests.features.conform.stub_server import Asked, Handler, Reply, as_json, serving
from tests.patience import PATIENCE

from adk_prism.features.conform.checks import CannotTry, Options, Result
from adk_prism.features.conform.conformance import Report, as_text, judge

SERVERS = {
    "ai-sdk": (ai_sdk_server.good, ai_sdk_server.PLANTED),
    "ag-ui": (ag_ui_server.good, ag_ui_server.PLANTED),
    "adk": (adk_server.good, adk_server.PLANTED),
    "openai": (openai_server.good, openai_server.PLANTED),
    "studio": (studio_server.good, studio_server.PLANTED),
}
"""By protocol: a good server, and what can be wrong with it."""
PROMPTS = ("hello", "approval", "error")
CASES = [
    pytest.param(protocol, fault, id=f"{protocol}-{fault.check}-{number}")
    for protocol, (_, faults) in SERVERS.items()
    for number, fault in enumerate((*faults, *ANY_STREAM))
]


async def judged(protocol: str, handler: Handler) -> Report:
    async with serving(handler) as url:
        options = Options(url=f"{url}/api", prompts=PROMPTS, timeout=PATIENCE)
        return await judge(protocol, options)


def wrong(report: Report) -> dict[str, Result]:
    return {each.check.id: each for each in report.results if each.faults}


@pytest.mark.parametrize("protocol", SERVERS)
async def test_a_good_server_has_no_fault(protocol: str) -> None:
    """Nothing is found, and all that is there was seen."""
    report = await judged(protocol, SERVERS[protocol][0]())
    assert wrong(report) == {}
    missing = {each.check.id for each in report.results if each.verdict == "not seen"}
    assert missing <= {"npm-client", "reconnect"}


@pytest.mark.parametrize(("protocol", "fault"), CASES)
async def test_a_planted_fault_is_found(protocol: str, fault: Planted) -> None:
    """By the check whose rule it breaks; a rule that must hold makes the server fail."""
    report = await judged(protocol, fault.change(SERVERS[protocol][0]()))
    found = wrong(report)
    assert set(found) == {fault.check, *fault.also}, found
    levels = {each.check.level for each in found.values()}
    assert report.conforms is ("must" not in levels)


@pytest.mark.parametrize("protocol", SERVERS)
async def test_whichever_request_fails_is_noticed(protocol: str) -> None:
    """A server that answers all but one request well does not pass: no answer is taken unread."""
    total = _Failing(SERVERS[protocol][0](), 0)
    await judged(protocol, total.answer)
    found: set[str] = set()
    for number in range(1, total.count + 1):
        server = _Failing(SERVERS[protocol][0](), number)
        try:
            report = await judged(protocol, server.answer)
        except CannotTry:
            continue  # the first requests, without which nothing can be tried
        assert wrong(report) or server.failed == UNREAD, (number, server.failed)
        found |= wrong(report).keys()
    assert {"status", "disconnect"} <= found


UNREAD = "GET /api/version"
"""Whose failure says nothing: the look for an adk-prism server."""


class _Failing:
    """Answers one request, by its number, with 500."""

    def __init__(self, handler: Handler, number: int) -> None:
        self.count = 0
        self.failed = ""
        self._handler = handler
        self._number = number

    def answer(self, asked: Asked) -> Reply:
        self.count += 1
        if self.count != self._number:
            return self._handler(asked)
        self.failed = f"{asked.method} {asked.path}"
        return Reply(500)


async def test_a_body_that_never_ends() -> None:
    """It is left after a while, and told: a client would show the answer as unfinished for ever."""
    never = streams(lambda reply: replace(reply, stays_open=True))
    async with serving(never(ai_sdk_server.good())) as url:
        report = await judge("ai-sdk", Options(url=url, prompts=("hello",), timeout=0.5))
    assert "the answer is " in wrong(report)["complete"].faults[0].came


async def test_what_the_user_sends_is_hidden() -> None:
    """A server that repeats the request's headers does not get them into the report."""
    echo = before(lambda asked: as_json(dict(asked.headers), 500))
    async with serving(echo(ai_sdk_server.good())) as url:
        options = Options(
            url=f"{url}/api?key=k3y-of-mine", prompts=("hello",), headers={"x-key": "Bearer s3cret"}
        )
        report = await judge("ai-sdk", options)
    told = as_text(report)
    assert "[hidden]" in told
    assert "s3cret" not in told
    assert "k3y-of-mine" not in told
